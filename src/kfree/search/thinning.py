"""Too many clusters brought back to the right number: the least needed die, the rest settles, as long as that pays."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.engines.base import Engine, Index, row_weights
from kfree.search.moves import Settle
from kfree.search.state import Objective, State, recentred
from kfree.stats import Floats

# Of the clusters, this share may die at a time although no single death pays: what it costs is known only when the
# others have settled.
SHARE = 0.05
# Between two steps the clusters settle until a pass gains less than this share of the cost.
ROUGHLY = Settle(1e-4)
# Steps that do not lower the cost before the walk ends.
PATIENCE = 2


class Rivals:
    """For each row a cluster to go to if its own dies; brought up to date only where it must be.

    Any other cluster gives an upper bound on what a death costs, so a rival need not be the nearest for ever.
    """

    def __init__(self, engine: Engine):
        self._engine, self._weight = engine, row_weights(engine)
        self._all = np.arange(engine.n_rows)
        self._own = np.full(engine.n_rows, -1, dtype=np.int64)
        self._uid = np.zeros(engine.n_rows, dtype=np.int64)

    def turn_to(self, state: State) -> None:
        """Take the clusters of ``state``; rows whose cluster has changed or whose rival has died look around."""
        uids = state.sites.uids
        place = np.full(state.sites.next_uid, -1, dtype=np.int32)
        place[uids] = np.arange(len(uids))
        own = uids[state.labels]
        lost = np.flatnonzero((own != self._own) | (place[self._uid] < 0))
        rival, _ = self._engine.rivals(lost, state.labels[lost], state.sites.centres)
        self._uid[lost], self._own = uids[rival], own
        self.labels = place[self._uid]

    def death_costs(self, state: State) -> Floats:
        """What moving all rows of a cluster to their rivals adds to the distances, per cluster; an upper bound."""
        centres, k = state.sites.centres, len(state.stats.n)
        now = self._engine.held(self._all, state.labels, centres)
        then = self._engine.held(self._all, self.labels, centres)
        return np.asarray(np.bincount(state.labels, weights=self._weight * (then - now), minlength=k), dtype=np.float64)

    def neighbours(self, state: State) -> sp.csr_array:
        """(k, k): how many rows of one cluster would go to another."""
        k = len(state.stats.n)
        ones = np.ones(len(self._all), dtype=np.int32)
        return sp.csr_array((ones, (state.labels, self.labels)), shape=(k, k))


def thinned(state: State, engine: Engine, objective: Objective, max_clusters: int | None = None) -> State:
    """The best state with at most ``max_clusters`` on the way down from ``state``."""
    limit = engine.n_rows if max_clusters is None else max_clusters
    best, n_idle, rivals = state, 0, None
    while len(state.stats.n) > 1 and (n_idle < PATIENCE or len(state.stats.n) > limit):
        rivals = rivals or Rivals(engine)
        rivals.turn_to(state)
        dead = independent_deaths(rivals, state, objective.lam, SHARE)
        state = ROUGHLY.start(recentred(state, objective).kept(~dead), engine, objective)
        if state.cost < best.cost or len(best.stats.n) > limit:
            best, n_idle = state, 0
        else:
            n_idle += 1
    return best


def independent_deaths(rivals: Rivals, state: State, lam: float, share: float = 0.0) -> NDArray[np.bool_]:
    """The cheapest clusters, none of which another one's rows would go to.

    All that cost less than ``lam``, and of the others up to ``share`` of the clusters, one at least if share > 0.
    """
    costs, neighbours = rivals.death_costs(state), rivals.neighbours(state)
    dead, needed = np.zeros(len(costs), dtype=bool), np.zeros(len(costs), dtype=bool)
    n_free = int(np.ceil(share * len(costs)))
    for cluster in np.argsort(costs, kind="stable").tolist():
        if costs[cluster] >= lam and dead.sum() >= n_free:
            break
        if not needed[cluster]:
            heirs: Index = neighbours.indices[neighbours.indptr[cluster] : neighbours.indptr[cluster + 1]]
            if not dead[heirs].any():
                dead[cluster], needed[heirs] = True, True
    return dead
