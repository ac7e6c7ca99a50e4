"""What DPMeans, KMeans and OnlineDPMeans share as estimators with centres: the attributes of a fit, and methods."""

from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from kfree.core.arrays import namespace_of
from kfree.core.frame import Frame
from kfree.core.label_order import LABEL_ORDERS, order_by_rule, published_order, ranks
from kfree.core.sites import Sites
from kfree.core.sphere import SQ_EARTH_RADIUS, arcs, degrees_of, unit_vectors
from kfree.core.stats import Floats
from kfree.engines.dask.collections import CollectionRows, is_collection
from kfree.engines.registry import ENGINES
from kfree.estimators._base import (
    digest_of,
    or_new,
    publish,
    remember,
    require_rows,
    rows_like_those_of_fit,
)
from kfree.estimators._file_labels import predict_files, require_columns, score_streamed
from kfree.estimators._places import lazy_labels
from kfree.explain.duplicates import Duplicates
from kfree.explain.spread import SpreadSample, rows_for_spreads
from kfree.files.rows import FileRows
from kfree.models.centres import CentreModel
from kfree.validation.collections import validated_collection
from kfree.validation.frames import printed_names, require_columns_of_fit
from kfree.validation.parameters import choice, count, require, threads
from kfree.validation.rows import validated_weights
from kfree.validation.tensors import in_memory, placed_like

# Attributes in units of squared distance.
_COSTS = ("lam_", "inertia_", "cost_", "cost_history_", "summary_cost_")


def publish_centres(estimator, X, data, result, left_out=None, **more):
    """Set the fitted attributes of a search with centres; rows that were ``left_out`` get the label −1."""
    if result.some_rows is None:
        weight = data.weight
        if left_out is not None and left_out.any():
            weight = np.where(left_out, 0.0, 1.0 if weight is None else weight)
        labels, order, sample = labels_and_spreads(_label_rule(estimator), weight, result)
    else:
        labels, order, sample = _of_summary(estimator, data, result)
    model = CentreModel(result.rows.frame, result.state.sites.centres, order, result.objective, sample)
    if estimator.metric == "haversine":
        model = on_sphere(model)
        if labels is not None:  # by centres in degrees, which differ from the vectors of the search in last bits
            labels = result.rows.nearest_labels(Sites.of(unit_vectors(model.centres)), model.rank)
    found = {"_model_": model} | history_of(result)
    found |= {"cluster_centers_": model.public_centres, "n_clusters_": len(order)}
    if left_out is not None:
        labels = np.where(left_out, np.int32(-1), in_memory(labels))
        found["_noise_of_"] = digest_of(in_memory(data.X))
    found |= _of_passes(data, result) | more
    if estimator.metric == "haversine":
        found |= {name: SQ_EARTH_RADIUS * found[name] for name in _COSTS if name in found}
    publish(estimator, X, found)
    if isinstance(X, FileRows):
        if X.feature_names is not None:
            estimator.feature_names_in_ = np.array(X.feature_names, dtype=object)
        return remember(estimator, None)
    if not isinstance(data.source, CollectionRows):
        estimator.labels_ = placed_like(labels, X)
        return estimator
    is_here = result.some_rows is None
    estimator.labels_ = data.source.chunked(labels) if is_here else lazy_labels(estimator, X, allow_new=False)
    return remember(estimator, None)


def on_sphere(model):
    """A model of unit vectors with centres in degrees, and spreads as arcs."""
    sample = replace(model.sample, dist=arcs(model.sample.dist**2))
    return replace(model, frame=Frame.plain(2, unit=True), centres=degrees_of(model.centres), sample=sample)


def history_of(result):
    """The attributes that say how a search went."""
    state, descent = result.state, result.descent
    return {
        "inertia_": state.inertia,
        "cost_": state.cost,
        "cost_history_": np.array(descent.cost_history),
        "n_iter_": descent.n_iter,
        "converged_": descent.converged,
        "stop_reason_": descent.stop_reason,
        "n_distances_": result.rows.n_distances,
        "engine_": result.rows.description,
    }


def labels_and_spreads(label_order, weight, result):
    """Public labels where the rows are, the order of clusters and a sample for spreads; all rows were searched."""
    state, rows = result.state, result.rows
    order = published_order(label_order, lambda: result.labels, state.stats.n, weight)
    arrays = rows.arrays
    labels = arrays.take(ranks(order), state.assignment.labels)
    counting = None if weight is None else arrays.of(weight)
    size = state.stats.n[order] if weight is None else None
    size, chosen = rows_for_spreads(labels, counting, size, arrays)
    # By the numbers of the search, so that centres need not be put in order.
    dist = rows.dists_of(chosen, state.assignment.labels[chosen], state.sites.centres)
    return labels, order, SpreadSample(arrays.to_numpy(labels[chosen]), dist, len(order), size)


def _of_summary(estimator, data, result):
    """``labels_and_spreads`` where rows are not all in memory: spreads are those of a sample."""
    state, rows, sample = result.state, result.rows, result.some_rows
    labels, rule = None if data.X is None else rows.labels(state.assignment), _label_rule(estimator)
    if labels is None or estimator.memory is not None:  # the same order for arrays and files
        order = order_by_rule(rule, state.stats.n)
    else:
        order = published_order(rule, labels, state.stats.n, data.weight)
    labels = None if labels is None else ranks(order).take(labels)
    seen = ranks(order)[sample.labels(sample.nearest(state.sites).assignment)]
    dist = sample.dists_of(np.arange(sample.n_rows), seen, state.sites.centres[order])
    return labels, order, SpreadSample(seen, dist, len(order))


def _label_rule(estimator):
    """How clusters are numbered: by size, or in the order of centres that the user gave."""
    if estimator.label_order != "auto":
        return estimator.label_order
    return "size" if isinstance(estimator.init, str) else "found"


def _of_passes(data, result):
    """Attributes of fits under a limit, and of searches on a summary."""
    summary = result.summary
    if summary is not None:
        return {
            "n_passes_": summary.n_passes + result.descent.n_iter,
            "summary_cost_": summary.cost,
            "summary_n_iter_": summary.n_iter,
        }
    is_loaded = data.is_limited and data.plan is None
    return {"n_passes_": 1, "summary_cost_": result.state.cost} if is_loaded else {}


def constraints(metrics, label_orders=LABEL_ORDERS):
    """What predict, transform and score look at besides the rows."""
    return (
        choice("metric", metrics),
        choice("engine", (*ENGINES, "dask")),
        choice("label_order", label_orders),
        threads,
        count("max_iter"),
    )


def fit_predict(self, X: Any, y: Any = None, **settings: Any) -> Any:
    """Fit, and return ``labels_``. A fit on rows of files keeps none: call ``fit``, then ``predict``.

    Parameters
    ----------
    X : what ``fit`` takes, except rows of files
    y : ignored
    **settings : dict
        Further arguments of ``fit``, such as ``sample_weight``.

    Returns
    -------
    labels : ndarray of shape (n_samples,), int32
    """
    if isinstance(X, FileRows):
        raise TypeError(
            "fit_predict takes no rows of files, whose labels a fit does not keep; call fit(rows), then predict(rows), "
            "or predict(rows, out='folder') to write them."
        )
    return ClusterMixin.fit_predict(self, X, y, **settings)


def predict(self, X: Any, allow_new: bool = False, out: str | PathLike[str] | None = None) -> Any:
    """Label each row by its nearest centre.

    On the data of ``fit`` this is ``labels_``, but for rows that were left out as noise: these get the label of their
    nearest centre.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
    allow_new : bool, default=False
        Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
        a thousand rows of a cluster.
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
    require(out is None, "out", out, "None unless X is from open_rows")
    if self.engine == "dask" and is_collection(X):
        check_is_fitted(self)
        require_columns_of_fit(self, X)
        return lazy_labels(self, X, allow_new)
    rows = rows_like_those_of_fit(self, X)
    labels = self._model_.labels(rows, self.engine, self.n_threads)
    return placed_like(or_new(self, labels, X, allow_new), X)


def transform(self, X: Any) -> Floats:
    """Distances of each row to all centres: √(2 − 2 cos) under ``metric="cosine"``, the root of a divergence.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    distances : ndarray of shape (n_samples, number of clusters)
        Where X is on a GPU, so are these.
    """
    rows = rows_like_those_of_fit(self, X)
    sq_distances = self._model_.sq_distances(rows, self.engine, self.n_threads)
    return placed_like(namespace_of(sq_distances).sqrt(sq_distances, out=sq_distances), X)


def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        require(sample_weight is None, "sample_weight", "…", "None for files, and weight to open_rows")
        require_columns(self, X)
        return score_streamed(self, X)
    if self.engine == "dask" and is_collection(X):
        check_is_fitted(self)
        require_columns_of_fit(self, X)
        return score_streamed(self, validated_collection(X, sample_weight))
    rows = rows_like_those_of_fit(self, X)
    weight = validated_weights(sample_weight, rows.shape[0])
    return -self._model_.cost(rows, weight, self.engine, self.n_threads)


def duplicates(self, X: Any, threshold: float | None = None) -> Duplicates:
    """Rows that are nearly equal, such as an article that is in a catalogue twice.

    Clusters are the index: rows are compared with those of their own cluster, and at its border with those of the next,
    by a tree of their widest directions. The result is that of comparing all pairs.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of ``fit``, or others.
    threshold : float ≥ 0 or None, default=None
        Two rows at most this far apart are near-duplicates. It is a distance as in :meth:`transform`: Euclidean;
        √(2 − 2 cos) under ``metric="cosine"``, where √(2 − 2·0.95) ≈ 0.32 means a cosine of at least 0.95; km under
        ``"haversine"``. None is a tenth of the usual distance to the nearest row: of the median, over up to about 1,000
        distinct rows, of the distance to the nearest other one in the cluster. 0 finds equal rows only.

    Returns
    -------
    duplicates : kfree.explain.Duplicates
        ``pairs`` with ``distances``; the ``group`` of each row, and ``groups``; ``keep``, which marks all rows but
        those of a group after its first; ``threshold``.

    Notes
    -----
    Chains connect: two rows of a group may be farther apart than the threshold. More than 50,000,000 pairs are an
    error that asks for a smaller threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import DPMeans
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X = np.vstack([X, X[7], X[7] + 1e-6])
    >>> found = DPMeans(lam=100.0).fit(X).duplicates(X)
    >>> found.pairs.tolist()
    [[7, 200], [7, 201]]
    >>> X[found.keep].shape
    (200, 3)
    """
    rows = rows_like_those_of_fit(self, X)
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    ok = threshold is None or (is_number and 0 <= float(threshold) < np.inf)
    require(ok, "threshold", threshold, "a finite distance ≥ 0, or None")
    return self._model_.duplicates(rows, None if threshold is None else float(threshold), self.engine, self.n_threads)


def view_of(estimator, X):
    """Rows beside the clusters; rows of the fit that were left out as noise keep the label −1."""
    require_rows(X, estimator)
    rows = rows_like_those_of_fit(estimator, X)
    labels = in_memory(estimator._model_.labels(rows, estimator.engine, estimator.n_threads))
    noise_of = estimator.__dict__.get("_noise_of_")
    if noise_of is not None and noise_of == digest_of(in_memory(rows)):
        labels = in_memory(estimator.labels_)
    names = printed_names(X, estimator)
    return estimator._model_.view(rows, labels, names, estimator.engine, estimator.n_threads)


def distances_of(estimator, X):
    """Distances of rows to all centres, block by block."""
    rows = rows_like_those_of_fit(estimator, X)
    return estimator._model_.distances(rows, estimator.engine, estimator.n_threads)
