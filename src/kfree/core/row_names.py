"""Names of rows as numbers and texts, which terminals, pages and JSON can hold."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a row without a name is called.
NO_NAME = "(no name)"


def row_names(values: Any) -> NDArray[Any]:
    """Whole numbers as they are; dates and other values as texts.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.row_names import row_names
    >>> row_names(np.array(["2024-01-31", "NaT"], "datetime64[ns]")).tolist()
    ['2024-01-31', '(no name)']
    >>> row_names([7.0, float("nan")]).tolist(), row_names([7, 8]).tolist()
    (['7', '(no name)'], [7, 8])
    """
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        return np.asarray(values)
    if values.dtype.kind == "M":
        texts = np.char.replace(np.datetime_as_string(values, unit="auto"), "T", " ")
        return np.where(np.isnat(values), NO_NAME, texts).astype(object)
    return np.array([_text(value) for value in values.tolist()], dtype=object)


def _text(value: Any) -> str:
    if is_missing(value):
        return NO_NAME
    if isinstance(value, float) and value.is_integer():  # whole numbers beside missing ones
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        return str(value.date())
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is none; those of pandas are known by their types, because they equal nothing."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
