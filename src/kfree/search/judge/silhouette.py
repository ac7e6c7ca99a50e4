"""The simplified silhouette: how much nearer rows are to their own centre than to the next.

That of held-out rows does not grow with k by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.stats import Floats
from kfree.search.judge.k_means import KMeansByMerging
from kfree.search.judge.surrogates import Reals


def silhouette(rows: Reals, centres: Reals) -> float:
    """Mean of (d₂ − d₁) / d₂, d₁ ≤ d₂ the distances to the two nearest centres; 0 for one centre."""
    if len(centres) < 2:
        return 0.0
    sq_dist = (
        np.einsum("ij,ij->i", rows, rows)[:, None] - 2 * (rows @ centres.T) + np.einsum("ij,ij->i", centres, centres)
    )
    near, next_ = np.sqrt(np.maximum(np.partition(sq_dist, 1, axis=1)[:, :2], 0.0)).T
    return float(np.mean(np.where(next_ > 0, (next_ - near) / np.where(next_ > 0, next_, 1.0), 0.0)))


class HeldOut:
    """Random halves of rows, of which one is clustered and the other is measured, and the reverse."""

    def __init__(self, rows: Floats, unit: bool, rng: np.random.Generator, repeats: int = 1):
        splits = [np.array_split(rng.permutation(len(rows)), 2) for _ in range(repeats)]
        pairs = [pair for one, other in splits for pair in ((one, other), (other, one))]
        self.halves = [(KMeansByMerging(rows[train], unit), rows[test].astype(np.float32)) for train, test in pairs]

    def silhouettes(self, numbers: Sequence[int]) -> Floats:
        """The mean silhouette of the held-out rows for each of ``numbers``."""
        total = np.zeros(len(numbers))
        for clusters, held_out in self.halves:
            total += [silhouette(held_out, found.centres) for found in clusters.at(numbers)]
        mean: Floats = total / len(self.halves)
        return mean
