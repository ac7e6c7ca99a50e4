"""Clusters that are Gaussians of any shape, with mean and covariance integrated out (Kurihara & Welling 2009)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import gammaln, psi

from kfree.core.fields import NotNegative, Number, PerCoordinate
from kfree.core.marks import FINITE, Shape
from kfree.core.rules import QuadraticRule
from kfree.core.stats import Floats, GaussianStats, Labels

# A scatter matrix, scaled to a unit diagonal, with a smaller eigenvalue than this counts as singular.
_SINGULAR = 1e-12
# From so many columns on, matrices are inverted one by one: below, that takes longer than all at once.
_LARGE = 128
# What a row at the centre of each cluster costs, from ξ, η and ½·log det B of the clusters.
AtCentre: TypeAlias = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of each cluster: μ ~ N(m, precision ξΩ), Ω ~ Wishart(η, inverse scale B)   (Eq. 17–18)."""

    xi: Floats
    m: Floats
    eta: Floats
    B: Floats


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """x ~ N(μ, precision Ω), μ ~ N(m0, precision ξ0·Ω), Ω ~ Wishart(η0, inverse scale B0)   (Eq. 15).

    ``log_prior`` is the normaliser of the prior. Use :meth:`conjugate` or :meth:`uninformative`.
    """

    xi0: NotNegative
    m0: PerCoordinate
    eta0: Number
    B0: Annotated[Floats, Shape("d", "d"), FINITE]
    log_prior: Number

    @classmethod
    def conjugate(cls, xi0: float, m0: Floats, eta0: float, B0: Floats) -> GaussianModel:
        """The proper prior of Eq. 15: ξ0 > 0, η0 > D − 1, B0 positive definite."""
        xi, eta = np.array([xi0]), np.array([eta0])
        return cls(xi0, m0, eta0, B0, float(log_normaliser(xi, eta, _log_det(B0[None]), len(m0))[0]))

    @classmethod
    def uninformative(cls, ranges: Floats) -> GaussianModel:
        """App. A: μ uniform over the box of the data, p(Ω) = |Ω|^(−(D+1)/2).

        No exact evidence, as μ is integrated over all space. A cluster of at most D rows, or in a hyperplane, has none.
        """
        n_features = len(ranges)
        improper = np.zeros(n_features), -1.0, np.zeros((n_features, n_features))
        return cls(0.0, *improper, log_prior=-float(np.log(ranges).sum()))

    @property
    def n_features(self) -> int:
        return len(self.m0)

    @property
    def is_proper(self) -> bool:
        return self.xi0 > 0

    @property
    def floats_per_cluster(self) -> int:
        return self.B0.size

    def posterior(self, stats: GaussianStats) -> Posterior:
        """Eq. 18."""
        xi, eta = self.xi0 + stats.n, self.eta0 + stats.n
        rows_or_one = np.where(xi > 0, xi, 1.0)
        m = (stats.sum + self.xi0 * self.m0) / rows_or_one[..., None]
        gap = stats.mean - self.m0
        pull = gap[..., :, None] * gap[..., None, :]
        # In place: with many columns, new arrays of this size take as long as the arithmetic.
        pull *= (self.xi0 * stats.n / rows_or_one)[..., None, None]
        B = self.B0 + stats.scatter
        B += pull
        return Posterior(xi, m, eta, B)

    def log_evidence(self, stats: GaussianStats) -> Floats:
        """log p(rows of each cluster), −inf for clusters without evidence under an uninformative prior."""
        post, n_features = self.posterior(stats), self.n_features
        allowed = (stats.n == 0) | self._allows(post)
        eta = np.where(allowed & (stats.n > 0), post.eta, float(n_features))
        B = np.where((allowed & (stats.n > 0))[..., None, None], post.B, np.eye(len(self.m0)))
        log_det = _log_det(B)
        log_post = log_normaliser(np.maximum(post.xi, 1e-300), eta, log_det, n_features)
        return np.where(stats.n == 0, 0.0, np.where(allowed, self.log_prior - log_post, -np.inf))

    def labelling(self, stats: GaussianStats) -> QuadraticRule:
        """−E log N(x | μ, Ω) under the posterior, without D/2·log π   (Eq. 20, 24; corrected Eq. 34)."""
        return self._rule(stats, self.expected_at_centre)

    def plug_in(self, stats: GaussianStats) -> QuadraticRule:
        """−log N(x | m, precision ηB⁻¹): the posterior means of the parameters in place of them (Eq. 49)."""
        return self._rule(stats, self.plug_in_at_centre)

    def expected_at_centre(self, xi: Floats, eta: Floats, half_log_det: Floats) -> Floats:
        """What a row at the centre costs under :meth:`labelling`, given ½·log det B."""
        places = np.arange(1, self.n_features + 1)
        spread = psi((eta[:, None] + 1 - places) / 2).sum(axis=1) / 2
        at_centre: Floats = half_log_det + self.n_features / (2 * xi) - spread
        return at_centre

    def plug_in_at_centre(self, xi: Floats, eta: Floats, half_log_det: Floats) -> Floats:
        """What a row at the centre costs under :meth:`plug_in`."""
        at_centre: Floats = half_log_det + self.n_features / 2 * np.log(2 * math.pi / eta)
        return at_centre

    def _rule(self, stats: GaussianStats, at_centre: AtCentre) -> QuadraticRule:
        post = self.posterior(stats)
        half_log_det, factor = _factor(post)
        return QuadraticRule(post.m, factor, at_centre(post.xi, post.eta, half_log_det))

    def covariances(self, stats: GaussianStats) -> Floats:
        """The inverse of each cluster's mean precision: B/η."""
        post = self.posterior(stats)
        covariances: Floats = post.B / post.eta[:, None, None]
        return covariances

    def log_predictive(self, stats: GaussianStats, rows: Floats) -> Floats:
        """log p(x | rows of the cluster), (n, k).

        This is Student's t with η − D + 1 degrees of freedom and scale B(ξ + 1)/(ξ(η − D + 1)).
        """
        post, n_features = self.posterior(stats), len(self.m0)
        half_log_det, factor = _factor(post)
        freedom = post.eta - n_features + 1
        at_centre = (
            gammaln((freedom + n_features) / 2)
            - gammaln(freedom / 2)
            - n_features / 2 * np.log(math.pi * (post.xi + 1) / post.xi)
            - half_log_det
        )
        sq_dist = QuadraticRule(post.m, factor, np.zeros(len(post.m))).costs(rows) * (2 / post.eta)
        log_densities: Floats = at_centre - (freedom + n_features) / 2 * np.log1p(sq_dist * post.xi / (post.xi + 1))
        return log_densities

    def draw(self, stats: GaussianStats, labels: Labels, rng: np.random.RandomState, n_events: int) -> Floats:
        """A row from the predictive distribution of each cluster in ``labels``."""
        post = self.posterior(stats)
        freedom = post.eta - len(self.m0) + 1
        lower = lower_factors(post.B * ((post.xi + 1) / (post.xi * freedom))[:, None, None])
        normal = np.einsum("nij,nj->ni", lower[labels], rng.standard_normal((len(labels), len(self.m0))))
        rows: Floats = post.m[labels] + normal / np.sqrt(rng.chisquare(freedom[labels]) / freedom[labels])[:, None]
        return rows

    def _allows(self, post: Posterior) -> np.ndarray:
        if self.is_proper:
            return np.ones(post.eta.shape, dtype=bool)
        scale = np.sqrt(np.diagonal(post.B, axis1=-2, axis2=-1))
        scale = np.where(scale > 0, scale, 1.0)
        smallest = np.linalg.eigvalsh(post.B / (scale[..., :, None] * scale[..., None, :]))[..., 0]
        return (post.eta > len(self.m0) - 1) & (smallest > _SINGULAR)


def _factor(post: Posterior) -> tuple[Floats, Floats]:
    """½·log det B, and the lower triangular matrix F with ‖F(x − m)‖² = η/2·(x − m)ᵀB⁻¹(x − m)."""
    lower = lower_factors(post.B)
    return half_log_dets(lower), _inverses(lower) * np.sqrt(post.eta / 2)[:, None, None]


def _inverses(lower: Floats) -> Floats:
    """Inverses of lower triangular matrices; of large ones in a fraction of the time that any matrix takes."""
    if lower.shape[-1] < _LARGE:
        return np.tril(np.linalg.inv(lower))
    return np.stack([dtrtri(matrix.T, lower=0)[0].T for matrix in lower])


def log_normaliser(xi: Floats, eta: Floats, log_det_B: Floats, n_features: int) -> Floats:
    """Dη/2·log π + D/2·log ξ + η/2·log det B − log Γ_D(η/2): its rise from prior to posterior is −log evidence."""
    places = np.arange(1, n_features + 1)
    log_gamma = n_features * (n_features - 1) / 4 * math.log(math.pi)
    log_gamma = log_gamma + gammaln((eta[..., None] + 1 - places) / 2).sum(axis=-1)
    normaliser: Floats = n_features / 2 * (eta * math.log(math.pi) + np.log(xi)) + eta / 2 * log_det_B - log_gamma
    return normaliser


def _log_det(matrices: Floats) -> Floats:
    return 2 * half_log_dets(lower_factors(matrices))


def half_log_dets(lower: Floats) -> Floats:
    half_log_det: Floats = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    return half_log_det


def lower_factors(matrices: Floats, doubt: float = 1e-14) -> Floats:
    """Lower triangular factors of matrices that are positive definite but for rounding.

    Where a prior is too weak to lift a flat scatter out of rounding error, the diagonal is raised by a share of itself.
    """
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        if doubt > 1:
            raise
        if matrices.ndim > 2:
            return np.stack([lower_factors(matrix) for matrix in matrices])
        return lower_factors(matrices + doubt * np.diag(np.diag(matrices)), 10 * doubt)
