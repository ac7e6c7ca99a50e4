"""The silhouette of held-out rows for many k, which does not grow with k by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.stats import Floats
from kfree.search.judge.k_means import k_means_by_merging
from kfree.search.judge.silhouette import silhouette


def held_out_silhouettes(
    rows: Floats, numbers: Sequence[int], unit: bool, rng: np.random.Generator, repeats: int = 1
) -> Floats:
    """For each k: half of the rows is clustered, the silhouette is that of the other half, and the reverse."""
    total = np.zeros(len(numbers))
    for _ in range(repeats):
        first, second = np.array_split(rng.permutation(len(rows)), 2)
        for train, test in ((first, second), (second, first)):
            held_out = rows[test].astype(np.float32)
            found = k_means_by_merging(rows[train], numbers, unit)
            total += [silhouette(held_out, clustering.centres) for clustering in found]
    return total / (2 * repeats)
