"""Which columns set a cluster apart: Cohen's d between the rows inside and the rows outside."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.sparse import ArrayOrCSR
from kfree.explain.view import Floats

# Rows per block, so that shifted copies need little memory.
_ROWS_AT_ONCE = 65536
# Values up to this can be squared and added.
_LARGEST = 1e100


def effect_sizes(columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int) -> tuple[Floats, Floats]:
    """Cohen's d and the mean of every column in every cluster, each (k, d).

    d = (mean inside − mean outside) / s, where s² is the variance within both parts, pooled. It is ±inf where both
    parts are constant and differ, and 0 where they are equal or where nothing is outside. Rows labelled −1 count as
    neither.
    """
    largest = max(float(columns.max()), -float(columns.min()))
    if largest > _LARGEST:
        d, mean = effect_sizes(columns / largest, labels, n_clusters)
        return d, mean * largest
    shift, n, total, square = _moments(columns, labels, n_clusters)
    n_out, total_out, square_out = n.sum() - n, total.sum(axis=0) - total, square.sum(axis=0) - square
    mean, mean_out = total / np.maximum(n, 1)[:, None], total_out / np.maximum(n_out, 1)[:, None]
    within = _sum_of_squares(square, total, mean) + _sum_of_squares(square_out, total_out, mean_out)
    s = np.sqrt(within / max(n.sum() - 2, 1))
    gap = np.where((n > 0)[:, None] & (n_out > 0)[:, None], mean - mean_out, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.where(gap == 0, 0.0, gap / s)
    # A mean of zero is not blurred by the shift and back.
    return d, np.where(np.abs(mean + shift) < 1e-12 * np.abs(shift), 0.0, mean + shift)


def effects_among_siblings(
    columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int, parent: NDArray[Any]
) -> tuple[Floats, Floats]:
    """The same, where outside are only rows of clusters with the same ``parent`` (k,)."""
    effects, means = np.zeros((2, n_clusters, columns.shape[1]))
    for siblings in (np.flatnonzero(parent == p) for p in np.unique(parent)):
        rows = np.flatnonzero(np.isin(labels, siblings))
        if len(rows):
            own = np.searchsorted(siblings, labels[rows])
            effects[siblings], means[siblings] = effect_sizes(columns[rows], own, len(siblings))
    return effects, means


def _sum_of_squares(square: Floats, total: Floats, mean: Floats) -> Floats:
    """Σ(x − mean)², and zero where the difference is within rounding of it."""
    left = square - total * mean
    return np.where(left > 1e-12 * square, left, 0.0)


def _moments(columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int) -> tuple[Floats, Floats, Floats, Floats]:
    """A shift (d,), and n (k,), Σ(x − shift) and Σ(x − shift)² (k, d) per cluster. Sparse columns are not shifted."""
    if sp.issparse(columns):
        columns, members = sp.csr_array(columns, dtype=np.float64), _members(labels, n_clusters)
        total, square = (members @ columns).toarray(), (members @ columns.multiply(columns)).toarray()
        return np.zeros(columns.shape[1]), members.sum(axis=1), total, square
    shift = np.asarray(columns[:_ROWS_AT_ONCE], dtype=np.float64).mean(axis=0)
    n, total, square = np.zeros(n_clusters), *np.zeros((2, n_clusters, columns.shape[1]))
    for begin in range(0, len(labels), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        members, rows = _members(labels[part], n_clusters), np.asarray(columns[part], dtype=np.float64) - shift
        n += members.sum(axis=1)
        total += members @ rows
        square += members @ (rows * rows)
    return shift, n, total, square


def _members(labels: NDArray[Any], n_clusters: int) -> sp.csr_array:
    """One where a row belongs to a cluster, (k, n)."""
    kept = np.flatnonzero(labels >= 0)
    return sp.csr_array((np.ones(len(kept)), (labels[kept], kept)), shape=(n_clusters, len(labels)))
