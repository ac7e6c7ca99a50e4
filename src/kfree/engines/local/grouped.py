"""Rows in groups, and sites shared by groups, with a penalty for each site that a group uses.

Groups never straddle parts; all groups are in one part here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats, totals
from kfree.engines.contract import Assignment, Pass
from kfree.engines.local.engine import LocalEngine, open_parts
from kfree.engines.local.grouped_part import GroupClosings, GroupedPart, LocalPenalty
from kfree.engines.local.part import LocalPart
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
        X: ArrayOrCSR,
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

    def penalised(self, penalties: LocalPenalty) -> GroupedEngine:
        """The same rows where a local cluster costs what ``penalties`` say."""
        return GroupedEngine(self.name, self._part.penalised(penalties))

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

    def visit(self, sites: Sites, lam_global: float) -> Pass:
        """Step 4 of Algorithm 2 (Kulis & Jordan 2012): row after row, with births where lam_local + lam_global is less.

        Later rows of a group may use a site that the group has begun to use.
        """
        labels, sq_dist, centres = self._part.visit(sites, lam_global)
        return self._pass(labels, sq_dist, centres)

    def labelled(self, labels: Labels, centres: Floats) -> Pass:
        """The pass that would give these labels."""
        everyone = np.arange(self.n_rows)
        return self._pass(labels, self._part.distances_to_own(everyone, labels, centres), centres)

    def settled(self, sites: Sites) -> Pass:
        """Every row with the nearest of the sites that its group uses, whatever it weighs; nothing is opened."""
        found = self.weightless().visit(sites, np.inf)
        (labels,) = found.assignment.handles
        return self.labelled(labels, found.centres)

    def regrouped(self, local: LocalClusters, clusters: Labels, centres: Floats) -> Pass:
        """The pass after each local cluster has gone to one of ``clusters`` (m,); rows of no weight stay."""
        return self.labelled(local.labels(clusters), centres)

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
