"""Distances of rows to the clusters of Bayesian models."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from kfree.engines.kernel.gram import blocks
from kfree.estimators._bayesian import DATA
from kfree.estimators._explained import column_names, distances_in_blocks, require_rows, view_by_distances
from kfree.objectives.gaussian import lower_factors
from kfree.validation.rows import validated_rows


def view_of_models(estimator, X, labels):
    """A view of rows of ``DATA``: Gaussians by Mahalanobis distances, counts as shares of their row's total."""
    require_rows(X, estimator)
    rows = DATA[estimator.model](X, estimator).rows if estimator.model != "gaussian" else validated_rows(X, estimator)
    if rows.shape[0] != len(labels):
        raise ValueError(f"X has {rows.shape[0]} rows; give the {len(labels)} rows of fit.")
    counted = estimator.model == "multinomial"
    centres, covariances = estimator.cluster_centers_, getattr(estimator, "covariances_", None)
    distance = "Euclidean distance to the mean" if covariances is None else "Mahalanobis distance to the centre"
    told = {"distance": distance + " of shares" * counted, "columns": rows, "names": column_names(X, estimator)}
    return view_by_distances(distances_of_models(estimator.model, rows, centres, covariances), labels, centres, **told)


def distances_of_models(model, rows, centres, covariances):
    """Distances of rows to the clusters of a model, block by block: Mahalanobis where these have covariances.

    Counts are seen as shares of their row's total.
    """
    if covariances is not None:
        return mahalanobis(rows, centres, lower_factors(covariances))
    return distances_in_blocks(_shares(rows) if model == "multinomial" else rows, centres)


def _shares(counts):
    """Counts over the total of their row."""
    total = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    return sp.csr_array(sp.diags_array(1 / total) @ counts) if sp.issparse(counts) else counts / total[:, None]


def mahalanobis(rows, centres, factors):
    """Mahalanobis distances, block by block, given the lower triangular factors of covariances.

    The factors are those of the model, which exist also where rounding makes a covariance singular.
    """
    for places in blocks(len(rows), rows.shape[1] + len(centres)):
        white = [
            solve_triangular(factor, (rows[places] - centre).T, lower=True, check_finite=False)
            for centre, factor in zip(centres, factors, strict=True)
        ]
        yield places, np.column_stack([np.sqrt((part**2).sum(axis=0)) for part in white])
