"""Shared by the two samplers: the loop over sweeps, traces, and α under a Gamma prior (Escobar & West 1995)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from kfree.native.implementations import IMPLEMENTATIONS
from kfree.validation.frames import note_columns
from kfree.validation.parameters import (
    is_positive_number,
    random_generator,
    require,
    require_choice,
    require_count,
    whole,
)

# Variances are at most this, and at least its inverse. Beyond it, ratios of two are no numbers.
LARGEST = 1e100
# Shape and rate of a prior: their ratio, the mean, is to be a parameter that is allowed.
_LARGEST_OF_PRIOR = 1e50
# An α drawn under a prior of small shape may be less than any positive number of float64, and its logarithm is needed.
_LEAST_ALPHA = 1e-300


@dataclass(frozen=True)
class GammaPrior:
    """Gamma(shape, rate), of α itself or of 1/σ."""

    shape: float
    rate: float

    @classmethod
    def of(cls, pair):
        """From the parameter of an estimator. An integer may be larger than NumPy's."""
        return cls(*map(float, pair))

    def log_density(self, value):
        normaliser = self.shape * math.log(self.rate) - gammaln(self.shape)
        return normaliser + (self.shape - 1) * math.log(value) - self.rate * value

    @property
    def mean(self):
        return self.shape / self.rate


def draw_alpha(alpha, n_clusters, n_rows, prior, rng):
    """α given the number of clusters, through an auxiliary Beta variable (Escobar & West 1995, §6)."""
    rate = prior.rate - math.log(rng.beta(alpha + 1, n_rows))
    odds = (prior.shape + n_clusters - 1) / (n_rows * rate)
    shape = prior.shape + n_clusters - (rng.uniform() >= odds / (1 + odds))
    return max(rng.gamma(shape, 1 / rate), _LEAST_ALPHA)


def log_urn(counts, alpha):
    """log p([z]) of a Chinese restaurant process: α^k·Π Γ(n_c) / Π_{i<n} (α + i), for any positive α of float64."""
    seated = np.logaddexp(math.log(alpha), np.log(np.arange(1, counts.sum())))
    return (len(counts) - 1) * math.log(alpha) + gammaln(counts).sum() - seated.sum()


class Sampler(ClusterMixin, BaseEstimator):
    """A chain is run from one cluster; kept are every ``thin``-th of its states after ``n_burn_in`` sweeps.

    A subclass opens a chain with ``sweep(rng)``, ``labels``, ``n_clusters``, ``log_joint()``, ``alpha`` and ``sigma``,
    and weighs the clusters of further rows by ``_log_weights(X)``, (n, k).
    """

    def fit(self, X, y=None):
        """Sample clusterings of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        rng = random_generator(self.random_state)
        chain = self._open(X, rng)
        trace, (labels, sigma), samples = self._run(chain, rng)
        note_columns(self, X)
        self._publish_best(chain, labels, sigma)
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.trace_ = {name: np.array(values) for name, values in trace.items()}
        self.label_samples_ = np.array(samples) if self.keep_samples else None
        self.n_iter_ = whole(self.n_burn_in) + whole(self.n_samples) * whole(self.thin)
        return self

    def predict(self, X):
        """Label each row by its most probable cluster, given ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self)
        return self._log_weights(X).argmax(axis=1).astype(np.int32)

    def _run(self, chain, rng):
        """The traces, labels and σ of the highest log joint, and the labels of all samples if they are wanted."""
        trace = {"iteration": [], "n_clusters": [], "log_joint": [], "alpha": [], "sigma": []}
        best, highest, samples = None, -np.inf, []
        n_burn_in, thin = whole(self.n_burn_in), whole(self.thin)
        for iteration in range(1, n_burn_in + whole(self.n_samples) * thin + 1):
            chain.sweep(rng)
            if iteration <= n_burn_in or (iteration - n_burn_in) % thin:
                continue
            labels, log_joint = chain.labels, chain.log_joint()
            values = iteration, chain.n_clusters, log_joint, chain.alpha, chain.sigma
            for name, value in zip(trace, values, strict=True):
                trace[name].append(value)
            if best is None or log_joint > highest:
                best, highest = (labels, chain.sigma), log_joint
            if self.keep_samples:
                samples.append(labels)
        return trace, best, samples

    def _check_sampling(self):
        require_count("n_burn_in", self.n_burn_in, least=0)
        require_count("n_samples", self.n_samples)
        require_count("thin", self.thin)
        require_choice("engine", self.engine, list(IMPLEMENTATIONS))
        ok = is_positive_number(self.alpha) or (isinstance(self.alpha, str) and self.alpha == "gamma")
        require(ok, "alpha", self.alpha, "a finite number > 0, or 'gamma'")
        require_prior_pair(self, "alpha_prior")

    def _alpha(self):
        """The α to begin with, and its prior if it is sampled."""
        if isinstance(self.alpha, str):
            prior = GammaPrior.of(self.alpha_prior)
            return prior.mean, prior
        return float(self.alpha), None


def require_variance(name, value, or_word=None):
    """Raise unless a parameter is a positive number whose square is one too, or ``or_word``."""
    ok = _is_between(value, LARGEST) or (or_word is not None and isinstance(value, str) and value == or_word)
    allowed = f"a number from {1 / LARGEST:g} to {LARGEST:g}"
    require(ok, name, value, allowed if or_word is None else f"{allowed}, or {or_word!r}")


def require_prior_pair(estimator, name):
    """Raise unless a parameter holds shape and rate of a Gamma distribution."""
    value, largest = getattr(estimator, name), _LARGEST_OF_PRIOR
    ok = isinstance(value, tuple | list) and len(value) == 2 and all(_is_between(v, largest) for v in value)
    allowed = f"a pair of numbers from {1 / largest:g} to {largest:g}: shape and rate of a Gamma distribution"
    require(ok, name, value, allowed)


def _is_between(value, largest):
    return is_positive_number(value) and 1 / largest <= value <= largest
