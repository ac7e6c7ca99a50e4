"""Shared by estimators with centres: parameters, input, predict, transform and fitted attributes."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.cached import cached
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.dask.collections import CollectionRows, is_collection
from kfree.engines.kernel.gram import blocks
from kfree.engines.local.rows import LocalRows
from kfree.engines.registry import open_engine
from kfree.estimators._explained import (
    METRICS,
    Judging,
    column_names,
    labels_of_fit,
    require_rows,
    rows_for_spreads,
    view_by_distances,
)
from kfree.estimators._file_labels import predict_files, require_columns, score_streamed
from kfree.estimators._order import LABEL_ORDERS, published_order, ranks
from kfree.estimators._places import lazy_labels
from kfree.estimators._tensors import in_memory, placed_like
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
from kfree.explain.spread import fitted_spreads
from kfree.files.rows import FileRows
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.dp_means import OBJECTIVES


class CentreClusterer(Judging, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators that describe a cluster by its centre."""

    _engines: tuple[str, ...] = IMPLEMENTATIONS

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def predict(self, X, allow_new=False, out=None):
        """Label each row by its nearest centre; on the data of ``fit`` this is ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster, or than √lam where ``lam`` was given as a number.
        out : str, path or None, default=None
            For rows of files: the folder to write labels to, one Parquet file with a column ``label`` for each file of
            rows, in row order and with its name. A file appears under its name when it is complete.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            A Dask array for a Dask collection, with ``engine="dask"``. With ``out``, the paths of the files that were
            written, a list of str.
        """
        if isinstance(X, FileRows):
            return predict_files(self, X, allow_new, out)
        if self.engine == "dask" and is_collection(X):
            require(out is None, "out", out, "None unless X is from open_rows")
            check_is_fitted(self)
            return lazy_labels(self, X, allow_new)
        require(out is None, "out", out, "None unless X is from open_rows")
        engine, centres = self._fitted_engine(X, None)
        labels = engine.nearest_labels(Sites.of(centres), self._rank_)
        return placed_like(self._or_new(labels, X, allow_new), X)

    def transform(self, X):
        """Distances of each row to all centres; under ``metric="cosine"`` these are √(2 − 2 cos).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, number of clusters)
        """
        engine, centres = self._fitted_engine(X, None, self._in_process)
        sq_distances = engine.sq_distances(centres[self._order_])
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
        if isinstance(X, FileRows):
            require_columns(self, X)
            return score_streamed(self, X)
        if self.engine == "dask" and is_collection(X):
            check_is_fitted(self)
            return score_streamed(self, CollectionRows.of(X, sample_weight))
        stats = self._nearest(X, sample_weight)[1].stats
        return -self._objective_.cost(stats)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _check_shared_parameters(self):
        require_choice("metric", self.metric, list(OBJECTIVES))
        require_choice("engine", self.engine, self._engines)
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        require_threads(self.n_threads)
        require_count("max_iter", self.max_iter)

    def _opened(self, X, sample_weight):
        """The rows of a fit and their weights, validated. Fitted attributes are not changed yet."""
        rows = validated_rows(X, self)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # column names that _publish could not keep
        weight = validated_weights(sample_weight, rows.shape[0])
        return rows, weight

    def _engine_of(self, rows, weight):
        return open_engine(self.engine, rows, weight=weight, unit=self.metric == "cosine", n_threads=self.n_threads)

    def _starting_centres(self, init, engine):
        """Given centres in the engine's coordinates; under cosine, their directions."""
        centres = validated_centres(init, engine.n_features)
        if self.metric != "cosine":
            return engine.frame.inward(centres)
        require(centres.any(axis=1).all(), "init", init, "centres that are not zero: under cosine they are directions")
        return centres / np.linalg.norm(centres, axis=1, keepdims=True)

    def _publish(self, X, rows, weight, found, left_out=None):
        """Set all fitted attributes; called only after the fit has succeeded.

        Rows that were ``left_out`` get the label −1.
        """
        engine, objective, state, descent = found.engine, found.objective, found.state, found.descent
        if left_out is not None and left_out.any():
            weight = np.where(left_out, 0.0, 1.0 if weight is None else weight)
        order = published_order(self.label_order, found.labels, state.stats.n, weight)
        labels, centres = ranks(order).take(found.labels), state.sites.centres
        size, chosen = rows_for_spreads(labels, weight, state.stats.n[order] if weight is None else None)
        own = labels.take(chosen)
        if isinstance(engine, LocalRows):  # which has the rows: no copy is needed
            dist = np.sqrt(engine.sq_dists_of(chosen, own, centres[order]))
        else:
            dist = self._own_distances(engine.frame, centres[order], in_memory(rows, chosen), own)
        sample = own, dist, len(order), size
        if left_out is not None:
            labels = np.where(left_out, np.int32(-1), labels)
        validate_data(self, X, skip_check_array=True, reset=True)
        self._set_fitted(engine, objective, state, descent, order, placed_like(labels, X), sample)

    def _set_fitted(self, engine, objective, state, descent, order, labels, sample):
        """Set fitted attributes; ``order`` are the clusters in the order of their public labels."""
        centres = state.sites.centres
        self._frame_, self._objective_, self._sites_ = engine.frame, objective, state.sites
        self._order_, self._rank_ = order, ranks(order)
        self.labels_, self._spread_sample_ = labels, sample
        for stale in ("_spreads_", "n_passes_", "summary_cost_", "_rows_of_fit_"):
            self.__dict__.pop(stale, None)
        self.cluster_centers_ = engine.frame.outward(centres[order])
        self.n_clusters_ = len(order)
        self.inertia_ = state.inertia
        self.cost_ = state.cost
        self.cost_history_ = np.array(descent.cost_history)
        self.n_iter_ = descent.n_iter
        self.converged_, self.stop_reason_ = descent.converged, descent.stop_reason
        self.n_distances_ = engine.n_distances
        self.engine_ = engine.description

    def _nearest(self, X, sample_weight=None):
        """An engine with these rows, and the pass that assigns them to their nearest centres."""
        engine, centres = self._fitted_engine(X, sample_weight)
        return engine, engine.nearest(Sites.of(centres))

    def _fitted_engine(self, X, weight, name=None):
        """An engine with new rows in the coordinates of the fit, and the centres in the same coordinates."""
        check_is_fitted(self)
        self._check_shared_parameters()
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        weight = validated_weights(weight, rows.shape[0])
        rows = in_memory(rows) if name in IMPLEMENTATIONS else rows
        return self._engine_in(self._frame_, self._sites_.centres, self._seen(rows), weight, name)

    def _seen(self, rows):
        """New rows in the coordinates of the fit."""
        return rows

    def _view(self, X):
        require_rows(X, self)
        of_fit = getattr(self, "labels_", None)
        labels = labels_of_fit(in_memory(self.predict(X)), in_memory(of_fit))
        rows = in_memory(validated_rows(X, self))
        distance, names = METRICS[getattr(self, "metric", "euclidean")], column_names(X, self)
        told = {"distance": distance, "columns": rows, "names": names}
        return view_by_distances(self._distances(X), labels, self.cluster_centers_, **told)

    def _distances(self, X):
        """Distances of rows to all centres, block by block."""
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._distances_in(self._frame_, self._sites_.centres, self._order_, self._seen(rows))

    def _distances_of(self, rows):
        """A function from what a search found to the distances of all rows to its centres, in blocks."""

        def distances(found):
            centres = found.state.sites.centres
            return self._distances_in(found.engine.frame, centres, np.arange(len(centres)), rows)

        return distances

    def _distances_in(self, frame, centres, order, rows):
        """The same for rows in the coordinates of the fit and any centres, in this ``order``."""
        for places in blocks(rows.shape[0], len(centres)):
            engine, seen = self._engine_in(frame, centres, in_memory(rows, places), None, self._in_process)
            yield places, np.sqrt(engine.sq_distances(seen[order]))

    def _own_distances(self, frame, centres, rows, labels):
        """Distances of rows to the centres that ``labels`` name."""
        engine, seen = self._engine_in(frame, centres, rows, None, self._in_process)
        return np.sqrt(engine.sq_dists_of(np.arange(engine.n_rows), labels, seen))

    @cached
    def _spreads_(self):
        """How far rows usually lie from their own centre, worked out when it is first asked for."""
        return fitted_spreads(*self._spread_sample_)

    @property
    def _in_process(self):
        """The engine for what is computed in memory, whatever computes the passes over all rows."""
        return self.engine if self.engine in IMPLEMENTATIONS else "auto"

    def _engine_in(self, frame, centres, rows, weight, name=None):
        """An engine with rows in the coordinates of ``centres``, and the centres in those of the engine."""
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1], frame.unit), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        name = name or self.engine
        engine = open_engine(name, rows, weight=weight, unit=frame.unit, frame=frame, n_threads=self.n_threads)
        return engine, centres
