"""Greedy merging from inner products: with many columns, a fraction of the time that coordinates take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kfree.core.stats import Floats, Index, Stats
from kfree.search.agglomerate import Merges, agglomerate

# Clusters whose costs are computed together: so few that these stay in the processor's cache.
_AT_ONCE = 128


class GramObjective(Protocol):
    """An objective whose merge costs need no more than sizes and inner products of the clusters' sums."""

    def merge_costs_by_gram(
        self, n: Floats, sq_sum: Floats, products: Floats, clusters: int | slice | Index
    ) -> Floats: ...


@dataclass(frozen=True)
class GramStats:
    """Clusters by weight ``n`` (k,), inner products of their sums, ``gram`` (k, k), and costs of merging, ``costs``.

    Costs are kept, since each is asked for several times before one of its two clusters changes. Columns of large
    matrices are slow to reach. Both matrices are symmetric, so columns are only written, and ``sq_sum`` (k,) is the
    diagonal of ``gram``. What a merged cluster leaves behind stays there, since nobody asks for it.
    """

    objective: GramObjective
    n: Floats
    sq_sum: Floats
    gram: Floats
    costs: Floats

    @classmethod
    def of(cls, stats: Stats, objective: GramObjective) -> GramStats:
        gram = stats.sum @ stats.sum.T
        costs, sq_sum = np.empty_like(gram), np.diagonal(gram).copy()
        for begin in range(0, len(gram), _AT_ONCE):  # all at once would take several times the memory
            some = slice(begin, begin + _AT_ONCE)
            costs[some] = objective.merge_costs_by_gram(stats.n, sq_sum, gram[some], some)
        return cls(objective, stats.n.copy(), sq_sum, gram, costs)

    def copy(self) -> GramStats:
        return GramStats(self.objective, self.n.copy(), self.sq_sum.copy(), self.gram.copy(), self.costs.copy())

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """Cluster a takes over the rows of b, in place, and b is left empty."""
        self.n[a] += self.n[b]
        self.n[b] = 0.0
        both = self.gram[a]
        both += self.gram[b]
        both[a] = self.sq_sum[a] = both[a] + both[b]
        self.gram[:, a] = both
        self.costs[a] = self.costs[:, a] = self.objective.merge_costs_by_gram(self.n, self.sq_sum, both, a)


class _Kept:
    """The objective of clusters whose costs of merging are kept."""

    def merge_costs(self, stats: GramStats, clusters: int | slice) -> Floats:
        return stats.costs[clusters].copy()


def merge_all(stats: Stats, objective: GramObjective) -> Merges:
    """Merge the cheapest pair until one cluster is left."""
    return agglomerate(GramStats.of(stats, objective), _Kept(), spoil=True)


def cheapest_pair(stats: Stats, objective: GramObjective) -> tuple[int, int, float]:
    """The pair a < b that is cheapest to merge, the first one on ties, and its cost. Needs two clusters."""
    n, sums = stats.n, stats.sum
    sq_sum, best = np.einsum("ij,ij->i", sums, sums), (0, 0, np.inf)
    for begin in range(0, len(n), _AT_ONCE):
        products = sums[begin : begin + _AT_ONCE] @ sums[begin:].T
        costs = objective.merge_costs_by_gram(n[begin:], sq_sum[begin:], products, slice(len(products)))
        costs[:, : len(costs)][np.tril_indices(len(costs))] = np.inf
        a, b = divmod(int(costs.argmin()), costs.shape[1])
        if costs[a, b] < best[2]:
            best = begin + a, begin + b, float(costs[a, b])
    return best


def cheapest_pair_with(some: Index, stats: Stats, objective: GramObjective) -> tuple[int, int, float]:
    """The same, of the pairs that one of ``some`` clusters is in."""
    sums = stats.sum
    sq_sum = np.einsum("ij,ij->i", sums, sums)
    costs = objective.merge_costs_by_gram(stats.n, sq_sum, sums[some] @ sums.T, some)
    costs[np.arange(len(some)), some] = np.inf
    lowest = costs.min()
    place, partner = np.nonzero(costs == lowest)
    pairs = np.sort(np.column_stack([some[place], partner]), axis=1)
    a, b = pairs[np.lexsort(pairs.T[::-1])[0]]
    return int(a), int(b), float(lowest)
