"""Additive statistics of clusters: what every objective is written in and every engine returns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfree.core.marks import FINITE, AtLeast, Shape

# Arrays of numbers; of clusters, one per row; of row or cluster numbers; of yes and no. ``Used`` (k, groups) says which
# groups use which cluster.
Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]
Used = Mask
# Some clusters of several; with None, as the first axis of two.
Selection: TypeAlias = Index | Labels | Used | list[int] | slice | tuple[int | slice, None]
# Weights between this and its inverse can be multiplied with each other and with squared distances.
LEAST_WEIGHT = 1e-100


def first_row_that_counts(weight: Floats | None) -> int:
    """The first row of positive weight."""
    return 0 if weight is None else int(np.argmax(weight > 0))


def totals(labels: Labels | Index, values: Floats, n_clusters: int = 0) -> Floats:
    """Sums of values over each cluster, added in order."""
    return np.bincount(labels, values, n_clusters).astype(np.float64, copy=False)


def means(sums: Floats, n: Floats) -> Floats:
    """Means (…, d) of clusters from their sums and weights; zero where there are no rows."""
    found: Floats = sums / np.where(n > 0, n, 1.0)[..., None]
    return found


def members_of(labels: Index | Labels, n_clusters: int) -> list[Index]:
    """The rows of each of the clusters 0 … ``n_clusters`` − 1, in order.

    Examples
    --------
    >>> [rows.tolist() for rows in members_of(np.array([2, 0, -1, 2]), 3)]
    [[1], [], [0, 3]]
    """
    order = np.argsort(labels, kind="stable")
    return [order[begin:end] for begin, end in pairwise(np.searchsorted(labels[order], np.arange(n_clusters + 1)))]


def exact_sum(values: Iterable[float]) -> float:
    """The sum of costs, rounded once, so that their order does not matter; infinite where it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Stats:
    """Per cluster: total weight ``n`` (k,), weighted ``sum`` of coordinates (k, d), and ``sse`` (k,).

    ``sse`` is the weighted sum of squared distances to the site that the rows were assigned to, which is the mean only
    at convergence. Where rows are in groups, ``used`` (k, number of groups) says which groups have rows of positive
    weight in which cluster; else it is None.
    """

    n: Floats
    sum: Floats
    sse: Floats
    used: Used | None = field(default=None, kw_only=True)

    @property
    def users(self) -> Used:
        """``used`` of rows in groups."""
        assert self.used is not None  # as rows in groups have it
        return self.used

    @property
    def mean(self) -> Floats:
        """Means of the clusters, zero where there are no rows."""
        return means(self.sum, self.n)

    @property
    def n_local(self) -> int:
        """Local clusters: pairs of a group and a cluster that it uses."""
        return int(np.count_nonzero(self.users))

    @classmethod
    def empty(cls, n_clusters: int, n_features: int) -> Stats:
        """Statistics of clusters without rows, also the memory that engines fill in place."""
        return cls(np.zeros(n_clusters), np.zeros((n_clusters, n_features)), np.zeros(n_clusters))

    @classmethod
    def of_points(cls, points: Floats, weight: Floats) -> Stats:
        """Statistics of clusters whose rows all lie at one of ``points`` (k, d), with this total weight (k,)."""
        return cls(weight, weight[:, None] * points, np.zeros(len(weight)))

    def copy(self) -> Stats:
        used = None if self.used is None else self.used.copy()
        return Stats(self.n.copy(), self.sum.copy(), self.sse.copy(), used=used)

    def take(self, clusters: Selection) -> Stats:
        """Statistics of some clusters."""
        used = None if self.used is None else self.used[clusters]
        return Stats(self.n[clusters], self.sum[clusters], self.sse[clusters], used=used)

    def put(self, clusters: Selection, new: Stats) -> None:
        """Replace those of some clusters, in place."""
        self.n[clusters], self.sum[clusters], self.sse[clusters] = new.n, new.sum, new.sse
        if self.used is not None:
            self.used[clusters] = new.users

    def followed_by(self, other: Stats) -> Stats:
        """These clusters and, after them, the other ones."""
        sums = (np.concatenate(pair) for pair in ((self.n, other.n), (self.sum, other.sum), (self.sse, other.sse)))
        return Stats(*sums, used=None if self.used is None else np.concatenate([self.used, other.users]))

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """Cluster a takes over the rows of b, in place, and b is left empty; this adds ``merge_cost`` to sse.

        That may include the saving of groups that use both, so that sse is not a sum of distances alone.
        """
        self.n[a] += self.n[b]
        self.sum[a] += self.sum[b]
        self.sse[a] += self.sse[b] + merge_cost
        self.n[b] = self.sum[b] = self.sse[b] = 0.0
        if self.used is not None:
            self.used[a] |= self.used[b]
            self.used[b] = False


class ClusterArrays:
    """A dataclass of arrays that have one entry per cluster."""

    def copy(self) -> Self:
        return type(self)(*[array.copy() for array in self._arrays])

    def take(self, clusters: Selection) -> Self:
        """The arrays of some clusters."""
        return type(self)(*[array[clusters] for array in self._arrays])

    def followed_by(self, other: Self) -> Self:
        """These clusters and, after them, the other ones."""
        return type(self)(*map(np.concatenate, zip(self._arrays, other._arrays, strict=True)))

    @property
    def _arrays(self) -> Collection[Floats]:
        return vars(self).values()


@dataclass(frozen=True)
class GaussianStats(ClusterArrays):
    """Per cluster: weight ``n`` of the rows (k,), their ``sum`` (k, d), ``scatter`` Σ(x − mean)(x − mean)ᵀ (k, d, d).

    The scatter is about the cluster's own mean, because Σxxᵀ − n·mean·meanᵀ has no digits left for tight clusters that
    lie far out. Formulas may have more axes before these.
    """

    n: Annotated[Floats, Shape("k"), AtLeast(0.0)]
    sum: Annotated[Floats, Shape("k", "d"), FINITE]
    scatter: Annotated[Floats, Shape("k", "d", "d"), FINITE]

    @classmethod
    def empty(cls, n_clusters: int, n_features: int) -> Self:
        """Statistics of clusters without rows, also the memory that engines fill in place."""
        shapes = (n_clusters,), (n_clusters, n_features), (n_clusters, n_features, n_features)
        return cls(*map(np.zeros, shapes))

    @property
    def mean(self) -> Floats:
        """Means of the clusters, zero where there are no rows."""
        return means(self.sum, self.n)

    def joined(self, other: Self) -> Self:
        """What clusters here and their partners in ``other`` are together; the same bits the other way round."""
        n = self.n + other.n
        gap = self.mean - other.mean
        shared = self.n * other.n / np.where(n > 0, n, 1.0)
        between = shared[..., None, None] * (gap[..., :, None] * gap[..., None, :])
        return type(self)(n, self.sum + other.sum, self.scatter + other.scatter + between)

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """Cluster a takes over the rows of b, in place, and b is left empty. ``merge_cost`` is not needed for that."""
        both = self.take([a]).joined(self.take([b]))
        for part, new in zip(self._arrays, both._arrays, strict=True):
            part[a], part[b] = new[0], 0.0


@dataclass(frozen=True)
class CountStats(ClusterArrays):
    """Per cluster: weight ``n`` of the rows (k,), ``sum`` of their counts (k, d), and ``log_ways`` (k,).

    ``log_ways`` is Σ log(W!/Πx!) over the rows, where W is the total of a row: in how many orders its events can have
    come. It is zero for rows of zeros and ones that are no counts. Formulas may have more axes before these.
    """

    n: Annotated[Floats, Shape("k"), AtLeast(0.0)]
    sum: Annotated[Floats, Shape("k", "d"), AtLeast(0.0)]
    log_ways: Annotated[Floats, Shape("k"), FINITE]

    def joined(self, other: Self) -> Self:
        """What clusters here and their partners in ``other`` are together."""
        return type(self)(*map(np.add, self._arrays, other._arrays))

    def absorb(self, a: int, b: int, merge_cost: float) -> None:
        """Cluster a takes over the rows of b, in place, and b is left empty. ``merge_cost`` is not needed for that."""
        for part in self._arrays:
            part[a] += part[b]
            part[b] = 0.0


# Statistics of clusters with a posterior, by the names that files have for them.
POSTERIOR_STATS = {"gaussian": GaussianStats, "counts": CountStats}
