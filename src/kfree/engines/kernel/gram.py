"""Values of a kernel between rows: kept if they take little memory, else computed in blocks when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from kfree.core.blocks import blocks, row_blocks
from kfree.core.frame import Frame
from kfree.core.marks import Renamed
from kfree.core.memory import available_bytes
from kfree.core.sparse import ArrayOrCSR, dense, require_structure, scaled_rows
from kfree.core.stats import Floats, Index
from kfree.engines.contract import generic_direction

# Kernel values between all rows are kept if they take no more than this, up to 11,585 rows, and at most half of the
# memory that is available: a search needs them some hundred times, and computing them takes most of the time.
KEPT_BYTES = 2**30
# Fewer bytes are kept without asking the system.
FEW_BYTES = 2**27
# Rows per block on the diagonal.
_DIAGONAL = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel of scikit-learn by name, or a function of two rows, with its ``params``.

    ``"precomputed"`` takes rows as kernel values. A ``frame`` gives the coordinates of rows for kernels whose distances
    in feature space do not change if all rows are shifted.
    """

    name: str | Callable[[Floats, Floats], float]
    params: dict[str, Any] = field(default_factory=dict)
    frame: Annotated[Frame | None, Renamed({"d": "f"})] = None

    @property
    def precomputed(self) -> bool:
        return isinstance(self.name, str) and self.name == "precomputed"

    def seen(self, rows: ArrayOrCSR) -> ArrayOrCSR:
        """Rows in the coordinates of the kernel, in float64: squared distances are differences of its values."""
        if self.name == "cosine":  # scikit-learn takes rows shorter than 2e-15 for zero
            return scaled_rows(rows)[0]
        return rows.astype(np.float64, copy=False) if self.frame is None else self.frame.inward(dense(rows))

    def between(self, left: ArrayOrCSR, right: ArrayOrCSR) -> Floats:
        """κ of each row on the left with each on the right.

        The same bits for equal rows at two places in memory: products of an array with itself are rounded otherwise.
        """
        if self.precomputed:  # the rows on the left are the values
            return self.of_seen(left, right)
        one, other = self.seen(left), self.seen(right)
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.may_share_memory(one, other):
            one = one.copy()
        return self.of_seen(one, other)

    def of_seen(self, left: ArrayOrCSR, right: ArrayOrCSR) -> Floats:
        """``between`` for rows in the coordinates of the kernel."""
        by_name = isinstance(self.name, str)
        values = left
        if not self.precomputed:
            metric = self.name if by_name else self._number
            values = pairwise_kernels(left, right, metric=metric, filter_params=by_name, **self.params)
        if sp.issparse(values):
            require_structure(values, "the matrix that kernel returned")
        return _checked(np.asarray(dense(values), dtype=np.float64), self.name)

    def _number(self, x: Floats, y: Floats, **params: Any) -> float:
        """The value of the given function for two rows; raises unless it is a number."""
        assert callable(self.name)
        value = self.name(x, y, **params)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"kernel={self.name!r} returned {value!r} for two rows; a kernel returns a finite number."
            ) from None

    def with_itself(self, rows: ArrayOrCSR) -> Floats:
        """κ of each row with itself, from small blocks on the diagonal."""
        return self.with_itself_seen(self.seen(rows))

    def with_itself_seen(self, rows: ArrayOrCSR) -> Floats:
        """``with_itself`` for rows in the coordinates of the kernel."""
        at_once = _DIAGONAL if isinstance(self.name, str) else 1
        some = (rows[places] for places in row_blocks(rows.shape[0], at_once))
        return np.concatenate([self.of_seen(one, one).diagonal() for one in some])

    def to_all(self, new: ArrayOrCSR, rows: ArrayOrCSR, n_rows: int) -> Iterator[tuple[slice, Floats]]:
        """κ between new rows and ``n_rows`` known ones, in blocks: places in ``new`` and their values."""
        for places in blocks(new.shape[0], n_rows):
            yield places, self.between(new[places], rows)


def _checked(values: Floats, name: Any) -> Floats:
    """Values of a kernel, which are finite numbers."""
    if np.isfinite(values).all():
        return values
    raise ValueError(
        f"kernel={name!r} gave {np.count_nonzero(~np.isfinite(values))} value(s) that are NaN or inf; a kernel returns "
        "a finite number for every two rows. Scale X, or correct the function."
    )


def fits(n_bytes: int) -> bool:
    """Whether so many bytes of kernel values are kept."""
    if n_bytes > KEPT_BYTES:
        return False
    available = None if n_bytes <= FEW_BYTES else available_bytes()
    return available is None or 2 * n_bytes <= available


def gathered(n_rows: int, rows_of: Callable[[slice], Floats]) -> Floats:
    """Values between all rows, block by block, because making those of many rows takes several times their memory."""
    values = np.empty((n_rows, n_rows))
    for places in blocks(n_rows, n_rows):
        values[places] = rows_of(places)
    return values


class Gram:
    """κ(x_i, x_j) between all rows of X. ``n_values`` counts the values computed."""

    def __init__(self, X: ArrayOrCSR, kernel: Kernel):
        self._X = kernel.seen(X.astype(np.float64, copy=False))
        self._kernel = kernel
        self._kept: Floats | None = self._X if kernel.precomputed else None
        self.n_rows = int(X.shape[0])
        self.n_values = 0
        if self._kept is None and fits(8 * self.n_rows**2):
            self._kept = self._all()
        self.diagonal: Floats = self._diagonal()

    def rows(self, index: Index | slice) -> Floats:
        """Values between some rows and all, (m, n)."""
        return self._between(self._X[index], self._X) if self._kept is None else self._kept[index]

    def combined(self, factors: sp.csr_array, index: Index) -> Floats:
        """Σ_j factors[c, j]·κ(x_index[j], ·) for each row c of ``factors`` (k, m): (k, n)."""
        total = np.zeros((factors.shape[0], self.n_rows))
        by_column = sp.csc_array(factors)
        for places in blocks(len(index), self.n_rows):
            some = by_column[:, places].tocsr()
            if self._kept is None:
                total += some @ self.rows(index[places])
            else:  # which are read where they are, instead of being copied
                columns = some.data, index[places][some.indices], some.indptr
                total += sp.csr_array(columns, shape=(factors.shape[0], self.n_rows)) @ self._kept
        return total

    def generic(self, weight: Floats) -> Floats:
        """Coefficients (n,) of a direction that is not orthogonal to anything that rows are likely to lie along.

        For the linear kernel the direction is that of ``LocalRows``, so that both find the same clusters.
        """
        n_rows, n_features = self._X.shape
        if self._kernel.name == "linear" and isinstance(self._X, np.ndarray) and n_features <= n_rows:
            return np.asarray(np.linalg.pinv(self._X.T) @ generic_direction(n_features))
        return weight * generic_direction(n_rows)

    def _all(self) -> Floats:
        if 8 * self.n_rows**2 <= FEW_BYTES:
            return self._between(self._X, self._X)
        return gathered(self.n_rows, lambda places: self._between(self._X[places], self._X))

    def _between(self, left: ArrayOrCSR, right: ArrayOrCSR) -> Floats:
        self.n_values += left.shape[0] * right.shape[0]
        return self._kernel.of_seen(left, right)

    def _diagonal(self) -> Floats:
        if self._kept is not None:
            return self._kept.diagonal().copy()
        self.n_values += self.n_rows
        return self._kernel.with_itself_seen(self._X)
