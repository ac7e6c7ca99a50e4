"""Top-down search for the clustering of least free energy: splits and merges (Kurihara & Welling 2009, §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol

import numpy as np

from kfree.engines.base import Index, Labels
from kfree.engines.ruled import RuledEngine
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.hard_labels import HardClustering, Update, clustering_of, gains, one_cluster
from kfree.search.loop import Descent, descend
from kfree.search.overlap import criteria

# Clusters whose responsibilities have a smaller cosine than this do not overlap: merging them is not followed up.
OVERLAP = 1e-3


def bayesian_k_means(
    engine: RuledEngine[S], objective: FreeEnergy[S], max_iter: int, max_clusters: int | None
) -> Descent[HardClustering[S]]:
    """From one cluster, until no update, split or merge lowers the free energy."""
    halves: Halves[S] = Halves()
    moves: list[HardMove[S]] = [Update(), SplitWithin(halves, max_clusters), Merge(), Split(halves, max_clusters)]
    return descend(one_cluster(engine, objective), moves, engine, objective, max_iter, near_enough=_no_gain)


class HardMove(Protocol[S]):
    """A step of this search; a move that finds nothing to do returns the state that it was given."""

    def __call__(
        self, state: HardClustering[S], engine: RuledEngine[S], objective: FreeEnergy[S]
    ) -> HardClustering[S]: ...


@dataclass(frozen=True)
class Half(Generic[S]):
    """The rows of a cluster in two parts: which part each goes to, their statistics, and what their terms save."""

    side: Labels
    stats: S
    saving: float


@dataclass
class Halves(Generic[S]):
    """Cuts of clusters, remembered as long as a cluster keeps its rows."""

    known: dict[bytes, Half[S] | None] = field(default_factory=dict)

    def of(
        self, state: HardClustering[S], engine: RuledEngine[S], objective: FreeEnergy[S]
    ) -> Iterator[tuple[int, Index, Half[S]]]:
        """For each cluster that can be cut: its number, its rows, and the cut."""
        rows_of = np.split(np.argsort(state.labels, kind="stable"), np.cumsum(state.stats.n)[:-1].astype(np.int64))
        price = _price_of_another(state, objective)
        remembered = {}
        for c, rows in enumerate(rows_of):
            key = rows.tobytes()
            half = self.known[key] if key in self.known else _cut(engine.among(rows), objective, price)
            remembered[key] = half
            if half is not None:
                yield c, rows, half
        self.known = remembered


def _cut(part: RuledEngine[S], objective: FreeEnergy[S], price: float) -> Half[S] | None:
    """One cluster in two: along the principal axis (App. D.3), then updates of these two alone."""
    side = part.halved()
    if not 0 < side.sum() < len(side):
        return None
    whole = one_cluster(part, objective)
    own = whole.cost - objective.shared_term(len(side), 1)
    shared = objective.shared_term(len(side), 2)
    state = clustering_of(side, part.stats_of(side, 2), objective)
    state = Update(target=own - price + shared)(state, part, objective)
    if state.n_clusters < 2:
        return None
    return Half(state.labels, state.stats, own - (state.cost - shared))


@dataclass(frozen=True)
class SplitWithin(Generic[S]):
    """Cut every cluster by itself, all at once, and keep the cuts that lower the free energy as they are."""

    halves: Halves[S]
    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], engine: RuledEngine[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        room = np.inf if self.max_clusters is None else self.max_clusters - state.n_clusters
        cuts = list(self.halves.of(state, engine, objective)) if room > 0 else []
        price = _price_of_another(state, objective)
        worthy = [cut for cut in cuts if gains(state.cost, state.cost - (cut[2].saving - price))]
        worthy.sort(key=lambda cut: -cut[2].saving)
        for c, rows, half in worthy[: len(worthy) if room == np.inf else int(room)]:
            state = _divided(state, c, rows, half, objective)
        return state


@dataclass(frozen=True)
class Split(Generic[S]):
    """Cut the cluster that fits its rows worst (App. D.1) and update all; if that gains nothing, try the next one."""

    halves: Halves[S]
    max_clusters: int | None = None

    def __call__(self, state: HardClustering[S], engine: RuledEngine[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        if self.max_clusters is not None and state.n_clusters >= self.max_clusters:
            return state
        j_split, _ = criteria(state, engine, objective)
        cuts = sorted(self.halves.of(state, engine, objective), key=lambda cut: -j_split[cut[0]])
        for c, rows, half in cuts:
            new = Update(target=state.cost)(_divided(state, c, rows, half, objective), engine, objective)
            if gains(state.cost, new.cost):
                return new
        return state


@dataclass(frozen=True)
class Merge:
    """Merge the pair that saves most; if none does by itself, merge pairs that overlap (App. D.2) and update all."""

    def __call__(self, state: HardClustering[S], engine: RuledEngine[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        k = state.n_clusters
        if k < 2:
            return state
        costs = objective.merge_costs(state.stats, slice(None))
        costs[np.tril_indices(k)] = np.inf
        a, b = divmod(int(np.argmin(costs)), k)
        best = _merged(state, a, b, objective)
        if gains(state.cost, best.cost):
            return best
        overlap = np.triu(criteria(state, engine, objective)[1], 1)
        for place in np.argsort(-overlap, axis=None, kind="stable")[: np.count_nonzero(overlap > OVERLAP)]:
            merged = _merged(state, *divmod(int(place), k), objective)
            new = Update(target=state.cost)(merged, engine, objective)
            if gains(state.cost, new.cost):
                return new
        return state


def _divided(
    state: HardClustering[S], c: int, rows: Index, half: Half[S], objective: FreeEnergy[S]
) -> HardClustering[S]:
    """Cluster c keeps the first half of its rows, and a new cluster at the end gets the second."""
    labels = state.labels.copy()
    labels[rows[half.side == 1]] = state.n_clusters
    place = np.arange(state.n_clusters)
    place[c] = state.n_clusters
    stats = state.stats.followed_by(half.stats).take(np.append(place, state.n_clusters + 1))
    return clustering_of(labels, stats, objective)


def _merged(state: HardClustering[S], a: int, b: int, objective: FreeEnergy[S]) -> HardClustering[S]:
    """Cluster a takes over the rows of b."""
    stats = state.stats.copy()
    stats.absorb(a, b, 0.0)
    return clustering_of(np.where(state.labels == b, np.int32(a), state.labels), stats, objective)


def _price_of_another(state: HardClustering[S], objective: FreeEnergy[S]) -> float:
    """What one more cluster adds to the free energy, before its rows save anything."""
    n_rows, k = len(state.labels), state.n_clusters
    return objective.shared_term(n_rows, k + 1) - objective.shared_term(n_rows, k)


def _no_gain(old: HardClustering[S], new: HardClustering[S]) -> bool:
    return not gains(old.cost, new.cost)
