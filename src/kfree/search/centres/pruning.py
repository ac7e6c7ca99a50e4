"""Too many clusters brought back to the right number: the least needed die, the rest settles, as long as that pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index
from kfree.engines.contract import Engine, row_weights, rows_that_count
from kfree.search.centres.moves import Converge
from kfree.search.centres.state import Objective, State, recentred
from kfree.search.loop import Clock, always

# Of the clusters, this share may die at a time although no single death pays: what it costs is known only when the
# others have settled.
SHARE = 0.05
# Between two steps the clusters settle until a pass gains less than this share of the cost.
ROUGHLY = Converge(1e-4)
# Steps that do not lower the cost before the walk ends.
PATIENCE = 2


class Deaths(Protocol):
    """What the death of each cluster would cost."""

    def turn_to(self, state: State) -> None:
        """Take the clusters of ``state``."""

    def death_costs(self) -> Floats:
        """What it adds to the cost of ``state`` if one cluster dies, its own penalty aside; an upper bound, (k,)."""

    def neighbours(self) -> sp.csr_array:
        """(k, k): not zero where rows of one cluster would go to another."""


DeathCounter = Callable[[Engine], Deaths]


class SecondNearest:
    """For each row a cluster to go to if its own dies; brought up to date only where it must be.

    Any other cluster gives an upper bound on what a death costs, so a rival need not be the nearest for ever.
    """

    def __init__(self, engine: Engine):
        self._engine, self._rows = engine, rows_that_count(engine)
        self._weight = row_weights(engine)[self._rows]
        self._own = np.full(len(self._rows), -1, dtype=np.int64)
        self._uid = np.zeros(len(self._rows), dtype=np.int64)

    def turn_to(self, state: State) -> None:
        """Take the clusters of ``state``; rows whose cluster has changed or whose rival has died look around."""
        uids, labels = state.sites.uids, state.labels[self._rows]
        place = np.full(state.sites.next_uid, -1, dtype=np.int32)
        place[uids] = np.arange(len(uids))
        lost = np.flatnonzero((uids[labels] != self._own) | (place[self._uid] < 0))
        rival, _ = self._engine.second_nearest(self._rows[lost], labels[lost], state.sites.centres)
        self._uid[lost], self._own = uids[rival], uids[labels]
        self._labels, self._rivals, self._centres = labels, place[self._uid], state.sites.centres

    def death_costs(self) -> Floats:
        """What moving all rows of a cluster to their second-nearest centres adds; an upper bound, (k,)."""
        now = self._engine.distances_to_own(self._rows, self._labels, self._centres)
        then = self._engine.distances_to_own(self._rows, self._rivals, self._centres)
        costs = np.bincount(self._labels, weights=self._weight * (then - now), minlength=len(self._centres))
        return np.asarray(costs, dtype=np.float64)

    def neighbours(self) -> sp.csr_array:
        """(k, k): how many rows of one cluster would go to another."""
        k, ones = len(self._centres), np.ones(len(self._rows), dtype=np.int32)
        return sp.csr_array((ones, (self._labels, self._rivals)), shape=(k, k))


def pruned(
    state: State,
    engine: Engine,
    objective: Objective,
    max_clusters: int | None = None,
    deaths: DeathCounter = SecondNearest,
    in_time: Clock = always,
) -> State:
    """The best state with at most ``max_clusters`` on the way down from ``state``.

    Out of time, it ends as soon as the limit is kept.
    """
    limit = engine.n_rows if max_clusters is None else max_clusters
    best, n_idle, second_nearest = state, 0, None
    while len(state.stats.n) > 1 and ((n_idle < PATIENCE and in_time()) or len(state.stats.n) > limit):
        second_nearest = second_nearest or deaths(engine)
        second_nearest.turn_to(state)
        dead = independent_deaths(second_nearest, objective.lam, SHARE)
        state = ROUGHLY.start(recentred(state, objective).kept(~dead), engine, objective)
        if state.cost < best.cost or len(best.stats.n) > limit:
            best, n_idle = state, 0
        else:
            n_idle += 1
    return best


def independent_deaths(second_nearest: Deaths, lam: float, share: float = 0.0) -> NDArray[np.bool_]:
    """The cheapest clusters, none of which another one's rows would go to.

    All that cost less than ``lam``, and of the others up to ``share`` of the clusters, one at least if share > 0.
    """
    costs, neighbours = second_nearest.death_costs(), second_nearest.neighbours()
    dead, needed = np.zeros(len(costs), dtype=bool), np.zeros(len(costs), dtype=bool)
    n_free = int(np.ceil(share * len(costs)))
    for cluster in np.argsort(costs, kind="stable").tolist():
        if costs[cluster] >= lam and dead.sum() >= n_free:
            break
        if not needed[cluster]:
            successors: Index = neighbours.indices[neighbours.indptr[cluster] : neighbours.indptr[cluster + 1]]
            if not dead[successors].any():
                dead[cluster], needed[successors] = True, True
    return dead
