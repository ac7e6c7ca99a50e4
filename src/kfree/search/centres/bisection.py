"""Clusters cut in two, all of them at once: along the principal axis, then 2-means to convergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfree.core.sites import Sites
from kfree.core.spaces import Space
from kfree.core.stats import Floats, Index, Labels, Stats, totals
from kfree.engines.contract import Engine
from kfree.search.centres.state import SplitMergeObjective, State

# Rounds of power iteration. The axis is a place to start from; 2-means finds the halves.
AXIS_ROUNDS = 8


@dataclass(frozen=True)
class Halves:
    """The two halves of some clusters: cluster ``clusters[p]`` (m,) falls into 2p and 2p + 1.

    ``stats`` (2m,) is about ``centres`` (2m, d), and ``sides`` names the half of each of ``rows``, all rows of the
    clusters. ``gain`` (m,) is what two halves cost less than the whole, without the penalty of the new cluster.
    """

    clusters: Index
    centres: Floats
    stats: Stats
    gain: Floats
    rows: Index
    sides: Labels

    def divided(self, sites: Sites, chosen: Index) -> Sites:
        """Sites in which the ``chosen`` clusters, places in ``clusters``, keep one half; the other half is newborn."""
        centres = sites.centres.copy()
        centres[self.clusters[chosen]] = self.centres[2 * chosen]
        return sites.moved(centres).born(np.vstack([centres, self.centres[2 * chosen + 1]]))

    def cut(self, state: State, chosen: Index, objective: SplitMergeObjective) -> State:
        """The state in which the ``chosen`` clusters have fallen apart and no other row has moved."""
        whole, n_before = self.clusters[chosen], len(state.stats.n)
        stats = state.stats.copy()
        stats.put(whole, self.stats.take(2 * chosen))
        stats = stats.followed_by(self.stats.take(2 * chosen + 1))
        newborn = np.full(len(self.clusters), -1)
        newborn[chosen] = np.arange(n_before, n_before + len(chosen))
        labels = state.labels.copy()
        leaves = (self.sides % 2 == 1) & (newborn[self.sides // 2] >= 0)
        labels[self.rows[leaves]] = newborn[self.sides[leaves] // 2]
        return State(self.divided(state.sites, chosen), labels, stats, objective.cost(stats), settled=False)


def halve(
    state: State,
    engine: Engine,
    objective: SplitMergeObjective,
    wanted: NDArray[np.bool_] | None = None,
    restless: float = 0.0,
) -> Halves:
    """Cut every cluster of ``state``, or those that are ``wanted`` (k,), in two.

    2-means goes on in a cluster as long as more than the share ``restless`` of its rows change sides.
    """
    has_weight = state.stats.n > 0
    clusters = np.flatnonzero(has_weight if wanted is None else has_weight & wanted)
    place = np.full(len(has_weight), -1, dtype=np.int32)
    place[clusters] = np.arange(len(clusters))
    rows = np.flatnonzero(place[state.labels] >= 0)
    labels = place[state.labels[rows]]
    # Also where centres are directions: rows fall on both sides of their mean, but not of a point that is far off.
    means = state.stats.sum[clusters] / state.stats.n[clusters, None]
    cost = objective.least_cost(state.stats, state.sites.centres)[clusters]
    axis = _principal_axes(rows, labels, means, np.sqrt(cost / state.stats.n[clusters]), engine, objective.space)
    centres, stats, sides = _two_means(rows, labels, _pairs(means, axis), engine, objective, restless)
    in_two = (stats.n[0::2] > 0) & (stats.n[1::2] > 0)
    halves_cost = objective.least_cost(stats, centres)
    gain = np.where(in_two, cost - halves_cost[0::2] - halves_cost[1::2], 0.0)
    return Halves(clusters, centres, stats, gain, rows, sides)


def _principal_axes(rows: Index, labels: Labels, means: Floats, radius: Floats, engine: Engine, space: Space) -> Floats:
    """The direction in which each cluster is widest, as long as ``radius``; by power iteration.

    The squared distances to mean − axis and mean + axis differ by 4·axis·(z − mean), so that ``scatter_product`` is a
    multiplication with the scatter matrix, which nobody ever stores.
    """
    axis = _scaled(np.tile(engine.generic_axis(), (len(means), 1)), radius, space)
    for _ in range(AXIS_ROUNDS):
        with np.errstate(over="ignore", invalid="ignore"):
            mass, moment = engine.scatter_product(rows, labels, _pairs(means, axis))
            turned = moment - mass[:, None] * means
        # A moment is of the third power of the rows, which may be no number where the cost still is one.
        known = np.isfinite(turned).all(axis=1, keepdims=True)
        axis = np.where(known, _scaled(np.where(known, turned, 0.0), radius, space), axis)
    return axis


def _two_means(
    rows: Index, labels: Labels, pairs: Floats, engine: Engine, objective: SplitMergeObjective, restless: float
) -> tuple[Floats, Stats, Labels]:
    """K-means within every cluster, from two sites each; a cluster in which hardly a row changes sides is left alone.

    So is one whose cost no longer falls: with rounding, rows could change sides for ever. Rows of no weight change
    sides unnoticed. Returns the sites that the rows were last held against, statistics about those, and the rows'
    sides.
    """
    sides, stats = engine.choose(rows, labels, pairs)
    counts = np.ones(len(rows)) if engine.weight is None else np.sign(engine.weight[rows])
    n_rows = totals(labels, counts, len(pairs) // 2)
    moving, cost = np.arange(len(rows)), stats.sse[0::2] + stats.sse[1::2]
    while len(moving):
        both = _both(labels[moving], len(n_rows))
        pairs = np.where(both[:, None], objective.centres(stats, previous=pairs), pairs)
        chosen, found = engine.choose(rows[moving], labels[moving], pairs)
        stats.put(both, found.take(both))
        changed = moving[chosen != sides[moving]]
        n_changed = totals(labels[changed], counts[changed], len(n_rows))
        sides[moving] = chosen
        before, cost = cost, stats.sse[0::2] + stats.sse[1::2]
        moving = moving[((n_changed > restless * n_rows) & (cost < before))[labels[moving]]]
    return pairs, stats, sides


def _both(labels: Labels, n_pairs: int) -> NDArray[np.bool_]:
    """Whether a half belongs to a cluster that occurs in ``labels``."""
    occurs = np.zeros(n_pairs, dtype=bool)
    occurs[labels] = True
    return np.repeat(occurs, 2)


def _pairs(centres: Floats, axis: Floats) -> Floats:
    """Sites 2p and 2p + 1 on both sides of the p-th centre."""
    return np.stack([centres + axis, centres - axis], axis=1).reshape(-1, centres.shape[1])


def _scaled(axis: Floats, length: Floats, space: Space) -> Floats:
    # A moment is of the third power of the rows, whose square might not be a number any more.
    largest = np.abs(axis).max(axis=1, keepdims=True)
    axis = axis / np.where(largest > 0, largest, 1.0)
    norm = np.sqrt(space.sq_norms(axis))
    return axis * (length / np.where(norm > 0, norm, 1.0))[:, None]
