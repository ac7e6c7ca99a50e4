"""What is done with data frames of pandas and polars and with tables of pyarrow, whichever it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Mask
from kfree.tables.columns import BOOLEAN, NUMBER, columns_of, container_of


def is_frame(table: Any) -> bool:
    """Whether columns have names."""
    return container_of(table) != "numpy"


def names_of(frame: Any) -> list[str]:
    """Names of the columns."""
    return [str(name) for name in (frame.column_names if container_of(frame) == "pyarrow" else frame.columns)]


def with_texts(frame: Any) -> Any:
    """The frame, with texts for names of columns, which may be numbers in pandas."""
    if container_of(frame) != "pandas" or all(isinstance(name, str) for name in frame.columns):
        return frame
    return frame.set_axis(names_of(frame), axis=1)


def with_columns(frame: Any, columns: dict[str, NDArray[Any]]) -> Any:
    """The frame with other values in some columns."""
    # By name: as keywords, columns called like a parameter of a method would be taken for it.
    if container_of(frame) == "pandas":
        frame = frame.copy(deep=False)
        for name, values in columns.items():
            frame[name] = values
        return frame
    if container_of(frame) == "polars":
        return frame.with_columns([type(frame[name])(name, values) for name, values in columns.items()])
    from pyarrow import array

    for name, values in columns.items():
        frame = frame.set_column(frame.column_names.index(name), name, array(values))
    return frame


def selected(frame: Any, names: list[str]) -> Any:
    """Some columns."""
    return frame[names] if container_of(frame) == "pandas" else frame.select(names)


def filtered(frame: Any, kept: Mask) -> Any:
    """Some rows, by a mask."""
    if kept.all():
        return frame
    return frame[kept] if container_of(frame) == "pandas" else frame.filter(kept)


def gaps_of(frame: Any) -> Mask:
    """Where values are missing, (n_rows, n_columns)."""
    container = container_of(frame)
    if container == "pandas":
        gaps = np.array(frame.isna())
        # Columns of Arrow may hold NaN, which pandas does not count as missing.
        for j, dtype in enumerate(frame.dtypes):
            if dtype.kind == "f":
                gaps[:, j] |= np.isnan(frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan))
        return gaps
    if container == "polars":
        columns = [series.is_null() | (series.is_nan() if series.dtype.is_float() else False) for series in frame]
        return np.column_stack([column.to_numpy() for column in columns])
    from pyarrow import compute

    return np.column_stack([compute.is_null(column, nan_is_null=True).to_numpy() for column in frame.columns])


def numbers_in(frame: Any, name: str) -> Floats | None:
    """A column of numbers, or of yes and no, NaN where a value is missing; None for others."""
    try:
        (column,) = columns_of(selected(frame, [name]), [name])
    except ValueError:  # of values of several types
        return None
    return column.values if column.kind in (NUMBER, BOOLEAN) else None


def matrix_of(frame: Any, names: list[str], title: str) -> Floats:
    """Columns of numbers side by side, (n_rows, n_columns)."""
    found = [numbers_in(frame, name) for name in names]
    for name, values in zip(names, found, strict=True):
        if values is None:
            raise ValueError(f"{title}: column {name!r} holds other values than numbers; convert it.")
    return np.column_stack([values for values in found if values is not None])


def values_of(frame: Any, name: str) -> NDArray[Any]:
    """The values of a column."""
    if container_of(frame) != "pyarrow":
        return np.asarray(frame[name].to_numpy())
    column = frame.column(name)
    values = column.to_numpy() if column.null_count == 0 else np.array(column.to_pylist(), dtype=object)
    return np.asarray(values)
