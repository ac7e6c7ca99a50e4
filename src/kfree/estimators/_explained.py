"""Summaries, plots and outlier scores of fitted estimators, based on one view of the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from kfree import plot
from kfree.engines.kernel.gram import blocks
from kfree.estimators._margins import Margins
from kfree.explain import View, summarize
from kfree.explain.spread import FALSE_ALARMS, fitted_spreads, outlier_scores_of
from kfree.explain.view import nearest_centres, nearest_other
from kfree.saving import Savable
from kfree.validation.parameters import require_choice, require_share


def _draw_path(model, X, ax, **settings):
    path = getattr(model, "path_", None)
    if path is None:
        raise ValueError(f"this {type(model).__name__} has no path_. Fit with lam='auto' and target_k=None.")
    return plot.staircase(path, ax, **settings)


def _draw_tree(model, X, ax, **settings):
    if not hasattr(model, "linkage_"):
        raise ValueError(f"{type(model).__name__} has no tree; use kind='scatter', or AgglomerativeBayes.")
    return plot.dendrogram(model.linkage_, model.n_clusters_, labels=model.labels_, ax=ax, **settings)


def _draw_graph(model, X, ax, **settings):
    if not hasattr(model, "adjacency_"):
        raise ValueError(f"{type(model).__name__} has no graph; use kind='scatter', or GraphDPMeans.")
    return plot.graph(model, ax, **settings)


# Kind of picture → how it is drawn.
DRAWN: dict[str, Callable[..., Any]] = {
    "scatter": plot.clusters,
    "voronoi": plot.voronoi,
    "sizes": plot.sizes,
    "profiles": plot.profiles,
    "staircase": _draw_path,
    "dendrogram": _draw_tree,
    "graph": _draw_graph,
}
# Spreads are estimated from at most about this many rows of a cluster; this bounds time and memory.
_ENOUGH_ROWS = 500
# What a distance is, by metric.
METRICS = {"euclidean": "Euclidean distance to the centre", "cosine": "√(2 − 2 cos) to the centre"}


class Explained(Margins, Savable):
    """For estimators with ``_view(X)``, which returns a :class:`kfree.explain.View`."""

    def summary(self, X=None, feature_names=None):
        """A table of the clusters: size, spread, nearest cluster, exemplar rows, features that set them apart.

        Parameters
        ----------
        X : the rows of ``fit``, or others, which are given to clusters by ``predict``
        feature_names : sequence of str or None, default=None
            Names of the columns; None takes those of X, else x0, x1, ….

        Returns
        -------
        summary : kfree.explain.Summary
            A text when printed, a table in a notebook, a data frame by ``to_frame()``.
        """
        return summarize(self, X, feature_names)

    def plot(self, X=None, kind="auto", ax=None, **settings):
        """Draw the clusters. Needs matplotlib.

        Parameters
        ----------
        X : the rows of ``fit``, or others
        kind : {"auto", "scatter", "voronoi", "sizes", "profiles", "staircase", "dendrogram", "graph"}, default="auto"
            - ``"scatter"``: rows by two columns or two principal components; ``"voronoi"``: with the region of each
              cluster, for two columns.
            - ``"sizes"``: rows of each cluster; ``"profiles"``: the columns that set it apart.
            - ``"staircase"``: the path that ``lam="auto"`` chose from.
            - ``"dendrogram"`` for trees and ``"graph"`` for graphs, where this is ``"auto"``; else the scatter.
        ax : matplotlib axes, default=None
            Where to draw; a new figure if None.
        **settings
            Passed to the function of that name in :mod:`kfree.plot`.

        Returns
        -------
        ax : matplotlib axes
        """
        check_is_fitted(self)
        require_choice("kind", kind, ["auto", *DRAWN])
        return DRAWN[self._usual_picture(X) if kind == "auto" else kind](self, X, ax, **settings)

    def _usual_picture(self, X):
        return "scatter"


class Judging(Explained):
    """For estimators that also have distances of any rows to all clusters, by ``_distances(X)`` in blocks."""

    _distances: Callable[..., Any]
    _spreads_: Any

    def outlier_score(self, X, false_alarms=FALSE_ALARMS):
        """The distance of each row relative to the usual distances in a cluster; above 1, the row belongs to no
        cluster.

        This is the distance to a cluster over the distance that a share of ``false_alarms`` of its rows exceeds, the
        least over all clusters. Where ``lam`` was given as a number, it is the distance to the nearest centre over
        √lam instead, beyond which a row would open a cluster; ``false_alarms`` is ignored then.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        false_alarms : float, default=0.001
            The share of rows of a cluster with a score above 1, if their squared distances have a gamma distribution.
            Those of round Gaussian clusters have one. Of clusters stretched three to one, up to six in a thousand rows
            score above 1 at the default.

        Returns
        -------
        scores : ndarray of shape (n_samples,)

        Notes
        -----
        The distribution is fitted to the lower quartile and the median of each cluster, so that outliers among the rows
        of ``fit`` hardly change it. Two kinds of clusters are ignored: those of fewer than five rows, and those that
        consist of outliers themselves. The latter hold less than a tenth of the rows and are more than twice as wide as
        usual. Of Gaussians, so does one of less than a quarter of the rows that is more than three times as wide as
        usual and lies around most of the other rows.
        """
        require_share("false_alarms", false_alarms)
        check_is_fitted(self)
        return outlier_scores_of(self._distances(X), self._limits(false_alarms))

    def _limits(self, false_alarms):
        """The distance from each cluster beyond which a row is an outlier."""
        return self._spreads_.limits(false_alarms)

    def _or_new(self, labels, X, allow_new):
        """Labels, −1 where a row is an outlier and ``allow_new`` is true."""
        return np.where(self.outlier_score(X) > 1, np.int32(-1), labels) if allow_new else labels


def spreads_by(parts, labels, weight, shapes=None):
    """How far rows usually lie from their own cluster, from distances to all clusters, block by block of rows.

    ``shapes`` compare clusters, where distances are relative to the cluster and do not.
    """
    size, chosen = rows_for_spreads(labels, weight)
    is_chosen = np.zeros(len(labels), dtype=bool)
    is_chosen[chosen] = True
    kept, n_clusters = [], 0
    for places, distances in parts:
        dist, _, _, n_clusters = _seen([(slice(None), distances)], labels[places])
        kept.append(dist[is_chosen[places]])
    return fitted_spreads(labels[chosen], np.concatenate(kept), n_clusters, size, shapes)


def rows_for_spreads(labels, weight, size=None):
    """The number of rows of each cluster, and some rows of each, enough to know its spread; of positive weight.

    ``size`` is that number where it is known.
    """
    size = _sizes(labels, weight) if size is None else size.astype(np.int64)
    # Every 2^i-th row of a cluster: rows that no cluster needs are not looked at.
    stride = 1 << np.log2(np.maximum(1, size // _ENOUGH_ROWS)).astype(np.int64)
    step = int(stride[size > 0].min(initial=stride.max()))
    wanted, level, last = np.ones(-(-len(labels) // step), dtype=bool), step, int(stride.max())
    while level < last:  # An odd multiple of a power of two is one of the smaller powers too, and of no larger one.
        wanted[level // step :: 2 * level // step] = (stride <= level).take(labels[level :: 2 * level])
        level *= 2
    chosen = step * np.flatnonzero(wanted)
    return size, chosen if weight is None else chosen[weight[chosen] > 0]


def _sizes(labels, weight):
    """The number of rows of positive weight of each cluster."""
    size = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for begin in range(0, len(labels), 65536):  # np.bincount makes copies of eight bytes a row
        part = slice(begin, begin + 65536)
        size += np.bincount(labels[part] if weight is None else labels[part][weight[part] > 0], minlength=len(size))
    return size


def require_rows(X, estimator):
    """Raise if X is None."""
    if X is None:
        raise ValueError(f"X=None is not allowed: {type(estimator).__name__} does not keep its rows. Give X.")


def column_names(X, estimator):
    """Names of the columns of X, or None."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    return getattr(estimator, "feature_names_in_", None)


def labels_of_fit(predicted, fitted):
    """The labels of ``fit`` if the predictions show that these are its rows, so that noise keeps the label −1."""
    if fitted is None:  # a fit on files keeps none
        return predicted
    same = len(predicted) == len(fitted) and (fitted < 0).any() and np.all((predicted == fitted) | (fitted < 0))
    return fitted if same else predicted


def view_by_distances(parts, labels, centres, **told):
    """A view from distances (rows of a block, k), block by block of rows, and labels that are known already."""
    dist, second, second_dist, _ = _seen(parts, labels)
    nearest, gaps = nearest_centres(centres)
    return View(labels, dist, second, second_dist, nearest, gaps, **told)


def _seen(parts, labels):
    """Distance to the own cluster, the nearest other one and the distance to it, (n,) each; number of clusters."""
    n, k = len(labels), 0
    dist, second, second_dist = np.empty(n), np.full(n, -1, dtype=np.int32), np.full(n, np.inf)
    for places, distances in parts:
        k = distances.shape[1]
        # Noise is compared with its nearest cluster.
        own = np.where(labels[places] < 0, distances.argmin(axis=1), labels[places])
        dist[places] = distances[np.arange(len(own)), own]
        if k > 1:
            second[places], second_dist[places] = nearest_other(distances, own)
    return dist, second, second_dist, k


def distances_in_blocks(rows, centres):
    """Euclidean distances of rows, dense or sparse, to centres, block by block."""
    for places in blocks(rows.shape[0], len(centres) + rows.shape[1]):
        part = rows[places]
        yield places, cdist(part.toarray() if hasattr(part, "toarray") else part, centres)
