"""Rows in groups, and sites shared by groups, with a penalty for each site that a group uses."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.assignment import Assignment
from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Mask, Stats, Used, totals
from kfree.engines.contract import MemoryRows, Pass
from kfree.engines.local.rows import LocalRows, open_rows_here
from kfree.engines.moves import NEARLY
from kfree.engines.sums import Sums
from kfree.native.implementations import implementation

# Starting threads would take longer than the work.
_FEW_ROWS = 4096


def numbered(names: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """Distinct names in order of their first appearance, and the number of each name among them."""
    distinct, first, number = np.unique(names, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    place = np.empty(len(distinct), dtype=np.int64)
    place[by_appearance] = np.arange(len(distinct))
    return distinct[by_appearance], place[number]


@dataclass(frozen=True)
class LocalClusters:
    """The local clusters of an assignment that have any weight: ``pairs`` (m, 2) of a group and a cluster.

    ``stats`` are their weights and sums; ``_local`` (n,) is the local cluster of each row, −1 for those of no weight.
    """

    pairs: Index
    stats: Stats
    _local: Labels
    _labels: Labels

    def labels(self, clusters: Labels) -> Labels:
        """Labels of the rows after each local cluster went to one of ``clusters`` (m,); others stay."""
        return np.where(self._local >= 0, clusters[self._local], self._labels).astype(np.int32)


class GroupedRows(LocalRows):
    """Rows that go to the nearest of those sites that their group uses, and passes for groups only.

    ``group`` (n,) numbers the groups from zero in order of their first rows. Which sites a group uses is its own
    choice, each at the penalty of a local cluster; a choice that no single change improves. All statistics contain
    which group uses which site.
    """

    def __init__(
        self,
        name: str,
        X: ArrayOrCSR,
        group: Index,
        weight: Floats | None,
        frame: Frame,
        n_threads: int | None,
    ):
        self._counter = [0]
        super().__init__(name, X, weight, frame, n_threads)
        self.group, self.n_groups = group, int(group.max()) + 1
        self._grouped = implementation(name, "groups")
        self.lam_local = np.inf
        self._member: Index = np.argsort(group, kind="stable")
        self._begin: Index = np.searchsorted(group[self._member], np.arange(self.n_groups + 1))
        self._counts = self.weights(np.arange(self.n_rows)) > 0

    @classmethod
    def open(
        cls,
        name: str,
        X: ArrayOrCSR,
        group: Index,
        *,
        weight: Floats | None = None,
        frame: Frame | None = None,
        n_threads: int | None = None,
    ) -> GroupedRows:
        """Give validated rows, and the number of each row's group, to the implementation called ``name``."""
        n_threads = 1 if X.shape[0] < _FEW_ROWS else n_threads
        frame = frame or open_rows_here(name, X, weight, False, None, n_threads).frame
        return cls(name, X, group, weight, frame, n_threads)

    @property
    def n_distances(self) -> int:
        return self._counter[0]

    @n_distances.setter
    def n_distances(self, number: int) -> None:
        self._counter[0] = number

    def penalised(self, lam_local: float) -> GroupedRows:
        """These rows, and one count of distances, where a group pays ``lam_local`` for each site that it uses."""
        rows = copy.copy(self)
        rows.lam_local = lam_local
        return rows

    def members(self, group: int) -> Index:
        """Rows of a group, in order."""
        return self._member[self._begin[group] : self._begin[group + 1]]

    def group_weights(self) -> Floats:
        """The total weight of each group."""
        return totals(self.group, self.row_weights(), self.n_groups)

    def among(self, index: Index) -> GroupedRows:
        X, weight = self.copied(index)
        return GroupedRows(self.name, X, numbered(self.group[index])[1], weight, self.frame, self.n_threads)

    def weightless(self) -> GroupedRows:
        """The same rows without weight: ``visit`` sends each to the nearest site that its group uses, else of all."""
        return GroupedRows(self.name, self.X, self.group, np.zeros(self.n_rows), self.frame, self.n_threads)

    def rows_of(self, group: int) -> LocalRows:
        """The rows of one group."""
        return LocalRows(self.name, *self.copied(self.members(group)), self.frame)

    def sampled_groups(self, size: int, rng: np.random.RandomState) -> GroupedRows:
        """Groups drawn at random until they have ``size`` rows, a tenth of that from one group at most.

        These rows themselves if there are no more.
        """
        if self.n_rows <= size:
            return self
        chosen: list[Index] = []
        for group in rng.permutation(self.n_groups):
            rows = self.members(group)
            few = rows if len(rows) <= size // 10 else np.sort(rng.choice(rows, size // 10, replace=False))
            chosen.append(few)
            if sum(map(len, chosen)) >= size:
                break
        return self.among(np.concatenate(chosen))

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Sums, Mask | None]:
        labels, sq_dist = self.allot(sites, None, None)
        return labels, sq_dist, self.sums_of(labels, sq_dist, len(sites.uids)), None

    def allot(self, sites: Sites, cost: Floats | None, successor: Used | None) -> tuple[Labels, Floats]:
        """Every group chooses the sites that it uses.

        out ``cost`` (k,): the cost for the groups of removing each site; ``successor`` (k, k): where its rows would go.
        """
        labels, sq_dist = self._blank()
        used = self._used(sites)
        self.n_distances += self.n_rows * len(sites.uids)
        out = used, labels, sq_dist, cost, successor
        self._grouped.allot(*self._groups(sites.centres), self.lam_local, self.n_threads, *out)
        return labels, sq_dist

    def visit(self, sites: Sites, lam_global: float) -> Pass:
        """Step 4 of Algorithm 2 (Kulis & Jordan 2012): row after row, with births where lam_local + lam_global is less.

        Later rows of a group may use a site that the group has begun to use.
        """
        labels, sq_dist = self._blank()
        used = self._used(sites)
        self.n_distances += self.n_rows * len(sites.uids)
        founders = self._grouped.visit(
            *self._groups(sites.centres), self.lam_local, lam_global, self.n_threads, used, labels, sq_dist
        )
        return self._pass_of(labels, sq_dist, np.vstack([sites.centres, self.points(founders)]))

    def pass_of_labels(self, labels: Labels, centres: Floats) -> Pass:
        """The pass that would give these labels."""
        everyone = np.arange(self.n_rows)
        return self._pass_of(labels, self.distances_to_own(everyone, labels, centres), centres)

    def at_nearest_used(self, sites: Sites) -> Pass:
        """Every row with the nearest of the sites that its group uses, whatever it weighs; nothing is opened."""
        found = self.weightless().visit(sites, np.inf)
        return self.pass_of_labels(found.assignment.labels, found.centres)

    def regrouped(self, local: LocalClusters, clusters: Labels, centres: Floats) -> Pass:
        """The pass after each local cluster has gone to one of ``clusters`` (m,); rows of no weight stay."""
        return self.pass_of_labels(local.labels(clusters), centres)

    def local_clusters(self, assignment: Assignment) -> LocalClusters:
        """The parts of clusters that groups have."""
        labels, exists = assignment.labels, np.zeros((self.n_groups, assignment.n_clusters), dtype=bool)
        exists[self.group, labels] = True
        number = np.cumsum(exists.ravel(), dtype=np.int32) - 1
        local = number[self.group * assignment.n_clusters + labels]
        pairs = np.argwhere(exists)
        stats = super().sums_of(local, np.zeros(self.n_rows), len(pairs)).total()
        has_weight = stats.n > 0
        place = np.where(has_weight, np.cumsum(has_weight) - 1, -1).astype(np.int32)
        return LocalClusters(pairs[has_weight], stats.take(has_weight), place[local], labels)

    def sums_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Sums:
        sums = super().sums_of(labels, sq_dist, n_clusters)
        used = self._users(np.arange(self.n_rows), labels, n_clusters)
        return SharedSums(sums.nodes, sums.n, sums.sum, sums.sse, used)

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        chosen, stats = super().choose(rows, pair, pairs)
        return chosen, Stats(stats.n, stats.sum, stats.sse, used=self._users(rows, chosen, len(pairs)))

    def exchange(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least_gain: float
    ) -> Assignment | None:
        """Rows move between the clusters that their groups use, so that no local cluster is opened."""
        labels, rows = assignment.labels, self.counting()
        second, sq_dist = self.seconds(labels, centres, stats.users)
        second, sq_dist = second[rows], sq_dist[rows]
        own, weight, sizes = labels[rows], self.weights(rows), costs.size(stats.n, stats.sum)
        saved = costs.leaving(sizes[own], weight, self.distances_to_own(rows, own, centres))
        could = (second >= 0) & (stats.n[own] > weight)
        joining = np.full(len(rows), np.inf)
        joining[could] = costs.joining(sizes[second[could]], weight[could], sq_dist[could])
        listed = np.flatnonzero(joining < NEARLY * saved)
        moved = self.exchange_listed(rows[listed], second[listed], labels, centres, stats, least_gain)
        return None if moved is None else self.assignment(moved, assignment.n_clusters)

    def nearest(self, sites: Sites) -> Pass:
        return MemoryRows.nearest(self, sites)

    def deletion_costs(self) -> GroupDeletionCosts:
        return GroupDeletionCosts(self)

    def seconds(self, labels: Labels, centres: Floats, used: Used) -> tuple[Labels, Floats]:
        """The nearest site besides its own that each row's group uses, −1 if there is none; its squared distance."""
        second, sq_dist = self._blank()
        mine = np.ascontiguousarray(used.T)
        self._grouped.seconds(*self._groups(centres), self.n_threads, mine, labels, second, sq_dist)
        return second, sq_dist

    def _groups(self, centres: Floats) -> tuple[Any, Index, Index, Floats]:
        """The common first arguments of all passes over groups."""
        return self._rows, self._member, self._begin, np.ascontiguousarray(centres)

    def _used(self, sites: Sites) -> Used:
        """Which sites each group uses, (number of groups, k), a copy; none if the sites come from elsewhere."""
        if sites.used is None:
            return np.zeros((self.n_groups, len(sites.uids)), dtype=np.bool_)
        return np.array(sites.used.T, order="C")

    def _blank(self) -> tuple[Labels, Floats]:
        return np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)

    def _users(self, rows: Index, labels: Labels, n_clusters: int) -> Used:
        """Which groups have rows of positive weight in which cluster, given the labels of some rows."""
        used = np.zeros((n_clusters, self.n_groups), dtype=np.bool_)
        counts = self._counts[rows]
        used[labels[counts], self.group[rows[counts]]] = True
        return used

    def _pass_of(self, labels: Labels, sq_dist: Floats, centres: Floats) -> Pass:
        return self.passed(labels, self.sums_of(labels, sq_dist, len(centres)).total(), centres)


@dataclass(frozen=True)
class SharedSums(Sums):
    """Sums of all rows, and which groups have rows in which cluster."""

    used: Used

    def total(self) -> Stats:
        return Stats(self.n[0], self.sum[0], self.sse[0], used=self.used)


class GroupDeletionCosts:
    """What it costs to delete a global cluster: each group drops it, or uses another one instead."""

    def __init__(self, rows: GroupedRows):
        self._rows = rows

    def update(self, assignment: Assignment, sites: Sites) -> None:
        k = len(sites.uids)
        self._cost, self._successor = np.zeros(k), np.zeros((k, k), dtype=bool)
        self._rows.allot(sites, self._cost, self._successor)

    def costs(self) -> Floats:
        return self._cost

    def neighbours(self) -> sp.csr_array:
        return sp.csr_array(self._successor)
