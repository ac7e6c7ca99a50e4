"""What estimators with centres share: parameters, input, predict, transform and publication."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.registry import ENGINES, open_engine
from kfree.estimators._validation import (
    require,
    require_choice,
    require_count,
    require_sound_centres,
    require_threads,
    validated_centres,
    validated_rows,
    validated_weights,
)
from kfree.objectives.dp_means import OBJECTIVES


class CentreClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators that describe a cluster by its centre."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def predict(self, X):
        """Give each row the label of its nearest centre; on the data of ``fit`` this is ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        engine, done = self._nearest(X)
        return engine.labels(done.assignment)

    def transform(self, X):
        """Distances of each row to all centres; under ``metric="cosine"`` these are √(2 − 2 cos).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, number of clusters)
        """
        engine, centres = self._fitted_engine(X, weight=None)
        sq_distances = engine.sq_distances(centres)
        return np.sqrt(sq_distances, out=sq_distances)

    def score(self, X, y=None, sample_weight=None):
        """Minus the cost of the rows under this model: −J for DPMeans, minus the inertia for KMeans.

        Costs are comparable only between models with one penalty per cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        return -self._objective_.cost(self._nearest(X, sample_weight)[1].stats)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _check_shared_parameters(self):
        require_choice("metric", self.metric, list(OBJECTIVES))
        require_choice("engine", self.engine, list(ENGINES))
        require_threads(self.n_threads)
        require_count("max_iter", self.max_iter)

    def _open(self, X, sample_weight):
        """The rows of a fit in the hands of an engine. Nothing of an earlier fit is touched yet."""
        rows = validated_rows(X, self)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # column names that _publish could not keep
        weight = validated_weights(sample_weight, rows.shape[0])
        return open_engine(self.engine, rows, weight=weight, unit=self.metric == "cosine", n_threads=self.n_threads)

    def _starting_centres(self, init, engine):
        """Given centres in the engine's coordinates; under cosine, their directions."""
        centres = validated_centres(init, engine.n_features)
        if self.metric != "cosine":
            return engine.frame.inward(centres)
        require(centres.any(axis=1).all(), "init", init, "centres that are not zero: under cosine they are directions")
        return centres / np.linalg.norm(centres, axis=1, keepdims=True)

    def _publish(self, X, engine, objective, state, descent):
        """Everything that a fit leaves behind, written at once and only when it has succeeded."""
        validate_data(self, X, skip_check_array=True, reset=True)
        self._frame_, self._objective_, self._sites_ = engine.frame, objective, state.sites
        self.labels_ = engine.labels(state.assignment)
        self.cluster_centers_ = engine.frame.outward(state.sites.centres)
        self.inertia_ = state.inertia
        self.cost_ = state.cost
        self.cost_history_ = np.array(descent.cost_history)
        self.n_iter_ = descent.n_iter
        self.converged_ = descent.converged
        self.n_distances_ = engine.n_distances
        self.engine_ = engine.description

    def _nearest(self, X, sample_weight=None):
        """An engine with these rows, and the pass that takes them to their nearest centres."""
        engine, centres = self._fitted_engine(X, sample_weight)
        return engine, engine.nearest(Sites.of(centres))

    def _fitted_engine(self, X, weight):
        """An engine that sees new rows in the coordinates of the fit, and the centres in those."""
        check_is_fitted(self)
        self._check_shared_parameters()
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        weight = validated_weights(weight, rows.shape[0])
        return self._engine_in(self._frame_, self._sites_.centres, rows, weight)

    def _engine_in(self, frame, centres, rows, weight):
        """An engine that sees rows in the coordinates of ``centres``, and the centres as it sees them."""
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1], frame.unit), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        engine = open_engine(self.engine, rows, weight=weight, unit=frame.unit, frame=frame, n_threads=self.n_threads)
        return engine, centres
