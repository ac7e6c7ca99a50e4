"""Input tables, and decoded tables in the library of the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from kfree.tables.columns import container_of
from kfree.validation.frames import in_chunks, require_computed, require_distinct_names


def as_table(X: Any) -> Any:
    """X as a frame or a two-dimensional array, masked values as None; its values are validated later."""
    require_computed(X)
    require_distinct_names(X, "X")
    X = in_chunks(X)
    if sp.issparse(X):
        raise TypeError("X is sparse, and TableEncoder takes tables only. Use X.toarray().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        X = np.where(np.ma.getmaskarray(X), None, X.data.astype(object))
    if container_of(X) == "numpy":
        dtype = None if isinstance(X, np.ndarray) or hasattr(X, "__array__") else object
        return check_array(X, dtype=dtype, ensure_all_finite=False, input_name="X", estimator="TableEncoder")
    n_rows, n_columns = X.shape
    if not n_rows or not n_columns:
        raise ValueError(
            f"Found a table with {n_rows} sample(s) and {n_columns} feature(s) (shape={X.shape}) while a minimum of 1 "
            "is required by TableEncoder."
        )
    return X


def as_container(container: str, names: list[Any], columns: list[np.ndarray], zones: list[str | None]) -> Any:
    """A table of "pandas", "polars", "pyarrow", or an array: of float64 if all columns are numbers, else of objects.

    Dates are in UTC; those with a zone get the local time of it, but not in an array.
    """
    return _MAKERS[container](names, columns, zones)


def like(X: Any, rows: np.ndarray, names: list[str]) -> Any:
    """Rows of numbers in a container like X, with the index of a frame of pandas."""
    container = container_of(X)
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(rows, index=X.index, columns=names)
    if container == "polars":
        import polars as pl

        return pl.DataFrame(rows, schema=names)
    if container == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_arrays([pa.array(column) for column in rows.T], names=names)
    return rows


def _pandas(names: list[Any], columns: list[np.ndarray], zones: list[str | None]) -> Any:
    import pandas as pd

    # By place: names need not be different from each other.
    frame = pd.DataFrame(dict(enumerate(columns)))
    for place, zone in enumerate(zones):
        if zone is not None:
            frame[place] = frame[place].dt.tz_localize("UTC").dt.tz_convert(zone)
    frame.columns = pd.Index(names)
    return frame.infer_objects()


def _polars(names: list[Any], columns: list[np.ndarray], zones: list[str | None]) -> Any:
    import polars as pl

    made = {name: pl.Series(_plain(column)) for name, column in zip(names, columns, strict=True)}
    for name, zone in zip(names, zones, strict=True):
        if zone is not None:
            made[name] = made[name].dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return pl.DataFrame(made)


def _pyarrow(names: list[Any], columns: list[np.ndarray], zones: list[str | None]) -> Any:
    import pyarrow as pa

    made = [pa.array(_plain(column)) for column in columns]
    pairs = zip(made, zones, strict=True)
    zoned = [column if zone is None else column.cast(pa.timestamp("us", zone)) for column, zone in pairs]
    return pa.Table.from_arrays(zoned, names=names)


def _numpy(names: list[Any], columns: list[np.ndarray], _: list[str | None]) -> np.ndarray:
    if all(column.dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    return np.column_stack([column.astype(object) for column in columns])


def _plain(column: np.ndarray) -> Any:
    """Infer the types of lists of Python objects."""
    return column.tolist() if column.dtype == object else column


_MAKERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "numpy": _numpy}
