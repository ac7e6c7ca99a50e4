"""Rows that are equal, and whether these are copies."""

from __future__ import annotations

import numpy as np

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Used

# Few values, of a column or of rows, are shared by so many rows each on average.
COPIES = 5
# Rows are copies if at most this share of them are distinct, and equal pairs so many times as frequent as by chance.
_MOST_DISTINCT, _BEYOND_CHANCE = 0.9, 3


def numbers_of_equal(rows: ArrayOrCSR) -> Index:
    """A number (n,) for each row, the same for equal rows, in order of the first of them; sparse rows without zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.equal_rows import numbers_of_equal
    >>> numbers_of_equal(np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0]])).tolist()
    [0, 1, 0]
    """
    numbers: dict[tuple[bytes, ...], int] = {}
    if not isinstance(rows, np.ndarray):
        entries = [slice(*ends) for ends in zip(rows.indptr, rows.indptr[1:], strict=False)]
        keys = ((rows.indices[some].tobytes(), rows.data[some].tobytes()) for some in entries)
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    no_minus_zero = np.ascontiguousarray(rows) + 0.0
    return np.array([numbers.setdefault((row.tobytes(),), len(numbers)) for row in no_minus_zero], dtype=np.int64)


def distinct(rows: Floats) -> Used:
    """Which rows count: the first of copies.

    Rows are copies if some column has a value of its own for each distinct row, or if many more of them are equal than
    columns with so many values would make equal by chance. Otherwise they have equal answers.
    """
    first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)[1:]
    by_column = [np.unique(column, return_counts=True)[1] for column in rows.T]
    most_values = max(len(values) for values in by_column)
    tells_apart = most_values == len(first) and (rows.shape[1] > 1 or most_values * COPIES > len(rows))
    beyond_chance = share_equal(counts) > _BEYOND_CHANCE * np.prod([share_equal(values) for values in by_column])
    many = len(first) <= _MOST_DISTINCT * len(rows) and most_values * COPIES > len(first)
    if not (tells_apart or (many and beyond_chance)):
        return np.ones(len(rows), dtype=bool)
    counted = np.zeros(len(rows), dtype=bool)
    counted[first] = True
    return counted


def share_equal(counts: Index) -> float:
    """The share of pairs that are equal, by how often each value is there."""
    n = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / max(n * (n - 1), 1))
