"""Moves on clusters of clusters. Statistics of clusters decide; a pass over the rows follows a move that pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats, Index, Stats, means
from kfree.engines.contract import MemoryRows, Rows
from kfree.objectives.dp_means import OBJECTIVES, DPMeansObjective
from kfree.objectives.nested import NestedObjective, Parents, sq_gaps
from kfree.search.centres.bisection import bisect
from kfree.search.centres.state import State
from kfree.search.loop import LEAST_GAIN
from kfree.search.nested.state import NestedPlan, NestedState, Tree, assigned, planned, recentred

# Passes end when one gains less than this share of the cost.
_NEARLY = 1e-5
# Rows that are tried as clusters of their own, each with a pass.
_MOST_TRIED = 8
# From a state, its rows and its objective to other parents of its clusters.
Grouping = Callable[[Rows, NestedState, NestedObjective], Parents]


@dataclass(frozen=True)
class Reassign:
    """Rows to their nearest centres, and all centres to where J is lowest, until a pass gains no more than that."""

    least_gain: float = _NEARLY

    def __call__(self, state: NestedState, rows: Rows, objective: NestedObjective) -> NestedState:
        while True:
            new = assigned(rows, objective, recentred(state, objective))
            if not new.cost < (1.0 - self.least_gain) * state.cost:
                return new if new.cost <= state.cost else state
            state = new


@dataclass(frozen=True)
class Regroup:
    """Clusters change groups, and groups are merged, split, opened and closed, by a search on the clusters alone."""

    grouping: Grouping

    def __call__(self, state: NestedState, rows: Rows, objective: NestedObjective) -> NestedState:
        if objective.n_levels == 1:
            return state
        parents = self.grouping(rows, state, objective)
        return if_cheaper(state, recentred(state, objective, parents), rows, objective)


def merge_clusters(state: NestedState, rows: Rows, objective: NestedObjective) -> NestedState:
    """Pairs of clusters become one, in the group of either, if that lowers J: first all that pay, else the best."""
    pairs = _paying_pairs(state, objective)
    for chosen in (pairs, pairs[:1]):
        if chosen:
            new = if_cheaper(state, _merged(state, chosen, objective), rows, objective)
            if new is not state:
                return new
    return state


def _paying_pairs(state: NestedState, objective: NestedObjective) -> list[tuple[int, int]]:
    """Pairs (a, b) of which b takes the rows of a, the largest gain first, each cluster at most once."""
    n, mean, k = state.stats.n, state.mean, state.n_clusters
    parent = _parents_centres(state)
    saved = np.zeros((k, k))
    if state.tree.parents:  # a group that is left empty
        group = state.tree.parents[0]
        alone = np.bincount(group)[group] == 1
        saved = np.where(alone[:, None] & (group[:, None] != group), objective.penalties[1], 0.0)
    delta = np.array([objective.merge_deltas(n, mean, parent, a) for a in range(k)]) - saved
    np.fill_diagonal(delta, np.inf)
    taken: set[int] = set()
    pairs = []
    for place in np.argsort(delta, axis=None, kind="stable")[: np.count_nonzero(delta < 0)]:
        a, b = divmod(int(place), k)
        if a not in taken and b not in taken:
            taken |= {a, b}
            pairs.append((a, b))
    return pairs


def _merged(state: NestedState, pairs: list[tuple[int, int]], objective: NestedObjective) -> NestedPlan:
    target = np.arange(state.n_clusters)
    for a, b in pairs:
        target[a] = b
    alive = target == np.arange(len(target))
    n, total = np.zeros(len(target)), np.zeros_like(state.stats.sum)
    np.add.at(n, target, state.stats.n)
    np.add.at(total, target, state.stats.sum)
    mean = means(total, n)
    scatter = np.bincount(target, state.scatter + state.stats.n * sq_gaps(state.mean, mean[target]), len(target))
    tree = state.tree.kept(alive)
    return planned(state.sites.kept(alive), n[alive], mean[alive], scatter[alive], tree.parents, objective)


def split_clusters(state: NestedState, rows: MemoryRows, objective: NestedObjective) -> NestedState:
    """Clusters are split in two, both halves in the same group, if that lowers J: all that pay, else the best."""
    flat = flat_objective(objective, objective.lam)
    whole = State(state.sites, state.assignment, state.stats, state.cost, settled=True)
    halves = bisect(whole, rows, flat)
    if not len(halves.clusters) or not (halves.gain > 0).any():
        return state
    gain = _gains(state, halves.clusters, halves.stats, halves.centres, objective)
    order = np.argsort(-gain, kind="stable")[: np.count_nonzero((gain > 0) & (halves.gain > 0))]
    for chosen in (np.sort(order), order[:1]):
        if len(chosen):
            plan = _divided(state, halves.clusters[chosen], chosen, halves.stats, halves.centres, objective)
            new = if_cheaper(state, plan, rows, objective)
            if new is not state:
                return new
    return state


def _gains(state: NestedState, clusters: Index, halves: Stats, centres: Floats, objective: NestedObjective) -> Floats:
    """What splitting each cluster saves, with the centres of the groups where they are; −inf for an empty half."""
    parent = _parents_centres(state)[clusters]
    n, scatter, mean = _about_means(halves, centres)
    nodes = scatter + objective.node_costs(np.where(n > 0, n, 1.0), mean, np.repeat(parent, 2, axis=0))
    whole = state.scatter[clusters] + objective.node_costs(state.stats.n[clusters], state.mean[clusters], parent)
    in_two = (n[0::2] > 0) & (n[1::2] > 0)
    return np.where(in_two, whole - nodes[0::2] - nodes[1::2] - objective.lam, -np.inf)


def _divided(
    state: NestedState, clusters: Index, chosen: Index, halves: Stats, centres: Floats, objective: NestedObjective
) -> NestedPlan:
    """The first half takes the place of its cluster, and the second comes after all others."""
    n, scatter, mean = _about_means(halves, centres)
    all_n, all_mean, all_scatter = state.stats.n.copy(), state.mean, state.scatter
    for own, new in ((all_n, n), (all_mean, mean), (all_scatter, scatter)):
        own[clusters] = new[2 * chosen]
    seconds = 2 * chosen + 1
    parents = state.tree.parents
    if parents:
        parents = (np.concatenate([parents[0], parents[0][clusters]]), *parents[1:])
    every_mean = np.vstack([all_mean, mean[seconds]])
    n_all, scatters = np.concatenate([all_n, n[seconds]]), np.concatenate([all_scatter, scatter[seconds]])
    return planned(state.sites.born(every_mean), n_all, every_mean, scatters, parents, objective)


def exchange_rows(state: NestedState, rows: MemoryRows, objective: NestedObjective) -> NestedState:
    """Single rows move to where they cost least, and both centres follow (Hartigan 1975).

    A cluster that is pulled to ν with p is one that has a further row of weight p there, which never moves. By rows, p
    changes with every row, so that J decides about all moves together.
    """
    if state.n_clusters < 2:
        return state
    flat, held = flat_objective(objective, objective.lam), _with_pull(state, recentred(state, objective), objective)
    centres = flat.centres(held, previous=state.sites.centres)
    moved = rows.exchange(state.assignment, centres, held, flat.row_costs, LEAST_GAIN * state.cost)
    if moved is None:
        return state
    stats = rows.sums(moved)
    alive = stats.n > 0
    tree, sites = state.tree.kept(alive), state.sites.kept(alive)
    best = objective.centres(stats.n[alive], stats.sum[alive] / stats.n[alive, None], tree.parents)
    plan = NestedPlan(sites.moved(best[0]), Tree(tree.parents, best[1:]), -np.inf)
    return if_cheaper(state, plan, rows, objective)


def open_clusters(state: NestedState, rows: MemoryRows, objective: NestedObjective) -> NestedState:
    """A row opens a cluster, in the nearest group or with one of its own: at most one row of each cluster at a time."""
    flat, centred = flat_objective(objective, objective.lam), recentred(state, objective)
    held = _with_pull(state, centred, objective)
    centres = flat.centres(held, previous=state.sites.centres)
    picks = rows.best_departures(state.assignment, centres, held, flat.row_costs, objective.lam)
    for point in picks.points[:_MOST_TRIED]:
        new = if_cheaper(state, _opened(centred, point, objective), rows, objective)
        if new is not state:
            return new
    return state


def _opened(plan: NestedPlan, point: Floats, objective: NestedObjective) -> NestedPlan:
    """A new cluster at a row, with as many new levels above it as are cheaper than the nearest that exist.

    The row's weight is that of one row here: J decides after a pass.
    """
    sites = plan.sites.born(np.vstack([plan.sites.centres, point]))
    parents, upper = list(plan.tree.parents), list(plan.tree.upper)
    weight, level = np.ones(1), objective
    for height, centres in enumerate(plan.tree.upper):
        sq_dists = tuple(np.array([sq_gaps(above, point).min()]) for above in plan.tree.upper[height:])
        _, h = level.as_points(weight, point[None, :])
        joins = h[0] * sq_dists[0][0] <= level.above.opening_cost(h, sq_dists[1:])[0]
        chosen = int(sq_gaps(centres, point).argmin()) if joins else len(centres)
        parents[height] = np.append(parents[height], np.int32(chosen)).astype(np.int32)
        if joins:
            break
        upper[height] = np.vstack([centres, point])
        weight, level = h, level.above
    return NestedPlan(sites, Tree(tuple(parents), tuple(upper)), -np.inf)


def if_cheaper(state: NestedState, plan: NestedPlan, rows: Rows, objective: NestedObjective) -> NestedState:
    """The plan with all rows assigned, if that costs less than ``state`` by more than rounding."""
    limit = (1.0 - LEAST_GAIN) * state.cost
    if not plan.cost < limit:
        return state
    new = assigned(rows, objective, plan)
    return new if new.cost < limit else state


def flat_objective(objective: NestedObjective, lam: float) -> DPMeansObjective:
    """The DP-means objective of one level."""
    return OBJECTIVES["cosine" if objective.of_directions else "euclidean"](lam)


def _with_pull(state: NestedState, plan: NestedPlan, objective: NestedObjective) -> Stats:
    """Statistics in which each cluster also holds a row of weight p at the centre of its group in ``plan``."""
    p = objective.pulls(state.stats.n)
    return Stats(state.stats.n + p, state.stats.sum + p[:, None] * _parents_centres(plan), state.stats.sse)


def _parents_centres(state: NestedState | NestedPlan) -> Floats:
    """The centre of each cluster's group, (k, d); where there are no groups, the cluster's own."""
    if not state.tree.parents:
        return state.sites.centres
    return state.tree.upper[0][state.tree.parents[0]]


def _about_means(stats: Stats, sites: Floats) -> tuple[Floats, Floats, Floats]:
    """Weight, scatter and mean of clusters, whose statistics are about ``sites``."""
    mean = stats.mean
    return stats.n, np.maximum(stats.sse - stats.n * sq_gaps(mean, sites), 0.0), mean
