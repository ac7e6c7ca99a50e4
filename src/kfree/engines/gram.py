"""Values of a kernel between rows: computed in blocks of rows when they are needed, never all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from kfree.engines.base import Index, generic_direction
from kfree.stats import Floats

Kernel = str | Callable[[Floats, Floats], float]

# A block of kernel values takes at most this many bytes.
BLOCK_BYTES = 2**24
# Kernel values between all rows are kept if they take no more than this: up to 4096 rows.
KEPT_BYTES = 2**27
# Rows held against each other to find the diagonal.
_DIAGONAL = 64


class Gram:
    """κ(x_i, x_j) between all rows of X, which for ``kernel="precomputed"`` is X itself.

    Any kernel that scikit-learn knows by name or that is a function of two rows, with its ``params``. ``n_values``
    counts the values computed.
    """

    def __init__(self, X: Any, kernel: Kernel = "linear", params: dict[str, Any] | None = None):
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        self._X = X.astype(np.float64, copy=False)
        self._kernel, self._params = kernel, params or {}
        self._kept: Floats | None = self._X if precomputed else None
        self.n_rows = int(X.shape[0])
        self.n_values = 0
        if self._kept is None and 8 * self.n_rows**2 <= KEPT_BYTES:
            self._kept = self._values(slice(None))
        self.diagonal: Floats = self._diagonal()

    def rows(self, index: Index | slice) -> Floats:
        """Values between some rows and all, (m, n)."""
        return self._values(index) if self._kept is None else self._kept[index]

    def blocks(self, index: Index) -> Iterator[tuple[slice, Floats]]:
        """The same, a few rows at a time: places in ``index`` and their values."""
        at_once = max(1, BLOCK_BYTES // (8 * self.n_rows))
        for begin in range(0, len(index), at_once):
            places = slice(begin, min(begin + at_once, len(index)))
            yield places, self.rows(index[places])

    def combined(self, factors: sp.csr_array, index: Index) -> Floats:
        """Σ_j factors[c, j]·κ(x_index[j], ·) for each row c of ``factors`` (k, m): (k, n)."""
        total = np.zeros((factors.shape[0], self.n_rows))
        by_column = sp.csc_array(factors)
        for places, values in self.blocks(index):
            total += by_column[:, places].tocsr() @ values
        return total

    def to_new(self, new: Any) -> Iterator[tuple[slice, Floats]]:
        """Values between rows that are not among these and all of these, in blocks: places in ``new`` and values."""
        at_once = max(1, BLOCK_BYTES // (8 * self.n_rows))
        for begin in range(0, new.shape[0], at_once):
            places = slice(begin, min(begin + at_once, new.shape[0]))
            rows = new[places].astype(np.float64, copy=False)
            precomputed = isinstance(self._kernel, str) and self._kernel == "precomputed"
            yield places, rows if precomputed else self._between(rows, self._X)

    def generic(self, weight: Floats) -> Floats:
        """Coefficients (n,) of a direction that is not orthogonal to anything that rows are likely to lie along.

        For the linear kernel the direction is that of ``LocalEngine``, so that both find the same clusters.
        """
        n_rows, n_features = self._X.shape
        if self._kernel == "linear" and isinstance(self._X, np.ndarray) and n_features <= n_rows:
            return np.asarray(np.linalg.pinv(self._X.T) @ generic_direction(n_features))
        return weight * generic_direction(n_rows)

    def _values(self, index: Index | slice) -> Floats:
        return self._between(self._X[index], self._X)

    def _between(self, left: Any, right: Any) -> Floats:
        self.n_values += left.shape[0] * right.shape[0]
        by_name = isinstance(self._kernel, str)
        values = pairwise_kernels(left, right, metric=self._kernel, filter_params=by_name, **self._params)
        return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)

    def _diagonal(self) -> Floats:
        if self._kept is not None:
            return self._kept.diagonal().copy()
        at_once = 1 if callable(self._kernel) else _DIAGONAL
        begins = range(0, self.n_rows, at_once)
        parts = [self._X[begin : begin + at_once] for begin in begins]
        return np.concatenate([self._between(part, part).diagonal() for part in parts])
