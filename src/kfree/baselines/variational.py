"""VariationalMixture: Bayesian k-means with soft labels (Attias 2000; VBMG of Kurihara & Welling 2009)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree.baselines._split_merge import SplitMergeMixture
from kfree.engines.cost_rules.responsibilities import responsibilities, sums_over
from kfree.models.bayesian_rows import require_prior
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.mixtures import MIXTURES
from kfree.search.evidence.hard_labels import until_no_gain
from kfree.search.evidence.overlap import criteria_by
from kfree.search.evidence.soft_labels import SoftClustering, soft_stats
from kfree.validation.parameters import is_number, random_generator, require, require_choice


class VariationalMixture(SplitMergeMixture):
    """A mixture of Gaussians by variational Bayes, its number of clusters by splits and merges.

    The model is that of :class:`kfree.BayesianKMeans`, but a row belongs to clusters in part. ``fit`` minimises the
    variational free energy, an upper bound of −log p(X | K): F of the statistics of soft labels, minus their entropy.

    Parameters
    ----------
    mixture : {"finite", "dirichlet-process"}, default="finite"
    prior : {"data", "uninformative"} or dict, default="data"
        As for :class:`kfree.BayesianKMeans`.
    tol : float, default=1e-6
        Updates stop when one lowers the free energy by less than this share of it.
    max_iter : int, default=300
        Maximum number of splits and merges to try.
    max_clusters : int or None, default=None
    random_state : int, RandomState or None, default=None
        Seed for the rows whose neighbours ``prior="data"`` looks for, 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The most probable cluster of each row.
    n_clusters_ : int
    cost_ : float
        The variational free energy.
    cost_history_ : ndarray
        Never rises, ends with ``cost_``.
    cluster_centers_, covariances_, weights_ : ndarray
        Posterior means; the inverse of each cluster's mean precision.
    n_iter_ : int
    converged_ : bool
        Whether no split or merge lowers the free energy further.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import VariationalMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) * [0.3, 2] + 6])
    >>> VariationalMixture().fit(X).n_clusters_
    2
    """

    def __init__(self, *, mixture="finite", prior="data", tol=1e-6, max_iter=300, max_clusters=None, random_state=None):
        self.mixture = mixture
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.max_clusters = max_clusters
        self.random_state = random_state

    def _family(self, data):
        require_choice("mixture", self.mixture, list(MIXTURES))
        require_prior(self.prior)
        require(is_number(self.tol) and self.tol >= 0, "tol", self.tol, "a finite number ≥ 0")
        rng = random_generator(self.random_state, if_none=0)
        model, phi0 = data.model(self.prior, rng)
        return VariationalFamily(FreeEnergy(model, MIXTURES[self.mixture](phi0)), self.tol)


@dataclass(frozen=True)
class _Parameters:
    rule: Any
    log_weight: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    stats: Any
    converged: bool = True  # updates end only where they gain nothing


@dataclass(frozen=True)
class VariationalFamily:
    """F = free energy of soft statistics + Σ r log r; a cluster of less than one row is dropped."""

    objective: FreeEnergy
    tol: float

    def fitted(self, rows, r, target):
        start = self._of(rows, *responsibilities(np.log(np.maximum(r, 1e-300))))
        return until_no_gain(start, lambda old: self._updated(rows, old), target, least_gain=self.tol)

    def criteria(self, rows, state):
        stats = state.parameters.stats
        log_weight = np.log(self.objective.mixture.weights(stats.n))
        return criteria_by(*sums_over([(state.parameters.rule.costs(rows), 1.0)], log_weight))

    def _updated(self, rows, state):
        rule = self.objective.labelling(state.parameters.stats)
        return self._of(rows, *responsibilities(-rule.costs(rows)))

    def _of(self, rows, r, log_r):
        if (few := r.sum(axis=0) < 1).any():
            r, log_r = responsibilities(log_r[:, ~few])
        stats = soft_stats(rows, r)
        cost = self.objective.free_energy(stats) + float((r * log_r).sum())
        post, weights = self.objective.model.posterior(stats), self.objective.mixture.weights(stats.n)
        rule = self.objective.plug_in(stats)
        covariances = self.objective.model.covariances(stats)
        return SoftClustering(r, cost, _Parameters(rule, np.log(weights), post.m, covariances, stats))
