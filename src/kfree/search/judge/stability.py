"""How sure: the same fit again on halves of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kfree.core.progress import tell
from kfree.core.stats import Floats, Index

# Clusters with a lower Jaccard index are not stable (Hennig 2007).
_STABLE = 0.75


class Refit(NamedTuple):
    """Some of the judged rows, and labels that were found among them alone."""

    rows: Index
    labels: Index

    @property
    def k(self) -> int:
        return int(self.labels.max()) + 1


def refits_on_halves(
    rows: Index,
    n_splits: int,
    rng: np.random.Generator,
    cluster: Callable[[Index], Refit],
    most_rows: int | None = None,
) -> list[Refit]:
    """What ``cluster`` finds in each half of ``n_splits`` random splits of some rows, and at most so many of a half."""
    found = []
    for number in range(n_splits):
        tell("halves", number / n_splits)
        drawn = rng.permutation(rows)[: None if most_rows is None else 2 * most_rows]
        found += [cluster(np.sort(half)) for half in np.array_split(drawn, 2)]
    return found


def interval_of(k: int, refits: Sequence[Refit]) -> tuple[int, int]:
    """The smallest and the largest number of clusters that was found."""
    numbers = [k, *(refit.k for refit in refits)]
    return min(numbers), max(numbers)


def is_sure(interval: tuple[int, int], stability: Floats) -> bool:
    """Whether all refits have the same number of clusters, and all clusters are stable."""
    return interval[0] == interval[1] and bool((stability >= _STABLE).all())


def jaccard(labels: Index, refits: Sequence[Refit]) -> Floats:
    """For each cluster the mean over refits of its Jaccard index with the most similar one (Hennig 2007).

    A cluster without rows in a refit is left out of that mean.
    """
    k = int(labels.max()) + 1
    best = np.full((len(refits), k), np.nan)
    for similar, refit in zip(best, refits, strict=True):
        table = np.zeros((k, refit.k))
        np.add.at(table, (labels[refit.rows], refit.labels), 1)
        size = table.sum(axis=1)
        union = size[:, None] + table.sum(axis=0) - table
        similar[size > 0] = (table / union).max(axis=1)[size > 0]
    seen = ~np.isnan(best)
    mean: Floats = np.where(seen, best, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return mean
