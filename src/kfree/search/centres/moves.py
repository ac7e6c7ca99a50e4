"""Moves: each takes a state to one that costs no more. The loop decides whether to go there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Index, Stats
from kfree.engines.contract import MemoryRows, Rows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import State, assigned, at_means, occupied, recentred, state_of

# A step of a search; a move that finds nothing to do returns the state that it was given.
Move = Callable[[State, MemoryRows, DPMeansObjective], State]


@dataclass(frozen=True)
class Sweep:
    """One sweep of DP-means (Kulis & Jordan 2012, Algorithm 1).

    Means are recomputed, then rows are visited in ``order`` (None: as given); a row farther than √lam from every centre
    opens a cluster immediately. No cluster is opened beyond ``max_clusters``.
    """

    order: Index | None = None
    max_clusters: int | None = None

    def __call__(self, state: State, rows: Rows, objective: DPMeansObjective) -> State:
        return self.start(recentred(state, objective), rows, objective)

    def start(self, sites: Sites, rows: Rows, objective: DPMeansObjective) -> State:
        """The sweep from given sites."""
        room = rows.n_rows if self.max_clusters is None else max(self.max_clusters - len(sites.uids), 0)
        return state_of(sites, rows.sweep(sites, objective.lam, self.order, room), objective)


def lloyd(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """One iteration of k-means, which keeps k: empty clusters are moved to the rows that lie farthest off."""
    stats = state.stats
    if (stats.n > 0).all():
        rows.expect_means()
    else:
        stats = _relocated(state, rows)
    return assigned(at_means(state.sites, stats, objective), rows, objective)


@dataclass(frozen=True)
class Converge:
    """K-means without a fixed k, until a pass gains no more than ``least_gain`` of the cost; empty clusters are
    removed."""

    least_gain: float = 0.0

    def __call__(self, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
        new = self.start(recentred(state, objective), rows, objective)
        return new if new.cost < (1.0 - self.least_gain) * state.cost else state

    def start(self, sites: Sites, rows: MemoryRows, objective: DPMeansObjective) -> State:
        """K-means from given sites."""
        state = assigned(sites, rows, objective)
        while True:
            if (state.stats.n > 0).all():
                rows.expect_means()
            new = assigned(recentred(state, objective), rows, objective)
            if not new.cost < (1.0 - self.least_gain) * state.cost:
                return occupied(new if new.cost <= state.cost else state, rows, objective)
            state = new


def _relocated(state: State, rows: MemoryRows) -> Stats:
    """Weights and sums after each empty cluster took the farthest row that is not alone in its cluster.

    With fewer distinct rows than clusters nothing is left to take, and some stay empty.
    """
    left, empty = state.stats.n.copy(), np.flatnonzero(state.stats.n == 0)
    # At most one row per cluster is not available.
    row, cluster, weight = rows.farthest(state.assignment, state.sites.centres, len(empty) + len(left))
    taken: list[int] = []
    for place in range(len(row)):
        if len(taken) == len(empty):
            break
        if left[cluster[place]] > weight[place]:
            left[cluster[place]] -= weight[place]
            taken.append(place)
    filled = empty[: len(taken)]
    changed = np.union1d(filled, cluster[taken])
    some = rows.sums_among(rows.moved(state.assignment, row[taken], filled), changed)
    n = state.stats.n.copy()
    n[changed] = some.n
    if (n > 0).all():
        rows.expect_means((changed, some))  # before sums are copied, which takes long where there are millions
    sums = state.stats.sum.copy()
    sums[changed] = some.sum
    return Stats(n, sums, np.zeros(len(n)))
