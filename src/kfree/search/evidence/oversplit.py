"""Over-split and merge: reaches clusterings that no single split or merge leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from kfree.engines.cost_rules.contract import CostRuleEngine
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.agglomerate import agglomerate
from kfree.search.evidence.hard_labels import HardClustering, Update, clustering_by, gains
from kfree.search.evidence.splits import Bisections, divided

# Cutting goes on up to so many clusters, or so many times the clusters to begin with; but not, beyond the first of
# these numbers, where clusters would have fewer rows than columns.
FEW_CLUSTERS, MOST_CLUSTERS, MOST_TIMES = 40, 64, 2
# Updates of too many clusters need not end: most of them will be merged.
ROUGHLY = Update(most_steps=5)


@dataclass(frozen=True)
class Oversplit(Generic[S]):
    """Split all clusters in two regardless of cost, once, twice, …; update all; merge clusters while that lowers the
    cost.

    A single split seldom finds a small cluster within a large one. If clusters cost much, splitting ten clusters into
    two halves may raise the cost although splitting them into ten lowers it.
    """

    bisections: Bisections[S]
    max_clusters: int | None = None

    def __call__(
        self, state: HardClustering[S], engine: CostRuleEngine[S], objective: FreeEnergy[S]
    ) -> HardClustering[S]:
        many = state
        many_enough = max(MOST_CLUSTERS, MOST_TIMES * state.n_clusters)
        room = max(FEW_CLUSTERS, min(many_enough, int(state.stats.n.sum()) // engine.n_features))
        while 2 * many.n_clusters <= room:
            before = many.n_clusters
            for c, members, half in list(self.bisections.of(many, engine, objective)):
                many = divided(many, c, members, half, engine, objective)
            many = ROUGHLY(many, engine, objective)
            if many.n_clusters <= before:
                break
            new = Update()(merged_back(many, engine, objective, self.max_clusters), engine, objective)
            if gains(state.cost, new.cost):
                return new
        return state


def merged_back(
    many: HardClustering[S], engine: CostRuleEngine[S], objective: FreeEnergy[S], max_clusters: int | None
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
    return clustering_by(engine.renumbered(many.assignment, numbers, k), engine, objective)
