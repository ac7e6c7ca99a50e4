"""Few rows of many columns: a search in coordinates of the span of the rows, and its result in those of the rows.

n rows span n dimensions at most, and all distances between them and their means can be measured there. The result of a
search is then refined, and its cost computed, in the coordinates of the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from kfree.core.blocks import row_blocks
from kfree.core.equal_rows import numbers_of_equal
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.spaces import exponent_of, times_power_of_two
from kfree.core.sparse import ArrayOrCSR, unit_rows
from kfree.core.stats import Floats, Mask
from kfree.engines.contract import MemoryRows
from kfree.engines.registry import open_engine
from kfree.search.centres.refine import CONVERGE
from kfree.search.centres.state import State
from kfree.search.loop import require_finite
from kfree.search.monitor import Monitor
from kfree.search.result import Result

# Least ratio of columns to rows at which this is faster, for dense and for sparse rows.
_DENSE_SHARE, _SPARSE_SHARE = 4, 16
# Maximum number of rows: the time for coordinates grows with its cube.
_MOST_DENSE, _MOST_SPARSE = 1024, 4096
# Squared distances below this share of the largest squared length have lost half their digits in inner products.
_LEAST_SQ_GAP = 1e-8
# Products below this have lost digits to underflow.
_LEAST_PRODUCT = np.finfo(float).tiny / np.finfo(float).eps
# Values of X per block.
_VALUES_AT_ONCE = 1 << 24


def is_wide(rows: ArrayOrCSR) -> bool:
    """Whether rows have so many more columns than there are rows that a search in their span is faster."""
    n_rows, n_features = rows.shape
    share, most = (_SPARSE_SHARE, _MOST_SPARSE) if sp.issparse(rows) else (_DENSE_SHARE, _MOST_DENSE)
    return bool(1 < n_rows <= most and n_features >= max(share * n_rows, 1024))


def coordinates(rows: ArrayOrCSR, frame: Frame, with_all_digits: bool = False) -> Floats | None:
    """Coordinates (n, r) of rows in an orthonormal basis of what they span, seen in ``frame``.

    None if all are zero, or if sparse rows are too close together for their inner products and need not be placed
    ``with_all_digits``: that takes as long as for dense rows.
    """
    if sp.issparse(rows):
        places = _from_sparse(rows, frame)
        if places is not None or not with_all_digits:
            return places
        return _without_squares(_sparse_parts(rows, frame), rows.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):  # products that overflow tell no rows apart
        gram = np.asarray(sum(part @ part.T for part in _parts(rows, frame)))
        apart = _tells_rows_apart(gram)
    return _from_products(gram) if apart else _without_squares(_parts(rows, frame), len(rows))


def searched_in_span(
    search: Callable[[MemoryRows, Monitor], Result],
    monitor: Monitor,
    X: ArrayOrCSR,
    weight: Floats | None,
    rows: MemoryRows,
    n_threads: int | None,
) -> Result:
    """The result of a search on coordinates of the rows in their span, or on the rows if these have too few digits."""
    places = coordinates(X, rows.frame)
    if places is None:
        return search(rows, monitor)
    if rows.frame.unit:  # once, instead of in every pass
        places /= np.linalg.norm(places, axis=1, keepdims=True)
    frame = Frame.plain(places.shape[1])
    found = search(open_engine(rows.name, places, weight=weight, frame=frame, n_threads=n_threads), monitor)
    state = _lifted(found, rows)
    found.descent.cost_history = ended(found.descent.cost_history, state.cost)
    return replace(found, rows=rows, state=state)


def _lifted(found: Result, rows: MemoryRows) -> State:
    """The clusters of a search in the span, in the coordinates of the rows."""
    uids, next_uid = found.state.sites.uids, found.state.sites.next_uid
    stats = rows.sums(rows.assignment(found.labels, len(uids)))
    centres = found.objective.centres(stats, previous=stats.sum)
    return CONVERGE.start(Sites(centres, uids, next_uid), rows, found.objective)


def ended(cost_history: list[float], cost: float) -> list[float]:
    """A history of costs that ends with ``cost``, which differs from the last one by rounding or by a gain.

    Raises if ``cost`` overflows, as squares in the coordinates of sparse rows may where those in their span do not.
    """
    require_finite(cost)
    return [*(earlier for earlier in cost_history if earlier > cost), cost]


def _column_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Places of a few columns at a time, but of more than there are rows."""
    return row_blocks(shape[1], max(_VALUES_AT_ONCE // shape[0], 2 * shape[0]))


def _sparse_parts(rows: sp.csr_array, frame: Frame) -> Iterator[Floats]:
    """A few columns of sparse rows at a time, without those of zeros; a frame does not shift them."""
    rows = unit_rows(rows) if frame.unit else rows.astype(np.float64)
    columns = rows[:, np.unique(rows.indices)].tocsc()
    return (columns[:, some].toarray() for some in _column_blocks(columns.shape))


def _parts(rows: Floats, frame: Frame) -> Iterator[Floats]:
    """A few columns of dense rows at a time, in the coordinates of ``frame``."""
    places = list(_column_blocks(rows.shape))
    largest = length = np.ones((rows.shape[0], 1))
    if frame.unit:
        largest = np.maximum(rows.max(axis=1), -rows.min(axis=1)).astype(np.float64)[:, None]
        length = np.sqrt(sum(((rows[:, some] / largest) ** 2).sum(axis=1, keepdims=True) for some in places))
    for some in places:
        part = Frame(frame.anchor[some], frame.shift[some]).inward(rows[:, some].astype(np.float64))
        yield part / largest / length if frame.unit else part


def _tells_rows_apart(gram: Floats, alike: NDArray[Any] | None = None) -> bool:
    """Whether distances are large enough beside the rows to be read off their inner products.

    Rows with equal numbers in ``alike`` are known to be equal.
    """
    numbers: NDArray[Any] = np.arange(len(gram)) if alike is None else alike
    sq_norm = gram.diagonal()
    sq_gap = sq_norm + sq_norm[:, None] - 2 * gram
    sq_gap[numbers == numbers[:, None]] = np.inf
    return bool(sq_gap.min() > max(_LEAST_SQ_GAP * sq_norm.max(), _LEAST_PRODUCT))


def _from_sparse(rows: sp.csr_array, frame: Frame) -> Floats | None:
    """Coordinates by inner products of sparse rows, which a frame does not shift; None if these are not enough."""
    rows = rows.astype(np.float64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    exponent = exponent_of(rows.data)
    if frame.unit:  # first, since products of long rows leave no digits for short ones
        exponent, rows = 0, unit_rows(rows)
    rows.data = np.ldexp(rows.data, -exponent)
    gram = (rows @ rows.T).toarray()
    places = _from_products(gram) if _tells_rows_apart(gram, numbers_of_equal(rows)) else None
    return None if places is None else times_power_of_two(places, exponent)


def first_of_equal(rows: sp.csr_array) -> Mask:
    """Which sparse rows have no equal one before them."""
    first = np.zeros(rows.shape[0], dtype=bool)
    first[np.unique(numbers_of_equal(rows), return_index=True)[1]] = True
    return first


def _from_products(gram: Floats) -> Floats | None:
    """A Cholesky factor of inner products, as many columns as their rank."""
    largest = float(gram.diagonal().max())
    if not largest > 0:
        return None
    factor, order, rank, _ = dpstrf(gram, tol=len(gram) * np.finfo(float).eps * largest, lower=1)
    places = np.empty((len(gram), rank))
    places[order - 1] = np.tril(factor)[:, :rank]
    return places


def _without_squares(parts: Iterator[Floats], n_rows: int) -> Floats | None:
    """A factor from columns of the rows, without squares, which keeps all digits and takes longer."""
    lower = np.zeros((n_rows, 0))
    for part in parts:
        lower = np.asarray(np.linalg.qr(np.hstack([lower, part]).T, mode="r")).T
    return np.ascontiguousarray(lower) if lower.any() else None
