"""Additive statistics of clusters: what every objective is written in and every engine returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stats:
    """Per cluster: total weight ``n`` (k,), weighted ``sum`` of coordinates (k, d), and ``sse`` (k,).

    ``sse`` is the weighted sum of squared distances to the site that the rows were held against, which is the
    mean only once the mean has stopped moving.
    """

    n: Floats
    sum: Floats
    sse: Floats

    @classmethod
    def empty(cls, n_clusters: int, n_features: int) -> Stats:
        """Statistics of clusters without rows, also the memory that engines fill in place."""
        return cls(np.zeros(n_clusters), np.zeros((n_clusters, n_features)), np.zeros(n_clusters))

    def copy(self) -> Stats:
        return Stats(self.n.copy(), self.sum.copy(), self.sse.copy())

    def take(self, clusters: NDArray[Any]) -> Stats:
        """Statistics of some clusters."""
        return Stats(self.n[clusters], self.sum[clusters], self.sse[clusters])

    def put(self, clusters: NDArray[Any], new: Stats) -> None:
        """Replace those of some clusters, in place."""
        self.n[clusters], self.sum[clusters], self.sse[clusters] = new.n, new.sum, new.sse

    def followed_by(self, other: Stats) -> Stats:
        """These clusters and, after them, the other ones."""
        joined = (np.concatenate(pair) for pair in ((self.n, other.n), (self.sum, other.sum), (self.sse, other.sse)))
        return Stats(*joined)

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """Cluster a takes over the rows of b, in place, and b is left empty; this adds ``merge_cost`` to sse."""
        self.n[a] += self.n[b]
        self.sum[a] += self.sum[b]
        self.sse[a] += self.sse[b] + merge_cost
        self.n[b] = self.sum[b] = self.sse[b] = 0.0


@dataclass(frozen=True)
class GroupStats(Stats):
    """The same of clusters that groups share: ``used`` (k, number of groups) says whose rows of weight are where."""

    used: NDArray[np.bool_]

    @property
    def n_local(self) -> int:
        """Local clusters: pairs of a group and a cluster that it uses."""
        return int(np.count_nonzero(self.used))

    def copy(self) -> GroupStats:
        return GroupStats(self.n.copy(), self.sum.copy(), self.sse.copy(), self.used.copy())

    def take(self, clusters: NDArray[Any]) -> GroupStats:
        return GroupStats(self.n[clusters], self.sum[clusters], self.sse[clusters], self.used[clusters])

    def put(self, clusters: NDArray[Any], new: Stats) -> None:
        super().put(clusters, new)
        self.used[clusters] = shared(new).used

    def followed_by(self, other: Stats) -> GroupStats:
        joined = super().followed_by(other)
        return GroupStats(joined.n, joined.sum, joined.sse, np.concatenate([self.used, shared(other).used]))

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """``merge_cost`` may count what groups save that use both, so that sse is no longer one of distances alone."""
        super().absorb(a, b, merge_cost)
        self.used[a] |= self.used[b]
        self.used[b] = False


def shared(stats: Stats) -> GroupStats:
    """Statistics that come from an engine of groups."""
    assert isinstance(stats, GroupStats)
    return stats
