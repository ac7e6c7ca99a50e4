"""Rows that are equal, by their bytes."""

from __future__ import annotations

import numpy as np

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Index


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
