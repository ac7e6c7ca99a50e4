"""Rows far from all others, left out before the path: a few of them would dominate most of its steps."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import pdtrc  # the survival function of Poisson counts

from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats, Mask
from kfree.engines.contract import MemoryRows
from kfree.native.implementations import implementation

# A row is as far out as its distance to this one of its nearest rows.
_NEIGHBOUR = 5
# Maximum number of distances computed, and number of rows that others are compared with.
_MOST_DISTANCES, _FEWEST, _MOST = 4_000_000, 200, 1000
_MOST_COLUMNS = 10_000
# Distances come from inner products from so many columns on, where the rows have at most so many coordinates. Squared
# distances below this share of two squared norms are rounding.
_MANY_COLUMNS, _MOST_COORDINATES, _ROUNDING = 64, 2**24, 1e-12
# The log of a distance that counts as zero.
_NOWHERE = -340.0
# By how much the tail may be longer than extrapolated, since its slope is an estimate.
_SLACK = 1.25
# A row is gross if it lies so many times as far from its neighbours as two rows lie from each other.
_GROSS = 2.0
# Far rows must exceed the number of rows in the extrapolated tail by this factor.
_TIMES, _CHANCE = 4.0, 1e-4


def may_have_far_rows(rows: MemoryRows, space: Space) -> bool:
    """Whether outliers are tested for: not for directions, nor for many columns."""
    return space is EUCLIDEAN and not rows.frame.unit and rows.n_features <= _MOST_COLUMNS


def far_rows(rows: MemoryRows) -> Mask:
    """Rows farther from their neighbours than the tail of a log-concave density allows.

    For such a density f, log f(x) of a random row x has a tail that falls at least exponentially, and so has the log
    of the distance to the m-th nearest row, which estimates −log f / d. From its median and its upper quartile an
    exponential tail is extrapolated. Rows beyond the point where there are several times as many are far, and so are
    rows that lie farther from their neighbours than the clusters, if there are any, lie from each other.
    """
    log_reach, log_spread = _log_distances(rows)
    return _beyond_tail(log_reach) | (log_reach > log_spread + math.log(_GROSS))


def _beyond_tail(log_reach: Floats) -> Mask:
    n_rows = len(log_reach)
    median, quartile = np.quantile(log_reach, [0.5, 0.75])
    slope = _SLACK * (quartile - median) / math.log(2)
    far = np.zeros(n_rows, dtype=bool)
    if not slope > 0 or median <= _NOWHERE:
        return far  # Most rows have copies, so these distances are zero.
    order = np.argsort(-log_reach, kind="stable")
    count = np.arange(1, n_rows + 1)
    beyond = log_reach[order] > quartile
    expected = n_rows / 2 * np.exp(-np.maximum(log_reach[order] - median, 0.0) / slope)
    if (beyond & (pdtrc(count - 1, expected) < _CHANCE)).any():
        far[order[: int(np.flatnonzero(beyond & (count >= _TIMES * expected)).max(initial=-1)) + 1]] = True
    return far


def _log_distances(rows: MemoryRows) -> tuple[Floats, float]:
    """The log of each row's distance to the fifth nearest of some others, and of the median of all distances."""
    n_references = min(max(_MOST_DISTANCES // rows.n_rows, _FEWEST), _MOST, rows.n_rows)
    sq_dist = _sq_distances(rows, n_references)
    passes, sq_reach = implementation(rows.name, "path"), np.empty(rows.n_rows)
    spread = passes.median(sq_dist[:n_references].ravel())
    passes.neighbour_reach(sq_dist, _NEIGHBOUR, sq_reach)
    least = math.exp(2 * _NOWHERE)
    return np.log(np.maximum(sq_reach, least)) / 2, math.log(max(spread, least)) / 2


def _sq_distances(rows: MemoryRows, n_references: int) -> Floats:
    """Squared distances of all rows to the first ones, (n, n_references).

    With many columns they come from inner products, a third of the time. Coordinates are about the median, since far
    rows may have moved the mean: then the rounding of a distance is that of its own two rows.
    """
    if rows.n_features < _MANY_COLUMNS or rows.n_rows * rows.n_features > _MOST_COORDINATES:
        return rows.sq_distances(rows.rows(np.arange(n_references)))
    X = rows.rows(np.arange(rows.n_rows))
    X -= np.median(X, axis=0)
    sq_norm = np.einsum("ij,ij->i", X, X)
    both, sq_dist = sq_norm[:, None] + sq_norm[:n_references], X @ X[:n_references].T
    # In place: new arrays of this size take as long as the arithmetic.
    sq_dist *= 2
    np.subtract(both, sq_dist, out=sq_dist)
    both *= _ROUNDING
    sq_dist[~(sq_dist > both)] = 0.0
    return sq_dist
