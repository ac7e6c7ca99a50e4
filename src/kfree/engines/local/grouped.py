"""Rows in groups, and sites shared by groups, with a penalty for each site that a group uses.

Groups never straddle parts; all groups are in one part here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.stats import Floats, GroupStats, Index, Labels, Stats, shared, totals
from kfree.engines.contract import Assignment, Pass
from kfree.engines.in_memory.exchange import NEARLY
from kfree.engines.local.engine import LocalEngine, open_parts
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import PartExchange, Partial, Whole
from kfree.native.implementations import implementation

Used = NDArray[np.bool_]
# Starting threads would take longer than the work.
_FEW_ROWS = 4096


@dataclass(frozen=True)
class SharedSites(Sites):
    """Sites and the groups that use them: ``used`` (k, number of groups). No group uses a newborn site yet."""

    used: Used

    @classmethod
    def used_by(cls, sites: Sites, used: Used) -> SharedSites:
        return cls(sites.centres, sites.uids, sites.next_uid, used)

    def moved(self, centres: Floats) -> SharedSites:
        return replace(self, centres=centres)

    def kept(self, keep: NDArray[np.bool_]) -> SharedSites:
        return SharedSites.used_by(super().kept(keep), self.used[keep])

    def born(self, centres: Floats) -> SharedSites:
        used = np.zeros((len(centres), self.used.shape[1]), dtype=bool)
        used[: len(self.used)] = self.used
        return SharedSites.used_by(super().born(centres), used)

    def after(self, centres: Floats, stats: Stats) -> SharedSites:
        return SharedSites.used_by(super().after(centres, stats), shared(stats).used)


def numbered(names: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """Distinct names in order of their first appearance, and the number of each name among them."""
    distinct, first, number = np.unique(names, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    place = np.empty(len(distinct), dtype=np.int64)
    place[by_appearance] = np.arange(len(distinct))
    return distinct[by_appearance], place[number]


class GroupedPart(LocalPart):
    """The part contract where rows go to the nearest of those sites that their group uses.

    ``group`` (n,) numbers the groups from zero in order of their first rows. Which sites a group uses is its own
    choice, each at the penalty ``lam_local``; a choice that no single change improves. All statistics contain which
    group uses which site.
    """

    def __init__(
        self,
        passes: Any,
        grouped: Any,
        X: Any,
        group: Index,
        weight: Floats | None,
        frame: Frame,
        n_threads: int | None,
    ):
        super().__init__(passes, X, weight, frame, n_threads)
        self.group, self.n_groups = group, int(group.max()) + 1
        self.grouped, self.lam_local = grouped, np.inf
        self._member: Index = np.argsort(group, kind="stable")
        self._begin: Index = np.searchsorted(group[self._member], np.arange(self.n_groups + 1))
        self._counts = self.weights(np.arange(self.n_rows)) > 0

    def members(self, group: int) -> Index:
        """Rows of a group, in order."""
        return self._member[self._begin[group] : self._begin[group + 1]]

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Partial, NDArray[np.bool_] | None]:
        if not isinstance(sites, SharedSites):  # no group has chosen yet
            sites = SharedSites.used_by(sites, np.zeros((len(sites.uids), self.n_groups), dtype=bool))
        labels, sq_dist = self.allot(sites, None, None)
        return labels, sq_dist, self.stats_of(labels, sq_dist, len(sites.uids)), None

    def allot(self, sites: SharedSites, cost: Floats | None, successor: Used | None) -> tuple[Labels, Floats]:
        """Every group chooses the sites that it uses.

        out ``cost`` (k,): the cost for the groups of removing each site; ``successor`` (k, k): where its rows would go.
        """
        labels, sq_dist = self._blank()
        used = np.ascontiguousarray(sites.used.T)
        self.n_distances += self.n_rows * len(sites.uids)
        out = used, labels, sq_dist, cost, successor
        self.grouped.allot(*self._groups(sites.centres), self.lam_local, self.n_threads, *out)
        return labels, sq_dist

    def visit(self, sites: SharedSites, lam_global: float) -> tuple[Labels, Floats, Floats]:
        """Labels, squared distances, and the centres with the newborn after the old ones."""
        labels, sq_dist = self._blank()
        used = np.ascontiguousarray(sites.used.T)
        founders = self.grouped.visit(
            *self._groups(sites.centres), self.lam_local, lam_global, self.n_threads, used, labels, sq_dist
        )
        return labels, sq_dist, np.vstack([sites.centres, self.points(founders)])

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Partial:
        stats = super().stats_of(labels, sq_dist, n_clusters).total()
        return Whole(self._shared(stats, np.arange(self.n_rows), labels))

    def plain_sums(self, labels: Labels, n_clusters: int) -> Stats:
        """Weights and sums alone."""
        return super().stats_of(labels, np.zeros(self.n_rows), n_clusters).total()

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Partial]:
        chosen, partial = super().choose(rows, pair, pairs)
        return chosen, Whole(self._shared(partial.total(), rows, chosen))

    def exchange(
        self,
        labels: Labels,
        centres: Floats,
        stats: Stats,
        costs: type[RowCosts],
        least_gain: float,
        max_weight: float,
    ) -> PartExchange:
        """Rows move between the clusters that their groups use, so that no local cluster is opened."""
        second, sq_dist = self.seconds(labels, centres, shared(stats).used)
        rows = self.counting()
        own, weight, sizes = labels[rows], self.weights(rows), costs.size(stats.n, stats.sum)
        second, sq_dist = second[rows], sq_dist[rows]
        saved = costs.leaving(sizes[own], weight, self.distances_to_own(rows, own, centres))
        could = (second >= 0) & (stats.n[own] > weight)
        joining = np.full(len(rows), np.inf)
        joining[could] = costs.joining(sizes[second[could]], weight[could], sq_dist[could])
        listed = np.flatnonzero(joining < NEARLY * saved)
        return self.exchange_of(rows[listed], second[listed], labels, centres, stats, least_gain)

    def seconds(self, labels: Labels, centres: Floats, used: Used) -> tuple[Labels, Floats]:
        """The nearest site besides its own that each row's group uses, −1 if there is none; its squared distance."""
        second, sq_dist = self._blank()
        mine = np.ascontiguousarray(used.T)
        self.grouped.seconds(*self._groups(centres), self.n_threads, mine, labels, second, sq_dist)
        return second, sq_dist

    def local_clusters(self, labels: Labels, n_clusters: int) -> tuple[Index, Labels]:
        """Local clusters as pairs (m, 2) of a group and a cluster, ordered, and the number of that of each row."""
        exists = np.zeros((self.n_groups, n_clusters), dtype=bool)
        exists[self.group, labels] = True
        number = np.cumsum(exists.ravel(), dtype=np.int32) - 1
        return np.argwhere(exists), number[self.group * n_clusters + labels]

    def _groups(self, centres: Floats) -> tuple[Any, Index, Index, Floats]:
        """The common first arguments of all passes over groups."""
        return self._rows, self._member, self._begin, np.ascontiguousarray(centres)

    def _blank(self) -> tuple[Labels, Floats]:
        return np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)

    def _shared(self, stats: Stats, rows: Index, labels: Labels) -> GroupStats:
        """Statistics of ``rows`` with ``labels``, and which groups they belong to."""
        used = np.zeros((len(stats.n), self.n_groups), dtype=bool)
        counts = self._counts[rows]
        used[labels[counts], self.group[rows[counts]]] = True
        return GroupStats(stats.n, stats.sum, stats.sse, used)


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


class GroupClosings:
    """What it costs to close a global cluster: each group drops it, or uses another one instead."""

    def __init__(self, part: GroupedPart):
        self._part = part

    def turn_to(self, assignment: Assignment, sites: Sites) -> None:
        k = len(sites.uids)
        assert isinstance(sites, SharedSites)  # a search over groups carries who uses them
        self._cost, self._successor = np.zeros(k), np.zeros((k, k), dtype=bool)
        self._part.allot(sites, self._cost, self._successor)

    def costs(self) -> Floats:
        return self._cost

    def neighbours(self) -> sp.csr_array:
        return sp.csr_array(self._successor)


class GroupedEngine(LocalEngine):
    """The engine contract for rows in groups, and passes for groups only."""

    def __init__(self, name: str, part: GroupedPart):
        super().__init__(name, part)
        self._part: GroupedPart = part
        self.group, self.n_groups = part.group, part.n_groups

    @classmethod
    def open(
        cls,
        name: str,
        X: Any,
        group: Index,
        *,
        weight: Floats | None = None,
        frame: Frame | None = None,
        n_threads: int | None = None,
    ) -> GroupedEngine:
        """Give validated rows, and the number of each row's group, to the engine called ``name``."""
        passes, grouped = implementation(name, "rows"), implementation(name, "groups")
        n_threads = 1 if X.shape[0] < _FEW_ROWS else n_threads
        frame = frame or open_parts(name, passes, X, weight, False, None, n_threads, [0]).frame
        part = GroupedPart(passes, grouped, X, group, weight, frame, n_threads)
        return cls("native" if name == "auto" else name, part)

    def penalised(self, lam_local: float) -> GroupedEngine:
        """The same rows where a local cluster costs ``lam_local``."""
        part = copy.copy(self._part)
        part.lam_local = lam_local
        return GroupedEngine(self.name, part)

    def group_weights(self) -> Floats:
        """The total weight of each group."""
        return totals(self.group, self._part.weights(np.arange(self.n_rows)), self.n_groups)

    def among(self, index: Index) -> GroupedEngine:
        part = self._part
        X, weight = part.copied(index)
        group = numbered(self.group[index])[1]
        new = GroupedPart(part.passes, part.grouped, X, group, weight, self.frame, part.n_threads)
        return GroupedEngine(self.name, new)

    def weightless(self) -> GroupedEngine:
        """The same rows without weight: ``visit`` sends each to the nearest site that its group uses, else of all."""
        part, weight = self._part, np.zeros(self.n_rows)
        new = GroupedPart(part.passes, part.grouped, part.X, self.group, weight, self.frame, part.n_threads)
        return GroupedEngine(self.name, new)

    def rows_of(self, group: int) -> LocalEngine:
        """An engine that holds the rows of one group."""
        X, weight = self._part.copied(self._part.members(group))
        return LocalEngine(self.name, LocalPart(self._part.passes, X, weight, self.frame, 1))

    def sampled_groups(self, size: int, rng: np.random.RandomState) -> GroupedEngine:
        """Groups drawn at random until they have ``size`` rows, a tenth of that from one group at most.

        The engine itself if it has no more rows.
        """
        if self.n_rows <= size:
            return self
        chosen: list[Index] = []
        for group in rng.permutation(self.n_groups):
            rows = self._part.members(group)
            few = rows if len(rows) <= size // 10 else np.sort(rng.choice(rows, size // 10, replace=False))
            chosen.append(few)
            if sum(map(len, chosen)) >= size:
                break
        return self.among(np.concatenate(chosen))

    def closings(self) -> GroupClosings:
        return GroupClosings(self._part)

    def visit(self, sites: SharedSites, lam_global: float) -> Pass:
        """Step 4 of Algorithm 2 (Kulis & Jordan 2012): row after row, with births where lam_local + lam_global is less.

        Later rows of a group may use a site that the group has begun to use.
        """
        labels, sq_dist, centres = self._part.visit(sites, lam_global)
        return self._pass(labels, sq_dist, centres)

    def labelled(self, labels: Labels, centres: Floats) -> Pass:
        """The pass that would give these labels."""
        everyone = np.arange(self.n_rows)
        return self._pass(labels, self._part.distances_to_own(everyone, labels, centres), centres)

    def local_clusters(self, assignment: Assignment) -> LocalClusters:
        (labels,) = assignment.handles
        pairs, local = self._part.local_clusters(labels, assignment.n_clusters)
        stats = self._part.plain_sums(local, len(pairs))
        has_weight = stats.n > 0
        place = np.where(has_weight, np.cumsum(has_weight) - 1, -1).astype(np.int32)
        return LocalClusters(pairs[has_weight], stats.take(has_weight), place[local], labels)

    def _pass(self, labels: Labels, sq_dist: Floats, centres: Floats) -> Pass:
        stats = self._part.stats_of(labels, sq_dist, len(centres)).total()
        return Pass(centres, self.assignment([labels], len(centres)), stats)
