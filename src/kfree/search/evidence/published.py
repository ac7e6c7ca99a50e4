"""Top-down Bayesian k-means as published: the box of Kurihara & Welling (2009), §6, with the rankings of App. D.

Splits are tried in the order of Eq. 47 and merges in that of Eq. 50. After each, labels and posteriors are updated
until convergence, and the change is kept if the free energy fell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats
from kfree.engines.cost_rules.labelled import LabelledRows
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.evidence.bayesian import HardMove, merged, no_gain
from kfree.search.evidence.hard_labels import HardClustering, Update, clustering_by, first_gain, one_cluster
from kfree.search.evidence.overlap import criteria
from kfree.search.loop import UNWATCHED, Descent, Watch, descend


def published_search(
    rows: LabelledRows[S],
    objective: FreeEnergy[S],
    max_iter: int,
    max_clusters: int | None,
    watch: Watch = UNWATCHED,
) -> Descent[HardClustering[S]]:
    """From one cluster: splits until none is accepted, then a merge, and splits again after an accepted merge."""
    moves: list[HardMove[S]] = [SplitByFit(max_clusters), merge_by_overlap]
    return descend(one_cluster(rows, objective), moves, rows, objective, max_iter, no_gain, watch)


@dataclass(frozen=True)
class SplitByFit:
    """Step 2: split the cluster that fits its rows worst (Eq. 47) and update all; if rejected, try the next one."""

    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        if self.max_clusters is not None and state.n_clusters >= self.max_clusters:
            return state
        worst_first = np.argsort(-criteria(state, rows, objective)[0], kind="stable").tolist()
        candidates = _halved(state, worst_first, rows, objective)
        return first_gain(state, candidates, lambda new: Update()(new, rows, objective))


def merge_by_overlap(state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
    """Step 3: merge the pair whose responsibilities are most alike (Eq. 50) and update all; if rejected, the next."""
    if state.n_clusters < 2:
        return state
    pairs = _pairs_by(criteria(state, rows, objective)[1])
    candidates = (merged(state, a, b, rows, objective) for a, b in pairs)
    return first_gain(state, candidates, lambda new: Update()(new, rows, objective))


def _halved(
    state: HardClustering[S], clusters: list[int], rows: LabelledRows[S], objective: FreeEnergy[S]
) -> Iterator[HardClustering[S]]:
    """One cluster in two by one step of k-means from mean ± √λ·s (App. D.3); a cluster of equal rows is left out."""
    members = rows.members(state.assignment)
    for c in clusters:
        side = members.alone(c).halved()
        new = clustering_by(members.divided(state.assignment, c, side), rows, objective)
        if new.n_clusters > state.n_clusters:
            yield new


def _pairs_by(j_merge: Floats) -> Iterator[tuple[int, int]]:
    """All pairs of clusters, those that overlap most first."""
    first, second = np.triu_indices(len(j_merge), 1)
    for place in np.argsort(-j_merge[first, second], kind="stable"):
        yield int(first[place]), int(second[place])
