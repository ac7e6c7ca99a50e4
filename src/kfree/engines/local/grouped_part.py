"""The part contract for rows in groups, with a penalty for each site that a group uses."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats, Used
from kfree.engines.contract import Assignment
from kfree.engines.in_memory.exchange import NEARLY
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import PartExchange, Partial, Whole


class LocalPenalty(Protocol):
    """What a group pays for each site that it uses; an objective says so."""

    @property
    def lam_local(self) -> float: ...


class GroupedPart(LocalPart):
    """The part contract where rows go to the nearest of those sites that their group uses.

    ``group`` (n,) numbers the groups from zero in order of their first rows. Which sites a group uses is its own
    choice, each at the penalty of a local cluster; a choice that no single change improves. All statistics contain
    which group uses which site.
    """

    def __init__(
        self,
        passes: ModuleType,
        grouped: ModuleType,
        X: ArrayOrCSR,
        group: Index,
        weight: Floats | None,
        frame: Frame,
        n_threads: int | None,
    ):
        self._counter = [0]
        super().__init__(passes, X, weight, frame, n_threads)
        self.group, self.n_groups = group, int(group.max()) + 1
        self.grouped = grouped
        self._penalties: LocalPenalty | None = None
        self._member: Index = np.argsort(group, kind="stable")
        self._begin: Index = np.searchsorted(group[self._member], np.arange(self.n_groups + 1))
        self._counts = self.weights(np.arange(self.n_rows)) > 0

    @property
    def n_distances(self) -> int:
        return self._counter[0]

    @n_distances.setter
    def n_distances(self, number: int) -> None:
        self._counter[0] = number

    @property
    def lam_local(self) -> float:
        return np.inf if self._penalties is None else self._penalties.lam_local

    def penalised(self, penalties: LocalPenalty) -> GroupedPart:
        """The same rows, and one count of distances, where a local cluster costs what ``penalties`` say."""
        part = copy.copy(self)
        part._penalties = penalties
        return part

    def members(self, group: int) -> Index:
        """Rows of a group, in order."""
        return self._member[self._begin[group] : self._begin[group + 1]]

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Partial, NDArray[np.bool_] | None]:
        labels, sq_dist = self.allot(sites, None, None)
        return labels, sq_dist, self.stats_of(labels, sq_dist, len(sites.uids)), None

    def allot(self, sites: Sites, cost: Floats | None, successor: Used | None) -> tuple[Labels, Floats]:
        """Every group chooses the sites that it uses.

        out ``cost`` (k,): the cost for the groups of removing each site; ``successor`` (k, k): where its rows would go.
        """
        labels, sq_dist = self._blank()
        used = self._used(sites)
        self.n_distances += self.n_rows * len(sites.uids)
        out = used, labels, sq_dist, cost, successor
        self.grouped.allot(*self._groups(sites.centres), self.lam_local, self.n_threads, *out)
        return labels, sq_dist

    def visit(self, sites: Sites, lam_global: float) -> tuple[Labels, Floats, Floats]:
        """Labels, squared distances, and the centres with the newborn after the old ones."""
        labels, sq_dist = self._blank()
        used = self._used(sites)
        self.n_distances += self.n_rows * len(sites.uids)
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
        second, sq_dist = self.seconds(labels, centres, stats.used)
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

    def _used(self, sites: Sites) -> Used:
        """Which sites each group uses, (number of groups, k), a copy; none if the sites come from elsewhere."""
        if not sites.used.shape[1]:
            return np.zeros((self.n_groups, len(sites.uids)), dtype=np.bool_)
        return np.array(sites.used.T, order="C")

    def _blank(self) -> tuple[Labels, Floats]:
        return np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)

    def _shared(self, stats: Stats, rows: Index, labels: Labels) -> Stats:
        """Statistics of ``rows`` with ``labels``, and which groups they belong to."""
        used = np.zeros((len(stats.n), self.n_groups), dtype=np.bool_)
        counts = self._counts[rows]
        used[labels[counts], self.group[rows[counts]]] = True
        return Stats(stats.n, stats.sum, stats.sse, used=used)


class GroupClosings:
    """What it costs to close a global cluster: each group drops it, or uses another one instead."""

    def __init__(self, part: GroupedPart):
        self._part = part

    def turn_to(self, assignment: Assignment, sites: Sites) -> None:
        k = len(sites.uids)
        self._cost, self._successor = np.zeros(k), np.zeros((k, k), dtype=bool)
        self._part.allot(sites, self._cost, self._successor)

    def costs(self) -> Floats:
        return self._cost

    def neighbours(self) -> sp.csr_array:
        return sp.csr_array(self._successor)
