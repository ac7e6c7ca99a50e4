"""Clusterings with exactly k clusters, also where no penalty makes this number the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.bisection import bisect
from kfree.search.centres.moves import Move
from kfree.search.centres.refine import CONVERGE, exchange_rows
from kfree.search.centres.split_merge import Budget
from kfree.search.centres.state import State, after_merges, recentred
from kfree.search.loop import Descent, descend, no_gain


def crossing(fewer: State, more: State) -> float:
    """The penalty at which two states with different numbers of clusters cost the same."""
    return (fewer.inertia - more.inertia) / (more.n_clusters - fewer.n_clusters)


def with_exactly(
    k: int,
    near: Sequence[State],
    rows: MemoryRows,
    objective: DPMeansObjective,
    max_iter: int,
    budget: Budget,
) -> Descent[State]:
    """The best clustering with k clusters that is found from states with about as many; no move changes k.

    It has another number only where clusters cannot be split, as with too few distinct rows.
    """
    # A state that cannot be split stays as it is, and its cost is that of the penalty it was found at.
    priced = [replace(state, cost=objective.cost(state.stats)) for state in near]
    starts = [with_number(k, state, rows, objective) for state in priced]
    best = min(starts, key=lambda state: (abs(state.n_clusters - k), state.cost))
    moves: list[Move] = [CONVERGE, exchange_rows, relocate]
    return descend(best, moves, rows, objective, max_iter, no_gain, budget)


def relocate(state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """Split the cluster that gains most, then merge the cheapest pair."""
    more = _split(state, 1, rows, objective)
    if more is None or more.n_clusters != state.n_clusters + 1:
        return state
    new = _merged(more, 1, rows, objective)
    return new if new.n_clusters == state.n_clusters else state


def with_number(k: int, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
    """k clusters: the cheapest pairs are merged, or the clusters split that gain most, and k-means follows."""
    for _ in range(2 * abs(state.n_clusters - k)):
        n_found = state.n_clusters
        if n_found == k:
            break
        at_once = max(1, abs(n_found - k) // 2)
        new = (_merged if n_found > k else _split)(state, at_once, rows, objective)
        if new is None:
            break
        state = new
    return state


def _merged(state: State, n_merges: int, rows: MemoryRows, objective: DPMeansObjective) -> State:
    merges = agglomerate(state.stats, objective)
    sites = after_merges(state, merges.pairs[:n_merges], merges.costs[:n_merges], objective)
    return CONVERGE.start(sites, rows, objective)


def _split(state: State, n_splits: int, rows: MemoryRows, objective: DPMeansObjective) -> State | None:
    halves = bisect(state, rows, objective)
    by_gain = np.argsort(-halves.gain, kind="stable")[: np.count_nonzero(halves.gain > 0)]
    if not len(by_gain):
        return None
    return CONVERGE.start(halves.divided(recentred(state, objective), np.sort(by_gain[:n_splits])), rows, objective)
