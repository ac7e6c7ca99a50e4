"""Top-down search for the clustering of least free energy: splits and merges (Kurihara & Welling 2009, §6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias

import numpy as np

from kfree.engines.cost_rules.labelled import LabelledRows
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.evidence.hard_labels import (
    HardClustering,
    Update,
    clustering_of,
    first_gain,
    gains,
    one_cluster,
)
from kfree.search.evidence.overlap import OVERLAP, criteria
from kfree.search.evidence.splits import Bisections, Oversplit, divided, penalty_of_another
from kfree.search.loop import UNWATCHED, Descent, Silent, Watch, descend

# From this many rows on, a sample is searched first, and a split or merge is given up after so many updates.
MANY_ROWS, SAMPLE, MOST_STEPS = 50_000, 10_000, 3
# With as many rows as a sample has, only the pairs that cost least are merged on trial, so many for each cluster.
PAIRS_PER_CLUSTER = 0.5

# A step of this search; a move that finds nothing to do returns the state that it was given.
HardMove: TypeAlias = Callable[[HardClustering[S], LabelledRows[S], FreeEnergy[S]], HardClustering[S]]


def bayesian_k_means(
    rows: LabelledRows[S],
    objective: FreeEnergy[S],
    max_iter: int,
    max_clusters: int | None,
    watch: Watch = UNWATCHED,
) -> Descent[HardClustering[S]]:
    """From one cluster, until no update, split or merge lowers the free energy.

    Splits stop early when they seem to gain nothing; what that misses is looked for once the other moves have failed.
    With very many rows a sample is searched first, where a pass takes little time, and its clusters are the start.
    """
    start = one_cluster(rows, objective)
    if rows.n_rows >= MANY_ROWS:
        sample = rows.sample(SAMPLE)
        found = _search(one_cluster(sample, objective), sample, objective, max_iter, max_clusters, Silent(watch))
        assigned = clustering_of(*rows.assign(objective.labelling(found.state.stats)), rows, objective)
        start = min(start, assigned, key=lambda state: state.cost)
        rows.n_evaluations += sample.n_evaluations
    return _search(start, rows, objective, max_iter, max_clusters, watch)


def _search(
    start: HardClustering[S],
    rows: LabelledRows[S],
    objective: FreeEnergy[S],
    max_iter: int,
    max_clusters: int | None,
    watch: Watch,
) -> Descent[HardClustering[S]]:
    bisections: Bisections[S] = Bisections()
    patient: Bisections[S] = Bisections(patient=True)
    one_by_one: list[HardMove[S]] = [Split(bisections, max_clusters), SplitWithin(patient, max_clusters)]
    at_once: list[HardMove[S]] = [Oversplit(bisections, max_clusters)]
    # With many rows, several clusters more at once take the time of a few splits on trial.
    last = at_once + one_by_one if rows.n_rows >= SAMPLE else one_by_one + at_once
    moves: list[HardMove[S]] = [Update(), SplitWithin(bisections, max_clusters), merge_clusters, *last]
    return descend(start, moves, rows, objective, max_iter, no_gain, watch)


@dataclass(frozen=True)
class SplitWithin(Generic[S]):
    """Split every cluster by itself, in one move, and keep the splits that lower the free energy."""

    bisections: Bisections[S]
    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        room = np.inf if self.max_clusters is None else self.max_clusters - state.n_clusters
        cuts = list(self.bisections.of(state, rows, objective)) if room > 0 else []
        penalty = penalty_of_another(state, objective)
        worthy = [cut for cut in cuts if gains(state.cost, state.cost - (cut[2].saving - penalty))]
        worthy.sort(key=lambda cut: -cut[2].saving)
        for c, members, half in worthy[: len(worthy) if room == np.inf else int(room)]:
            state = divided(state, c, members, half, rows, objective)
        return state


@dataclass(frozen=True)
class Split(Generic[S]):
    """Split the cluster that costs least to split and update all; if that does not lower the cost, try the next one.

    What the halves cost by themselves predicts what updates lead to better than the fit of the cluster (App. D.1).
    """

    bisections: Bisections[S]
    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        if self.max_clusters is not None and state.n_clusters >= self.max_clusters:
            return state
        cuts = sorted(self.bisections.of(state, rows, objective), key=lambda cut: -cut[2].saving)
        candidates = (divided(state, c, members, half, rows, objective) for c, members, half in cuts)
        return first_gain(state, candidates, lambda new: _trial(state, rows)(new, rows, objective))


def merge_clusters(state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
    """Merge the pair that saves most; if none does by itself, merge pairs that overlap (App. D.2) and update all.

    Those that cost least by themselves are tried first.
    """
    k = state.n_clusters
    if k < 2:
        return state
    costs = objective.merge_costs(state.stats, slice(None))
    costs[np.tril_indices(k)] = np.inf
    pairs = [divmod(int(place), k) for place in np.argsort(costs, axis=None, kind="stable")[: k * (k - 1) // 2]]
    best = merged(state, *pairs[0], rows, objective)
    if gains(state.cost, best.cost):
        return best
    if rows.n_rows >= SAMPLE:
        pairs = pairs[: math.ceil(PAIRS_PER_CLUSTER * k)]
    else:
        overlap = criteria(state, rows, objective)[1]
        pairs = [pair for pair in pairs if overlap[pair] > OVERLAP]
    candidates = (merged(state, *pair, rows, objective) for pair in pairs)
    return first_gain(state, candidates, lambda new: _trial(state, rows)(new, rows, objective))


def _trial(state: HardClustering[S], rows: LabelledRows[S]) -> Update:
    """Updates after a split or merge, until the cost of ``state`` is reached or out of sight; few of very many rows."""
    return Update(state.cost, MOST_STEPS if rows.n_rows >= MANY_ROWS else math.inf)


def merged(
    state: HardClustering[S], a: int, b: int, rows: LabelledRows[S], objective: FreeEnergy[S]
) -> HardClustering[S]:
    """Cluster a takes over the rows of b."""
    stats, numbers = state.stats.copy(), np.arange(state.n_clusters, dtype=np.int32)
    stats.absorb(a, b, 0.0)
    numbers[b] = a
    assignment = rows.renumbered(state.assignment, numbers, state.n_clusters)
    return clustering_of(assignment, stats, rows, objective)


def no_gain(old: HardClustering[S], new: HardClustering[S]) -> bool:
    """Whether a move lowered the free energy by no more than rounding."""
    return not gains(old.cost, new.cost)
