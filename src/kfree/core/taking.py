"""Copies of some rows."""

from __future__ import annotations

import numpy as np

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Index


def taken(X: ArrayOrCSR, rows: Index) -> ArrayOrCSR:
    """Some rows of an array or a CSR matrix, copied.

    ``np.take`` needs a tenth of the time of ``X[rows]`` where rows are short, but it would first copy an array that is
    not contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.taking import taken
    >>> taken(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1]))
    array([[3., 4.]])
    """
    return np.take(X, rows, axis=0) if isinstance(X, np.ndarray) and X.flags.c_contiguous else X[rows]
