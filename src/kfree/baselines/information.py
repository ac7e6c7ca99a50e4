"""KMeansBIC and GaussianMixtureBIC: splits and merges under the Bayesian information criterion."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from kfree.baselines._split_merge import SplitMergeMixture, plug_in_criteria
from kfree.core.rules import QuadraticRule
from kfree.estimators.k_means import KMeans
from kfree.objectives.information import SphericalClusters
from kfree.search.evidence.soft_labels import SoftClustering, soft_stats
from kfree.validation.parameters import is_positive_number, require

# Iterations of k-means or EM after a split or merge.
MOST_ITERATIONS = 300


class KMeansBIC(SplitMergeMixture):
    """K-means with the number of clusters by the Bayesian information criterion (after Pelleg & Moore 2000).

    Clusters are spherical Gaussians of one common variance. ``fit`` minimises −log likelihood of rows and labels +
    ½·p·log n, with p = k·d + (k − 1) + 1 parameters, by splits and merges as in Kurihara & Welling (2009).

    Parameters
    ----------
    max_iter : int, default=300
        Maximum number of splits and merges to try.
    max_clusters : int or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    n_clusters_ : int
    cost_ : float
        Half the Bayesian information criterion.
    cost_history_ : ndarray
        Never rises, ends with ``cost_``.
    cluster_centers_, covariances_, weights_ : ndarray
    n_iter_ : int
    converged_ : bool
        Whether no split or merge lowers the criterion further.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import KMeansBIC
    >>> X = np.random.default_rng(0).normal(size=(150, 2)) + 9 * np.arange(150)[:, None] % 27
    >>> KMeansBIC().fit(X).n_clusters_
    3
    """

    def __init__(self, *, max_iter=300, max_clusters=None):
        self.max_iter = max_iter
        self.max_clusters = max_clusters

    def predict(self, X):
        """The nearest centre of each row, whatever the clusters' weights; those count in ``predict_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        return super().predict(X)

    def _labels_by(self, costs):
        return costs.argmin(axis=1).astype(np.int32)

    def _family(self, data):
        return KMeansFamily(float((data.rows**2).sum()) / data.rows.size)


class GaussianMixtureBIC(SplitMergeMixture):
    """A mixture of Gaussians by EM, with the number of clusters by the Bayesian information criterion.

    Fits are those of :class:`sklearn.mixture.GaussianMixture`, from splits and merges as in Kurihara & Welling (2009).

    Parameters
    ----------
    reg_covar : float, default=1e-6
        Added to the variances, as a share of the mean variance of the columns.
    max_iter : int, default=300
        Maximum number of splits and merges to try.
    max_clusters : int or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The most probable cluster of each row.
    n_clusters_ : int
    cost_ : float
        Half the Bayesian information criterion.
    cost_history_ : ndarray
        Never rises, ends with ``cost_``.
    cluster_centers_, covariances_, weights_ : ndarray
    n_iter_ : int
    converged_ : bool
        Whether no split or merge lowers the criterion further.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import GaussianMixtureBIC
    >>> X = np.random.default_rng(0).normal(size=(150, 2)) + 9 * np.arange(150)[:, None] % 27
    >>> GaussianMixtureBIC().fit(X).n_clusters_
    3
    """

    def __init__(self, *, reg_covar=1e-6, max_iter=300, max_clusters=None):
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.max_clusters = max_clusters

    def _family(self, data):
        require(is_positive_number(self.reg_covar), "reg_covar", self.reg_covar, "a finite number > 0")
        variance = float((data.rows**2).sum()) / data.rows.size
        return EMFamily(self.reg_covar * (variance or 1.0))


@dataclass(frozen=True)
class SphericalRule:
    """cost_c(x) = ‖x − centre_c‖² / (2·variance) + offset."""

    centre: np.ndarray
    variance: float
    offset: float

    def costs(self, rows):
        """All costs (n, k)."""
        sq_dist = [((rows - centre) ** 2).sum(axis=1) for centre in self.centre]
        return np.stack(sq_dist, axis=1) / (2 * self.variance) + self.offset


@dataclass(frozen=True)
class _Parameters:
    rule: QuadraticRule | SphericalRule
    log_weight: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    converged: bool


@dataclass(frozen=True)
class KMeansFamily:
    """½·BIC of hard labels under spherical Gaussians of one variance; ``variance`` is that of all rows."""

    variance: float

    def fitted(self, rows, r, target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates may leave a cluster empty
            means = (r.T @ rows) / r.sum(axis=0)[:, None]
            model = KMeans(r.shape[1], init=means, tol=0.0, max_iter=MOST_ITERATIONS, label_order="size").fit(rows)
        used, labels = np.unique(model.labels_, return_inverse=True)
        hard = np.eye(len(used))[labels]
        return SoftClustering(hard, *self._judged(rows, hard, model.cluster_centers_[used], model))

    def criteria(self, rows, state):
        return plug_in_criteria(rows, state.parameters)

    def _judged(self, rows, hard, means, model):
        n_features, k = rows.shape[1], len(means)
        clusters = SphericalClusters(hard.sum(axis=0), n_features, model.inertia_, 1e-12 * self.variance)
        identity = np.broadcast_to(np.eye(n_features), (k, n_features, n_features))
        rule = SphericalRule(means, clusters.variance, clusters.log_norm)
        log_weight = np.log(clusters.n / len(rows))
        covariances = identity * clusters.variance
        return clusters.bic / 2, _Parameters(rule, log_weight, means, covariances, model.converged_)


@dataclass(frozen=True)
class EMFamily:
    """½·BIC of scikit-learn's GaussianMixture, started from responsibilities."""

    reg_covar: float

    def fitted(self, rows, r, target):
        stats = soft_stats(rows, r)
        ridge = self.reg_covar * np.eye(rows.shape[1])
        covariances = stats.scatter / stats.n[:, None, None] + ridge
        model = GaussianMixture(
            len(stats.n),
            reg_covar=self.reg_covar,
            max_iter=MOST_ITERATIONS,
            # The parameters that init_params would compute are given below.
            init_params="random",
            random_state=0,
            weights_init=stats.n / stats.n.sum(),
            means_init=stats.sum / stats.n[:, None],
            precisions_init=_symmetric_inverses(covariances),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model.fit(rows)
            except ValueError as error:
                if "ill-defined" not in str(error):
                    raise
                return SoftClustering(r, math.inf, None)  # a cluster has collapsed: the split is rejected
        return SoftClustering(model.predict_proba(rows), model.bic(rows) / 2, _em_parameters(model))

    def criteria(self, rows, state):
        return plug_in_criteria(rows, state.parameters)


def _symmetric_inverses(matrices):
    inverses = np.linalg.inv(matrices)
    return (inverses + np.swapaxes(inverses, 1, 2)) / 2


def _em_parameters(model):
    # scikit-learn keeps upper factors U of precisions UUᵀ.
    lower = np.swapaxes(model.precisions_cholesky_, 1, 2)
    log_det = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    offset = model.means_.shape[1] / 2 * math.log(2 * math.pi) - log_det
    rule = QuadraticRule(model.means_, lower / math.sqrt(2), offset)
    return _Parameters(rule, np.log(model.weights_), model.means_, model.covariances_, model.converged_)
