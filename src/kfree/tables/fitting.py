"""The encoder of a column of a table, or the reason why the column is left out or not accepted."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from kfree.core.exact import is_rounded
from kfree.core.fields import Name
from kfree.core.marks import OPTIONAL, OneOf
from kfree.files.cells import date_form
from kfree.files.numbers import is_mark, is_number
from kfree.tables.categories import Binary, Categories, YesNo, places
from kfree.tables.columns import (
    BOOLEAN,
    CATEGORY,
    DATE,
    DURATION,
    LEVELS,
    LONG,
    NUMBER,
    ORDINAL,
    TEXT,
    TIME,
    Column,
    as_dates,
)
from kfree.tables.numeric import Dates, Durations, Numeric, Ordinal, TimesOfDay, ZeroOne, time_of_day
from kfree.tables.transforms import FUNCTIONS, Transform, chosen_date_transform, chosen_transform, named_transform

_REMEDY = (
    "Drop such columns, turn text into numbers with sklearn's TfidfVectorizer in a ColumnTransformer, or list them in "
    "categories if their values are categories."
)
# With fewer rows than this, strings are not tested for being text.
_FEW_ROWS = 20
# What stands for missing values in text that was made of them, or of numbers beside them.
_SPELLED_MISSING = frozenset(["", "none", "nil"])
# Codes such as 00501, which are no numbers.
_CODE = re.compile(r"\s*0\d")


@dataclass(frozen=True)
class LeftOut:
    """A column without information: all its values are missing, or equal to ``value``, a date of a time ``zone``."""

    name: Name
    value: Name | None
    zone: Annotated[str | None, OPTIONAL] = None

    def decoded(self, block: np.ndarray) -> np.ndarray:
        value = np.nan if self.value is None else self.value
        return np.full(len(block), value, dtype=object if isinstance(value, str | bool | datetime.time) else None)

    def in_units(self, block: np.ndarray) -> np.ndarray:
        """No columns, (n, 0)."""
        return block

    @property
    def reason(self) -> str:
        return "all values are missing" if self.value is None else f"constant: {_example(str(self.value))}"

    @property
    def names_out(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"{self.name}: left out, {self.reason}"


ENCODERS = {
    "number": Numeric,
    "zero or one": ZeroOne,
    "date": Dates,
    "duration": Durations,
    "time of day": TimesOfDay,
    "ordinal": Ordinal,
    "category": Categories,
    "binary": Binary,
    "yes or no": YesNo,
    "left out": LeftOut,
}
Encoder = Annotated[Numeric | Categories | Binary | LeftOut, OneOf(ENCODERS)]


class TextColumnsError(ValueError):
    """Columns of text, or of names of rows; ``faults`` are what each holds, by name."""

    def __init__(self, faults: dict[Any, str]):
        told = (f"column {name!r} holds {fault}." for name, fault in faults.items())
        super().__init__(" ".join([*told, _REMEDY]))
        self.faults = faults


def told_kind(name: Any, table_encoder: Any) -> str | None:
    """What parameters say about a column: that it is ordinal or a category, or nothing (None)."""
    if table_encoder.ordinal is not None and name in table_encoder.ordinal:
        return ORDINAL
    return CATEGORY if table_encoder.categories is not None and name in table_encoder.categories else None


def fitted_encoder(column: Column, table_encoder: Any) -> Encoder:
    """The encoder of a column, by the parameters of a :class:`kfree.TableEncoder`."""
    column = _as_told(column, table_encoder)
    if column.family == LEVELS:
        return _of_levels(column, table_encoder)
    _require_no_infinities(column)
    x = column.values[~np.isnan(column.values)]
    if not len(x):
        return LeftOut(column.name, None)
    if x.min() == x.max():
        return LeftOut(column.name, _CONSTANTS.get(column.kind, float)(x[0]), column.zone)
    if column.kind == BOOLEAN:
        return YesNo(column.name, (False, True))
    if column.kind == DATE:
        dates = Dates.fitted(column.name, x, chosen_date_transform(x), table_encoder.scale)
        return replace(dates, zone=column.zone)
    transform = _transform_of(column.name, x, table_encoder.transforms)
    is_zero_one = transform.name == "identity" and bool(np.isin(x, (0.0, 1.0)).all())
    kind = {DURATION: Durations, TIME: TimesOfDay}.get(column.kind, ZeroOne if is_zero_one else Numeric)
    return kind.fitted(column.name, x, transform, table_encoder.scale)


def encoded(column: Column, encoder: Encoder, table_encoder: Any) -> np.ndarray:
    """The coordinates (n, 0 or more) of a column, NaN where values are missing."""
    if isinstance(encoder, LeftOut):
        return np.empty((len(column.values), 0))
    column = _as_told(column, table_encoder)
    present = _present(column.values)
    if not present.any():
        return encoder.encoded(np.full(len(present), np.nan))
    if encoder.family == DATE:  # the type of the fit decides what 20241231 is
        column = as_dates(column) or column
    if column.family != encoder.family:
        raise ValueError(
            f"column {column.name!r} held {encoder.family}s at fit and holds {column.family}s now; give it the type "
            "that it had."
        )
    if encoder.family == LEVELS:
        return encoder.encoded(_known_places(column, encoder.levels, table_encoder.unseen, table_encoder.fold))
    _require_no_infinities(column)
    if isinstance(encoder, Numeric):
        _require_domain(column.name, encoder.transform.name, column.values[present])
    return encoder.encoded(column.values)


def _present(values: np.ndarray) -> np.ndarray:
    """Where values are not missing, (n,)."""
    if values.dtype != object:
        return ~np.isnan(values)
    return np.array([value is not None and value == value for value in values.tolist()])


def has_unseen(column: Column, encoder: Encoder, table_encoder: Any) -> np.ndarray:
    """Which rows have a level that the encoder does not know, (n,)."""
    column = _as_told(column, table_encoder)
    if isinstance(encoder, LeftOut) or column.family != LEVELS or encoder.family != LEVELS:
        return np.zeros(len(column.values), dtype=bool)
    place, _ = _places_in(column, encoder.levels, table_encoder.fold)
    return np.isnan(place) & np.array([value is not None for value in column.values.tolist()])


def look_alikes(column: Column) -> list[Any]:
    """Levels that differ from another one in case or spaces only."""
    if column.kind not in (TEXT, CATEGORY):
        return []
    by_key: dict[str, list[str]] = {}
    for value in sorted({value for value in column.values.tolist() if isinstance(value, str)}):
        by_key.setdefault(_key(value), []).append(value)
    return [level for levels in by_key.values() if len(levels) > 1 for level in levels]


def _key(level: str) -> str:
    return " ".join(level.split()).casefold()


def _folded(values: np.ndarray, levels: tuple[Any, ...], fold: bool) -> np.ndarray:
    """Values with the levels that they look like in place of them."""
    if not fold:
        return values
    known = {_key(level): level for level in levels if isinstance(level, str)}
    same = [known.get(_key(value), value) if isinstance(value, str) else value for value in values.tolist()]
    return np.array(same, dtype=object)


def _as_told(column: Column, table_encoder: Any) -> Column:
    """The column as a category or ordinal if the parameters list it; yes and no as numbers if these are scaled."""
    if column.kind == BOOLEAN and table_encoder.scale != "difference":
        column = replace(column, kind=NUMBER)
    kind = told_kind(column.name, table_encoder)
    if kind is None:
        return column
    levels = tuple(table_encoder.ordinal[column.name]) if kind == ORDINAL else column.levels
    return Column(column.name, kind, column.as_objects(), levels)


def _of_levels(column: Column, table_encoder: Any) -> Encoder:
    if table_encoder.fold and column.kind != ORDINAL:
        common = [value for value, _ in Counter(column.values.tolist()).most_common() if value is not None]
        levels = tuple({_key(level): level for level in reversed(common) if isinstance(level, str)}.values())
        column = replace(column, values=_folded(column.values, levels, True), levels=None)
    present = [value for value in column.values.tolist() if value is not None]
    seen = set(present)
    if len(seen) < 2:
        return LeftOut(column.name, present[0] if seen else None)
    if column.kind == ORDINAL:
        rank = _known_places(column, column.levels, "error")
        return Ordinal.of_ranks(column.name, rank[~np.isnan(rank)], column.levels, table_encoder.scale)
    if column.kind == LONG:
        example = next(value for value in present if is_rounded(value))
        raise TextColumnsError({column.name: f"whole numbers that float64 rounds, such as {example}: names of rows"})
    if column.kind == TEXT:
        _require_categories(column.name, present, seen, table_encoder.max_levels)
    levels = tuple(sorted(seen, key=str)) if column.levels is None else tuple(v for v in column.levels if v in seen)
    return Binary(column.name, levels) if len(levels) == 2 else Categories(column.name, levels)


def _example(text: str) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= 30 else text[:30] + "…"


def _places_in(column: Column, levels: tuple[Any, ...], fold: bool) -> tuple[np.ndarray, list[Any]]:
    """Places among the levels, NaN where missing or unknown; and the unknown values.

    Among levels that are numbers, texts that are numbers stand for these: a further value such as A1 makes all values
    of a column text.
    """
    values = column.values
    if column.family == LEVELS and not any(isinstance(level, str) for level in levels):
        values = np.fromiter(map(_number_in, values.tolist()), dtype=object, count=len(values))
    return places(_folded(values, levels, fold), levels)


def _number_in(value: Any) -> Any:
    """The number that a text is; other values as they are."""
    if not isinstance(value, str) or not is_number(value):
        return value
    try:
        return int(value)
    except ValueError:
        return float(value)


def _known_places(column: Column, levels: tuple[Any, ...], unseen: str, fold: bool = False) -> np.ndarray:
    """Places among the levels, NaN where missing; unknown levels raise, or are missing too."""
    place, unknown = _places_in(column, levels, fold)
    if unknown and unseen == "error":
        listed = ", ".join(map(repr, levels[:10])) + (", …" if len(levels) > 10 else "")
        remedy = "list all levels in ordinal, lowest first" if column.kind == ORDINAL else "fit with such rows"
        raise ValueError(
            f"column {column.name!r} holds {unknown[0]!r}, one of {len(unknown)} value(s) that are not among the "
            f"levels {listed}; {remedy}, or give unseen='missing'."
        )
    return place


def _require_categories(name: Any, present: list[str], seen: set[str], max_levels: int) -> None:
    """Raise if strings are text, or names of rows, rather than categories."""
    if len(seen) <= max_levels and (len(present) < _FEW_ROWS or 2 * len(seen) <= len(present)):
        return
    example = _example(present[0])
    remedy = ""
    if _are_rounded(seen):
        remedy = ", which are numbers that float64 rounds"
    elif remedy_of_numbers := to_numbers(seen):
        remedy = f", which look like numbers: convert them with {remedy_of_numbers}"
    elif remedy_of_dates := to_dates(seen):
        remedy = f", which look like dates: convert them with {remedy_of_dates}"
    fault = f"text, or a name for each row: {len(seen)} distinct values in {len(present)} rows, such as {example!r}"
    raise TextColumnsError({name: fault + remedy})


def to_numbers(levels: Collection[str]) -> str:
    """The function that makes numbers of texts that hold them, but for some that stand for missing values; else ""."""
    gaps = set(filter(_is_gap, levels))
    numbers = set(levels) - gaps
    if not numbers or not _all_are(float, numbers) or _are_rounded(numbers) or any(map(_CODE.match, numbers)):
        return ""
    return "pandas.to_numeric" if gaps <= {"", "nan", "NaN"} else "pandas.to_numeric(…, errors='coerce')"


def to_dates(levels: Collection[str]) -> str:
    """The function that makes dates of texts that hold them, but for some that stand for missing values; else ""."""
    orders = set()
    for text in levels:
        if _is_gap(text):
            continue
        form = date_form(text.strip())
        if form is None:  # mostly the first of many texts is no date
            return ""
        orders.add(form[1])
    if not orders:
        return ""
    return "pandas.to_datetime" if orders == {"year"} else "pandas.to_datetime(…, format=…)"


def _is_gap(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return is_mark(text) or text.strip().lower() in _SPELLED_MISSING


def _are_rounded(levels: Collection[str]) -> bool:
    """Whether these are whole numbers of which float64 rounds some."""
    return _all_are(int, levels) and any(is_rounded(int(level)) for level in levels)


def _all_are(make: Callable[[str], Any], seen: Collection[str]) -> bool:
    """Whether all texts can be turned into values, none of them missing."""
    try:
        return all(make(value) == make(value) for value in seen)
    except ValueError:
        return False


def _transform_of(name: Any, x: np.ndarray, transforms: Any) -> Transform:
    if x.max() / 2 - x.min() / 2 > np.finfo(x.dtype).max / 2:
        raise ValueError(
            f"column {name!r} holds values from {x.min():.17g} to {x.max():.17g}, whose difference overflows float64. "
            "Divide the column by a constant."
        )
    given = transforms.get(name, "auto") if isinstance(transforms, dict) else transforms
    if given == "auto":
        return chosen_transform(x)
    _require_domain(name, given, x)
    transform = named_transform(given, x)
    if not transform.tells_apart(x):
        raise ValueError(
            f"column {name!r} holds values from {x.min():.17g} to {x.max():.17g}, and its transform {given} rounds all "
            f"of them to the same number. Give transforms={{{name!r}: 'identity'}}."
        )
    return transform


def _require_domain(name: Any, function: str, x: np.ndarray) -> None:
    if not FUNCTIONS[function].allows(x):
        raise ValueError(
            f"column {name!r} holds {x.min():g}, and its transform {function} takes {FUNCTIONS[function].allowed}. "
            f"Correct the value, or give transforms={{{name!r}: 'asinh'}} and fit again."
        )


def _require_no_infinities(column: Column) -> None:
    n_bad = int(np.isinf(column.values).sum())
    if n_bad:
        raise ValueError(
            f"column {column.name!r} contains {n_bad} infinite value(s) (inf); replace them by large numbers, or by "
            "NaN where they mean that the value is missing."
        )


def _date(microseconds: float) -> np.datetime64:
    return np.datetime64(int(microseconds), "us")


def _duration(seconds: float) -> np.timedelta64:
    return np.timedelta64(round(seconds * 1e6), "us")


# Values of columns that are left out, by kind; others are numbers.
_CONSTANTS = {BOOLEAN: bool, DATE: _date, DURATION: _duration, TIME: time_of_day}
