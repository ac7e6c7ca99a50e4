"""GMeans: split clusters until each looks Gaussian along its split (Hamerly & Elkan 2003)."""

import math
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kfree.core.warning import warn, warn_full
from kfree.estimators.k_means import KMeans
from kfree.validation.frames import note_columns, require_columns_of_fit
from kfree.validation.parameters import is_number, require, require_count, whole
from kfree.validation.rows import validated_rows

# Critical values of A²* for a normal distribution of unknown mean and variance (D'Agostino & Stephens 1986, Table 4.7);
# the last is that of Hamerly & Elkan.
CRITICAL = {0.1: 0.631, 0.05: 0.752, 0.025: 0.873, 0.01: 1.035, 0.005: 1.159, 0.0001: 1.8692}
# Clusters with fewer rows than this are not tested.
_FEWEST = 8
# Iterations of k-means.
_MOST_ITERATIONS = 300


class GMeans(ClusterMixin, BaseEstimator):
    """G-means: k-means that splits every cluster whose rows are not Gaussian.

    Starting from one cluster, each cluster is split by 2-means along its principal axis. The split is kept if the rows,
    projected to the line between the two centres, fail the Anderson-Darling test for a normal distribution (Hamerly &
    Elkan 2003).

    Parameters
    ----------
    significance : {0.0001, 0.005, 0.01, 0.025, 0.05, 0.1}, default=0.0001
        The level of the test; the paper's value by default.
    max_clusters : int or None, default=None
    n_threads : int or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    inertia_ : float
    n_iter_ : int
        Rounds of splits.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import GMeans
    >>> X = np.random.default_rng(0).normal(size=(150, 2)) + 9 * np.arange(150)[:, None] % 27
    >>> GMeans().fit(X).n_clusters_
    3
    """

    def __init__(self, significance=0.0001, *, max_clusters=None, n_threads=None):
        self.significance = significance
        self.max_clusters = max_clusters
        self.n_threads = n_threads

    def fit(self, X, y=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        allowed = "one of " + ", ".join(f"{value:g}" for value in sorted(CRITICAL))
        known = is_number(self.significance) and self.significance in CRITICAL
        require(known, "significance", self.significance, allowed)
        require_count("max_clusters", self.max_clusters, or_none=True)
        rows = validated_rows(X, self)
        if sp.issparse(rows):
            raise TypeError("X is sparse, and GMeans takes dense rows only. Use X.toarray().")
        model, n_rounds = self._search(rows.astype(np.float64, copy=False))
        if not model.converged_:
            warn(
                f"the last k-means of GMeans did not converge within {_MOST_ITERATIONS} iterations; its clusters are "
                "valid, but their centres are not quite at rest.",
                ConvergenceWarning,
            )
        note_columns(self, X)
        self._model_ = model
        self.labels_, self.cluster_centers_ = model.labels_, model.cluster_centers_
        self.n_clusters_, self.inertia_, self.n_iter_ = len(model.cluster_centers_), model.inertia_, n_rounds
        warn_full(self, "inertia")
        return self

    def predict(self, X):
        """The nearest centre of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self)
        rows = validated_rows(X, self)
        require_columns_of_fit(self, X)
        return self._model_.predict(rows)

    def _search(self, rows):
        """Rounds of splits and k-means on all rows, until no split is kept."""
        model, n_rounds, room = self._k_means(rows, rows.mean(axis=0)[None]), 0, math.inf
        while True:
            n_rounds += 1
            if self.max_clusters is not None:
                room = whole(self.max_clusters) - len(model.cluster_centers_)
            centres, n_new = [], 0
            for c, centre in enumerate(model.cluster_centers_):
                halves = self._split(rows[model.labels_ == c]) if n_new < room else None
                n_new += halves is not None
                centres.extend([centre] if halves is None else halves)
            if not n_new:
                return model, n_rounds
            model = self._k_means(rows, np.array(centres))

    def _split(self, rows):
        """The centres of two halves, or None if the rows look Gaussian along the line between these."""
        if len(rows) < _FEWEST:
            return None
        centre = rows.mean(axis=0)
        _, length, axes = np.linalg.svd(rows - centre, full_matrices=False)
        # √(2λ/π) along the principal axis, λ its variance.
        step = axes[0] * (length[0] * math.sqrt(2 / (math.pi * len(rows))))
        if not step.any():
            return None
        halves = self._k_means(rows, np.array([centre - step, centre + step])).cluster_centers_
        line = halves[1] - halves[0]
        line = line / (np.abs(line).max() or 1.0)  # its length does not matter, and must not overflow
        return halves if anderson_darling(rows @ line) > CRITICAL[self.significance] else None

    def _k_means(self, rows, centres):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            limits = {"max_iter": _MOST_ITERATIONS, "n_threads": self.n_threads}
            return KMeans(len(centres), init=centres, label_order="size", **limits).fit(rows)


def anderson_darling(values):
    """A²* of values, corrected for an estimated mean and variance (Hamerly & Elkan 2003, §2); −inf if all are equal.

    A² = −n − (1/n)·Σ (2i − 1)·[log Φ(z_i) + log(1 − Φ(z_{n+1−i}))],  A²* = A²·(1 + 4/n − 25/n²).
    """
    n, spread = len(values), values.std(ddof=1)
    if not spread > 0:
        return -math.inf
    z = np.sort((values - values.mean()) / spread)
    weights = 2 * np.arange(1, n + 1) - 1
    squared = -n - float(weights @ (norm.logcdf(z) + norm.logsf(z[::-1]))) / n
    return squared * (1 + 4 / n - 25 / n**2)
