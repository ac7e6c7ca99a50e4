"""Bregman divergences in place of squared distances (Banerjee et al. 2005; Kulis & Jordan 2012, §7, iv).

J = Σ_i w_i d_φ(x_i, μ_{z_i}) + lam·k,   d_φ(x, μ) = φ(x) − φ(μ) − ⟨∇φ(μ), x − μ⟩.

For every convex φ the best μ is the weighted mean, so statistics add. Each φ here is a sum over columns. Divergences
are neither symmetric nor metric: no triangle inequality holds, and the centre is the second argument.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import entr, kl_div, rel_entr, xlog1py, xlogy

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels, totals

Bools = NDArray[np.bool_]


class Divergence(ABC):
    """A convex function of one column, f, with φ(x) = Σ_t f(x_t), and what follows from it."""

    name: ClassVar[str]
    # The values that a column may have, in words and as a test.
    allowed: ClassVar[str]
    remedy: ClassVar[str]

    @abstractmethod
    def f(self, x: Floats) -> Floats:
        """f by element."""

    @abstractmethod
    def slope(self, mean: Floats) -> Floats:
        """f' by element, infinite at an end of the domain where f is vertical."""

    @abstractmethod
    def gap(self, x: Floats, mean: Floats) -> Floats:
        """f(x) − f(mean) − f'(mean)·(x − mean) by element, without a difference of nearly equal numbers where possible.

        Infinite where f is vertical at ``mean`` and ``x`` is not there.
        """

    @abstractmethod
    def is_allowed(self, values: Floats) -> Bools:
        """Whether values lie in the domain, by element."""

    def phi(self, x: Floats) -> Floats:
        """φ of each row."""
        return np.asarray(self.f(x).sum(axis=-1))

    def between(self, x: Floats, mean: Floats) -> Floats:
        """d_φ(x, mean) over the last axis; the axes before it broadcast."""
        return np.asarray(self.gap(x, mean).sum(axis=-1))


class SquaredEuclidean(Divergence):
    """f(x) = x²: d is the squared distance. The others are tested against what is known of this one."""

    name = "euclidean"
    allowed, remedy = "finite numbers", "Remove or replace values that are not finite."

    def f(self, x: Floats) -> Floats:
        return x * x

    def slope(self, mean: Floats) -> Floats:
        return 2 * mean

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.square(x - mean)

    def is_allowed(self, values: Floats) -> Bools:
        return np.isfinite(values)


class KullbackLeibler(Divergence):
    """f(x) = x·log x − x: d = Σ x·log(x/μ) − x + μ, for counts (Poisson) and shares (multinomial)."""

    name = "kl"
    allowed, remedy = "finite numbers ≥ 0", "Give counts or shares; do not centre the columns."

    def f(self, x: Floats) -> Floats:
        return np.asarray(-entr(x) - x)

    def slope(self, mean: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(mean)

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.asarray(kl_div(x, mean))

    def is_allowed(self, values: Floats) -> Bools:
        return np.isfinite(values) & (values >= 0)


class ItakuraSaito(Divergence):
    """f(x) = −log x: d = Σ x/μ − log(x/μ) − 1, for spectra (exponential distributions). Only ratios count."""

    name = "itakura-saito"
    allowed, remedy = "finite numbers > 0", "Add a small floor to spectra that have zeros."

    def f(self, x: Floats) -> Floats:
        return -np.log(x)

    def slope(self, mean: Floats) -> Floats:
        return -1 / mean

    def gap(self, x: Floats, mean: Floats) -> Floats:
        excess = (x - mean) / mean
        return excess - np.log1p(excess)

    def is_allowed(self, values: Floats) -> Bools:
        return np.isfinite(values) & (values > 0)


class Logistic(Divergence):
    """f(x) = x·log x + (1 − x)·log(1 − x): d = Σ x·log(x/μ) + (1 − x)·log((1 − x)/(1 − μ)), for zeros and ones."""

    name = "logistic"
    allowed, remedy = "numbers from 0 to 1", "Give zeros and ones, or probabilities."

    def f(self, x: Floats) -> Floats:
        return np.asarray(xlogy(x, x) + xlog1py(1 - x, -x))

    def slope(self, mean: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(mean) - np.log1p(-mean)

    def gap(self, x: Floats, mean: Floats) -> Floats:
        return np.asarray(rel_entr(x, mean) + rel_entr(1 - x, 1 - mean))

    def is_allowed(self, values: Floats) -> Bools:
        return (values >= 0) & (values <= 1)


DIVERGENCES: dict[str, Divergence] = {
    one.name: one for one in (SquaredEuclidean(), KullbackLeibler(), ItakuraSaito(), Logistic())
}


def require_domain(X: ArrayOrCSR, divergence: Divergence) -> None:
    """Raise if a value lies outside the domain, naming the first such row and column."""
    if sp.issparse(X):
        _require_domain_of_sparse(sp.csr_array(X), divergence)
    elif not (allowed := divergence.is_allowed(np.asarray(X))).all():
        row, column = (int(place) for place in np.argwhere(~allowed)[0])
        _refuse(row, column, float(X[row, column]), divergence)


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


def _refuse(row: int, column: int, value: float, divergence: Divergence) -> None:
    raise ValueError(
        f"X[{row}, {column}] = {value:g} (row {row}), and metric={divergence.name!r} takes {divergence.allowed}. "
        f"{divergence.remedy}"
    )


@dataclass(frozen=True)
class BregmanStats:
    """Per cluster: weight ``n`` (k,), weighted ``sum`` of rows (k, d), and ``phi`` (k,), the weighted sum of φ(x)."""

    n: Floats
    sum: Floats
    phi: Floats

    @classmethod
    def of(cls, X: Floats, weight: Floats, labels: Labels, n_clusters: int, divergence: Divergence) -> BregmanStats:
        """Of rows with labels."""
        sums = np.zeros((n_clusters, X.shape[1]))
        np.add.at(sums, labels, weight[:, None] * X)
        return cls(totals(labels, weight, n_clusters), sums, totals(labels, weight * divergence.phi(X), n_clusters))

    def joined(self, other: BregmanStats) -> BregmanStats:
        """Cluster by cluster, the statistics of both together."""
        return BregmanStats(self.n + other.n, self.sum + other.sum, self.phi + other.phi)


@dataclass(frozen=True)
class BregmanObjective:
    """J = Σ_i w_i d_φ(x_i, μ_{z_i}) + lam·k; with lam = 0, that of Bregman hard clustering (Banerjee et al. 2005)."""

    lam: float
    divergence: Divergence

    def centres(self, stats: BregmanStats, previous: Floats) -> Floats:
        """The best centres for every φ: weighted means. A cluster without weight keeps its previous one."""
        means: Floats = stats.sum / np.where(stats.n > 0, stats.n, 1.0)[:, None]
        means[stats.n == 0] = previous[stats.n == 0]
        return means

    def least_costs(self, stats: BregmanStats) -> Floats:
        """Σ w·d_φ(x, mean) of each cluster: Σ w·φ(x) − n·φ(mean), since the linear term vanishes at the mean."""
        alive = stats.n > 0
        costs = np.zeros(len(stats.n))
        means = stats.sum[alive] / stats.n[alive, None]
        costs[alive] = np.maximum(stats.phi[alive] - stats.n[alive] * self.divergence.phi(means), 0.0)
        return costs

    def cost(self, stats: BregmanStats) -> float:
        """J of clusters about their means, those without rows not counted."""
        return math.fsum(self.least_costs(stats).tolist()) + self.lam * int(np.count_nonzero(stats.n))

    def merge_costs(self, stats: BregmanStats, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster b adds: n_a·d(μ_a, μ_ab) + n_b·d(μ_b, μ_ab).

        One cluster gives (k,), several (number, k). The change of J is this − lam. The same for (a, b) as for (b, a).
        """
        means = stats.sum / np.where(stats.n > 0, stats.n, 1.0)[:, None]
        return self.joining_costs(stats.n[clusters, None], means[clusters, None], stats.n, means)

    def joining_costs(self, n_a: Floats, mean_a: Floats, n_b: Floats, mean_b: Floats) -> Floats:
        """The same for weights and means that broadcast: of two clusters, or of a cluster and a row.

        A row of weight w joins a cluster for joining_costs(w, x, n, μ). It leaves one of weight n and mean μ for the
        negative of joining_costs(w, x, n − w, (nμ − wx)/(n − w)).
        """
        n_a, n_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
        both = n_a + n_b
        joined = (n_a[..., None] * mean_a + n_b[..., None] * mean_b) / np.where(both > 0, both, 1.0)[..., None]
        costs = [np.where(n > 0, n, 0.0) * self._about(m, joined, n) for n, m in ((n_a, mean_a), (n_b, mean_b))]
        return costs[0] + costs[1]

    def _about(self, mean: Floats, joined: Floats, n: Floats) -> Floats:
        """d(mean, joined), zero for clusters without weight, whose mean may lie outside the domain."""
        counts = (n > 0)[..., None]
        inside = np.where(counts, mean, joined)
        return self.divergence.between(inside, joined)

    def scores(self, X: ArrayOrCSR, centres: Floats) -> Floats:
        """For each row, a number per centre that is highest for the nearest one, (n, k): φ(x) − d(x, centre).

        ⟨∇φ(μ), x⟩ + φ(μ) − ⟨∇φ(μ), μ⟩: a matrix product, with ∇φ(μ) computed once. A centre at an end of the domain
        where f is vertical is infinitely far from rows that are not there; its infinite slope stays out of the product.
        """
        slope = self.divergence.slope(centres)
        vertical = ~np.isfinite(slope)
        finite = np.where(vertical, 0.0, slope)
        offset = self.divergence.phi(centres) - (finite * centres).sum(axis=1)
        scores: Floats = np.asarray(X @ finite.T) + offset
        if vertical.any():
            scores[self._elsewhere(X, centres, vertical)] = -np.inf
        return scores

    def _elsewhere(self, X: ArrayOrCSR, centres: Floats, vertical: Bools) -> Bools:
        """Whether a row differs from a centre in a column where it may not, (n, k).

        Such a column of a centre is at the least value of the domain, zero, or at its greatest, one: the sum of |x − μ|
        over these columns is ⟨x, sign⟩ + number of ones, with sign +1 at zeros and −1 at ones, and is zero or more.
        """
        sign = np.where(vertical, np.where(centres > 0, -1.0, 1.0), 0.0)
        differs: Bools = np.asarray(X @ sign.T) + (sign < 0).sum(axis=1) > 0
        return differs
