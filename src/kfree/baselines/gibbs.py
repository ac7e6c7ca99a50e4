"""GibbsDPMixture: the sampler that DP-means is the limit of (Neal 2000, Algorithm 2; Kulis & Jordan 2012, §6.1)."""

import math

import numpy as np
import scipy.sparse as sp

from kfree.baselines._sampling import (
    LARGEST,
    GammaPrior,
    Sampler,
    draw_alpha,
    log_urn,
    require_prior_pair,
    require_variance,
)
from kfree.native.implementations import implementation
from kfree.validation.frames import require_columns_of_fit
from kfree.validation.parameters import require
from kfree.validation.rows import validated_rows


class GibbsDPMixture(Sampler):
    """A Dirichlet process mixture of spherical Gaussians by Gibbs sampling.

    x ~ N(μ_z, σI), μ ~ N(prior_mean, ρI), labels by a Dirichlet process of concentration α. A sweep draws the label of
    each row given the means, and then the means (Neal 2000, Algorithm 2). Kulis & Jordan (2012) derive DP-means from it
    for σ → 0. There are no split-merge moves; the sampler is a baseline for comparison.

    Parameters
    ----------
    alpha : float or "gamma", default="gamma"
        The concentration; "gamma" samples it under the prior ``Gamma(*alpha_prior)``. DP-means with a penalty lam is
        the limit of σ → 0 with α = (1 + ρ/σ)^(d/2)·exp(−lam/(2σ)).
    sigma : float or "inverse-gamma", default="inverse-gamma"
        The variance of a column within a cluster; "inverse-gamma" samples it with 1/σ ~ ``Gamma(*sigma_prior)``.
    rho : float, default=100.0
        The prior variance of a column of a mean.
    prior_mean : float or array-like of shape (n_features,), default=0.0
        The prior mean of the means; 0 in the paper.
    alpha_prior, sigma_prior : (float, float), default=(1.0, 1.0)
        Shape and rate of Gamma distributions.
    n_burn_in : int, default=1000
        Sweeps before the first sample.
    n_samples : int, default=500
    thin : int, default=10
        Sweeps per sample.
    keep_samples : bool, default=False
        Whether to keep the labels of all samples.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code or the reference implementation in NumPy. Same samples.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples_X,), int32
        Labels of the sample with the highest log joint.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Posterior means given ``labels_``.
    sigma_ : float
        σ of the same sample.
    trace_ : dict of ndarray of shape (n_samples,)
        "iteration", "n_clusters", "log_joint" (log p(X, z, α, σ), means integrated out), "alpha" and "sigma".
    label_samples_ : ndarray of shape (n_samples, n_samples_X) or None
    n_iter_ : int
        Sweeps.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import GibbsDPMixture
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9 * np.arange(90)[:, None] % 27
    >>> GibbsDPMixture(alpha=0.1, sigma=1.0, n_burn_in=100, n_samples=20, random_state=0).fit(X).n_clusters_
    3
    """

    def __init__(
        self,
        alpha="gamma",
        sigma="inverse-gamma",
        *,
        rho=100.0,
        prior_mean=0.0,
        alpha_prior=(1.0, 1.0),
        sigma_prior=(1.0, 1.0),
        n_burn_in=1000,
        n_samples=500,
        thin=10,
        keep_samples=False,
        engine="auto",
        random_state=None,
    ):
        self.alpha = alpha
        self.sigma = sigma
        self.rho = rho
        self.prior_mean = prior_mean
        self.alpha_prior = alpha_prior
        self.sigma_prior = sigma_prior
        self.n_burn_in = n_burn_in
        self.n_samples = n_samples
        self.thin = thin
        self.keep_samples = keep_samples
        self.engine = engine
        self.random_state = random_state

    def _log_weights(self, X):
        rows = _dense(X, self)
        require_columns_of_fit(self, X)
        variance = self.sigma_ + self.sigma_ / (self.sigma_ / self._rho_ + self._counts_)
        sq_dist = np.stack([((rows - centre) ** 2).sum(axis=1) for centre in self.cluster_centers_], axis=1)
        return np.log(self._counts_) - rows.shape[1] / 2 * np.log(variance) - sq_dist / (2 * variance)

    def _check_parameters(self):
        self._check_sampling()
        require_variance("sigma", self.sigma, "inverse-gamma")
        require_prior_pair(self, "sigma_prior")
        require_variance("rho", self.rho)

    def _open(self, X, rng):
        rows = _dense(X, self)
        largest = float(np.abs(rows).max())
        if largest > LARGEST:
            raise ValueError(f"X holds {largest:g}, and sums of squares overflow float64. Divide X by a constant.")
        allowed = f"a number up to {LARGEST:g} by size, or one for each of {rows.shape[1]} columns"
        try:
            mean = np.asarray(self.prior_mean, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(f"prior_mean={self.prior_mean!r} is not allowed; give {allowed}.") from error
        ok = mean.shape in ((), rows.shape[1:]) and (np.abs(mean) <= LARGEST).all()
        require(ok, "prior_mean", self.prior_mean, allowed)
        alpha, alpha_prior = self._alpha()
        sigma_prior = GammaPrior.of(self.sigma_prior) if isinstance(self.sigma, str) else None
        sigma = 1 / sigma_prior.mean if sigma_prior else float(self.sigma)
        make = implementation(self.engine, "samplers").SphericalChain
        return _Chain(
            make, np.ascontiguousarray(rows - mean), rng, (alpha, alpha_prior), (sigma, sigma_prior), float(self.rho)
        )

    def _publish_best(self, chain, labels, sigma):
        self._counts_, self._rho_ = np.bincount(labels), chain.rho
        sums = np.zeros((len(self._counts_), chain.rows.shape[1]))
        np.add.at(sums, labels, chain.rows)
        self.sigma_ = sigma
        self.cluster_centers_ = sums / (sigma / chain.rho + self._counts_)[:, None] + self.prior_mean


class _Chain:
    """The compiled chain, with α and σ drawn after every sweep if they have priors."""

    def __init__(self, make, rows, rng, alpha, sigma, rho):
        self.rows, self.rho = rows, float(rho)
        self.alpha, self._alpha_prior = alpha
        self.sigma, self._sigma_prior = sigma
        labels = np.zeros(len(rows), dtype=np.int32)
        self._chain = make(rows, labels, int(rng.randint(2**31)), self.sigma, self.rho)
        self._sq_length = float((rows**2).sum())

    @property
    def labels(self):
        return self._chain.labels.copy()

    @property
    def n_clusters(self):
        return len(self._chain.counts)

    def sweep(self, rng):
        self._chain.sweep(math.log(self.alpha), self.sigma, self.rho)
        if self._sigma_prior:
            shape = self._sigma_prior.shape + self.rows.size / 2
            self.sigma = (self._sigma_prior.rate + self._chain.sq_error / 2) / rng.gamma(shape)
        if self._alpha_prior:
            self.alpha = draw_alpha(self.alpha, self.n_clusters, len(self.rows), self._alpha_prior, rng)

    def log_joint(self):
        """log p(X, z, α, σ), means integrated out; without the densities of α or σ where they are given."""
        counts, sums = self._chain.counts, self._chain.sums
        total = log_urn(counts, self.alpha) + log_rows(counts, sums, self._sq_length, self.sigma, self.rho)
        total += self._alpha_prior.log_density(self.alpha) if self._alpha_prior else 0.0
        if self._sigma_prior:  # the density of σ, of which 1/σ is Gamma
            total += self._sigma_prior.log_density(1 / self.sigma) - 2 * math.log(self.sigma)
        return float(total)


def log_rows(counts, sums, sq_length, sigma, rho):
    """log p(X | z, σ) of spherical clusters with these totals (k, d), means integrated out, prior mean zero."""
    n_features = sums.shape[1]
    total = -counts.sum() * n_features / 2 * math.log(2 * math.pi * sigma)
    total -= n_features / 2 * np.log1p(rho * counts / sigma).sum()
    explained = ((sums**2).sum(axis=1) / (sigma / rho + counts)).sum()
    return total - (sq_length - explained) / (2 * sigma)


def _dense(X, estimator):
    rows = validated_rows(X, estimator)
    if sp.issparse(rows):
        raise TypeError("X is sparse, and GibbsDPMixture takes dense rows only. Use X.toarray().")
    return rows.astype(np.float64, copy=False)
