"""What BayesianKMeans and AgglomerativeBayes share: rows of their models, labels and views."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from kfree.core.stats import Labels
from kfree.estimators._base import or_new, require_rows
from kfree.explain.view import view_by_distances
from kfree.models.bayesian_rows import DATA
from kfree.models.posterior import distances_of
from kfree.validation.frames import printed_names, require_columns_of_fit
from kfree.validation.parameters import check
from kfree.validation.rows import validated_rows


def predict(self, X: Any, allow_new: bool = False) -> Labels:
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
    data = rows_like_those_of_fit(self, X)
    return or_new(self, self._model_.labels(data, self.engine, self.n_threads), X, allow_new)


def distances_to_clusters(estimator, X):
    """Distances of rows to all clusters, (n, k), as :meth:`outlier_score` compares them."""
    return estimator._model_.distances(rows_like_those_of_fit(estimator, X))


def rows_like_those_of_fit(estimator, X):
    """New rows in the coordinates of the fit."""
    check_is_fitted(estimator)
    check(estimator, estimator._constraints_of_methods)
    data = DATA[estimator._model_.kind](X, estimator, estimator._model_.frame)
    if data.frame is None:  # rows in a frame were compared before
        require_columns_of_fit(estimator, X)
    return data


def view_of(estimator, X, labels):
    """A view of rows: Gaussians by Mahalanobis distances, counts as shares of their row's total."""
    require_rows(X, estimator)
    kind, model = estimator.model, estimator._model_
    rows = validated_rows(X, estimator) if kind == "gaussian" else DATA[kind](X, estimator).rows
    if rows.shape[0] != len(labels):
        raise ValueError(f"X has {rows.shape[0]} rows; give the {len(labels)} rows of fit.")
    distance = "Euclidean distance to the mean" if model.covariances is None else "Mahalanobis distance to the centre"
    told = {"distance": distance + " of shares" * (kind == "multinomial"), "columns": rows}
    told["names"] = printed_names(X, estimator)
    distances = distances_of(kind, rows, model.centres, model.covariances)
    return view_by_distances(distances, labels, model.centres, **told)


def posterior_tags(tags, kind):
    """Tags of an estimator by the kind of its model."""
    tags.input_tags.sparse = kind in DATA and DATA[kind].takes_sparse
    tags.input_tags.positive_only = kind != "gaussian"
    return tags
