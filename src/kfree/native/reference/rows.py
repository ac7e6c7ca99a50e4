"""Reference implementation of rows in NumPy: their coordinates and blocks, and distances to centres.

See ``passes.py`` for what these mean.
"""

import numpy as np
import scipy.sparse as sp

from kfree.core.row_costs import row_sums
from kfree.core.sum_tree import nodes_covering

BLOCK = 2048


class Rows:
    """The data as the passes see them."""

    def __init__(self, X, anchor, shift, unit, weight, first_row):
        if first_row < 0 or first_row % BLOCK:
            raise ValueError(f"first_row={first_row} must be a multiple of BLOCK={BLOCK}")
        self.shape = X.shape
        self.first_block = first_row // BLOCK
        self.nodes = nodes_covering(self.first_block, self.first_block + len(self.blocks()))
        self.weight = np.ones(X.shape[0]) if weight is None else weight
        self._X, self._anchor, self._shift = X, anchor, shift
        self.lengths = np.empty(0)
        if unit:
            self.lengths = np.concatenate([_lengths(self._values(block)) for block in self.blocks()])

    def blocks(self):
        """Row numbers of each block of summation."""
        return blocks_of(self.shape[0])

    def z(self, index):
        """Canonical coordinates of some rows."""
        if len(self.lengths):
            return self._values(index) / self.lengths[index, None]
        with np.errstate(over="ignore", invalid="ignore"):  # compiled code does not warn either; costs are checked
            return (self._values(index) - self._anchor) - self._shift

    def _values(self, index):
        x = self._X[index]
        return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)


def dense_rows(X, anchor, shift, unit, weight, isa, first_row=0):
    return Rows(X, anchor, shift, unit, weight, first_row)


def csr_rows(data, indices, indptr, n_features, unit, weight, first_row=0):
    X = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))
    return Rows(X, 0.0, 0.0, unit, weight, first_row)


def interleave(columns, X):
    """Write columns of the type of ``X``, (n,) each, to the rows of ``X``, (n, d). Whether all values are finite."""
    for place, column in enumerate(columns):
        X[:, place] = column
    return bool(np.isfinite(X).all())


def instruction_sets():
    """None: NumPy chooses its own."""
    return []


def blocks_of(n):
    """Places of each block of summation."""
    return [np.arange(begin, min(begin + BLOCK, n)) for begin in range(0, n, BLOCK)]


@np.errstate(over="ignore", invalid="ignore")
def sq_dists(z, centres):
    total = np.zeros((len(z), len(centres)))
    for t in range(z.shape[1]):
        gap = z[:, t, None] - centres[None, :, t]
        total += gap * gap
    return total


def _lengths(x):
    """Row lengths, scaled by the largest value so that nothing overflows on the way."""
    largest = np.abs(x).max(axis=1, initial=0.0)
    shares = x / np.where(largest > 0, largest, 1.0)[:, None]
    return largest * np.sqrt(row_sums(shares * shares))
