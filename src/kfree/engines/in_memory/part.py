"""A part whose labels are arrays of this process: the part contract, on top of a few passes over listed rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.hashing import fingerprints, hashed
from kfree.core.masses import Masses
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import Fingerprints, Picks, VisitingOrder
from kfree.engines.in_memory.bisection import InMemoryBisection
from kfree.engines.in_memory.closings import InMemoryClosings
from kfree.engines.in_memory.exchange import candidates
from kfree.engines.in_memory.potential import InMemoryPotential
from kfree.engines.in_memory.sweep import InMemorySweep
from kfree.engines.parts import NodeSums, PartBisection, PartClosings, PartExchange, Partial, PartPotential, PartSweep


class InMemoryPart(ABC):
    """Rows ``begin`` … ``begin + n_rows`` − 1 with weights (None: all are one). Handles are arrays of labels.

    ``rows``, ``row`` and the like number the rows of the part from zero, except in picks.
    """

    def __init__(self, n_rows: int, n_features: int, weight: Floats | None, begin: int):
        self.begin, self.n_rows, self.n_features, self.weight = begin, n_rows, n_features, weight
        self.n_counting = n_rows if weight is None else int(np.count_nonzero(weight > 0))
        self.max_weight = 1.0 if weight is None else float(weight.max(initial=0.0))
        self.n_distances = 0

    # The passes that a kind of part implements; n_distances counts the distances they compute.

    @abstractmethod
    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Partial, NDArray[np.bool_] | None]:
        """Labels, squared distances, statistics, and where lam is finite whether weight·squared distance exceeds it."""

    @abstractmethod
    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Partial:
        """Statistics of all rows, given their labels and squared distances."""

    @abstractmethod
    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        """Squared distance of each of ``rows`` (m,) to the centre that ``labels`` (m,) names."""

    @abstractmethod
    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        """The nearest centre of each of ``rows`` but the one that ``labels`` names, and the squared distance to it."""

    @abstractmethod
    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Partial]:
        """Each of ``rows`` goes to the nearer centre of its pair, 2·pair or 2·pair + 1; statistics of all pairs."""

    @abstractmethod
    def scatter_product(self, rows: Index, pair: Labels, pairs: Floats) -> Partial:
        """See ``engines.contract.Bisection``; sse is not defined."""

    @abstractmethod
    def closing_costs(self, rows: Index, labels: Labels, second: Labels, centres: Floats) -> NodeSums:
        """Per cluster Σ weight·(squared distance to ``second`` − to its own), where rows go if it is closed."""

    @abstractmethod
    def exchange_of(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> PartExchange:
        """Exchanges of ``rows`` with the clusters ``others`` (m,), or with the cheapest one where that is −1."""

    @abstractmethod
    def open_clusters(
        self, far: Index, first_label: int, lam: float, room: int, labels: Labels, sq_dist: Floats
    ) -> tuple[Index, int]:
        """Rows ``far`` in visiting order join the nearest newborn, or open a cluster; in-out labels, sq_dist.

        Returns the founders as places in ``far``, and how many rows found no room.
        """

    @abstractmethod
    def join_newborn(
        self, order: Index | None, newborn: Floats, born_at: Index, first_label: int, labels: Labels, sq_dist: Floats
    ) -> None:
        """Rows visited after a birth join the newborn where it is nearer; ``born_at`` are places in ``order``."""

    def join_listed(self, rows: Index, newborn: Floats, first_label: int, labels: Labels, sq_dist: Floats) -> None:
        """Listed rows join the newborn where it is nearer; in-out labels, sq_dist (n,)."""
        for j, point in enumerate(newborn):
            near = self.distances_to_own(rows, np.zeros(len(rows), dtype=np.int32), point[None, :])
            nearer = near < sq_dist[rows]
            labels[rows[nearer]], sq_dist[rows[nearer]] = first_label + j, near[nearer]

    @abstractmethod
    def approach(self, site: Floats, sq_dist: Floats) -> None:
        """Lower ``sq_dist`` (n,) in place to the squared distance to ``site`` (d,) where that is less."""

    @abstractmethod
    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int: ...

    @abstractmethod
    def potentials(self, candidates: Floats, sq_dist: Floats) -> NodeSums: ...

    @abstractmethod
    def masses(self, mass: Floats) -> Masses:
        """Numbers (n,) of the rows, for draws."""

    @abstractmethod
    def points(self, rows: Index) -> Floats:
        """Coordinates of a few rows."""

    @abstractmethod
    def copied(self, rows: Index) -> tuple[Any, Floats | None]: ...

    # The part contract.

    def first_point(self) -> Floats | None:
        counting = self.counting()
        return self.points(counting[:1])[0] if len(counting) else None

    def nearest(self, sites: Sites) -> tuple[Labels, Partial]:
        labels, _, partial, _ = self.assign(sites, np.inf)
        return labels, partial

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> PartSweep:
        return InMemorySweep(self, sites, lam, order)

    def sums(self, labels: Labels, n_clusters: int) -> Partial:
        return self.stats_of(labels, np.zeros(self.n_rows), n_clusters)

    def fingerprints(self, labels: Labels, n_clusters: int) -> Fingerprints:
        return fingerprints(labels, self.begin, n_clusters)

    def bisection(self, labels: Labels, place: Labels, n_pairs: int) -> PartBisection:
        return InMemoryBisection(self, labels, place, n_pairs)

    def closings(self) -> PartClosings:
        return InMemoryClosings(self)

    def dearest(self, labels: Labels, centres: Floats, stats: Stats, costs: type[RowCosts], least: float) -> Picks:
        rows = self.counting()
        weight, own = self.weights(rows), labels[rows]
        gain = costs.leaving(costs.size(stats.n, stats.sum)[own], weight, self.distances_to_own(rows, own, centres))
        gain[~(stats.n[own] > weight)] = 0.0  # alone already
        pays = np.flatnonzero(gain > least)
        pays = pays[np.argsort(-gain[pays], kind="stable")]
        _, first_of_cluster = np.unique(own[pays], return_index=True)
        best = pays[np.sort(first_of_cluster)]
        return self._picks(rows[best], own[best], gain[best])

    def farthest(self, labels: Labels, centres: Floats, size: int) -> tuple[Picks, Floats]:
        rows = self.counting()
        sq_dist = self.distances_to_own(rows, labels[rows], centres)
        order = np.argsort(-sq_dist, kind="stable")[:size]
        order = order[sq_dist[order] > 0]
        return self._picks(rows[order], labels[rows[order]], sq_dist[order]), self.weights(rows[order])

    def moved(self, labels: Labels, rows: Index, clusters: Index) -> Labels:
        labels = labels.copy()
        labels[rows - self.begin] = clusters
        return labels

    def exchange(
        self,
        labels: Labels,
        centres: Floats,
        stats: Stats,
        costs: type[RowCosts],
        least_gain: float,
        max_weight: float,
    ) -> PartExchange:
        rows, others = candidates(self, labels, centres, stats, costs, max_weight)
        return self.exchange_of(rows, others, labels, centres, stats, least_gain)

    def potential(self) -> PartPotential:
        return InMemoryPotential(self)

    def sampled(self, size: int, seed: int, beyond: Sites | None) -> tuple[NDArray[np.uint64], Index]:
        rows = self.counting()
        if beyond is not None:
            rows = rows[self.assign(beyond, np.inf)[1][rows] > 0]
        keys = hashed(self.begin, self.begin + self.n_rows, seed)[rows]
        if len(rows) > size:
            smallest = np.argpartition(keys, size)[:size]
            rows, keys = rows[smallest], keys[smallest]
        order = np.argsort(keys, kind="stable")
        return keys[order], self.begin + rows[order]

    def labels(self, labels: Labels) -> Labels:
        return labels

    def sq_dists(self, labels: Labels, centres: Floats) -> Floats:
        return self.distances_to_own(np.arange(self.n_rows), labels, centres)

    def counting(self) -> Index:
        """All rows of positive weight."""
        return np.arange(self.n_rows) if self.weight is None else np.flatnonzero(self.weight > 0)

    def weights(self, rows: Index) -> Floats:
        """Weights of some rows."""
        return np.ones(len(rows)) if self.weight is None else self.weight[rows]

    def _picks(self, rows: Index, clusters: Labels, gain: Floats) -> Picks:
        return Picks(self.begin + rows, clusters.astype(np.int64), gain, self.points(rows))
