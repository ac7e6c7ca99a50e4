"""Single moves on J: each has its exact effect in closed form, or a bound on it, and is made only if that is a gain.

They work on the statistics of clusters and on the rows of those concerned. Each that found something lets the clusters
settle roughly; the loop decides when they settle for good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import Engine, row_weights, rows_that_count
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.bisection import halve
from kfree.search.centres.moves import Converge
from kfree.search.centres.pruning import DeathCounter, SecondNearest, independent_deaths
from kfree.search.centres.state import SplitMergeObjective, State, occupied, recentred, state_of

# What a move must gain, as a share of the cost, to be more than rounding.
LEAST_GAIN = 1e-12
# How far clusters settle, at first and after a move that changed their number.
CONVERGE = Converge(1e-5)
# Rows that could come into question while others move: those for which another cluster costs at most this much more.
NEARLY = 1.1
# Rounds of exchanges with fresh candidates; the loop comes back if there is more to gain.
MOST_ROUNDS = 100
# Clusters that weigh less than this many rows are easy to move.
SMALL = 20.0


@dataclass(frozen=True)
class Exchange:
    """Rows go where they cost least, counting what that does to both centres (Hartigan 1975).

    delta = w·n_b/(n_b + w)·d_b² − w·n_a/(n_a − w)·d_a². No row can then be nearer to another centre either.
    """

    def __call__(self, state: State, engine: Engine, objective: SplitMergeObjective) -> State:
        if len(state.stats.n) < 2:
            return state
        labels, stats = state.labels, state.stats
        centres = objective.centres(stats, previous=state.sites.centres)
        rows, least_gain = rows_that_count(engine), LEAST_GAIN * state.cost
        for _ in range(MOST_ROUNDS):
            listed, others = self._candidates(rows, labels[rows], centres, stats, engine, objective)
            moved = engine.exchange(listed, others, labels, centres, stats, least_gain)
            if np.array_equal(moved, labels):
                break
            labels = moved
            stats = engine.stats_of(labels, np.zeros(engine.n_rows), len(centres))
            centres = objective.centres(stats, previous=centres)
        if labels is state.labels:
            return state
        sites = state.sites.moved(centres)
        return occupied(state_of(sites, engine.nearest(sites), objective), engine, objective)

    @staticmethod
    def _candidates(
        rows: Index, labels: Labels, centres: Floats, stats: Stats, engine: Engine, objective: SplitMergeObjective
    ) -> tuple[Index, Labels]:
        """Those of ``rows`` that may gain by a move, and where to: −1 for those that must look at all clusters."""
        weight, sizes = row_weights(engine)[rows], objective.sizes(stats)
        rival, sq_dist = engine.second_nearest(rows, labels, centres)
        saved = objective.row_costs.leaving(sizes[labels], weight, engine.distances_to_own(rows, labels, centres))
        # Joining a cluster of size n costs at least w·n/(n + w)·d², so a small one may be cheaper than the nearest.
        small = np.flatnonzero(sizes < SMALL * weight.max())
        least = _joining(max(sizes.min(), SMALL * weight.max()), weight) * sq_dist
        if len(small):
            least = np.minimum(
                least, _joining(sizes[small].min(), weight) * _to_nearest(small, rows, labels, centres, engine)
            )
        listed = np.flatnonzero((stats.n[labels] > weight) & (least < NEARLY * saved))
        return rows[listed], np.where(least[listed] < saved[listed], -1, rival[listed]).astype(np.int32)


def _joining(size: float, weight: Floats) -> Floats:
    return weight * size / (size + weight)


def _to_nearest(some: Index, rows: Index, labels: Labels, centres: Floats, engine: Engine) -> Floats:
    """The squared distance of each row to the nearest of ``some`` clusters, its own aside."""
    nobody = len(some)
    place = np.full(len(centres), nobody, dtype=np.int32)
    place[some] = np.arange(nobody)
    _, sq_dist = engine.second_nearest(rows, place[labels], np.vstack([centres[some], centres[some[:1]]]))
    # A cluster that is alone among them has been held against the stand-in for nobody.
    return np.where((place[labels] < nobody) & (nobody == 1), np.inf, sq_dist)


@dataclass(frozen=True)
class Merge:
    """The cheapest pairs become one: delta = n_a·n_b/(n_a + n_b)·‖μ_a − μ_b‖² − lam."""

    def __call__(self, state: State, engine: Engine, objective: SplitMergeObjective) -> State:
        near = self._near_enough(state, engine, objective)
        merges = agglomerate(state.stats.take(near), objective, below=objective.lam)
        if not len(merges.pairs):
            return state
        stats, alive = state.stats.copy(), np.ones(len(state.stats.n), dtype=bool)
        for (a, b), cost in zip(near[merges.pairs], merges.costs, strict=True):
            stats.absorb(a, b, cost)
            alive[b] = False
        sites = state.sites.moved(objective.centres(stats, previous=state.sites.centres)).kept(alive)
        return CONVERGE.start(sites, engine, objective)

    @staticmethod
    def _near_enough(state: State, engine: Engine, objective: SplitMergeObjective) -> Index:
        """Clusters that have any other so near that merging with the smallest one there would pay."""
        if len(state.stats.n) < 2:
            return np.arange(len(state.stats.n))
        sizes = objective.sizes(state.stats)
        centres = objective.centres(state.stats, previous=state.sites.centres)
        least = sizes * sizes.min() / (sizes + sizes.min()) * engine.gaps(centres)
        return np.flatnonzero(least < objective.most_saved_by_merging(state.stats))


@dataclass(frozen=True)
class Death:
    """A cluster's rows go to their next centres: delta ≤ Σ w·(second − nearest squared distance) − lam."""

    deaths: DeathCounter = SecondNearest

    def __call__(self, state: State, engine: Engine, objective: SplitMergeObjective) -> State:
        if len(state.stats.n) < 2:
            return state
        second_nearest = self.deaths(engine)
        second_nearest.turn_to(state)
        dead = independent_deaths(second_nearest, objective.lam)
        if not dead.any():
            return state
        return CONVERGE.start(recentred(state, objective).kept(~dead), engine, objective)


@dataclass(frozen=True)
class Split:
    """A cluster falls into two: delta = lam − (SSE − SSE of its halves after 2-means)."""

    max_clusters: int | None = None

    def __call__(self, state: State, engine: Engine, objective: SplitMergeObjective) -> State:
        halves = halve(state, engine, objective)
        pays = _highest(halves.gain, objective.lam)
        chosen = pays[: _room(state, self.max_clusters)]
        if not len(chosen):
            return _refusing(state, pays)
        return CONVERGE.start(halves.divided(recentred(state, objective), np.sort(chosen)), engine, objective)


@dataclass(frozen=True)
class Birth:
    """A row opens a cluster of its own: delta = birth_penalty − w·n_a/(n_a − w)·d_a². One row per cluster at a time."""

    max_clusters: int | None = None

    def __call__(self, state: State, engine: Engine, objective: SplitMergeObjective) -> State:
        rows = rows_that_count(engine)
        weight, labels = row_weights(engine)[rows], state.labels[rows]
        centres = objective.centres(state.stats, previous=state.sites.centres)
        sq_dist = engine.distances_to_own(rows, labels, centres)
        gain = objective.row_costs.leaving(objective.sizes(state.stats)[labels], weight, sq_dist)
        gain[~(state.stats.n[labels] > weight)] = 0.0  # alone already
        pays = _highest(gain, objective.birth_penalty)
        _, first_of_cluster = np.unique(labels[pays], return_index=True)
        founders = rows[pays[np.sort(first_of_cluster)]][: _room(state, self.max_clusters)]
        if not len(founders):
            return _refusing(state, pays)
        sites = recentred(state, objective)
        return CONVERGE.start(sites.born(np.vstack([sites.centres, engine.rows(founders)])), engine, objective)


def _highest(gain: Floats, penalty: float) -> Index:
    """Where the gain exceeds the penalty, the highest first."""
    pays = np.flatnonzero(gain > penalty)
    return pays[np.argsort(-gain[pays], kind="stable")]


def _room(state: State, max_clusters: int | None) -> int | None:
    return None if max_clusters is None else max(max_clusters - len(state.stats.n), 0)


def _refusing(state: State, pays: Index) -> State:
    return replace(state, was_full=True) if len(pays) and not state.was_full else state
