"""The sweep over rows and clusters: the limit of Gibbs sampling in the nested model (after Kulis & Jordan 2012).

Rows are visited in order. A row joins the nearest cluster, or opens one, in the nearest group or with a group of its
own, if that is cheaper: the cluster is there at once for later rows. Then clusters are visited: each joins the group
that is nearest to the mean of its rows, or opens one. Centres of all levels are recomputed after that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.blocks import blocks
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Labels, totals
from kfree.engines.contract import MemoryRows
from kfree.objectives.nested import NestedObjective, Parents, gathered, sq_gaps
from kfree.search.loop import Descent, Watch, descend
from kfree.search.nested.state import NestedPlan, NestedState, Tree, assigned


@dataclass(frozen=True)
class SweptState:
    """Labels after a sweep, and the centres of all levels that are best for them; finest first."""

    labels: Labels
    centres: tuple[Floats, ...]
    parents: Parents
    cost: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the finest level."""
        return len(self.centres[0])

    def same_partition(self, later: SweptState) -> bool:
        """Whether rows are in the same clusters and these in the same groups."""
        return np.array_equal(self.labels, later.labels) and (
            all(map(np.array_equal, self.parents, later.parents)) and self.n_clusters == later.n_clusters
        )


@dataclass
class Nodes:
    """Centres of all levels and the parents of their nodes, which grow during a sweep; finest first."""

    centres: list[Floats]
    parents: list[Labels]

    def nearest(self, points: Floats, level: int) -> tuple[Labels, Floats]:
        """The nearest node of a level to each point, the oldest on ties, and the squared distance."""
        sq_dist = np.stack([sq_gaps(points, centre) for centre in self.centres[level]])
        return sq_dist.argmin(axis=0).astype(np.int32), sq_dist.min(axis=0)

    def open(self, point: Floats, weight: Floats, objective: NestedObjective, level: int = 0) -> int:
        """A new node for a point (1, d) of this weight (1,), in the cheapest parent, which may be new as well."""
        if level == len(self.parents):
            own = objective.pulled(weight, point, point)
        else:
            parent = self.parent_of(point, objective.as_points(weight, point)[1], objective.above, level + 1)
            own = objective.pulled(weight, point, self.centres[level + 1][[parent]])
            self.parents[level] = np.append(self.parents[level], np.int32(parent)).astype(np.int32)
        self.centres[level] = np.vstack([self.centres[level], own])
        return len(self.centres[level]) - 1

    def parent_of(self, point: Floats, weight: Floats, objective: NestedObjective, level: int) -> int:
        """The node of a level that a point of this weight costs least in, which is opened if that is a new one."""
        nearest, sq_dist = self.nearest(point, level)
        beyond = tuple(self.nearest(point, upper)[1] for upper in range(level + 1, len(self.centres)))
        if weight[0] * sq_dist[0] <= objective.opening_cost(weight, beyond)[0]:
            return int(nearest[0])
        return self.open(point, weight, objective, level)


def swept(rows: MemoryRows, objective: NestedObjective, max_iter: int, watch: Watch) -> Descent[NestedState]:
    """Sweeps from one node at every level until nothing changes; then every row goes to its nearest centre."""
    points: MemoryRows = rows.among(np.arange(rows.n_rows))
    n_above = objective.n_levels - 1
    start = _after(np.zeros(rows.n_rows, dtype=np.int32), (np.zeros(1, dtype=np.int32),) * n_above, points, objective)
    descent = descend(start, [_sweep], points, objective, max_iter, None, watch)
    found = descent.state
    plan = NestedPlan(Sites.of(found.centres[0]), Tree(found.parents, found.centres[1:]), found.cost)
    state = assigned(rows, objective, plan)
    history = [cost for cost in descent.cost_history if cost > state.cost]
    return Descent(state, [*history, state.cost], descent.n_iter, descent.converged)


def _sweep(state: SweptState, points: MemoryRows, objective: NestedObjective) -> SweptState:
    """Rows, then clusters, then the groups of each level; centres of all levels are recomputed after that."""
    nodes = Nodes(list(state.centres), [parent.copy() for parent in state.parents])
    labels = _visited(points, nodes, objective)
    rows, weight, level_objective = points.rows(np.arange(points.n_rows)), points.row_weights(), objective
    own = labels
    for level in range(len(nodes.parents)):
        n, mean = gathered(rows, weight, own, len(nodes.centres[level]))
        rows, weight = level_objective.as_points(np.where(n > 0, n, 1.0), mean)
        weight = np.where(n > 0, weight, 0.0)
        level_objective = level_objective.above
        for node in np.flatnonzero(n > 0):
            parent = nodes.parent_of(rows[[node]], weight[[node]], level_objective, level + 1)
            nodes.parents[level][node] = parent
        own = nodes.parents[level]
    return _after(labels, tuple(nodes.parents), points, objective)


def _visited(points: MemoryRows, nodes: Nodes, objective: NestedObjective) -> Labels:
    """The cluster of each row, visited in order; those that pay for it open one."""
    labels, weight = np.empty(points.n_rows, dtype=np.int32), points.row_weights()
    for places in blocks(points.n_rows, points.n_features):
        rows, w = points.rows(np.arange(places.start, places.stop)), weight[places]
        own, sq_dist = nodes.nearest(rows, 0)
        begin = 0
        while begin < len(rows):
            rest = slice(begin, None)
            beyond = tuple(nodes.nearest(rows[rest], level)[1] for level in range(1, len(nodes.centres)))
            opens = np.flatnonzero(w[rest] * sq_dist[rest] > objective.opening_cost(w[rest], beyond))
            if not len(opens):
                break
            founder = begin + int(opens[0])
            own[founder] = nodes.open(rows[[founder]], w[[founder]], objective)
            begin = founder + 1
            new = sq_gaps(rows[begin:], nodes.centres[0][-1])
            own[begin:] = np.where(new < sq_dist[begin:], own[founder], own[begin:])
            sq_dist[begin:] = np.minimum(new, sq_dist[begin:])
        labels[places] = own
    return labels


def _after(labels: Labels, parents: Parents, points: MemoryRows, objective: NestedObjective) -> SweptState:
    """The state of these labels, without empty clusters and groups, at the best centres of all levels."""
    rows, weight = points.rows(np.arange(points.n_rows)), points.row_weights()
    n_clusters = len(parents[0]) if parents else int(labels.max()) + 1
    n, mean = gathered(rows, weight, labels, n_clusters)
    alive = n > 0
    tree = Tree(parents, tuple(np.zeros((int(parent.max()) + 1, 0)) for parent in parents)).kept(alive)
    place = np.where(alive, np.cumsum(alive) - 1, 0).astype(np.int32)
    scatter = totals(labels, weight * sq_gaps(rows, mean[labels]), n_clusters)
    n, mean, scatter = n[alive], mean[alive], scatter[alive]
    centres = objective.centres(n, mean, tree.parents)
    cost = objective.cost(scatter + n * sq_gaps(mean, centres[0]), n, centres, tree.parents)
    return SweptState(place[labels], centres, tree.parents, cost)
