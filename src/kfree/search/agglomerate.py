"""Greedy merging of clusters that are given by statistics: the cheapest pair first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, Self, TypeVar

import numpy as np

from kfree.core.blocks import row_blocks
from kfree.core.marks import Below, Shape, Size
from kfree.core.stats import Floats, Index, Selection
from kfree.native.implementations import implementation


class Mergeable(Protocol):
    """Statistics of clusters, of which one can take over another."""

    @property
    def n(self) -> Floats: ...

    def copy(self) -> Self: ...

    def take(self, clusters: Selection) -> Self: ...

    def absorb(self, a: int, b: int, merge_cost: float) -> None: ...


# Clusters per block when first partners are computed: enough to be fast, few enough to need little memory.
_AT_ONCE = 16

S = TypeVar("S", bound=Mergeable)
S_contra = TypeVar("S_contra", bound=Mergeable, contravariant=True)


class MergeObjective(Protocol[S_contra]):
    """The part of an objective that merging uses."""

    def merge_costs(self, stats: S_contra, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster adds to the cost; the same bits for (a, b) and (b, a)."""


@dataclass(frozen=True)
class Merges:
    """The history of a greedy merging of ``n_start`` clusters.

    In step t the pair a < b of ``pairs[t]`` became one cluster, which is called a from then on, and the cost rose by
    ``costs[t]``.
    """

    n_start: Annotated[int, Size("n")]
    pairs: Annotated[Index, Shape("n-1", 2), Below("n")]
    costs: Annotated[Floats, Shape("n-1")]

    @classmethod
    def by_gram(cls, n: Floats, gram: Floats, of_directions: bool, engine: str) -> Merges:
        """Ward's merging, the cheapest pair first and the smallest one on ties, until one is left (Ward 1963).

        ``n`` (k,) are the weights of the clusters, ``gram`` (k, k) the inner products of their sums, which are
        overwritten. Centres ``of_directions`` are unit vectors. With many columns this takes a fraction of the time
        that sums take. ``engine`` names the code.
        """
        k = len(n)
        pairs, costs = np.empty((k - 1, 2), dtype=np.int64), np.empty(k - 1)
        implementation(engine, "trees").merge_by_gram(n.copy(), gram, of_directions, pairs, costs)
        return cls(k, pairs, costs)

    def labels(self, n_clusters: int) -> Index:
        """For each starting cluster its number, 0 to ``n_clusters`` − 1, when that many are left.

        Clusters are numbered in the order of their first members.
        """
        keeper = list(range(self.n_start))
        # From the last merge back, so that the final label of the cluster that took over b is already known.
        for a, b in self.pairs[: self.n_start - n_clusters][::-1].tolist():
            keeper[b] = keeper[a]
        return np.unique(np.array(keeper), return_inverse=True)[1]

    def cuts(self, numbers: Sequence[int]) -> Iterator[Index]:
        """``labels`` for each of several numbers; the merges before the largest of them are followed once."""
        most = max(numbers)
        finest, done = self.labels(most), self.n_start - most
        rest = Merges(most, finest[self.pairs[done:]], self.costs[done:])
        for n_clusters in numbers:
            yield rest.labels(n_clusters)[finest]

    def costs_by_k(self, start_cost: float = 0.0) -> Floats:
        """The cost with 1, 2, … clusters, when the starting clusters cost ``start_cost``."""
        return start_cost + np.append(0.0, np.cumsum(self.costs))[::-1]


def agglomerate(stats: S, objective: MergeObjective[S], below: float = np.inf) -> Merges:
    """Merge the cheapest pair, the smallest one on ties, until one is left or no pair costs less than ``below``.

    ``stats`` is not changed. Memory is that of a few copies; time is quadratic in the number of clusters as long as few
    of them share a nearest neighbour.
    """
    closest = _ClosestPairs(stats.copy(), objective)
    pairs: list[tuple[int, int]] = []
    costs: list[float] = []
    while len(pairs) < len(stats.n) - 1:
        a, b, cost = closest.pair()
        if not cost < below:
            break
        pairs.append((a, b))
        costs.append(cost)
        closest.merge(a, b, cost)
    return Merges(len(stats.n), np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(costs))


class _ClosestPairs(Generic[S]):
    """For every cluster the cheapest partner among those after it, kept up to date while clusters merge.

    A cluster that loses its partner does not search for another immediately: the old cost is a lower bound, and the
    search is repeated when that bound is the lowest of all. Compiled merges have a queue for it
    (``native/core/partners.hpp``). Here an objective computes the costs of all partners of a cluster at once, in NumPy,
    so that the first of all is found by ``argmin`` and no cost crosses to compiled code.
    """

    def __init__(self, stats: S, objective: MergeObjective[S]):
        self._stats, self._objective = stats, objective
        n_clusters = len(stats.n)
        self._alive = np.ones(n_clusters, dtype=bool)
        self._stale = np.zeros(n_clusters, dtype=bool)
        self._partner = np.zeros(n_clusters, dtype=np.int64)
        self._cost = np.full(n_clusters, np.inf)
        numbers = np.arange(n_clusters)
        for some in row_blocks(n_clusters, _AT_ONCE):
            later = slice(some.start, None)
            costs = objective.merge_costs(stats.take(later), slice(some.stop - some.start))
            costs[numbers[later] <= numbers[some, None]] = np.inf
            self._partner[some] = some.start + costs.argmin(axis=1)
            self._cost[some] = costs.min(axis=1)

    def pair(self) -> tuple[int, int, float]:
        """The cheapest pair a < b of all, and its cost."""
        a = int(np.argmin(self._cost))
        while self._stale[a]:
            self._look(a, self._costs(a))
            a = int(np.argmin(self._cost))
        return a, int(self._partner[a]), float(self._cost[a])

    def merge(self, a: int, b: int, cost: float) -> None:
        self._stats.absorb(a, b, cost)
        self._alive[b], self._cost[b] = False, np.inf
        costs = self._costs(a)
        earlier, current = slice(a), self._cost[:a]
        better = (costs[earlier] < current) | ((costs[earlier] == current) & (a <= self._partner[earlier]))
        won = np.flatnonzero(better & self._alive[earlier])
        self._stale |= (self._partner == a) | (self._partner == b)
        self._partner[won], self._cost[won], self._stale[won] = a, costs[won], False
        self._look(a, costs)

    def _costs(self, cluster: int) -> Floats:
        costs = self._objective.merge_costs(self._stats, cluster)
        costs[~self._alive] = np.inf
        return costs

    def _look(self, cluster: int, costs: Floats) -> None:
        """Find the cheapest partner of ``cluster`` anew, given what each would cost."""
        self._stale[cluster] = False
        later = costs[cluster + 1 :]
        if len(later):
            nearest = int(np.argmin(later))
            self._partner[cluster], self._cost[cluster] = cluster + 1 + nearest, later[nearest]
