"""Hyper-parameters estimated from the data (Kurihara & Welling 2009, Eq. 21, 22)."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from kfree.core.stats import Floats, GaussianStats
from kfree.objectives.gaussian import GaussianModel

# φ0 of Eq. 21 and 22.
DATA_PHI0 = 2.0
# Neighbours are looked for from a tenth of the rows, but from no more than this.
_MOST_SAMPLED = 2000
# Above so many columns a tree finds neighbours no faster than looking at all rows does.
_TREE_FEATURES = 16
# A covariance, scaled to a unit diagonal, with a smaller eigenvalue than this is regularised.
_SINGULAR = 1e-10
# By this share of the mean variance.
_RIDGE = 1e-6


def informed_by_data(
    rows: Floats, rng: np.random.RandomState, weight: Floats | None = None
) -> tuple[GaussianModel, bool]:
    """ξ0 = 0.1, m0 = mean, η0 = D, B0 = d_small²·D·S/trace S   (Eq. 21), and whether S had to be regularised.

    Weights of rows count in the mean and in S, not in d_small, which is a distance between different rows.
    """
    mean, n_features = np.average(rows, axis=0, weights=weight), rows.shape[1]
    S = np.cov(rows.T, bias=True, aweights=weight).reshape(n_features, n_features)
    shape, regularised = _shape(S, len(rows))
    B0 = smallest_distance(rows, rng) ** 2 * shape
    return GaussianModel.conjugate(0.1, mean, float(n_features), B0), regularised


def for_merging(rows: Floats, rng: np.random.RandomState, weight: Floats | None = None) -> tuple[GaussianModel, bool]:
    """ξ0 = 0.01, m0 = mean, η0 = D, B0 = 0.01·d_small²·I   (Eq. 22): a weaker prior, for clusters of few rows.

    Also returns that nothing had to be regularised.
    """
    n_features = rows.shape[1]
    B0 = 0.01 * smallest_distance(rows, rng) ** 2 * np.eye(n_features)
    mean = np.average(rows, axis=0, weights=weight)
    return GaussianModel.conjugate(0.01, mean, float(n_features), B0), False


def by_neighbours(rows: Floats, rng: np.random.RandomState, weight: Floats | None = None) -> tuple[GaussianModel, bool]:
    """As Eq. 22, but B0 = (δ²/D)·I, with δ the median distance of a row to its nearest other: δ²/D for each column.

    d_small is the least of many distances and not typical of the others. Also returns that nothing was regularised.
    """
    n_features = rows.shape[1]
    distinct = np.unique(rows, axis=0)
    sampled = distinct[rng.choice(len(distinct), min(len(distinct), _MOST_SAMPLED), replace=False)]
    dist = _nearest_other(sampled, distinct) if len(distinct) > 1 else np.ones(1)
    # Smaller distances than that are rounding.
    delta = max(float(np.median(dist)), 1e-12 * float(np.abs(rows).max()))
    B0 = delta**2 / n_features * np.eye(n_features)
    mean = np.average(rows, axis=0, weights=weight)
    return GaussianModel.conjugate(0.01, mean, float(n_features), B0), False


def over_box(rows: Floats, weight: Floats | None = None) -> GaussianModel:
    """App. A: means anywhere in the box of the data, any covariance. Raises where one cluster has no evidence."""
    n_features = rows.shape[1]
    n_rows = float(len(rows) if weight is None else weight.sum())
    ranges = np.ptp(rows, axis=0)
    advice = "Use prior='data'"
    if n_rows <= n_features:
        raise ValueError(
            f"prior='uninformative' needs more rows than columns, and X has {n_rows:g} rows and {n_features} columns. "
            f"{advice}."
        )
    if not (ranges > 0).all():
        raise ValueError(
            f"prior='uninformative' needs columns that vary, and column {np.argmin(ranges)} is constant. {advice}, or "
            "drop the column."
        )
    model = GaussianModel.uninformative(ranges)
    mean = np.average(rows, axis=0, weights=weight)
    gaps = rows - mean
    scatter = gaps.T @ (gaps if weight is None else weight[:, None] * gaps)
    together = GaussianStats(np.array([n_rows]), n_rows * mean[None], scatter[None])
    if not np.isfinite(model.log_evidence(together)[0]):
        raise ValueError(f"prior='uninformative' needs columns that do not determine each other. {advice}.")
    return model


def smallest_distance(rows: Floats, rng: np.random.RandomState) -> float:
    """d_small: the mean of the three smallest distances > 0 from a tenth of the rows to their nearest neighbours.

    One where all rows are equal.
    """
    n_sampled = min(len(rows), max(3, math.ceil(len(rows) / 10)), _MOST_SAMPLED)
    sampled = rows[rng.choice(len(rows), n_sampled, replace=False)]
    dist = _nearest_other(sampled, rows)
    if np.count_nonzero(dist) < 3:  # duplicates hide the distances between different rows
        distinct = np.unique(rows, axis=0)
        if len(distinct) == 1:
            return 1.0
        dist = _nearest_other(
            distinct[rng.choice(len(distinct), min(len(distinct), _MOST_SAMPLED), replace=False)], distinct
        )
    return float(np.sort(dist[dist > 0])[:3].mean())


def _nearest_other(sampled: Floats, rows: Floats) -> Floats:
    """The distance of each sampled row to the nearest row but itself, zero if it has a duplicate."""
    if len(rows) == 1:
        return np.zeros(len(sampled))
    if rows.shape[1] <= _TREE_FEATURES:
        return np.asarray(cKDTree(rows).query(sampled, k=2)[0][:, 1])
    blocks = np.array_split(sampled, math.ceil(len(sampled) * len(rows) / 2**24))
    return np.concatenate([np.partition(cdist(block, rows), 1, axis=1)[:, 1] for block in blocks])


def _shape(S: Floats, n_rows: int) -> tuple[Floats, bool]:
    """D·S/trace S, positive definite, and whether S, the covariance of so many rows, was not."""
    n_features = len(S)
    variance = np.diag(S)
    if not variance.any():
        return np.eye(n_features), True
    shape = S * (n_features / variance.sum())
    scale = np.sqrt(np.where(variance > 0, np.diag(shape), 1.0))
    full_rank = n_rows > n_features and (variance > 0).all()  # else there is no need for eigenvalues
    if full_rank and np.linalg.eigvalsh(shape / np.outer(scale, scale))[0] > _SINGULAR:
        return shape, False
    return shape + _RIDGE * np.eye(n_features), True
