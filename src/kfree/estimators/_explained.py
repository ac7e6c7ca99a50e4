"""What every estimator tells about its clusters after a fit: one mixin, on top of one view of the rows."""

import numpy as np
from scipy.spatial.distance import cdist

from kfree.engines.kernel.gram import blocks
from kfree.explain import View, summarize
from kfree.explain.view import nearest_centres, nearest_other
from kfree.saving import Savable

# What a distance is, by metric.
METRICS = {"euclidean": "Euclidean distance to the centre", "cosine": "√(2 − 2 cos) to the centre"}


class Explained(Savable):
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


def require_rows(X, estimator):
    """Raise if there are no rows to tell something about."""
    if X is None:
        raise ValueError(f"X=None is not allowed: {type(estimator).__name__} does not keep its rows. Give X.")


def column_names(X, estimator):
    """Names of the columns of X, or None."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    return getattr(estimator, "feature_names_in_", None)


def labels_of_fit(predicted, fitted):
    """The labels of ``fit`` if these are its rows, as predictions show: then rows left out as noise are known."""
    same = len(predicted) == len(fitted) and (fitted < 0).any() and np.all((predicted == fitted) | (fitted < 0))
    return fitted if same else predicted


def view_by_distances(parts, labels, centres, **told):
    """A view from distances (rows of a block, k), block by block of rows, and labels that are known already."""
    n, k = len(labels), len(centres)
    dist, second, second_dist = np.empty(n), np.full(n, -1, dtype=np.int32), np.full(n, np.inf)
    for places, distances in parts:
        # Rows that are left out are seen from the nearest cluster.
        own = np.where(labels[places] < 0, distances.argmin(axis=1), labels[places])
        dist[places] = distances[np.arange(len(own)), own]
        if k > 1:
            second[places], second_dist[places] = nearest_other(distances, own)
    nearest, gaps = nearest_centres(centres)
    return View(labels, dist, second, second_dist, nearest, gaps, **told)


def distances_in_blocks(rows, centres):
    """Euclidean distances of rows, dense or sparse, to centres, block by block."""
    for places in blocks(rows.shape[0], len(centres) + rows.shape[1]):
        part = rows[places]
        yield places, cdist(part.toarray() if hasattr(part, "toarray") else part, centres)
