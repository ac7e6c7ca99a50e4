"""Pruning: remove the clusters whose removal costs least and iterate k-means, while that lowers the cost."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Index, Mask
from kfree.engines.contract import MemoryRows
from kfree.engines.moves import DeletionCosts
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import Converge
from kfree.search.centres.state import State, recentred
from kfree.search.loop import UNWATCHED, Watch

# This share of the clusters may be removed at a time although no single removal lowers J: its cost is known only after
# k-means on the others.
SHARE = 0.05
# Between two steps k-means iterates until a pass gains less than this share of the cost.
ROUGHLY = Converge(1e-4)
# Number of steps in a row that fail to lower the cost before pruning stops.
PATIENCE = 2


def pruned(
    state: State,
    rows: MemoryRows,
    objective: DPMeansObjective,
    max_clusters: int | None = None,
    watch: Watch = UNWATCHED,
    share: float = SHARE,
) -> State:
    """The best state with at most ``max_clusters`` found while pruning ``state``, up to ``share`` of them at a time.

    Where ``watch`` says that a search may not go on, it ends as soon as the limit is kept.
    """
    limit = rows.n_rows if max_clusters is None else max_clusters
    best, n_idle, costs = state, 0, None
    while state.n_clusters > 1 and ((n_idle < PATIENCE and watch.may_go_on()) or state.n_clusters > limit):
        costs = costs or rows.deletion_costs()
        costs.update(state.assignment, state.sites)
        dead = independent_deaths(costs, objective.lam, share)
        state = ROUGHLY.start(recentred(state, objective).kept(~dead), rows, objective)
        if state.cost < best.cost or best.n_clusters > limit:
            best, n_idle = state, 0
        else:
            n_idle += 1
    return best


def independent_deaths(deletion: DeletionCosts, lam: float, share: float = 0.0) -> Mask:
    """The cheapest clusters, none of which another one's rows would go to.

    All that cost less than ``lam``, and of the others up to ``share`` of the clusters, one at least if share > 0.
    """
    costs, neighbours = deletion.costs(), deletion.neighbours()
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
