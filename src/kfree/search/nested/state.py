"""Clusters of clusters in the course of a search: the rows' clusters, the tree above them, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.assignment import Assignment
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Mask, Stats
from kfree.engines.contract import Rows
from kfree.objectives.nested import NestedObjective, Parents, sq_gaps


@dataclass(frozen=True)
class Tree:
    """The parents of all nodes, and the centres ``upper`` of all levels above the finest; finest first."""

    parents: Parents
    upper: tuple[Floats, ...]

    def kept(self, alive: Mask) -> Tree:
        """The tree without some clusters, and without the groups that have lost all of theirs."""
        parents, upper = [], []
        for parent, centres in zip(self.parents, self.upper, strict=True):
            used, own = np.unique(parent[alive], return_inverse=True)
            parents.append(own.astype(np.int32).reshape(-1))
            upper.append(centres[used])
            alive = np.isin(np.arange(len(centres)), used)
        return Tree(tuple(parents), tuple(upper))


@dataclass(frozen=True)
class NestedState:
    """Every row is with its nearest site, each site has a parent, and so on. ``cost`` is J at these centres."""

    sites: Sites
    assignment: Assignment
    stats: Stats
    tree: Tree
    cost: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the finest level."""
        return len(self.stats.n)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of nodes by level, finest first."""
        return self.n_clusters, *map(len, self.tree.upper)

    @property
    def mean(self) -> Floats:
        """Means of the rows of each cluster, (k, d)."""
        return self.stats.sum / self.stats.n[:, None]

    @property
    def scatter(self) -> Floats:
        """SSE of each cluster about its mean, (k,)."""
        return np.maximum(self.stats.sse - self.stats.n * sq_gaps(self.mean, self.sites.centres), 0.0)

    def same_partition(self, later: NestedState) -> bool:
        """Whether ``later`` has the same rows in the same clusters, in the same groups."""
        return (
            self.stats.n.tobytes() == later.stats.n.tobytes()
            and np.array_equal(self.sites.uids, later.sites.uids)
            and len(self.tree.parents) == len(later.tree.parents)
            and all(map(np.array_equal, self.tree.parents, later.tree.parents))
            and np.array_equal(self.assignment.fingerprints, later.assignment.fingerprints)
        )


@dataclass(frozen=True)
class NestedPlan:
    """Clusters and their tree before rows are assigned; ``cost`` is J at these centres, −∞ where only a pass tells."""

    sites: Sites
    tree: Tree
    cost: float


def planned(
    uids: Sites, n: Floats, mean: Floats, scatter: Floats, parents: Parents, objective: NestedObjective
) -> NestedPlan:
    """The best centres of all levels for clusters of this weight, mean and scatter; ``uids`` gives their ids."""
    centres = objective.centres(n, mean, parents)
    cost = objective.cost(scatter + n * sq_gaps(mean, centres[0]), n, centres, parents)
    return NestedPlan(uids.moved(centres[0]), Tree(parents, centres[1:]), cost)


def recentred(state: NestedState, objective: NestedObjective, parents: Parents | None = None) -> NestedPlan:
    """The same clusters with the same parents, or with other ones, at their best centres."""
    parents = state.tree.parents if parents is None else parents
    return planned(state.sites, state.stats.n, state.mean, state.scatter, parents, objective)


def assigned(rows: Rows, objective: NestedObjective, plan: NestedPlan) -> NestedState:
    """Every row to its nearest site. Clusters without weight are deleted; their other rows go to the nearest left."""
    sites, tree = plan.sites, plan.tree
    while True:
        done = rows.nearest(sites)
        alive = done.stats.n > 0
        if alive.all():
            cost = objective.cost(done.stats.sse, done.stats.n, (sites.centres, *tree.upper), tree.parents)
            return NestedState(sites, done.assignment, done.stats, tree, cost)
        sites, tree = sites.kept(alive), tree.kept(alive)
