"""The exact search for clusters of clusters: moves at every level, until none lowers J.

The levels above the finest are the same problem on fewer rows: clusters are rows of weight h at their means. So the
search of a level calls itself for the levels above, on the clusters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Floats, Labels, Stats, totals
from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.local.rows import LocalRows
from kfree.engines.registry import open_local
from kfree.objectives.nested import NestedObjective, Parents, gathered, sq_gaps
from kfree.search.centres.moves import lloyd
from kfree.search.centres.refine import exchange_rows as exchange_flat_rows
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import assigned as assigned_flat
from kfree.search.loop import UNWATCHED, Descent, Watch, descend, no_gain
from kfree.search.nested.moves import (
    Reassign,
    Regroup,
    exchange_rows,
    flat_objective,
    merge_clusters,
    open_clusters,
    split_clusters,
)
from kfree.search.nested.state import NestedState, assigned, planned
from kfree.search.path.best_by_k import BestByK

# Moves that a search of the levels above tries, on few points.
_MOST_MOVES = 300
# A number of nodes to keep, or None where the penalty decides; finest first.
Counts = tuple[int | None, ...]
# A step of the search, on rows anywhere or, where single rows move, on rows in memory.
Move = Callable[[NestedState, Any, NestedObjective], NestedState]


def nested_descent(
    state: NestedState,
    rows: Rows,
    objective: NestedObjective,
    counts: Counts,
    max_iter: int = _MOST_MOVES,
    watch: Watch = UNWATCHED,
    *,
    by_passes: bool = False,
) -> Descent[NestedState]:
    """Descend from ``state``. ``by_passes`` says that rows are streamed, so that moves of single rows are left out."""
    regroup = Regroup(lambda rows, state, objective: _regrouped(rows, state, objective, counts[1:]))
    moves: list[Move] = [Reassign(1e-4 if by_passes else 1e-5), regroup]
    if counts[0] is None:
        moves.append(merge_clusters)
    if not by_passes:
        moves.append(exchange_rows)
    if counts[0] is None and not by_passes:
        moves += [split_clusters, open_clusters]
    moves = [_keeping(move, counts) for move in moves]
    return descend(state, moves, rows, objective, max_iter, no_gain, watch)


def _keeping(move: Move, counts: Counts) -> Move:
    """The move, unless it changes the number of nodes of a level whose number is to stay."""

    def kept(state: NestedState, rows: Rows, objective: NestedObjective) -> NestedState:
        new = move(state, rows, objective)
        numbers = zip(counts, state.numbers, new.numbers, strict=True)
        return state if any(count and before != after for count, before, after in numbers) else new

    return kept


def parents_of(points: LocalRows, objective: NestedObjective, counts: Counts, start: Parents = ()) -> Parents:
    """Groups of weighted points, and the groups above these: from ``start``, or from the best groups of points."""
    first = _flat(points, objective, counts[0], start[0] if start else None)
    if objective.n_levels == 1:
        return (first,)
    rows, weight = _rows(points)
    n, mean = gathered(rows, weight, first)
    above = opened_points(points, objective, n, mean)
    same = bool(start) and np.array_equal(first, start[0])
    parents = parents_of(above, objective.above, counts[1:], start[1:] if same else ())
    scatter = totals(first, weight * sq_gaps(rows, mean[first]), len(mean))
    state = assigned(points, objective, planned(Sites.of(mean), n, mean, scatter, parents, objective))
    state = nested_descent(state, points, objective, counts).state
    return points.labels(state.assignment), *state.tree.parents


def opened_points(rows: Rows, objective: NestedObjective, n: Floats, mean: Floats) -> LocalRows:
    """Clusters as weighted rows of the level above."""
    points, weight = objective.as_points(n, mean)
    return open_local(rows.few_rows_name, points, weight=weight, unit=objective.of_directions)


def best_groups(points: LocalRows, objective: NestedObjective, k: int) -> Labels:
    """The best k groups of points that rising and falling numbers of groups find."""
    flat = flat_objective(objective, 0.0)
    best = BestByK(points, flat)
    best.climb(k)
    sites = Sites.of(points.frame.placed(best.centres(k)))
    labels: Labels = points.labels(points.nearest(sites).assignment)
    return labels


def _regrouped(rows: Rows, state: NestedState, objective: NestedObjective, counts: Counts) -> Parents:
    points = opened_points(rows, objective, state.stats.n, state.mean)
    return parents_of(points, objective.above, counts, state.tree.parents)


def _flat(points: LocalRows, objective: NestedObjective, count: int | None, start: Labels | None) -> Labels:
    """Groups of points without the levels above: a number that stays, or as many as pay their penalty."""
    flat = flat_objective(objective, 0.0 if count else objective.lam)
    if start is None and count:
        return _compact(best_groups(points, objective, count))
    sites = None
    if start is not None:
        n, mean = gathered(*_rows(points), start)
        sites = Sites.of(flat.centres(Stats.of_points(mean, n), previous=mean))
    if count:
        assert sites is not None  # as above
        state = assigned_flat(sites, points, flat)
        state = descend(state, [lloyd, exchange_flat_rows], points, flat, _MOST_MOVES).state
    else:
        budget = Budget(np.random.RandomState(0))
        state = split_merge(points, flat, sites, _MOST_MOVES, None, budget).state
    return _compact(points.labels(state.assignment))


def _compact(labels: Labels) -> Labels:
    """Groups numbered without gaps, in their order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32).reshape(-1)


def _rows(points: MemoryRows) -> tuple[Floats, Floats]:
    """Weighted points, and their weights."""
    assert points.weight is not None  # as it is opened
    return points.rows(np.arange(points.n_rows)), points.weight
