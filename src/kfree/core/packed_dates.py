"""Dates as whole numbers, such as 20241231 for 2024-12-31: one rule for files, frames and the encoder of tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Whole numbers in between may be dates, and so many of them must be.
_EARLIEST, _LATEST, FEWEST = 19000101, 20991231, 5
# The form of strptime, which names this reading of a column.
FORM = "%Y%m%d"


def dates_of(numbers: NDArray[np.number]) -> NDArray[np.datetime64] | None:
    """Whole numbers as days, NaT where one is missing (NaN); None unless all are dates.

    Examples
    --------
    >>> from kfree.core.packed_dates import dates_of
    >>> dates_of(np.array([20241231, np.nan])).astype(str).tolist()
    ['2024-12-31', 'NaT']
    >>> dates_of(np.array([20241231, 20241232])) is None
    True
    """
    is_there = ~np.isnan(numbers)
    present = numbers[is_there]
    found = np.full(len(numbers), "NaT", dtype="datetime64[D]")
    if not len(present):
        return found
    if not _EARLIEST <= present.min() <= present.max() <= _LATEST:
        return None
    whole = present.astype(np.int64)
    month, day = whole // 100 % 100, whole % 100
    months = ((whole // 10000 - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    are_dates = (
        (whole == present) & (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    )
    if not are_dates.all():
        return None
    found[is_there] = days
    return found


def said(name: object) -> str:
    """What is told about a column that is read so."""
    return f"column {name!r} is read as dates, such as 20241231 for 2024-12-31."
