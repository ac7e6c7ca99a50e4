"""The posterior predictive distribution of a fitted Bayesian clustering."""

import numpy as np
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from kfree.validation.parameters import random_generator, require_count


class PredictiveMixin(DensityMixin):
    """For estimators by the posterior that have ``weights_``."""

    def predict_proba(self, X):
        """Probabilities of the clusters for each row, by the posterior predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters_)
        """
        log_joint = self._log_joint(X)
        return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))

    def score_samples(self, X):
        """log p(row | rows of the fit and their labels), given that the row opens no new cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
        """
        return logsumexp(self._log_joint(X), axis=1)

    def score(self, X, y=None):
        """The mean of :meth:`score_samples`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples=1, n_events=100):
        """Draw rows from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1
        n_events : int, default=100
            Total of each row of counts, which the multinomial model does not define.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The clusters that they were drawn from.
        """
        check_is_fitted(self)
        require_count("n_samples", n_samples)
        require_count("n_events", n_events, least=0)
        rng = random_generator(self.random_state)
        labels = rng.choice(self.n_clusters_, n_samples, p=self.weights_)
        rows = self._objective_.model.draw(self._stats_, labels, rng, n_events)
        return rows if self._frame_ is None else self._frame_.outward(rows), labels

    def _log_joint(self, X):
        """log p(row, cluster | rows of the fit), (n, k)."""
        rows = self._fitted_data(X).rows
        return self._objective_.model.log_predictive(self._stats_, rows) + np.log(self.weights_)
