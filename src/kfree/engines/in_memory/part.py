"""A part whose labels are arrays: the part contract, on top of a few passes over listed rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from kfree.core.arrays import NUMPY, Array, Arrays
from kfree.core.masses import Masses
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import Fingerprints, Picks, VisitingOrder
from kfree.engines.drawing import Keys, Region, RegionRows, has_all_wanted, smallest
from kfree.engines.in_memory.bisection import InMemoryBisection
from kfree.engines.in_memory.closings import InMemoryClosings
from kfree.engines.in_memory.exchange import candidates
from kfree.engines.in_memory.potential import InMemoryPotential
from kfree.engines.in_memory.sweep import InMemorySweep
from kfree.engines.parts import NodeSums, PartBisection, PartClosings, PartExchange, Partial, PartPotential, PartSweep

# Rows of which keys are computed at a time, so that these take little memory.
_LOOKED_AT_ONCE = 1 << 16


class InMemoryPart(ABC):
    """Rows ``begin`` … ``begin + n_rows`` − 1 with weights (None: all are one). Handles are arrays of labels.

    ``rows``, ``row`` and the like number the rows of the part from zero, except in picks. ``arrays`` says of which
    kind these arrays are.
    """

    arrays: Arrays = NUMPY

    def __init__(self, n_rows: int, n_features: int, weight: Array | None, begin: int):
        self.begin, self.n_rows, self.n_features, self.weight = begin, n_rows, n_features, weight
        self.n_counting = n_rows if weight is None else int((weight > 0).sum())
        self.max_weight = 1.0 if weight is None else float(weight.max()) if len(weight) else 0.0
        self.n_distances = 0

    # The passes that a kind of part implements; n_distances counts the distances they compute.

    @abstractmethod
    def assign(self, sites: Sites, lam: float) -> tuple[Array, Array, Partial, Array | None]:
        """Labels, squared distances, statistics, and where lam is finite whether weight·squared distance exceeds it."""

    @abstractmethod
    def stats_of(self, labels: Array, sq_dist: Array, n_clusters: int) -> Partial:
        """Statistics of all rows, given their labels and squared distances."""

    @abstractmethod
    def distances_to_own(self, rows: Array, labels: Array, centres: Floats) -> Array:
        """Squared distance of each of ``rows`` (m,) to the centre that ``labels`` (m,) names."""

    @abstractmethod
    def second_nearest(self, rows: Array, labels: Array, centres: Floats) -> tuple[Array, Array]:
        """The nearest centre of each of ``rows`` but the one that ``labels`` names, and the squared distance to it."""

    @abstractmethod
    def choose(self, rows: Array, pair: Array, pairs: Floats) -> tuple[Array, Partial]:
        """Each of ``rows`` goes to the nearer centre of its pair, 2·pair or 2·pair + 1; statistics of all pairs."""

    @abstractmethod
    def scatter_product(self, rows: Array, pair: Array, pairs: Floats) -> Partial:
        """See ``engines.contract.Bisection``; sse is not defined."""

    @abstractmethod
    def closing_costs(self, rows: Array, labels: Array, second: Array, centres: Floats) -> NodeSums:
        """Per cluster Σ weight·(squared distance to ``second`` − to its own), where rows go if it is closed."""

    @abstractmethod
    def exchange_of(
        self, rows: Array, others: Array, labels: Array, centres: Floats, stats: Stats, least_gain: float
    ) -> PartExchange:
        """Exchanges of ``rows`` with the clusters ``others`` (m,), or with the cheapest one where that is −1."""

    @abstractmethod
    def open_clusters(
        self, far: Array, first_label: int, lam: float, room: int, labels: Array, sq_dist: Array
    ) -> tuple[Array, int]:
        """Rows ``far`` in visiting order join the nearest newborn, or open a cluster; in-out labels, sq_dist.

        Returns the founders as places in ``far``, and how many rows found no room.
        """

    @abstractmethod
    def join_newborn(
        self, order: Array | None, newborn: Floats, born_at: Index, first_label: int, labels: Array, sq_dist: Array
    ) -> None:
        """Rows visited after a birth join the newborn where it is nearer; ``born_at`` are places in ``order``."""

    def join_listed(self, rows: Array, newborn: Floats, first_label: int, labels: Array, sq_dist: Array) -> None:
        """Listed rows join the newborn where it is nearer; in-out labels, sq_dist (n,)."""
        for j, point in enumerate(newborn):
            near = self.distances_to_own(rows, self.arrays.full(len(rows), 0, np.int32), point[None, :])
            nearer = near < sq_dist[rows]
            labels[rows[nearer]], sq_dist[rows[nearer]] = first_label + j, near[nearer]

    @abstractmethod
    def approach(self, site: Floats, sq_dist: Array) -> None:
        """Lower ``sq_dist`` (n,) in place to the squared distance to ``site`` (d,) where that is less."""

    @abstractmethod
    def best_candidate(self, candidates: Floats, sq_dist: Array) -> int: ...

    @abstractmethod
    def potentials(self, candidates: Floats, sq_dist: Array) -> NodeSums: ...

    @abstractmethod
    def masses(self, mass: Array) -> Masses:
        """Numbers (n,) of the rows, for draws."""

    @abstractmethod
    def points(self, rows: Array) -> Floats:
        """Coordinates of a few rows."""

    @abstractmethod
    def copied(self, rows: Array) -> tuple[ArrayOrCSR, Floats | None]: ...

    # The part contract.

    def first_point(self) -> Floats | None:
        counting = self.counting()
        return self.points(counting[:1])[0] if len(counting) else None

    def nearest(self, sites: Sites) -> tuple[Array, Partial]:
        labels, _, partial, _ = self.assign(sites, np.inf)
        return labels, partial

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Array, Partial, RegionRows]:
        labels, partial, rows, keys = self.nearest_drawable(sites, region)
        kept = np.flatnonzero(keys <= region.highest_key)
        kept = kept[smallest(keys[kept], region.size)]
        is_all = has_all_wanted(keys, keys[kept])
        return labels, partial, RegionRows(keys[kept], *self.copied(rows[kept]), is_all)

    def nearest_drawable(self, sites: Sites, region: Region) -> tuple[Array, Partial, Index, Keys]:
        """``nearest``, the rows of positive weight that may be drawn, and their keys."""
        labels, sq_dist, partial, _ = self.assign(sites, np.inf)
        begins = range(0, max(self.n_rows, 1), _LOOKED_AT_ONCE)
        found = [self._drawable(begin, sites, labels, sq_dist, region) for begin in begins]
        rows, keys = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return labels, partial, rows, keys

    def _drawable(self, begin: int, sites: Sites, labels: Array, sq_dist: Array, region: Region) -> tuple[Index, Keys]:
        """The same of some rows from ``begin`` on."""
        end = min(begin + _LOOKED_AT_ONCE, self.n_rows)
        span = self.begin + begin, self.begin + end
        inside = self.arrays.of(region.wanted)[labels[begin:end]]
        rows = self.arrays.to_numpy(self._counting_among(inside, begin))
        keys = region.keys(rows, *span)
        if region.border and region.wanted.any():
            others = self._counting_among(~inside, begin)
            to_wanted = self._sq_dist_to_nearest(begin + others, sites.centres[region.wanted])
            own = self.arrays.to_numpy(sq_dist[begin + others])
            near, more = region.keys_of_others(
                self.arrays.to_numpy(others), *span, own, self.arrays.to_numpy(to_wanted)
            )
            rows, keys = np.concatenate([rows, near]), np.concatenate([keys, more])
            order = np.argsort(rows)
            rows, keys = rows[order], keys[order]
        return begin + rows, keys

    def _counting_among(self, chosen: Array, begin: int) -> Array:
        """Places of rows that are ``chosen`` (m,), of those from ``begin`` on, and have a positive weight."""
        return self.arrays.flatnonzero(
            chosen if self.weight is None else chosen & (self.weight[begin : begin + len(chosen)] > 0)
        )

    def _sq_dist_to_nearest(self, rows: Array, centres: Floats) -> Array:
        """Squared distances of ``rows`` to the nearest of some centres."""
        one_more = np.vstack([centres, centres[:1]])  # which is left out for every row
        return self.second_nearest(rows, self.arrays.full(len(rows), len(centres), np.int32), one_more)[1]

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> PartSweep:
        return InMemorySweep(self, sites, lam, order)

    def sums(self, labels: Array, n_clusters: int) -> Partial:
        return self.stats_of(labels, self.arrays.full(self.n_rows, 0.0, np.float64), n_clusters)

    def fingerprints(self, labels: Array, n_clusters: int) -> Fingerprints:
        return self.arrays.fingerprints(labels, self.begin, n_clusters)

    def bisection(self, labels: Array, place: Labels, n_pairs: int) -> PartBisection:
        return InMemoryBisection(self, labels, place, n_pairs)

    def closings(self) -> PartClosings:
        return InMemoryClosings(self)

    def dearest(self, labels: Array, centres: Floats, stats: Stats, costs: type[RowCosts], least: float) -> Picks:
        rows = self.counting()
        weight, own = self.weights(rows), labels[rows]
        sizes = self.arrays.of(costs.size(stats.n, stats.sum))[own]
        gain = costs.leaving(sizes, weight, self.distances_to_own(rows, own, centres))
        gain[~(self.arrays.of(stats.n)[own] > weight)] = 0.0  # alone already
        pays = self.arrays.flatnonzero(gain > least)
        pays = pays[self.arrays.argsort(-gain[pays])]
        best = pays[self.arrays.first_of_each(own[pays])]
        return self._picks(rows[best], own[best], gain[best])

    def farthest(self, labels: Array, centres: Floats, size: int) -> tuple[Picks, Floats]:
        rows = self.counting()
        sq_dist = self.distances_to_own(rows, labels[rows], centres)
        order = self.arrays.largest(sq_dist, size)
        order = order[sq_dist[order] > 0]
        picks = self._picks(rows[order], labels[rows[order]], sq_dist[order])
        return picks, self.arrays.to_numpy(self.weights(rows[order]))

    def moved(self, labels: Array, rows: Index, clusters: Index) -> Array:
        labels = self.arrays.copy(labels)
        labels[self.arrays.of(rows - self.begin)] = self.arrays.of(clusters.astype(np.int32))
        return labels

    def exchange(
        self,
        labels: Array,
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
        rows, keys = self.arrays.smallest_hashes(rows, self.begin, self.begin + self.n_rows, seed, size)
        return self.arrays.to_numpy(keys), self.arrays.to_numpy(self.begin + rows)

    def labels(self, labels: Array) -> Array:
        return self.arrays.to_numpy(labels)

    def sq_dists(self, labels: Array, centres: Floats) -> Array:
        return self.arrays.to_numpy(self.distances_to_own(self.arrays.arange(self.n_rows), labels, centres))

    def counting(self) -> Array:
        """All rows of positive weight."""
        return self.arrays.arange(self.n_rows) if self.weight is None else self.arrays.flatnonzero(self.weight > 0)

    def weights(self, rows: Array) -> Array:
        """Weights of some rows."""
        return self.arrays.full(len(rows), 1.0, np.float64) if self.weight is None else self.weight[rows]

    def _picks(self, rows: Array, clusters: Array, gain: Array) -> Picks:
        row, cluster, gain = (self.arrays.to_numpy(found) for found in (self.begin + rows, clusters, gain))
        return Picks(row, cluster.astype(np.int64), gain, self.points(rows))
