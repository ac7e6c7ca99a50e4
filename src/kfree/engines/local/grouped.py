"""Rows that come in groups, and sites that groups share: each group pays for the sites that it uses."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, GroupStats, Index, Labels, Stats, shared
from kfree.engines.contract import Pass, row_weights
from kfree.engines.local.engine import LocalEngine
from kfree.native.implementations import implementation

Used = NDArray[np.bool_]
# Starting threads would take longer than what they do.
_FEW_ROWS = 4096


@dataclass(frozen=True)
class SharedSites(Sites):
    """Sites and who uses them: ``used`` (k, number of groups). A newborn site is used by nobody yet."""

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


class GroupedEngine(LocalEngine):
    """The engine contract where rows go to the nearest of those sites that their group uses.

    ``group`` (n,) numbers the groups from zero in order of their first rows. Which sites a group uses is its own
    choice, each at the penalty ``lam_local``; a choice that no single change improves. All statistics know who uses
    what.
    """

    def __init__(
        self,
        name: str,
        X: Any,
        group: Index,
        *,
        weight: Floats | None = None,
        frame: Frame | None = None,
        n_threads: int | None = None,
    ):
        passes = implementation(name, "rows")
        n_threads = 1 if X.shape[0] < _FEW_ROWS else n_threads
        super().__init__("native" if name == "auto" else name, passes, X, weight, False, frame, n_threads)
        self._grouped = implementation(name, "groups")
        self.group, self.n_groups = group, int(group.max()) + 1
        self._member: Index = np.argsort(group, kind="stable")
        self._begin: Index = np.searchsorted(group[self._member], np.arange(self.n_groups + 1))
        self._counts = row_weights(self) > 0
        self.lam_local = np.inf

    def penalised(self, lam_local: float) -> GroupedEngine:
        """The same rows where a local cluster costs ``lam_local``."""
        new = copy.copy(self)
        new.lam_local = lam_local
        return new

    def members(self, group: int) -> Index:
        """Rows of a group, in order."""
        return self._member[self._begin[group] : self._begin[group + 1]]

    def among(self, index: Index) -> GroupedEngine:
        weight = None if self.weight is None else self.weight[index]
        group = numbered(self.group[index])[1]
        return GroupedEngine(
            self.name, self._X[index], group, weight=weight, frame=self.frame, n_threads=self._n_threads
        )

    def weightless(self) -> GroupedEngine:
        """The same rows without weight: ``visit`` sends each to the nearest site that its group uses, else of all."""
        weight = np.zeros(self.n_rows)
        return GroupedEngine(self.name, self._X, self.group, weight=weight, frame=self.frame, n_threads=self._n_threads)

    def rows_of(self, group: int) -> LocalEngine:
        """An engine that holds the rows of one group."""
        index = self.members(group)
        weight = None if self.weight is None else self.weight[index]
        return LocalEngine(self.name, self._passes, self._X[index], weight, False, self.frame, 1)

    def nearest(self, sites: Sites) -> Pass:
        if not isinstance(sites, SharedSites):  # nobody has chosen yet
            sites = SharedSites.used_by(sites, np.zeros((len(sites.uids), self.n_groups), dtype=bool))
        return self._allot(sites, None, None)

    def closings(self, sites: SharedSites) -> tuple[Floats, Used]:
        """What the groups would lose with each site (k,), and to which others its rows would go (k, k)."""
        k = len(sites.uids)
        cost, successor = np.zeros(k), np.zeros((k, k), dtype=bool)
        self._allot(sites, cost, successor)
        return cost, successor

    def visit(self, sites: SharedSites, lam_global: float) -> Pass:
        """Step 4 of Algorithm 2 (Kulis & Jordan 2012): row after row, with births where lam_local + lam_global is less.

        What a group begins to use, its later rows may use as well.
        """
        labels, sq_dist = self._blank()
        used = np.ascontiguousarray(sites.used.T)
        founders = self._grouped.visit(
            *self._groups(sites.centres), self.lam_local, lam_global, self._n_threads, used, labels, sq_dist
        )
        centres = np.vstack([sites.centres, self.rows(founders)])
        return Pass(centres, labels, sq_dist, self.stats_of(labels, sq_dist, len(centres)))

    def seconds(self, labels: Labels, centres: Floats, used: Used) -> tuple[Labels, Floats]:
        """The nearest site besides its own that each row's group uses, −1 if there is none; its squared distance."""
        second, sq_dist = self._blank()
        mine = np.ascontiguousarray(used.T)
        self._grouped.seconds(*self._groups(centres), self._n_threads, mine, labels, second, sq_dist)
        return second, sq_dist

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> GroupStats:
        return self._shared(super().stats_of(labels, sq_dist, n_clusters), np.arange(self.n_rows), labels)

    def plain_stats_of(self, labels: Labels, n_clusters: int) -> Stats:
        """Weights and sums alone."""
        return super().stats_of(labels, np.zeros(self.n_rows), n_clusters)

    def choose(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Labels, GroupStats]:
        chosen, stats = super().choose(rows, labels, pairs)
        return chosen, self._shared(stats, rows, chosen)

    def local_clusters(self, labels: Labels, n_clusters: int) -> tuple[Index, Labels]:
        """Local clusters as pairs (m, 2) of a group and a cluster, ordered, and the number of that of each row."""
        exists = np.zeros((self.n_groups, n_clusters), dtype=bool)
        exists[self.group, labels] = True
        number = np.cumsum(exists.ravel(), dtype=np.int32) - 1
        return np.argwhere(exists), number[self.group * n_clusters + labels]

    def _allot(self, sites: SharedSites, cost: Floats | None, successor: Used | None) -> Pass:
        labels, sq_dist = self._blank()
        used = np.ascontiguousarray(sites.used.T)
        self.n_distances += self.n_rows * len(sites.uids)
        out = used, labels, sq_dist, cost, successor
        self._grouped.allot(*self._groups(sites.centres), self.lam_local, self._n_threads, *out)
        return Pass(sites.centres, labels, sq_dist, self.stats_of(labels, sq_dist, len(sites.uids)))

    def _groups(self, centres: Floats) -> tuple[Any, Index, Index, Floats]:
        """What all passes over groups begin with."""
        return self._rows, self._member, self._begin, np.ascontiguousarray(centres)

    def _blank(self) -> tuple[Labels, Floats]:
        return np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)

    def _shared(self, stats: Stats, rows: Index, labels: Labels) -> GroupStats:
        """Statistics of ``rows`` with ``labels``, and which groups they belong to."""
        used = np.zeros((len(stats.n), self.n_groups), dtype=bool)
        counts = self._counts[rows]
        used[labels[counts], self.group[rows[counts]]] = True
        return GroupStats(stats.n, stats.sum, stats.sse, used)
