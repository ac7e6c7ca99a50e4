"""Shared by mixtures under Kurihara & Welling's split-and-merge strategy: fit, attributes, predictions."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kfree.core.warning import warn, warn_full
from kfree.engines.cost_rules.responsibilities import responsibilities, sums_over
from kfree.models.bayesian_rows import GaussianData
from kfree.search.evidence.overlap import criteria_by
from kfree.search.evidence.soft_labels import split_and_merge
from kfree.validation.frames import note_columns
from kfree.validation.parameters import require_count, whole


class SplitMergeMixture(ClusterMixin, BaseEstimator):
    """A subclass has a ``_family`` of the rows; its parameters have ``rule``, ``log_weight``, means and covariances."""

    def fit(self, X, y=None):
        """Fit a mixture with the number of clusters that minimises the criterion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        require_count("max_iter", self.max_iter)
        require_count("max_clusters", self.max_clusters, or_none=True)
        data = GaussianData(X, self)
        descent = split_and_merge(data.rows, self._family(data), whole(self.max_iter), whole(self.max_clusters))
        if not descent.converged:
            warn(
                f"{type(self).__name__} did not converge within max_iter={self.max_iter} splits and merges; the "
                "mixture is valid but more of them may improve it. Raise max_iter.",
                ConvergenceWarning,
            )
        if not descent.state.parameters.converged:
            warn(
                f"the last fit of {type(self).__name__}, after its splits and merges, reached its limit of iterations; "
                "the mixture is valid, but its parameters are not quite at rest.",
                ConvergenceWarning,
            )
        note_columns(self, X)
        self._frame_, self._mixture_ = data.frame, descent.state.parameters
        # By the mixture that is published, as predict does: the last responsibilities are those that it was made from.
        self.labels_ = self._labels_by(self._mixture_.rule.costs(data.rows))
        self.n_clusters_ = descent.state.n_clusters
        self.cost_, self.cost_history_ = descent.state.cost, np.array(descent.cost_history)
        self.cluster_centers_ = data.frame.outward(self._mixture_.means)
        self.covariances_ = self._mixture_.covariances
        self.weights_ = np.exp(self._mixture_.log_weight) / np.exp(self._mixture_.log_weight).sum()
        self.n_iter_, self.converged_ = descent.n_iter, descent.converged
        warn_full(self, "criterion")
        return self

    def predict_proba(self, X):
        """Probabilities of the clusters for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters_)
        """
        return self._probabilities_by(self._costs(X))

    def predict(self, X):
        """The most probable cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        return self._labels_by(self._costs(X))

    def _probabilities_by(self, costs):
        return responsibilities(self._mixture_.log_weight - costs)[0]

    def _labels_by(self, costs):
        return self._probabilities_by(costs).argmax(axis=1).astype(np.int32)

    def _costs(self, X):
        """−log p(row | cluster), (n, k)."""
        check_is_fitted(self)
        rows = GaussianData(X, self, self._frame_).rows
        return self._mixture_.rule.costs(rows)


def plug_in_criteria(rows, parameters):
    """J_split and J_merge of point estimates."""
    return criteria_by(*sums_over([(parameters.rule.costs(rows), 1.0)], parameters.log_weight))
