"""Tables made of decoded columns, in the library that the user's table came from."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_container(container: str, names: list[Any], columns: list[np.ndarray]) -> Any:
    """A table of "pandas", "polars", "pyarrow", or an array: of float64 if all columns are numbers, else of objects."""
    return _MAKERS[container](names, columns)


def _pandas(names: list[Any], columns: list[np.ndarray]) -> Any:
    import pandas as pd

    # By place: names need not be different from each other.
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index(names)
    return frame.infer_objects()


def _polars(names: list[Any], columns: list[np.ndarray]) -> Any:
    import polars as pl

    return pl.DataFrame({name: pl.Series(_plain(column)) for name, column in zip(names, columns, strict=True)})


def _pyarrow(names: list[Any], columns: list[np.ndarray]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(_plain(column)) for name, column in zip(names, columns, strict=True)})


def _numpy(names: list[Any], columns: list[np.ndarray]) -> np.ndarray:
    if all(column.dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    return np.column_stack([column.astype(object) for column in columns])


def _plain(column: np.ndarray) -> Any:
    """Lists of Python objects find their type again."""
    return column.tolist() if column.dtype == object else column


_MAKERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "numpy": _numpy}
