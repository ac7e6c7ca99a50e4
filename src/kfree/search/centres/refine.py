"""Single moves on J: the change of J is known in closed form, or bounded, and a move is made only if it lowers J.

They work on the statistics of clusters and on the rows of those concerned. A move that changed something is followed by
a few iterations of k-means; the loop decides when to converge fully.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.bisection import bisect
from kfree.search.centres.moves import Converge
from kfree.search.centres.pruning import independent_deaths
from kfree.search.centres.state import State, after_merges, assigned, occupied_at, recentred
from kfree.search.loop import LEAST_GAIN

# K-means stops when a pass gains less than this share of the cost.
CONVERGE = Converge(1e-5)
# Rounds of exchanges with fresh candidates; the loop comes back if there is more to gain.
MOST_ROUNDS = 100


def exchange_rows(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """Rows move to the cluster where they cost least, with the shift of both centres included (Hartigan 1975).

    delta = w·n_b/(n_b + w)·d_b² − w·n_a/(n_a − w)·d_a². No row can then be nearer to another centre either.
    """
    if state.n_clusters < 2:
        return state
    assignment, stats = state.assignment, state.stats
    centres = objective.centres(stats, previous=state.sites.centres)
    for _ in range(MOST_ROUNDS):
        moved = rows.exchange(assignment, centres, stats, objective.row_costs, LEAST_GAIN * state.cost)
        if moved is None:
            break
        assignment, stats = moved, rows.sums(moved)
        centres = objective.centres(stats, previous=centres)
    if assignment is state.assignment:
        return state
    sites = state.sites.moved(centres)
    return occupied_at(sites, rows, objective)


def exchanged(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """``exchange_rows`` with all rows compared with all clusters, which takes few passes: for few rows.

    There are several clusters, and none is empty.
    """
    counting, centres = rows.counting(), objective.centres(state.stats, previous=state.sites.centres)
    others = np.full(len(counting), -1, dtype=np.int32)
    gain = LEAST_GAIN * state.cost
    labels = rows.exchange_listed(counting, others, state.assignment.labels, centres, state.stats, gain)
    if labels is not None:
        stats = rows.sums(rows.assignment(labels, len(centres)))
        centres = objective.centres(stats, previous=centres)
    sites = state.sites.moved(centres)
    return assigned(sites, rows, objective)


def merge_clusters(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """Merge the cheapest pairs: delta = n_a·n_b/(n_a + n_b)·‖μ_a − μ_b‖² − lam."""
    near = _near_enough(state, rows, objective)
    merges = agglomerate(state.stats.take(near), objective, below=objective.lam)
    if not len(merges.pairs):
        return state
    return CONVERGE.start(after_merges(state, near[merges.pairs], merges.costs, objective), rows, objective)


def _near_enough(state: State, rows: MemoryRows, objective: DPMeansObjective) -> Index:
    """Clusters that have any other so near that merging with the smallest one there would lower J."""
    if state.n_clusters < 2:
        return np.arange(state.n_clusters)
    sizes = objective.sizes(state.stats)
    centres = objective.centres(state.stats, previous=state.sites.centres)
    least = sizes * sizes.min() / (sizes + sizes.min()) * rows.gaps(centres)
    return np.flatnonzero(least < objective.most_saved_by_merging(state.stats))


def delete_clusters(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """Remove a cluster; its rows join their second-nearest centres: delta ≤ Σ w·(second − nearest squared distance) −
    lam."""
    if state.n_clusters < 2:
        return state
    costs = rows.deletion_costs()
    costs.update(state.assignment, state.sites)
    dead = independent_deaths(costs, objective.lam)
    if not dead.any():
        return state
    return CONVERGE.start(recentred(state, objective).kept(~dead), rows, objective)


@dataclass(frozen=True)
class Split:
    """Split a cluster: delta = lam − (SSE − SSE of its halves after 2-means)."""

    max_clusters: int | None = None

    def __call__(self, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
        bisections = bisect(state, rows, objective)
        pays = _highest(bisections.gain, objective.lam)
        chosen = pays[: _room(state, self.max_clusters)]
        if not len(chosen):
            return _refusing(state, pays)
        return CONVERGE.start(bisections.divided(recentred(state, objective), np.sort(chosen)), rows, objective)


@dataclass(frozen=True)
class Birth:
    """Open a cluster at a row: delta = birth_penalty − w·n_a/(n_a − w)·d_a². One row per cluster at a time."""

    max_clusters: int | None = None

    def __call__(self, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
        centres = objective.centres(state.stats, previous=state.sites.centres)
        pays = rows.best_departures(
            state.assignment, centres, state.stats, objective.row_costs, objective.birth_penalty
        )
        founders = pays.points[: _room(state, self.max_clusters)]
        if not len(founders):
            return _refusing(state, pays.row)
        sites = recentred(state, objective)
        return CONVERGE.start(sites.born(np.vstack([sites.centres, founders])), rows, objective)


def _highest(gain: Floats, penalty: float) -> Index:
    """Where the gain exceeds the penalty, the highest first."""
    pays = np.flatnonzero(gain > penalty)
    return pays[np.argsort(-gain[pays], kind="stable")]


def _room(state: State, max_clusters: int | None) -> int | None:
    return None if max_clusters is None else max(max_clusters - state.n_clusters, 0)


def _refusing(state: State, pays: Index) -> State:
    return replace(state, was_full=True) if len(pays) and not state.was_full else state
