"""Passes over rows in memory, all of a fit or a range of them, whose labels are arrays beside the rows.

These are all that a kind of memory (NumPy, a GPU, a kernel) writes; what searches and questions need follows from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kfree.core.arrays import NUMPY, Array, Arrays
from kfree.core.assignment import Assignment
from kfree.core.hashing import Fingerprints
from kfree.core.masses import Masses
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Stats
from kfree.engines.sums import Sums


class RowPasses(ABC):
    """``n_rows`` rows, of which the first has the global number ``begin``, with weights (None: all are one).

    ``rows``, ``row`` and the like number these rows from zero. ``arrays`` says of which kind arrays are.
    ``n_distances`` counts the distances that passes compute.
    """

    arrays: Arrays = NUMPY
    begin = 0
    n_rows: int
    n_features: int
    weight: Array | None
    n_distances: int

    @abstractmethod
    def assign(self, sites: Sites, lam: float) -> tuple[Array, Array, Sums, Array | None]:
        """Labels, squared distances, sums, and where lam is finite whether weight·squared distance exceeds it."""

    @abstractmethod
    def sums_of(self, labels: Array, sq_dist: Array, n_clusters: int) -> Sums:
        """Sums over all rows, given their labels and squared distances."""

    @abstractmethod
    def distances_to_own(self, rows: Array, labels: Array, centres: Floats) -> Array:
        """Squared distance of each of ``rows`` (m,) to the centre that ``labels`` (m,) names."""

    @abstractmethod
    def second_nearest(self, rows: Array, labels: Array, centres: Floats) -> tuple[Array, Array]:
        """The nearest centre of each of ``rows`` but the one that ``labels`` names, and the squared distance to it."""

    @abstractmethod
    def choose(self, rows: Array, pair: Array, pairs: Floats) -> tuple[Array, Stats]:
        """Each of ``rows`` goes to the nearer centre of its pair, 2·pair or 2·pair + 1; statistics of all pairs."""

    @abstractmethod
    def scatter_product(self, rows: Array, pair: Array, pairs: Floats) -> tuple[Floats, Floats]:
        """See ``engines.moves.Bisection``."""

    @abstractmethod
    def second_costs(self, rows: Array, labels: Array, second: Array, centres: Floats) -> Floats:
        """Per cluster Σ weight·(squared distance to ``second`` − to its own), where rows go if it is deleted."""

    @abstractmethod
    def exchange_listed(
        self, rows: Array, others: Array, labels: Array, centres: Floats, stats: Stats, least_gain: float
    ) -> Array | None:
        """Labels after exchanges of ``rows`` with the clusters ``others`` (m,), or the cheapest one where that is −1.

        None if no row moved.
        """

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

    @abstractmethod
    def approach(self, site: Floats, sq_dist: Array) -> None:
        """Lower ``sq_dist`` (n,) in place to the squared distance to ``site`` (d,) where that is less."""

    @abstractmethod
    def best_of(self, candidates: Floats, sq_dist: Array) -> int:
        """The candidate with the smallest Σ weight·min(sq_dist, squared distance to it), the first on ties."""

    @abstractmethod
    def masses(self, mass: Array) -> Masses:
        """Numbers (n,) of the rows, for draws."""

    @abstractmethod
    def points(self, rows: Array) -> Floats:
        """Coordinates of a few rows."""

    @abstractmethod
    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        """The data and the weights of some rows, as they were given."""

    def assignment(self, labels: Array, n_clusters: int) -> Assignment:
        """The assignment with these labels."""
        return Assignment(labels, n_clusters, lambda: self.fingerprints_of(labels, n_clusters))

    def fingerprints_of(self, labels: Array, n_clusters: int) -> Fingerprints:
        """Per cluster the sum of a hash of its rows' numbers."""
        return self.arrays.fingerprints(labels, self.begin, n_clusters)

    def counting(self) -> Array:
        """All rows of positive weight."""
        return self.arrays.arange(self.n_rows) if self.weight is None else self.arrays.flatnonzero(self.weight > 0)

    def weights(self, rows: Array) -> Array:
        """Weights of some rows."""
        return self.arrays.full(len(rows), 1.0, np.float64) if self.weight is None else self.weight[rows]


def sq_dist_to_nearest(rows: RowPasses, listed: Array, centres: Floats) -> Array:
    """Squared distances of listed rows to the nearest of some centres."""
    one_more = np.vstack([centres, centres[:1]])  # which is left out for every row
    return rows.second_nearest(listed, rows.arrays.full(len(listed), len(centres), np.int32), one_more)[1]


def swept(
    rows: RowPasses, sites: Sites, lam: float, order: Array | None, room: int
) -> tuple[Array, Array, Sums, Array, int]:
    """A sweep (Kulis & Jordan 2012, Algorithm 1): labels, squared distances, sums, founders, and rows without room.

    Rows are compared with the sites at once; then the far ones, in visiting ``order`` (None: as they lie), with the
    newborn as well. All rows of a first sweep may be far, so few arrays of that length are made.
    """
    arrays, k = rows.arrays, len(sites.uids)
    labels, sq_dist, sums, is_far = rows.assign(sites, lam)
    if is_far is None:
        return labels, sq_dist, sums, arrays.arange(0), 0
    far = arrays.flatnonzero(is_far) if order is None else order[is_far[order]]
    if not len(far):
        return labels, sq_dist, sums, far, 0
    places, n_refused = rows.open_clusters(far, k, lam, room, labels, sq_dist)
    founders = far[places]
    if len(founders):
        born_at = arrays.to_numpy(founders if order is None else _places(rows, founders, order))
        rows.join_newborn(order, rows.points(founders), born_at, k, labels, sq_dist)
        sums = rows.sums_of(labels, sq_dist, k + len(founders))
    return labels, sq_dist, sums, founders, n_refused


def _places(rows: RowPasses, listed: Array, order: Array) -> Array:
    """The places in ``order`` of some rows, which are listed in that order."""
    is_listed = rows.arrays.full(rows.n_rows, False, np.bool_)
    is_listed[listed] = True
    return rows.arrays.flatnonzero(is_listed[order])
