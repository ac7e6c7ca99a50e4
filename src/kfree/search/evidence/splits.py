"""Cuts of clusters in two, each cluster by itself (Kurihara & Welling 2009, App. D.3); and over-split and merge, which
reaches clusterings that no single split or merge leads to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from kfree.core.assignment import Assignment
from kfree.engines.cost_rules.labelled import LabelledRows, Members
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.agglomerate import agglomerate
from kfree.search.evidence.hard_labels import HardClustering, Update, clustering_by, clustering_of, gains, one_cluster

# Cutting goes on up to so many clusters, or so many times the clusters to begin with; but not, beyond the first of
# these numbers, where clusters would have fewer rows than columns.
FEW_CLUSTERS, MOST_CLUSTERS, MOST_TIMES = 40, 64, 2
# Updates of too many clusters need not end: most of them will be merged.
ROUGHLY = Update(most_steps=5)


@dataclass(frozen=True)
class Bisection(Generic[S]):
    """The rows of a cluster in two parts: which part each goes to, their statistics, and what their terms save."""

    side: Assignment
    stats: S
    saving: float


@dataclass
class Bisections(Generic[S]):
    """Splits of clusters, cached while a cluster keeps its rows.

    A ``patient`` search tries two cuts of each cluster and updates both to the end.
    """

    patient: bool = False
    known: dict[int, Bisection[S] | None] = field(default_factory=dict)

    def of(
        self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]
    ) -> Iterator[tuple[int, Members[S], Bisection[S]]]:
        """For each cluster that can be cut: its number, where its rows are, and the cut."""
        members, penalty = rows.members(state.assignment), penalty_of_another(state, objective)
        remembered = {}
        for c, key in enumerate(state.assignment.fingerprints.tolist()):
            half = self.known[key] if key in self.known else self._cut(members.alone(c), objective, penalty)
            remembered[key] = half
            if half is not None:
                yield c, members, half
        self.known = remembered

    def _cut(self, part: LabelledRows[S], objective: FreeEnergy[S], penalty: float) -> Bisection[S] | None:
        """One cluster in two, and what that saves."""
        whole = one_cluster(part, objective)
        if not self.patient:
            return _updated_cut(part.halved(), whole, part, objective, penalty)
        sides = [part.halved(), part.outer_half(objective.labelling(whole.stats))]
        cuts = [_updated_cut(side, whole, part, objective, -math.inf) for side in sides]
        return max((cut for cut in cuts if cut is not None), key=lambda cut: cut.saving, default=None)


def _updated_cut(
    side: Assignment, whole: HardClustering[S], part: LabelledRows[S], objective: FreeEnergy[S], penalty: float
) -> Bisection[S] | None:
    """Two sides of a cluster after updates of these two alone, which stop when saving ``penalty`` is out of reach."""
    state = clustering_by(side, part, objective)
    if state.n_clusters < 2:
        return None
    n_rows = float(whole.stats.n.sum())
    own = whole.cost - objective.shared_term(n_rows, 1)
    shared = objective.shared_term(n_rows, 2)
    state = Update(target=own - penalty + shared)(state, part, objective)
    if state.n_clusters < 2 or not math.isfinite(state.cost):  # a half that the prior refuses
        return None
    return Bisection(state.assignment, state.stats, own - (state.cost - shared))


def divided(
    state: HardClustering[S],
    c: int,
    members: Members[S],
    half: Bisection[S],
    rows: LabelledRows[S],
    objective: FreeEnergy[S],
) -> HardClustering[S]:
    """Cluster c keeps the first half of its rows, and a new cluster at the end gets the second."""
    assignment = members.divided(state.assignment, c, half.side)
    place = np.arange(state.n_clusters)
    place[c] = state.n_clusters
    stats = state.stats.followed_by(half.stats).take(np.append(place, state.n_clusters + 1))
    return clustering_of(assignment, stats, rows, objective)


def penalty_of_another(state: HardClustering[S], objective: FreeEnergy[S]) -> float:
    """What one more cluster adds to the free energy, apart from its rows' terms."""
    n_rows, k = float(state.stats.n.sum()), state.n_clusters
    return objective.shared_term(n_rows, k + 1) - objective.shared_term(n_rows, k)


@dataclass(frozen=True)
class Oversplit(Generic[S]):
    """Split all clusters in two regardless of cost, once, twice, …; update all; merge clusters while that lowers the
    cost.

    A single split seldom finds a small cluster within a large one. If clusters cost much, splitting ten clusters into
    two halves may raise the cost although splitting them into ten lowers it.
    """

    bisections: Bisections[S]
    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        many = state
        many_enough = max(MOST_CLUSTERS, MOST_TIMES * state.n_clusters)
        room = max(FEW_CLUSTERS, min(many_enough, int(state.stats.n.sum()) // rows.n_features))
        while 2 * many.n_clusters <= room:
            before = many.n_clusters
            for c, members, half in list(self.bisections.of(many, rows, objective)):
                many = divided(many, c, members, half, rows, objective)
            many = ROUGHLY(many, rows, objective)
            if many.n_clusters <= before:
                break
            new = Update()(merged_back(many, rows, objective, self.max_clusters), rows, objective)
            if gains(state.cost, new.cost):
                return new
        return state


def merged_back(
    many: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S], max_clusters: int | None
) -> HardClustering[S]:
    """The best of the clusterings that greedy merging passes through, with at most ``max_clusters``."""
    n_rows = float(many.stats.n.sum())
    shared = np.array([objective.shared_term(n_rows, k) for k in range(1, many.n_clusters + 1)])
    saved_by_one_less = np.diff(shared).max(initial=0.0)
    merges = agglomerate(many.stats, objective, np.inf if max_clusters else saved_by_one_less)
    n_left = many.n_clusters - np.arange(len(merges.costs) + 1)
    free_energies = np.append(0.0, np.cumsum(merges.costs)) + shared[n_left - 1]
    free_energies[n_left > (max_clusters or np.inf)] = np.inf
    k = int(n_left[np.argmin(free_energies)])
    numbers = merges.labels(k).astype(np.int32)
    return clustering_by(rows.renumbered(many.assignment, numbers, k), rows, objective)
