"""The few array operations that rows need and that NumPy and torch name differently.

Labels, lists of rows and distances of rows are arrays where the rows are: of NumPy in memory, of torch on a GPU. Code
that works on both takes an ``Arrays``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from kfree.core.hashing import fingerprints, hashed
from kfree.core.stats import Floats

# An array of the kind that rows work on.
Array = Any


def namespace_of(array: Array) -> ModuleType:
    """The module whose functions take this array: torch for its tensors, else NumPy."""
    return sys.modules["torch"] if type(array).__module__ == "torch" else np


def beside(array: NDArray[Any], other: Array) -> Array:
    """An array of NumPy as one of the kind of another, in the same place."""
    return array if namespace_of(other) is np else sys.modules["torch"].as_tensor(array, device=other.device)


class Arrays:
    """Operations on arrays of NumPy; a subclass has those of another kind.

    ``of`` takes an array of NumPy there, ``to_numpy`` takes one back. ``rows_at_once`` is the size of blocks that bound
    the memory of what is computed for each row and not kept.
    """

    rows_at_once = 1 << 17

    def of(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def to_numpy(self, array: Array) -> NDArray[Any]:
        return np.asarray(array)

    def copy(self, array: Array) -> Array:
        return array.copy()

    def take(self, table: NDArray[Any], labels: Array) -> Array:
        """The value that a table of NumPy has for each label."""
        return table.take(labels)  # a fifth of the time of indexing

    def arange(self, size: int) -> Array:
        return np.arange(size)

    def full(self, size: int, value: float, dtype: DTypeLike) -> Array:
        return np.full(size, value, dtype)

    def flatnonzero(self, mask: Array) -> Array:
        return mask.nonzero()[0]

    def argsort(self, values: Array) -> Array:
        """Places in ascending order of the values; equal values keep their order."""
        return np.argsort(values, kind="stable")

    def largest(self, values: Array, size: int) -> Array:
        """Places of the ``size`` largest values, the largest first; equal values keep their order."""
        if 0 < size < len(values):
            # Only values that are among the largest are sorted.
            places = np.flatnonzero(values >= np.partition(values, len(values) - size)[len(values) - size])
        else:
            places = np.arange(len(values))
        return places[np.argsort(-values[places], kind="stable")[:size]]

    def argmax(self, values: Array) -> int:
        """The first place of the largest value."""
        return int(np.argmax(values))

    def first_of_each(self, values: Array) -> Array:
        """The first place of every value, ascending."""
        return np.sort(np.unique(values, return_index=True)[1])

    def counts(self, labels: Array, size: int) -> Floats:
        """How often each label occurs."""
        return np.bincount(labels, minlength=size).astype(np.float64)

    def counts_of_pairs(self, first: Array, second: Array, size: int) -> sp.csr_array:
        """(size, size): how often each pair of labels occurs."""
        return sp.csr_array((np.ones(len(first), dtype=np.int32), (first, second)), shape=(size, size))

    def smallest_hashes(self, rows: Array, begin: int, end: int, seed: int, size: int) -> tuple[Array, Array]:
        """The ``size`` ``rows``, counted from ``begin``, with the smallest hashes, and these, ascending (uint64)."""
        keys = hashed(begin, end, seed)[rows]
        if len(rows) > size:
            smallest = np.argpartition(keys, size)[:size]
            rows, keys = rows[smallest], keys[smallest]
        order = np.argsort(keys, kind="stable")
        return rows[order], keys[order]

    def fingerprints(self, labels: Array, begin: int, size: int) -> NDArray[np.uint64]:
        """Per label the sum of a hash of its rows' numbers, which are counted from ``begin``."""
        return fingerprints(labels, begin, size)


NUMPY = Arrays()
