"""Labels and outliers of rows under the posterior of Bayesian clusters."""

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.estimators._bayesian import DATA
from kfree.estimators._explained import Judging, spreads_by
from kfree.estimators._model_distances import distances_of_models, mahalanobis
from kfree.explain.spread import Shapes
from kfree.objectives.gaussian import lower_factors


class ByPosterior(Judging, ClusterMixin, BaseEstimator):
    """For estimators whose ``model`` is one of ``DATA``, with fitted attributes that ``_keep_posterior`` sets."""

    model: str
    engine: str
    n_threads: int | None
    _check_parameters: Callable[[], None]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.model in DATA and DATA[self.model].takes_sparse
        tags.input_tags.positive_only = self.model != "gaussian"
        return tags

    def predict(self, X, allow_new=False):
        """Give each row the label under which it is most likely on average over the posterior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster, in Mahalanobis distance if ``model="gaussian"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32

        Notes
        -----
        Rows of ``fit`` keep their labels, unless the estimator could not give every row the label under which it is
        most likely: an :class:`AgglomerativeBayes` cannot undo a merge, and :class:`BayesianKMeans` rejects an update
        of all labels that raises the free energy.
        """
        engine = self._fitted_data(X).open(self.engine, "brute", self.n_threads)
        rule = self._objective_.labelling(self._stats_) if self._rule_ is None else self._rule_
        found = engine.labels(engine.assign(rule)[0])
        return self._or_new(self._rank_[found], X, allow_new)

    def _fitted_data(self, X):
        """New rows in the coordinates of the fit."""
        check_is_fitted(self)
        self._check_parameters()
        data = DATA[self.model](X, self, self._frame_)
        validate_data(self, X, skip_check_array=True, reset=False)
        return data

    def _distances(self, X):
        rows = _in_units_of_the_user(self._fitted_data(X))
        return distances_of_models(self.model, rows, self.cluster_centers_, getattr(self, "covariances_", None))

    def _posterior_of(self, data, objective, stats, labels):
        """Centres, covariances (None unless Gaussian) and spreads of clusters with these statistics."""
        centres = data.centres(objective.model, stats)
        if self.model != "gaussian":
            distances = distances_of_models(self.model, _in_units_of_the_user(data), centres, None)
            return centres, None, spreads_by(distances, labels, None)
        covariances = objective.model.covariances(stats)
        factors = lower_factors(covariances)
        distances = mahalanobis(_in_units_of_the_user(data), centres, factors)
        return centres, covariances, spreads_by(distances, labels, None, _shapes(centres, factors))

    def _keep_posterior(self, data, objective, stats, rule, rank, posterior):
        """Set the fitted attributes that predictions need; ``rank`` are public labels of the clusters of ``rule``.

        None is the rule of the statistics, made when rows are predicted: its inverses take d³ steps per cluster.
        """
        self._frame_, self._objective_, self._stats_ = data.frame, objective, stats
        self._rule_, self._rank_ = rule, rank
        self.cluster_centers_, covariances, self._spreads_ = posterior
        if covariances is not None:
            self.covariances_ = covariances


def _in_units_of_the_user(data):
    return data.rows if data.frame is None else data.frame.outward(data.rows)


def _shapes(centres, factors):
    """What Mahalanobis distances do not show: geometric means of standard deviations, and how clusters lie."""
    widths = np.exp(np.log(np.diagonal(factors, axis1=-2, axis2=-1)).mean(axis=-1))
    return Shapes(widths, np.concatenate([distances for _, distances in mahalanobis(centres, centres, factors)]))
