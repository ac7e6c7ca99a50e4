"""Rows without clusters that look like given rows otherwise: the null of every comparison.

Tables: a Gaussian copula with the rank correlations of the rows and, in every column, the closest unimodal
distribution. Unit rows: a Gaussian with their mean and covariance, or independent factors of one mode each, projected
on the sphere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from kfree.core.stats import Floats, Index

# Columns with fewer distinct values than this keep them: they have no shape that could be made unimodal.
_FEWEST_VALUES = 4
# Factors that are looked for at most, iterations of the search, and the change of a direction that ends it.
_MOST_FACTORS, _ITERATIONS, _SETTLED = 50, 60, 1e-4
# Knots of a fitted distribution function, and places that are tried for its mode.
_KNOTS, _MODES = 128, 16


# Numbers in single or double precision.
Reals: TypeAlias = NDArray[np.floating[Any]]


class Surrogate(Protocol):
    """A distribution without clusters."""

    def draw(self, rng: np.random.Generator) -> Floats: ...


@dataclass(frozen=True)
class Quantiles:
    """A quantile function: linear between the knots (F, x), or a step function on a lattice."""

    F: Floats
    x: Floats
    is_lattice: bool

    def __call__(self, u: Floats) -> Floats:
        if self.is_lattice:
            found: Floats = self.x[np.minimum(np.searchsorted(self.F, u), len(self.x) - 1)]
            return found
        return np.interp(u, self.F, self.x)


def unimodal_quantiles(column: Floats) -> Quantiles:
    """The unimodal distribution closest to that of a column; two or three values as they are.

    Left of the mode the distribution function is convex, right of it concave: the greatest convex minorant and the
    least concave majorant, whose slopes are isotonic regressions of the slopes. The mode is the place with the smallest
    largest deviation, as in the dip test (Hartigan & Hartigan 1985).
    """
    values, counts = np.unique(column, return_counts=True)
    if len(values) < _FEWEST_VALUES:
        return Quantiles(np.cumsum(counts) / len(column), values, is_lattice=True)
    F = (np.cumsum(counts) - counts / 2) / len(column)
    # Rows that share the smallest or the largest value, such as zeros or a bound, keep their share.
    F[0], F[-1] = counts[0] / len(column), 1 - counts[-1] / len(column)
    # Dense in the tails, where a straight line between distant values would add rows that are not there.
    ranks = (len(values) - 1) * (1 - np.cos(np.linspace(0, np.pi, _KNOTS))) / 2
    knots = np.unique(ranks.round().astype(np.int64))
    x, F = values[knots], F[knots]
    modes = np.unique((np.linspace(0.04, 0.96, _MODES) * len(x)).astype(np.int64).clip(1, len(x) - 2))
    fits = [_with_mode(x, F, mode) for mode in modes]
    return Quantiles(min(fits, key=lambda fit: float(np.abs(fit - F).max())), x, is_lattice=False)


def _with_mode(x: Floats, F: Floats, mode: int) -> Floats:
    width = np.diff(x)
    slope = np.diff(F) / width
    rise = isotonic_regression(slope[:mode], weights=width[:mode]).x
    fall = isotonic_regression(slope[mode:], weights=width[mode:], increasing=False).x
    fitted: Floats = F[0] + np.append(0.0, np.cumsum(np.concatenate([rise, fall]) * width))
    return fitted


@dataclass(frozen=True)
class GaussianCopula:
    """Φ of Gaussian rows with the correlations of the normal scores, through the quantile functions of the columns.

    Gaussians of any covariance, independent columns of any unimodal kind, answers on a scale and yes/no are of this
    kind. ``factor`` (r, d) gives the Gaussian rows from r independent columns.
    """

    n_rows: int
    factor: Floats
    columns: tuple[Quantiles, ...]

    @classmethod
    def of(cls, rows: Floats) -> GaussianCopula:
        n = len(rows)
        scores = ndtri((rankdata(rows, axis=0) - 0.5) / n)
        scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-9)
        factor = square_root(scores)
        return cls(n, factor, tuple(unimodal_quantiles(column) for column in rows.T))

    def draw(self, rng: np.random.Generator) -> Floats:
        uniform = ndtr(rng.standard_normal((self.n_rows, len(self.factor))) @ self.factor)
        return np.column_stack([column(u) for column, u in zip(self.columns, uniform.T, strict=True)])


@dataclass(frozen=True)
class DirectionalGaussian:
    """Directions of Gaussian rows with the mean and covariance of unit rows."""

    n_rows: int
    mean: Floats
    factor: Floats

    @classmethod
    def of(cls, rows: Floats) -> DirectionalGaussian:
        mean = rows.mean(axis=0)
        return cls(len(rows), mean, square_root(rows - mean))

    @property
    def n_factors(self) -> int:
        """How many factors a mixture of factors with this covariance has."""
        return len(leading((self.factor**2).sum(axis=1), len(self.mean)))

    def draw(self, rng: np.random.Generator) -> Floats:
        drawn: Floats = unit_rows(rng.standard_normal((self.n_rows, len(self.factor))) @ self.factor + self.mean)
        return drawn


@dataclass(frozen=True)
class DirectionalFactors:
    """Directions of rows that mix independent factors, each with the unimodal distribution closest to its own.

    Skewed factors make the corners of a simplex on the sphere, which look like clusters. The factors are those
    principal components with more than the mean variance (Kaiser 1960), turned so that they are as independent as
    possible; other components are Gaussian. ``mixing`` (r, d) and ``rest`` (s, d) give rows from factors and from
    Gaussian numbers.
    """

    n_rows: int
    mean: Floats
    mixing: Floats
    factors: tuple[Quantiles, ...]
    rest: Floats

    @classmethod
    def of(cls, rows: Floats, rng: np.random.Generator) -> DirectionalFactors:
        mean = rows.mean(axis=0)
        variance, axes = principal(rows - mean)
        chosen = leading(variance, rows.shape[1])
        others = np.setdiff1d(np.arange(len(variance)), chosen)
        scale = np.sqrt(variance)
        white = (rows - mean) @ (axes[:, chosen] / scale[chosen])
        turn = independent_directions(white, rng)
        mixing = turn @ (scale[chosen][:, None] * axes[:, chosen].T)
        factors = tuple(unimodal_quantiles(column) for column in (white @ turn.T).T)
        return cls(len(rows), mean, mixing, factors, scale[others][:, None] * axes[:, others].T)

    def draw(self, rng: np.random.Generator) -> Floats:
        factors = np.column_stack([factor(rng.uniform(size=self.n_rows)) for factor in self.factors])
        noise = rng.standard_normal((self.n_rows, len(self.rest))) @ self.rest
        drawn: Floats = unit_rows(factors @ self.mixing + noise + self.mean)
        return drawn


def leading(variance: Floats, n_columns: int) -> Index:
    """The principal components with more than the mean variance of the columns (Kaiser 1960), at most 50."""
    largest = np.argsort(variance)[::-1][:_MOST_FACTORS]
    chosen: Index = largest[variance[largest] > variance.sum() / n_columns]
    return chosen


def independent_directions(white: Floats, rng: np.random.Generator) -> Floats:
    """A rotation (r, r) of white rows whose columns are as independent as possible (FastICA, Hyvärinen 1999)."""
    n, r = white.shape
    turn = np.linalg.qr(rng.standard_normal((r, r)))[0]
    for _ in range(_ITERATIONS):
        bent = np.tanh(white @ turn.T)
        left, _, right = np.linalg.svd(bent.T @ white / n - (1 - bent**2).mean(axis=0)[:, None] * turn)
        new = left @ right
        settled = np.abs(np.einsum("ij,ij->i", new, turn)).min() > 1 - _SETTLED
        turn = new
        if settled:
            break
    return turn


def principal(centred: Floats) -> tuple[Floats, Floats]:
    """Variances (r,) and axes (d, r) of the principal components of centred rows, in no order, r ≤ n, d."""
    if len(centred) > centred.shape[1]:
        variance, axes = np.linalg.eigh(centred.T @ centred / len(centred))
        return np.maximum(variance, 0.0), axes
    _, size, turned = np.linalg.svd(centred, full_matrices=False)
    return size**2 / len(centred), turned.T


def square_root(centred: Floats) -> Floats:
    """F (r, d) with FᵀF = the covariance of centred rows, r ≤ n, d."""
    variance, axes = principal(centred)
    root: Floats = np.sqrt(variance)[:, None] * axes.T
    return root


def unit_rows(rows: Reals) -> Any:
    """Rows of length one; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
