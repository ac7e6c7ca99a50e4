"""Arrays and SciPy's sparse matrices: the structure that compiled code relies on, and copies of some rows."""

from __future__ import annotations

import copy
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Rows in memory, dense or sparse.
ArrayOrCSR: TypeAlias = NDArray[Any] | sp.csr_array
# A matrix of SciPy in any format.
Sparse: TypeAlias = sp.sparray | sp.spmatrix


def dense(rows: ArrayOrCSR) -> NDArray[Any]:
    """Rows as an array, which is not copied if it is one."""
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def unit_rows(rows: ArrayOrCSR) -> ArrayOrCSR:
    """Rows over their lengths, as float64; none is zero. The largest value goes first, so that no square overflows."""
    rows = rows.astype(np.float64)
    largest = dense(abs(rows).max(axis=1)).ravel()
    if isinstance(rows, np.ndarray):
        rows /= largest[:, None]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows.eliminate_zeros()
    n_entries = np.diff(rows.indptr)
    rows.data /= np.repeat(largest, n_entries)
    rows.data /= np.repeat(np.sqrt(rows.power(2).sum(axis=1)), n_entries)
    return rows


def scaled_rows(rows: ArrayOrCSR) -> tuple[ArrayOrCSR, NDArray[np.intc]]:
    """Rows in float64 times powers of two, with the largest value of each between ½ and 1; and the exponents.

    Their directions have the same bits, and no square of their largest value overflows or underflows.
    """
    rows = rows.astype(np.float64)
    exponent = np.frexp(dense(abs(rows).max(axis=1)).ravel())[1]
    if isinstance(rows, np.ndarray):
        return np.ldexp(rows, -exponent[:, None]), exponent
    rows.data = np.ldexp(rows.data, -np.repeat(exponent, np.diff(rows.indptr)))
    return rows, exponent


def require_structure(X: Sparse, name: str) -> None:
    """Raise unless every index that ``X`` stores lies inside of its arrays and of its shape.

    SciPy checks that only when a matrix is made; its conversions read beyond arrays that were changed later. Two passes
    over the stored indices, in NumPy. LIL and DOK are checked after their conversion.
    """
    if hasattr(X, "data") and isinstance(X.data, np.ndarray):
        n_dims = {"bsr": 3, "dia": 2}.get(X.format, 1)
        _require(X.data.ndim == n_dims, X, name, f"data of {X.data.ndim} dimension(s) instead of {n_dims}")
    if X.format in ("csr", "csc", "bsr"):
        _require_compressed(X, name)
    elif X.format == "coo":
        _require_coordinates(X, name)
    elif X.format == "dia":
        _require(len(X.offsets) == len(X.data), X, name, f"{len(X.offsets)} offsets and {len(X.data)} diagonals")


def shallow_copy(X: Sparse) -> Sparse:
    """The same matrix in an object of its own, which shares the arrays.

    What is checked must be what is computed with. Another thread, or a caller's code that runs in between, may give X
    other arrays or another shape; that does not change the copy. LIL and DOK are checked after their conversion, which
    makes new arrays anyway.
    """
    return X if X.format in ("lil", "dok") else copy.copy(X)


def canonical_csr(X: Sparse) -> sp.csr_array:
    """Sorted columns, each once, with index arrays of one type, in an object of its own; X itself is not changed.

    Whether columns are sorted is computed, because SciPy caches an answer that later changes make wrong.
    """
    arrays = np.ascontiguousarray(X.data), X.indices, X.indptr
    if X.indices.dtype != X.indptr.dtype or X.indices.dtype not in (np.int32, np.int64):
        arrays = arrays[0], X.indices.astype(np.int64), X.indptr.astype(np.int64)
    rows = sp.csr_array(X.shape, dtype=X.dtype)
    rows.data, rows.indices, rows.indptr = (np.ascontiguousarray(array) for array in arrays)
    if not rows.has_canonical_format:
        # By way of columns, columns are sorted in half the time; but that takes an index as long as a row.
        rows = rows.tocsc().tocsr() if rows.shape[1] <= rows.nnz else rows.copy()
        rows.sum_duplicates()
    return rows


def _require_compressed(X: Sparse, name: str) -> None:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    n_major, n_minor = (size // step for size, step in zip(X.shape, block, strict=True))
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    indptr, indices = X.indptr, X.indices
    _require_whole(indptr, X, name, "indptr")
    _require_whole(indices, X, name, "indices")
    _require(len(indices) == len(X.data), X, name, f"{len(indices)} indices and {len(X.data)} values")
    _require(len(indptr) == n_major + 1, X, name, f"{len(indptr)} values in indptr instead of {n_major + 1}")
    _require(indptr[0] == 0, X, name, f"an indptr that begins with {indptr[0]} instead of 0")
    fall = indptr[1:] < indptr[:-1]
    _require(not fall.any(), X, name, "an indptr that falls")
    n_stored = int(indptr[-1])
    _require(n_stored <= len(indices), X, name, f"an indptr up to {n_stored} for {len(indices)} stored values")
    _require_within(indices[:n_stored], n_minor, X, name, "indices")


def _require_coordinates(X: Sparse, name: str) -> None:
    for axis, (index, size) in enumerate(zip(X.coords, X.shape, strict=True)):
        what = f"coords[{axis}]"
        _require_whole(index, X, name, what)
        _require(len(index) == len(X.data), X, name, f"{len(index)} {what} and {len(X.data)} values")
        _require_within(index, size, X, name, what)


def _require_whole(array: NDArray[Any], X: Sparse, name: str, what: str) -> None:
    ok = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"
    _require(ok, X, name, f"{what} of {getattr(array, 'ndim', 'no')} dimension(s) and type {np.asarray(array).dtype}")


def _require_within(index: NDArray[Any], size: int, X: Sparse, name: str, what: str) -> None:
    if len(index):
        low, high = int(index.min()), int(index.max())
        bad = low if low < 0 else high
        _require(low >= 0 and high < size, X, name, f"{what} of {bad}, outside of 0 to {size - 1}")


def _require(ok: bool | np.bool_, X: Sparse, name: str, found: str) -> None:
    if not ok:
        raise ValueError(
            f"{name} is a sparse matrix in format {X.format!r} with a broken structure: it has {found}. Its arrays "
            "were changed after it was made; build it again, and use check_format() to find the error."
        )


def taken(X: ArrayOrCSR, rows: NDArray[np.int64]) -> ArrayOrCSR:
    """Some rows of an array or a CSR matrix, copied.

    ``np.take`` needs a tenth of the time of ``X[rows]`` where rows are short, but it would first copy an array that is
    not contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.sparse import taken
    >>> taken(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1]))
    array([[3., 4.]])
    """
    return np.take(X, rows, axis=0) if isinstance(X, np.ndarray) and X.flags.c_contiguous else X[rows]
