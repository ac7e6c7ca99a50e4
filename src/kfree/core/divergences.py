"""Bregman divergences (Banerjee et al. 2005): d_φ(x, μ) = φ(x) − φ(μ) − ⟨∇φ(μ), x − μ⟩.

Each φ here is a sum over columns. Divergences are neither symmetric nor metric: no triangle inequality holds, and the
centre is the second argument. For every convex φ the best centre is the mean, and for every centre c

Σ w·d(x, c) = Σ w·d(x, mean) + n·d(mean, c),

so that weights, sums and costs of clusters are all that a search needs to know of their rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, kl_div, rel_entr, xlog1py, xlogy

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels, Mask


class Divergence(ABC):
    """A convex function of one column, f, with φ(x) = Σ_t f(x_t), and what follows from it."""

    name: ClassVar[str]
    # The values that a column may have, in words and as a test.
    allowed: ClassVar[str]
    remedy: ClassVar[str]
    # The ends of the domain, and whether zeros that are not stored cost little to count.
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = np.inf
    takes_sparse: ClassVar[bool] = False

    @abstractmethod
    def f(self, x: Floats) -> Floats:
        """f by element."""

    @abstractmethod
    def slope(self, mean: Floats) -> Floats:
        """f' by element, infinite at an end of the domain where f is vertical."""

    @abstractmethod
    def reach(self, mean: Floats) -> Floats:
        """How far from ``mean`` by element a divergence of 1 is, to second order: √(2 / f''(mean))."""

    @abstractmethod
    def gap(self, x: Floats, mean: Floats) -> Floats:
        """f(x) − f(mean) − f'(mean)·(x − mean) by element, without a difference of nearly equal numbers where possible.

        Infinite where f is vertical at ``mean`` and ``x`` is not there.
        """

    @abstractmethod
    def is_allowed(self, values: Floats) -> Mask:
        """Whether values lie in the domain, by element."""

    def phi(self, x: Floats) -> Floats:
        """φ of each row."""
        return np.asarray(self.f(x).sum(axis=-1))

    def between(self, x: Floats, mean: Floats) -> Floats:
        """d_φ(x, mean) over the last axis; the axes before it broadcast."""
        return np.asarray(self.gap(x, mean).sum(axis=-1))

    def to_own(self, X: ArrayOrCSR, labels: Labels, centres: Floats) -> Floats:
        """d_φ of each row to the centre that ``labels`` names, (n,)."""
        if not isinstance(X, sp.csr_array):
            return self.between(np.asarray(X, dtype=np.float64), centres[labels])
        # Zeros that are not stored cost gap(0, centre), summed over all columns and corrected where one is stored.
        zero, own = self.gap(np.zeros(1), centres), np.repeat(labels, np.diff(X.indptr))
        mean = centres[own, X.indices]
        extra = self.gap(X.data.astype(np.float64), mean) - self.gap(np.zeros(1), mean)
        row = np.repeat(np.arange(len(labels)), np.diff(X.indptr))
        found: Floats = zero.sum(axis=1)[labels] + np.bincount(row, extra, len(labels))
        return np.maximum(found, 0.0)

    def inside(self, sites: Floats, means: Floats) -> Floats:
        """Sites, where a coordinate lies outside the domain halfway between that of the mean and the end."""
        low, high = (means + self.lowest) / 2, (means + self.highest) / 2
        return np.where(sites < self.lowest, low, np.where(sites > self.highest, high, sites))

    def joining(self, n_a: Floats, mean_a: Floats, n_b: Floats, mean_b: Floats) -> Floats:
        """What joining costs: n_a·d(μ_a, μ_ab) + n_b·d(μ_b, μ_ab), for weights and means that broadcast.

        These are two clusters, or a cluster and a row. A row of weight w joins a cluster for joining(w, x, n, μ). It
        leaves one of weight n and mean μ for the negative of joining(w, x, n − w, (nμ − wx)/(n − w)).
        """
        n_a, n_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
        both = n_a + n_b
        joined = (n_a[..., None] * mean_a + n_b[..., None] * mean_b) / np.where(both > 0, both, 1.0)[..., None]
        costs = [np.where(n > 0, n, 0.0) * self._about(m, joined, n) for n, m in ((n_a, mean_a), (n_b, mean_b))]
        return costs[0] + costs[1]

    def leaving(self, w: Floats, x: Floats, n: Floats, mean: Floats) -> Floats:
        """What a row of weight w saves by leaving a cluster of weight n > w, whose mean then moves."""
        rest = np.asarray(n - w)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (np.asarray(n)[..., None] * mean - np.asarray(w)[..., None] * x) / rest[..., None]
        # Rounding leaves the domain where no other row has anything in a column.
        return self.joining(w, x, rest, self.clipped(np.where(rest[..., None] > 0, others, x)))

    def clipped(self, means: Floats) -> Floats:
        """Means that rounding may have led out of the domain."""
        return np.clip(means, self.lowest, self.highest)

    def scores(self, X: ArrayOrCSR, centres: Floats) -> Floats:
        """For each row, a number per centre that is highest for the nearest one, (n, k): φ(x) − d(x, centre).

        ⟨∇φ(μ), x⟩ + φ(μ) − ⟨∇φ(μ), μ⟩: a matrix product, with ∇φ(μ) computed once. A centre at an end of the domain
        where f is vertical is infinitely far from rows that are not there; its infinite slope stays out of the product.
        """
        slope = self.slope(centres)
        vertical = ~np.isfinite(slope)
        finite = np.where(vertical, 0.0, slope)
        offset = self.phi(centres) - (finite * centres).sum(axis=1)
        scores: Floats = np.asarray(X @ finite.T) + offset
        if vertical.any():
            scores[self._apart(X, centres, vertical) > 0] = -np.inf
        return scores

    def nearest(self, X: ArrayOrCSR, centres: Floats) -> Labels:
        """The nearest centre of each row, the first on ties; of infinitely far ones, that with the least |x − μ| where
        it may not differ."""
        scores = self.scores(X, centres)
        labels: Labels = scores.argmax(axis=1).astype(np.int32)
        lost = np.flatnonzero(~np.isfinite(scores[np.arange(len(labels)), labels]))
        if len(lost):
            vertical = ~np.isfinite(self.slope(centres))
            labels[lost] = self._apart(X[lost], centres, vertical).argmin(axis=1)
        return labels

    def _about(self, mean: Floats, joined: Floats, n: Floats) -> Floats:
        """d(mean, joined), zero for clusters without weight, whose mean may lie outside the domain."""
        counts = (n > 0)[..., None]
        inside = np.where(counts, mean, joined)
        return self.between(inside, joined)

    def _apart(self, X: ArrayOrCSR, centres: Floats, vertical: Mask) -> Floats:
        """How far a row differs from a centre in columns where it may not, Σ |x − μ|, (n, k).

        Such a column of a centre is at the least value of the domain, zero, or at its greatest, one: the sum of |x − μ|
        over these columns is ⟨x, sign⟩ + number of ones, with sign +1 at zeros and −1 at ones, and is zero or more.
        """
        sign = np.where(vertical, np.where(centres > 0, -1.0, 1.0), 0.0)
        apart: Floats = np.asarray(X @ sign.T) + (sign < 0).sum(axis=1)
        return apart


class SquaredEuclidean(Divergence):
    """f(x) = x²: d is the squared distance. The others are tested against what is known of this one."""

    name = "euclidean"
    allowed, remedy = "finite numbers", "Remove or replace values that are not finite."
    lowest = -np.inf

    def f(self, x: Floats) -> Floats:
        return x * x

    def slope(self, mean: Floats) -> Floats:
        return 2 * mean

    def reach(self, mean: Floats) -> Floats:
        return np.ones_like(mean)

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.square(x - mean)

    def is_allowed(self, values: Floats) -> Mask:
        return np.isfinite(values)


class KullbackLeibler(Divergence):
    """f(x) = x·log x − x: d = Σ x·log(x/μ) − x + μ, for counts (Poisson) and shares (multinomial)."""

    name = "kl"
    allowed, remedy = "finite numbers ≥ 0", "Give counts or shares; do not centre the columns."
    takes_sparse = True

    def f(self, x: Floats) -> Floats:
        return np.asarray(-entr(x) - x)

    def slope(self, mean: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(mean)

    def reach(self, mean: Floats) -> Floats:
        return np.sqrt(2 * mean)

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.asarray(kl_div(x, mean))

    def is_allowed(self, values: Floats) -> Mask:
        return np.isfinite(values) & (values >= 0)


class ItakuraSaito(Divergence):
    """f(x) = −log x: d = Σ x/μ − log(x/μ) − 1, for spectra (exponential distributions). Only ratios count."""

    name = "itakura-saito"
    allowed, remedy = "finite numbers > 0", "Add a small floor to spectra that have zeros."
    lowest = float(np.finfo(np.float64).tiny)

    def f(self, x: Floats) -> Floats:
        return -np.log(x)

    def slope(self, mean: Floats) -> Floats:
        return -1 / mean

    def reach(self, mean: Floats) -> Floats:
        return np.asarray(np.sqrt(2.0) * mean)

    def gap(self, x: Floats, mean: Floats) -> Floats:
        with np.errstate(over="ignore"):  # the sum of a cluster that large values have left may be rounded to nothing
            excess = (x - mean) / mean
        # Far from the mean nothing cancels in log x − log μ, and far below it 1 + excess has no digits left.
        log_ratio = np.where(np.abs(excess) > 0.5, np.log(x) - np.log(mean), np.log1p(np.clip(excess, -0.5, 0.5)))
        return np.asarray(excess - log_ratio)

    def is_allowed(self, values: Floats) -> Mask:
        return np.isfinite(values) & (values > 0)


class Logistic(Divergence):
    """f(x) = x·log x + (1 − x)·log(1 − x): d = Σ x·log(x/μ) + (1 − x)·log((1 − x)/(1 − μ)), for zeros and ones."""

    name = "logistic"
    allowed, remedy = "numbers from 0 to 1", "Give zeros and ones, or probabilities."
    highest = 1.0

    def f(self, x: Floats) -> Floats:
        return np.asarray(xlogy(x, x) + xlog1py(1 - x, -x))

    def slope(self, mean: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(mean) - np.log1p(-mean)

    def reach(self, mean: Floats) -> Floats:
        return np.sqrt(2 * mean * (1 - mean))

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.asarray(rel_entr(x, mean) + rel_entr(1 - x, 1 - mean))

    def is_allowed(self, values: Floats) -> Mask:
        return (values >= 0) & (values <= 1)


DIVERGENCES: dict[str, Divergence] = {
    one.name: one for one in (SquaredEuclidean(), KullbackLeibler(), ItakuraSaito(), Logistic())
}


def require_domain(X: ArrayOrCSR, divergence: Divergence, name: str = "X") -> None:
    """Raise if a value lies outside the domain, naming the first such row and column."""
    if sp.issparse(X):
        _require_domain_of_sparse(sp.csr_array(X), divergence)
    elif not (allowed := divergence.is_allowed(np.asarray(X))).all():
        row, column = (int(place) for place in np.argwhere(~allowed)[0])
        _refuse(row, column, float(X[row, column]), divergence, name)


def require_kind(X: ArrayOrCSR, divergence: Divergence) -> None:
    """Raise if rows are sparse and zeros that are not stored would have to be visited one by one."""
    if sp.issparse(X) and not divergence.takes_sparse:
        raise ValueError(f"metric={divergence.name!r} takes dense rows; give X.toarray(), or metric='kl'.")


def _require_domain_of_sparse(X: sp.csr_array, divergence: Divergence) -> None:
    stored = ~divergence.is_allowed(X.data)
    if stored.any():
        place = int(np.flatnonzero(stored)[0])
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
        _refuse(row, int(X.indices[place]), float(X.data[place]), divergence)
    short = np.flatnonzero(np.diff(X.indptr) < X.shape[1])
    if len(short) and not divergence.is_allowed(np.zeros(1)).all():
        row = int(short[0])
        columns = X.indices[X.indptr[row] : X.indptr[row + 1]]
        _refuse(row, int(np.setdiff1d(np.arange(X.shape[1]), columns)[0]), 0.0, divergence)


def _refuse(row: int, column: int, value: float, divergence: Divergence, name: str = "X") -> None:
    raise ValueError(
        f"{name}[{row}, {column}] = {value:g} (row {row}), and metric={divergence.name!r} takes {divergence.allowed}. "
        f"{divergence.remedy}"
    )
