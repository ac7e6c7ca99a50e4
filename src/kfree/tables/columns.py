"""The columns of a table, whatever library holds it: what kind each one is, and its values as NumPy arrays."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kfree.core.exact import is_rounded, rounded_number
from kfree.core.packed_dates import dates_of
from kfree.validation.frames import whole_numbers

# Kinds of columns. Categories, ordinals and text are one family, whose values are levels.
NUMBER, BOOLEAN, DATE, DURATION, TIME = "number", "boolean", "date", "duration", "time"
CATEGORY, ORDINAL, TEXT, LEVELS = "category", "ordinal", "text", "level"
# Whole numbers of which float64 rounds some. They are levels if they are anything.
LONG = "long number"
# How dates are counted while they are numbers.
DATE_UNIT = "datetime64[us]"


@dataclass(frozen=True)
class Column:
    """One column: its name, its kind, and its values.

    ``values`` are float64 with NaN where missing (numbers, booleans as 0 and 1, dates as microseconds since 1970,
    durations and times of day as seconds), or objects with None where missing (categories, ordinals and text).
    ``levels`` are those that the container declares, ``zone`` is the time zone of dates.
    """

    name: Any
    kind: str
    values: np.ndarray
    levels: tuple[Any, ...] | None = None
    zone: str | None = None

    @property
    def family(self) -> str:
        return LEVELS if self.kind in (CATEGORY, ORDINAL, TEXT, LONG) else self.kind

    def as_objects(self) -> np.ndarray:
        """Values as levels: whole numbers as int, None where missing."""
        if self.family == LEVELS:
            return self.values
        values = [None if v != v else int(v) if v == int(v) else v for v in self.values.tolist()]
        return np.array(values, dtype=object)


def as_dates(column: Column) -> Column | None:
    """A column of numbers such as 20241231 as one of dates; None if not all are dates."""
    found = dates_of(column.values) if column.kind == NUMBER else None
    return None if found is None else Column(column.name, DATE, _microseconds(found))


def container_of(X: Any) -> str:
    """Which library holds the table: "pandas", "polars", "pyarrow" or "numpy"."""
    library = type(X).__module__.split(".")[0]
    return library if library in ("pandas", "polars", "pyarrow") and hasattr(type(X), "columns") else "numpy"


def columns_of(X: Any, names: list[Any]) -> list[Column]:
    """All columns of a table under the given names."""
    container = container_of(X)
    return [_long(X, j, name, container) or _READERS[container](X, j, name) for j, name in enumerate(names)]


def _long(X: Any, j: int, name: Any, container: str) -> Column | None:
    """A column of a type for whole numbers of which float64 would round some; else None."""
    present = X[:, j] if container == "numpy" else whole_numbers(X, j)
    if present is None or rounded_number(present) is None:
        return None
    if container == "pandas":
        return Column(name, LONG, _without_gaps(X.iloc[:, j].astype(object).to_numpy()))
    values = X.column(j).to_pylist() if container == "pyarrow" else X.to_series(j) if container == "polars" else present
    return Column(name, LONG, np.array(list(values), dtype=object))


def _from_numpy(X: np.ndarray, j: int, name: Any) -> Column:
    return _from_array(X[:, j], name)


def _from_pandas(X: Any, j: int, name: Any) -> Column:
    series = X.iloc[:, j]
    dtype = series.dtype
    if hasattr(series, "cat"):
        kind = ORDINAL if dtype.ordered else CATEGORY
        return Column(name, kind, _without_gaps(series.astype(object).to_numpy()), tuple(dtype.categories.tolist()))
    if dtype.kind in "Mm":
        zone = getattr(dtype, "tz", None)
        series = series.dt.tz_convert(None) if zone is not None else series
        return replace(_from_array(series.to_numpy(), name), zone=zone and str(zone))
    if dtype.kind == "b" and series.hasnans:
        return _from_array(series.to_numpy(dtype=object, na_value=None), name)
    if dtype.kind in "iuf":
        return _from_array(series.to_numpy(dtype=np.float64, na_value=np.nan), name)
    return _from_array(series.to_numpy(), name)


def _from_polars(X: Any, j: int, name: Any) -> Column:
    series = X.to_series(j)
    dtype = str(series.dtype)
    if dtype.startswith(("Enum", "Categorical")):
        kind, levels = (ORDINAL, tuple(series.dtype.categories)) if dtype.startswith("Enum") else (CATEGORY, None)
        return Column(name, kind, np.array(series.cast(_string_type(series)).to_list(), dtype=object), levels)
    if series.dtype.is_nested():
        raise _not_plain(name, series.dtype)
    if dtype == "Boolean" or dtype.startswith(("String", "Object", "Decimal", "Time", "Null")) or _is_wide(dtype):
        return _from_array(_objects(series.to_list()), name)
    return replace(_from_array(series.to_numpy(), name), zone=getattr(series.dtype, "time_zone", None))


def _is_wide(dtype: str) -> bool:
    """Whether a type of polars has whole numbers of 128 bits, for which NumPy has none."""
    return dtype.endswith("Int128")


def _objects(values: list[Any]) -> np.ndarray:
    """Objects one by one, lists among them too."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _not_plain(name: Any, kind: Any) -> ValueError:
    return ValueError(
        f"column {name!r} holds values of several parts ({kind}), which are no numbers, texts or dates; make "
        "columns of their parts, or leave the column out."
    )


def _string_type(series: Any) -> Any:
    import polars

    return polars.String


def _from_pyarrow(X: Any, j: int, name: Any) -> Column:
    array = X.column(j).combine_chunks()
    dtype = str(array.type)
    if dtype.startswith("dictionary"):
        whole = array.unify_dictionaries().combine_chunks() if hasattr(array, "unify_dictionaries") else array
        kind = ORDINAL if whole.type.ordered else CATEGORY
        return Column(name, kind, np.array(whole.to_pylist(), dtype=object), tuple(whole.dictionary.to_pylist()))
    if dtype.startswith(("string", "large_string")) and array.null_count < len(array):
        return Column(name, TEXT, np.array(array.to_pylist(), dtype=object))
    if dtype.startswith(("bool", "string", "large_string", "decimal", "time32", "time64", "null")):
        return _from_array(np.array(array.to_pylist(), dtype=object), name)
    if array.type.num_fields:
        raise _not_plain(name, array.type)
    return replace(_from_array(array.to_numpy(zero_copy_only=False), name), zone=getattr(array.type, "tz", None))


_READERS = {"numpy": _from_numpy, "pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_pyarrow}
CONTAINERS = tuple(_READERS)


def _from_array(values: np.ndarray, name: Any) -> Column:
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: column {name!r} holds {values.dtype}. Give its parts as columns."
        )
    if kind == "M":
        return Column(name, DATE, _microseconds(values))
    if kind == "m":
        return Column(name, DURATION, np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s")))
    if kind == "b":
        return Column(name, BOOLEAN, values.astype(np.float64))
    if kind in "iuf":
        return Column(name, NUMBER, values.astype(np.float64))
    return _from_objects(_without_gaps(values.astype(object)), name)


def _from_objects(values: np.ndarray, name: Any) -> Column:
    """A column of Python objects; raises unless all are of one kind."""
    # One example of each type decides, since columns are long and have few types.
    present = list({type(value): value for value in values.tolist() if value is not None}.values())
    kinds = {_kind_of(value) for value in present}
    if not kinds:
        return Column(name, NUMBER, np.full(len(values), np.nan))
    if len(kinds) > 1 or None in kinds:
        examples = {type(value).__name__: value for value in reversed(values.tolist()) if value is not None}
        seen = ", ".join(f"{kind} such as {value!r}" for kind, value in sorted(examples.items())[:4])
        raise ValueError(
            f"column {name!r} holds values of mixed or unknown types ({seen}); convert it to one type, or leave "
            "the column out."
        )
    (kind,) = kinds
    if kind == TEXT:
        return Column(name, TEXT, values)
    if kind == NUMBER and any(is_rounded(value) for value in values.tolist() if value is not None):
        return Column(name, LONG, values)
    if kind == DATE:
        days = np.array(["NaT" if value is None else _as_utc(value) for value in values.tolist()], dtype=DATE_UNIT)
        zones = {value.tzinfo for value in values.tolist() if isinstance(value, datetime.datetime)}
        if None in zones and len(zones) > 1:
            raise ValueError(f"column {name!r} holds times with and without a time zone; give all one, or none.")
        zone = next(iter(zones)) if len(zones) == 1 else None
        return Column(name, DATE, _microseconds(days), zone=zone and str(zone))
    return Column(name, kind, np.array([math.nan if v is None else _as_float(v) for v in values.tolist()]))


def _kind_of(value: Any) -> str | None:
    if isinstance(value, bool | np.bool_):
        return BOOLEAN
    if isinstance(value, numbers.Real | decimal.Decimal):
        return NUMBER
    if isinstance(value, datetime.timedelta | datetime.time):
        return TIME if isinstance(value, datetime.time) else DURATION
    if isinstance(value, datetime.date | np.datetime64):
        return DATE
    return TEXT if isinstance(value, str) else None


def _as_float(value: Any) -> float:
    """A number; durations and times of day in seconds."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.time):
        return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6
    return float(value)


def _as_utc(value: Any) -> Any:
    aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.UTC).replace(tzinfo=None) if aware else value


def _microseconds(dates: np.ndarray) -> np.ndarray:
    whole = dates.astype(DATE_UNIT)
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64).astype(np.float64))


def _without_gaps(values: np.ndarray) -> np.ndarray:
    """Objects, with None for the missing values of any library."""
    if {type(value) for value in values.tolist()} <= {str, bool, type(None)}:
        return values
    missing = [value is None or _is_gap(value) for value in values.tolist()]
    return np.where(missing, None, values)


def _is_gap(value: Any) -> bool:
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, numbers.Real | decimal.Decimal) and math.isnan(value)
