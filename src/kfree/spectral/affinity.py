"""Affinities between rows of a fit, and of new rows to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import NearestNeighbors

from kfree.core.blocks import blocks
from kfree.core.cached import cached
from kfree.core.fields import Count
from kfree.core.marks import FINITE, AtLeast, Below, Shape
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats, Index, Used
from kfree.engines.kernel import gram
from kfree.spectral.matrices import Dense, Factor, Matrix, sparse_matrix

RowsOf = Callable[[slice], Floats]

# A row is as far from its neighbours as from the one with this number.
NEIGHBOUR = 10
# Lower bound of a width as a share of the median; without it, copies would have infinite weight.
_NEAREST = 0.1
# Widths and their unit are divided by.
_POSITIVE = AtLeast(np.finfo(np.float64).tiny)
FittedRows = Annotated[ArrayOrCSR, Shape("fitted", "f"), FINITE]


@dataclass(frozen=True)
class Surroundings:
    """The distance of a row to its neighbours, relative to the median over the rows of the fit.

    The affinity of two rows is divided by the product of their squared ``widths``: paths through regions of low
    density, which may connect two clusters, count less. A row of ``weight`` 2 is two neighbours. As many rows as
    ``within``, the row itself included, lie within its reach.
    """

    X: FittedRows
    n_neighbors: Count
    weight: Annotated[Floats | None, Shape("fitted"), AtLeast(0.0)]
    within: Annotated[float, FINITE]
    neighbours: Annotated[NDArray[np.int64], Shape("fitted", "neighbours"), Below("fitted")]
    usual: Annotated[float, _POSITIVE]
    widths: Annotated[Floats, Shape("fitted"), _POSITIVE]

    @classmethod
    def of(cls, X: ArrayOrCSR, n_neighbors: int, weight: Floats | None = None) -> Surroundings:
        """The surroundings of all rows of a fit."""
        most = min(n_neighbors, X.shape[0] - 1)
        within = 1 + (most if weight is None else min(n_neighbors, float(weight.sum()) - 1))
        bare = cls(X, most, weight, within, np.empty((0, 0), dtype=np.int64), 1.0, np.empty(0))
        reach, neighbours = bare.reach(X)
        if not np.isfinite(reach).all():
            raise ValueError("distances between rows of X overflow float64. Divide X by a constant first.")
        usual = _median(reach, weight, reach > 0) if (reach > 0).any() else 1.0
        return cls(X, most, weight, within, neighbours, usual, _in_units(reach, usual))

    @cached
    def search(self) -> NearestNeighbors:
        """The search structure of scikit-learn."""
        return NearestNeighbors(n_neighbors=self.n_neighbors + 1).fit(self.X)

    def of_new(self, X: ArrayOrCSR) -> Floats:
        """Widths of rows that are not among these; a row that is, meets itself."""
        return _in_units(self.reach(X)[0], self.usual)

    def reach(self, X: ArrayOrCSR) -> tuple[Floats, Any]:
        """The distance of each row to the last of its neighbours, and the neighbours, the nearest first."""
        n_rows = self.X.shape[0]
        m = self.n_neighbors + 1
        distances, neighbours = self.search.kneighbors(X)
        if self.weight is None:
            return distances[:, -1], neighbours
        while not (enough := np.cumsum(self.weight[neighbours], axis=1) >= self.within)[:, -1].all() and m < n_rows:
            m = min(2 * m, n_rows)
            distances, neighbours = self.search.kneighbors(X, n_neighbors=m)
        last = np.where(enough[:, -1], enough.argmax(axis=1), m - 1)
        return distances[np.arange(len(distances)), last], neighbours


def _in_units(reach: Floats, usual: float) -> Floats:
    return np.maximum(reach / usual, _NEAREST)


def _median(values: Floats, weight: Floats | None, some: Index | Used) -> float:
    """The median of some values, those of weight 2 counted twice."""
    if weight is None:
        return float(np.median(values[some]))
    order = np.argsort(values[some])
    risen, up_to = values[some][order], np.cumsum(weight[some][order])
    half = up_to[-1] / 2
    places = np.searchsorted(up_to, half, side="left"), np.searchsorted(up_to, half, side="right")
    return float(risen[np.minimum(places, len(risen) - 1)].mean())


class Affinity(ABC):
    """A symmetric matrix of affinities ``among`` the rows of a fit, and those of new rows to them."""

    @abstractmethod
    def among(self) -> ArrayOrCSR:
        """All affinities between the rows of the fit."""

    @abstractmethod
    def to_new(self, X: ArrayOrCSR) -> ArrayOrCSR:
        """Affinities of new rows to those of the fit."""

    def matrix(
        self, normalised: bool, rng: np.random.RandomState, weight: Floats | None = None
    ) -> tuple[Matrix, Floats | None]:
        """K, and the degrees if it is divided by their square roots: then all eigenvalues lie between −1 and 1.

        With weights it is √w·K·√w, which has the eigenvalues of K with repeated rows.
        """
        values = self.among()
        root = None if weight is None else np.sqrt(weight)
        if not normalised:
            values = values if root is None else _scaled(values, root)
            return _wrapped(values, -_largest_sum(values), None, rng), None
        degrees = values @ (np.ones(values.shape[0]) if weight is None else weight)
        if not np.isfinite(degrees).all():
            raise ValueError("affinities between rows of X overflow float64. Divide X by a constant first.")
        if not (degrees > 0).all():
            raise ValueError(
                f"affinities are normalised by the sums of rows, and {np.count_nonzero(degrees <= 0)} row(s) have a "
                f"sum that is not positive, the first is row {int(np.argmin(degrees > 0))}. Remove such rows, give "
                "them an affinity with themselves, or set normalize=False."
            )
        scale = (1.0 if root is None else root) / np.sqrt(degrees)
        return _wrapped(_scaled(values, scale), -1.0, 1.0, rng), degrees


@dataclass(frozen=True)
class LocalGaussian(Affinity):
    """exp(−2·‖x − y‖²/(σ_x·σ_y))/(σ_x·σ_y)²: as wide as the surroundings of both (Zelnik-Manor & Perona 2004)."""

    around: Surroundings

    @classmethod
    def of(cls, X: ArrayOrCSR, weight: Floats | None = None) -> LocalGaussian:
        return cls(Surroundings.of(X, NEIGHBOUR, weight))

    def among(self) -> ArrayOrCSR:
        return self._matrix(self.around.X, self.around.widths)

    def to_new(self, X: ArrayOrCSR) -> Floats:
        return self._between(X, self.around.of_new(X))

    def _matrix(self, X: ArrayOrCSR, widths: Floats) -> ArrayOrCSR:
        return stored_or_computed(X.shape[0], lambda places: self._between(X[places], widths[places]))

    def _between(self, X: ArrayOrCSR, widths: Floats) -> Floats:
        product = np.outer(widths, self.around.widths)
        sq_dist = euclidean_distances(X, self.around.X, squared=True) / self.around.usual**2
        return np.asarray(np.exp(-2.0 * sq_dist / product) / product**2)


@dataclass(frozen=True)
class Gaussian(Affinity):
    """exp(−gamma·‖x − y‖²), equally wide everywhere."""

    X: FittedRows
    gamma: Annotated[float, AtLeast(0.0)]

    def among(self) -> ArrayOrCSR:
        return stored_or_computed(self.X.shape[0], lambda places: self.to_new(self.X[places]))

    def to_new(self, X: ArrayOrCSR) -> Floats:
        return np.asarray(rbf_kernel(X, self.X, gamma=self.gamma), dtype=np.float64)


@dataclass(frozen=True)
class Neighbours(Affinity):
    """1 if one row is among the neighbours of the other and the other among its own, ½ if only one is, else 0.

    Divided by (σ_x·σ_y)², σ being the distance to the last of the neighbours.
    """

    around: Surroundings

    @classmethod
    def of(cls, X: ArrayOrCSR, n_neighbors: int) -> Neighbours:
        return cls(Surroundings.of(X, n_neighbors))

    def among(self) -> sp.csr_array:
        around, n_rows = self.around, self.around.X.shape[0]
        ones, begins = (
            np.ones(around.neighbours.size),
            np.arange(0, around.neighbours.size + 1, around.neighbours.shape[1]),
        )
        links = sp.csr_array((ones, around.neighbours.ravel(), begins), shape=(n_rows, n_rows))
        thin = sp.dia_array((1.0 / around.widths[None, :] ** 2, 0), shape=(n_rows, n_rows))
        return sp.csr_array(thin @ ((links + links.T) / 2) @ thin)

    def to_new(self, X: ArrayOrCSR) -> sp.csr_array:
        """Links to the neighbours of the new rows. A copy of a row of the fit has the links of that row."""
        around = self.around
        distances, neighbours = around.search.kneighbors(X)
        weight = 1.0 / around.widths[neighbours] ** 2
        begins = np.arange(0, neighbours.size + 1, neighbours.shape[1])
        shape = (X.shape[0], around.X.shape[0])
        links = sp.csr_array((weight.ravel(), neighbours.ravel(), begins), shape=shape)
        is_copy = (distances[:, 0] == 0).astype(np.float64)
        originals = sp.csr_array((is_copy, (np.arange(shape[0]), neighbours[:, 0])), shape=shape)
        return sp.csr_array(
            sp.dia_array((1.0 - is_copy[None, :], 0), shape=(shape[0],) * 2) @ links + originals @ self.among()
        )


@dataclass(frozen=True)
class Given(Affinity):
    """Precomputed affinities."""

    values: Annotated[ArrayOrCSR, Shape("fitted", "fitted"), FINITE]

    def among(self) -> ArrayOrCSR:
        return self.values

    def to_new(self, X: ArrayOrCSR) -> ArrayOrCSR:
        return X


@dataclass(frozen=True)
class Products(Affinity):
    """XXᵀ, without normalisation never formed."""

    X: FittedRows

    def among(self) -> ArrayOrCSR:
        return stored_or_computed(self.X.shape[0], lambda places: self.to_new(self.X[places]))

    def matrix(
        self, normalised: bool, rng: np.random.RandomState, weight: Floats | None = None
    ) -> tuple[Matrix, Floats | None]:
        if normalised:
            return super().matrix(normalised, rng, weight)
        return Factor(self.X if weight is None else _rows_times(self.X, np.sqrt(weight))), None

    def to_new(self, X: ArrayOrCSR) -> Floats:
        return dense(X @ self.X.T)


AFFINITIES = {
    "rbf": Gaussian,
    "rbf of local width": LocalGaussian,
    "nearest_neighbors": Neighbours,
    "precomputed": Given,
    "linear": Products,
}


def _rows_times(X: ArrayOrCSR, scale: Floats) -> ArrayOrCSR:
    """diag(scale)·X, in the form that X has."""
    return sp.csr_array(sp.diags_array(scale) @ X) if sp.issparse(X) else scale[:, None] * X


def _wrapped(values: ArrayOrCSR, lowest: float, highest: float | None, rng: np.random.RandomState) -> Matrix:
    if sp.issparse(values):
        return sparse_matrix(sp.csc_array(values), lowest, highest, rng)
    return Dense(values, lowest, rng)


def _scaled(values: ArrayOrCSR, scale: Floats) -> ArrayOrCSR:
    """diag(scale)·K·diag(scale), in the form that K has."""
    if isinstance(values, np.ndarray):
        return values * scale[:, None] * scale
    if not sp.issparse(values):
        return values.scaled(scale)
    diagonal = sp.dia_array((scale[None, :], 0), shape=values.shape)
    return diagonal @ values @ diagonal


def _largest_sum(values: ArrayOrCSR) -> float:
    """The largest Σ_j |K_ij|, which no eigenvalue exceeds in size."""
    if isinstance(values, Computed):
        return values.largest_sum()
    return float(abs(values).sum(axis=1).max())


class Computed:
    """A symmetric matrix whose rows are computed whenever it is multiplied; ``scale`` goes with rows and columns."""

    dtype = np.dtype(np.float64)

    def __init__(self, n_rows: int, rows_of: RowsOf, scale: Floats | None = None):
        self.shape = (n_rows, n_rows)
        self._rows_of = rows_of
        self._scale = np.ones(n_rows) if scale is None else scale

    def scaled(self, scale: Floats) -> Computed:
        return Computed(self.shape[0], self._rows_of, self._scale * scale)

    def matvec(self, v: Floats) -> Floats:
        v = self._scale * v.ravel()
        products = [self._rows_of(places) @ v for places in blocks(*self.shape)]
        return np.asarray(self._scale * np.concatenate(products))

    __matmul__ = matvec

    def largest_sum(self) -> float:
        """The largest Σ_j |K_ij|."""
        sums = [np.abs(self._rows_of(places)) @ np.abs(self._scale) for places in blocks(*self.shape)]
        return float((np.abs(self._scale) * np.concatenate(sums)).max())

    def trace(self) -> float:
        parts = [self._rows_of(places)[:, places].diagonal() for places in blocks(*self.shape)]
        return float(np.concatenate(parts) @ self._scale**2)


def stored_or_computed(n_rows: int, rows_of: RowsOf) -> Floats | Computed:
    """A matrix given by a function of some of its rows: kept where memory allows."""
    n_bytes = 8 * n_rows**2
    if not gram.fits(n_bytes):
        return Computed(n_rows, rows_of)
    return np.asarray(rows_of(slice(0, n_rows))) if n_bytes <= gram.FEW_BYTES else gram.gathered(n_rows, rows_of)
