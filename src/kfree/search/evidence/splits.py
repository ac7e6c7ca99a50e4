"""Cuts of clusters in two, each cluster by itself (Kurihara & Welling 2009, App. D.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from kfree.core.stats import Floats, Index, Labels
from kfree.engines.cost_rules.contract import CostRuleEngine
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.evidence.hard_labels import HardClustering, Update, clustering_of, one_cluster


@dataclass(frozen=True)
class Half(Generic[S]):
    """The rows of a cluster in two parts: which part each goes to, their statistics, and what their terms save."""

    side: Labels
    stats: S
    saving: float


@dataclass
class Halves(Generic[S]):
    """Splits of clusters, cached while a cluster keeps its rows.

    A ``patient`` search tries two cuts of each cluster and updates both to the end.
    """

    patient: bool = False
    known: dict[bytes, Half[S] | None] = field(default_factory=dict)

    def of(
        self, state: HardClustering[S], engine: CostRuleEngine[S], objective: FreeEnergy[S]
    ) -> Iterator[tuple[int, Index, Half[S]]]:
        """For each cluster that can be cut: its number, its rows, and the cut."""
        ends = np.cumsum(np.bincount(state.labels, minlength=state.n_clusters))
        rows_of = np.split(np.argsort(state.labels, kind="stable"), ends[:-1])
        penalty = penalty_of_another(state, objective)
        remembered = {}
        for c, rows in enumerate(rows_of):
            key = rows.tobytes()
            half = self.known[key] if key in self.known else self._cut(engine.among(rows), objective, penalty)
            remembered[key] = half
            if half is not None:
                yield c, rows, half
        self.known = remembered

    def _cut(self, part: CostRuleEngine[S], objective: FreeEnergy[S], penalty: float) -> Half[S] | None:
        """One cluster in two, and what that saves."""
        whole = one_cluster(part, objective)
        if not self.patient:
            return _updated_cut(part.halved(), whole, part, objective, penalty)
        sides = [part.halved(), outer_half(whole, part, objective)]
        cuts = [_updated_cut(side, whole, part, objective, -math.inf) for side in sides]
        return max((cut for cut in cuts if cut is not None), key=lambda cut: cut.saving, default=None)


def _updated_cut(
    side: Labels, whole: HardClustering[S], part: CostRuleEngine[S], objective: FreeEnergy[S], penalty: float
) -> Half[S] | None:
    """Two sides of a cluster after updates of these two alone, which stop when saving ``penalty`` is out of reach."""
    if not 0 < side.sum() < len(side):
        return None
    n_rows = float(whole.stats.n.sum())
    own = whole.cost - objective.shared_term(n_rows, 1)
    shared = objective.shared_term(n_rows, 2)
    state = clustering_of(side, part.stats_of(side, 2), objective)
    state = Update(target=own - penalty + shared)(state, part, objective)
    if state.n_clusters < 2 or not math.isfinite(state.cost):  # a half that the prior refuses
        return None
    return Half(state.labels, state.stats, own - (state.cost - shared))


def outer_half(whole: HardClustering[S], part: CostRuleEngine[S], objective: FreeEnergy[S]) -> Labels:
    """1 for the rows that fit their cluster worse than its median row: what lies around a narrow cluster within it."""
    rule = objective.labelling(whole.stats)
    costs = [rule.costs(block)[:, 0] for block in part.blocks()]
    weights = [
        np.broadcast_to(np.ravel(weight), len(cost)) for weight, cost in zip(part.block_weights(), costs, strict=True)
    ]
    side: Labels = (np.concatenate(costs) > _median(np.concatenate(costs), np.concatenate(weights))).astype(np.int32)
    return side


def _median(values: Floats, weights: Floats) -> float:
    """The least value up to which lies half of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, below[-1] / 2)]])


def divided(
    state: HardClustering[S], c: int, rows: Index, half: Half[S], objective: FreeEnergy[S]
) -> HardClustering[S]:
    """Cluster c keeps the first half of its rows, and a new cluster at the end gets the second."""
    labels = state.labels.copy()
    labels[rows[half.side == 1]] = state.n_clusters
    place = np.arange(state.n_clusters)
    place[c] = state.n_clusters
    stats = state.stats.followed_by(half.stats).take(np.append(place, state.n_clusters + 1))
    return clustering_of(labels, stats, objective)


def penalty_of_another(state: HardClustering[S], objective: FreeEnergy[S]) -> float:
    """What one more cluster adds to the free energy, apart from its rows' terms."""
    n_rows, k = float(state.stats.n.sum()), state.n_clusters
    return objective.shared_term(n_rows, k + 1) - objective.shared_term(n_rows, k)
