"""Whole numbers that float64 rounds: above 2**53, most of them. Numbers of accounts and orders are such."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 1 << 53


def rounded_number(values: NDArray[Any]) -> int | None:
    """The first whole number of an array that float64 rounds; None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.exact import rounded_number
    >>> rounded_number(np.array([5, 2**53 + 1])), rounded_number(np.array([2**60]))
    (9007199254740993, None)
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return None
    if int(values.min()) >= -_LARGEST and int(values.max()) <= _LARGEST:
        return None
    size = np.abs(values).astype(np.uint64).ravel()  # of −2**63, too: its absolute value has the same bits
    lowest_bit = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
    rounded = size // lowest_bit > _LARGEST
    return int(values.ravel()[int(rounded.argmax())]) if rounded.any() else None


def is_rounded(value: Any) -> bool:
    """Whether a number of Python is whole, and float64 rounds it."""
    if not isinstance(value, int) and (math.isinf(value) or value != int(value)):
        return False
    try:
        return int(float(value)) != int(value)
    except OverflowError:
        return True
