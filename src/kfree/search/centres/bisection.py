"""Bisection of clusters, all in parallel: along the principal axis, then 2-means to convergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.sites import Sites
from kfree.core.spaces import Space
from kfree.core.stats import Floats, Index, Mask, Stats
from kfree.engines.contract import MemoryRows
from kfree.engines.moves import Bisection
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import State

# Rounds of power iteration. The axis is a place to start from; 2-means finds the two halves.
AXIS_ROUNDS = 8


@dataclass(frozen=True)
class Bisections:
    """The two halves of some clusters: cluster ``clusters[p]`` (m,) is split into 2p and 2p + 1.

    ``stats`` (2m,) is about ``centres`` (2m, d), and ``sides`` holds the half of each row. ``gain`` (m,) is the
    decrease of cost by the split, without the penalty of the new cluster.
    """

    clusters: Index
    centres: Floats
    stats: Stats
    gain: Floats
    sides: Bisection

    def divided(self, sites: Sites, chosen: Index) -> Sites:
        """Sites in which the ``chosen`` clusters, places in ``clusters``, keep one half; the other half is newborn."""
        centres = sites.centres.copy()
        centres[self.clusters[chosen]] = self.centres[2 * chosen]
        return sites.moved(centres).born(np.vstack([centres, self.centres[2 * chosen + 1]]))

    def cut(self, state: State, chosen: Index, objective: DPMeansObjective) -> State:
        """The state in which the ``chosen`` clusters are split and no other row has moved."""
        whole, n_before = self.clusters[chosen], state.n_clusters
        stats = state.stats.copy()
        stats.put(whole, self.stats.take(2 * chosen))
        stats = stats.followed_by(self.stats.take(2 * chosen + 1))
        newborn = np.full(len(self.clusters), -1, dtype=np.int32)
        newborn[chosen] = np.arange(n_before, n_before + len(chosen))
        sites, assignment = self.divided(state.sites, chosen), self.sides.divided(newborn)
        return State(sites, assignment, stats, objective.cost(stats), settled=False)


def bisect(
    state: State,
    rows: MemoryRows,
    objective: DPMeansObjective,
    wanted: Mask | None = None,
    restless: float = 0.0,
) -> Bisections:
    """Split every cluster of ``state``, or those that are ``wanted`` (k,), in two.

    2-means continues in a cluster while more than the share ``restless`` of its rows change sides.
    """
    has_weight = state.stats.n > 0
    clusters = np.flatnonzero(has_weight if wanted is None else has_weight & wanted)
    place = np.full(len(has_weight), -1, dtype=np.int32)
    place[clusters] = np.arange(len(clusters))
    sides = rows.bisection(state.assignment, place, len(clusters))
    # Also where centres are directions: rows fall on both sides of their mean, but not of a point that is far off.
    means = state.stats.sum[clusters] / state.stats.n[clusters, None]
    cost = objective.least_cost(state.stats, state.sites.centres)[clusters]
    axis = _principal_axes(sides, means, _radius(cost, state.stats.n[clusters]), rows, objective)
    centres, stats = _two_means(sides, _pairs(means, axis), objective, restless)
    in_two = (stats.n[0::2] > 0) & (stats.n[1::2] > 0)
    halves_cost = objective.least_cost(stats, centres)
    gain = np.where(in_two, cost - halves_cost[0::2] - halves_cost[1::2], 0.0)
    return Bisections(clusters, centres, stats, gain, sides)


def _radius(cost: Floats, n: Floats) -> Floats:
    """√(cost / n), also where the quotient overflows because weights are tiny."""
    with np.errstate(over="ignore"):
        radius = np.sqrt(cost / n)
    return np.where(np.isinf(radius), np.sqrt(cost) / np.sqrt(n), radius)


def _principal_axes(
    sides: Bisection, means: Floats, radius: Floats, rows: MemoryRows, objective: DPMeansObjective
) -> Floats:
    """The direction in which each cluster is widest, as long as ``radius``; by power iteration.

    The squared distances to mean − axis and mean + axis differ by 4·axis·(z − mean), so that ``scatter_product`` is a
    multiplication with the scatter matrix. Lengths are in units of the ``reach`` of the objective, since a radius is
    the root of a cost.
    """
    space, reach = objective.space, objective.reach(means)
    unit = np.where(reach > 0, reach, np.inf)
    axis = _scaled(np.tile(rows.generic_axis(), (len(means), 1)), radius, space) * reach
    for _ in range(AXIS_ROUNDS):
        with np.errstate(over="ignore", invalid="ignore"):
            mass, moment = sides.scatter_product(_pairs(means, axis))
            turned = moment - mass[:, None] * means
        # A moment has the third power of the rows, which may overflow or underflow where the cost does not.
        known = np.isfinite(turned).all(axis=1, keepdims=True) & turned.any(axis=1, keepdims=True)
        axis = np.where(known, _scaled(np.where(known, turned, 0.0) / unit, radius, space) * reach, axis)
    return axis


def _two_means(sides: Bisection, pairs: Floats, objective: DPMeansObjective, restless: float) -> tuple[Floats, Stats]:
    """K-means within every cluster, from two sites each; a cluster in which few rows change sides is not iterated
    further.

    So is one whose cost no longer falls: with rounding, rows could change sides without end. The function returns the
    sites that the rows were last assigned to, and statistics about those.
    """
    active = np.ones(len(pairs) // 2, dtype=bool)
    stats, _ = sides.choose(pairs, active)
    cost = _of_both(stats)
    while active.any():
        both = np.repeat(active, 2)
        pairs = np.where(both[:, None], objective.centres(stats, previous=pairs), pairs)
        found, n_changed = sides.choose(pairs, active)
        stats.put(both, found.take(both))
        before, cost = cost, _of_both(stats)
        active &= (n_changed > restless * sides.n_rows) & (cost < before)
    return pairs, stats


def _of_both(stats: Stats) -> Floats:
    """The costs of sites 2p and 2p + 1 together; infinite if that overflows."""
    with np.errstate(over="ignore"):
        return stats.sse[0::2] + stats.sse[1::2]


def _pairs(centres: Floats, axis: Floats) -> Floats:
    """Sites 2p and 2p + 1 on both sides of the p-th centre."""
    return np.stack([centres + axis, centres - axis], axis=1).reshape(-1, centres.shape[1])


def _scaled(axis: Floats, length: Floats, space: Space) -> Floats:
    # A moment has the third power of the rows, whose square may overflow.
    largest = np.abs(axis).max(axis=1, keepdims=True)
    axis = axis / np.where(largest > 0, largest, 1.0)
    norm = np.sqrt(space.sq_norms(axis))
    return axis * (length / np.where(norm > 0, norm, 1.0))[:, None]
