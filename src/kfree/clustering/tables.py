"""Tables to cluster: frames in memory, and files whose columns are read when they are asked for."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import (
    is_frame,
    matrix_of,
    names_of,
    numbers_in,
    selected,
    values_of,
    with_columns,
    with_texts,
)
from kfree.clustering.preparation import TextReading
from kfree.core.packed_dates import FEWEST, FORM, dates_of, said
from kfree.core.printing import printable, quoted
from kfree.core.row_names import is_missing
from kfree.core.stats import Floats
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.dialect import TextOptions
from kfree.files.formats import ColumnType, as_numbers
from kfree.files.places import arrow
from kfree.files.rows import rows_of
from kfree.files.table import (
    BATCH_BYTES,
    Mistake,
    column_name,
    date_forms_in,
    mistake_in,
    open_table,
    require_same_columns,
)
from kfree.validation.frames import in_chunks, require_computed, require_distinct_names

_BATCH_ROWS = 65536
# Rows that show of most columns of numbers that they hold no dates, or no whole numbers only.
_HEAD_ROWS = 1000
_DATES = ColumnType("timestamp[s]")
# Names of columns of row numbers, such as pandas and R write them.
_INDEX = re.compile(r"(?i)column 1|unnamed: 0|row[._ ]?(names|id|number)|index")


def opened(table: Any, reading: TextOptions | None = None) -> FrameTable | NamedFilesTable:
    """A table of any kind but an array."""
    paths = table if isinstance(table, list) else [table]
    if paths and is_file(table):
        return NamedFilesTable(paths, reading)
    if not is_frame(table):
        raise TypeError(
            f"a {type(table).__name__} has no names of columns; give a data frame, a table or the path of a file."
        )
    return FrameTable(table)


def is_file(table: Any) -> bool:
    """Whether the table is a path, or a list of paths."""
    paths = table if isinstance(table, list) else [table]
    return all(isinstance(one, str | os.PathLike) for one in paths)


def require_about_files(table: Any, reading: TextOptions) -> None:
    """Raise if it is said how text is read, and the table is no file."""
    if reading != TextOptions() and not is_file(table):
        raise ValueError("delimiter, decimal, encoding, header, thousands and na are about text files; leave them out.")


class FrameTable:
    """A data frame of pandas or polars, or a table of pyarrow."""

    # What messages and pages call it.
    title, name = "the table", "kfree"
    # Columns of whole numbers with leading zeros, which numbers in memory do not have.
    codes: frozenset[str] = frozenset()
    # How the table was read, and marks that were read as missing values.
    reading: TextReading | None = None
    marks: Mapping[str, Counter[str]] = MappingProxyType({})
    is_array = False

    def __init__(self, frame: Any):
        require_computed(frame)
        frame = in_chunks(frame)
        for size, what in zip(frame.shape, ("rows", "columns"), strict=True):
            if not size:
                raise ValueError(f"{self.title} has no {what}; give a table with at least one.")
        self._frame = with_texts(frame)
        require_distinct_names(self._frame, self.title)
        self.names, self.n_rows = names_of(self._frame), int(frame.shape[0])

    def with_dates(self, names: Collection[str]) -> FrameTable:
        """The same table, with dates in those of these columns whose numbers are all such as 20241231."""
        found = {name: dates for name in names if (dates := _dates_in(numbers_in(self._frame, name))) is not None}
        if not found:
            return self
        table = copy(self)
        table._frame = with_columns(self._frame, found)
        table.reading = _read_as_dates(self.title, found)
        return table

    def is_number(self, name: str) -> bool:
        return numbers_in(self._frame, name) is not None

    def whole(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that hold whole numbers, whatever their type, as in files."""
        return [name for name in names if (x := numbers_in(self._frame, name)) is not None and _are_whole(x)]

    def word(self, name: str) -> str:
        """What a column holds that is not numbers."""
        return "other values"

    def mistake(self, name: str, share: float) -> Mistake | None:
        """What is no number in a column where at most a share is none: frames have types, so nothing."""
        return None

    def date_forms(self, name: str) -> str:
        """Examples of the forms of a column of dates of several forms: frames have types, so nothing."""
        return ""

    def read(self, names: list[str]) -> Any:
        """Some columns of all rows, as a frame."""
        return selected(self._frame, names)

    def batches(self, names: list[str], size: int = _BATCH_ROWS) -> Iterator[Any]:
        """Some columns a few rows at a time: all, since they are in memory."""
        yield self.read(names)

    def matrix(self, names: list[str]) -> NDArray[Any]:
        """Columns of numbers as they are, NaN where a value is missing."""
        return matrix_of(self._frame, names, self.title)

    def values(self, name: str) -> NDArray[Any]:
        return values_of(self._frame, name)

    def names_in(self, name: str) -> NDArray[Any]:
        """What a column calls rows or groups."""
        return self.values(name)

    def as_written(self, names: Sequence[str] | None = None) -> FrameTable:
        """The same table: a frame knows no other way to write its values."""
        return self


class NamedFilesTable:
    """Columns of files by name, as :func:`kfree.cluster` uses them: of one, or of those of a folder or pattern."""

    def __init__(self, paths: str | list[Any], reading: TextOptions | None = None, title: str | None = None):
        self._given = replace(reading or TextOptions(), reads_marks=True)
        self.files, described = open_table(paths, self._given)
        require_same_columns(self.files, described, "Give files with the same columns in the same order.")
        first = os.fspath(paths if isinstance(paths, str) else paths[0])
        self.title = printable(first) if title is None else title
        self.name = os.path.basename(first.rstrip("/")) or first
        self.columns = {column_name(column): column for column in self.files.types}
        self.names, self.n_rows = list(self.columns), self.files.n_rows
        for size, what in ((self.n_rows, "rows"), (len(self.names), "columns")):
            if not size:
                raise ValueError(f"{self.title} has no {what}; give a table with at least one.")
        self._reading: TextReading | None = None
        # Columns that are read as text, whatever the files hold.
        self._texts: frozenset[str] = frozenset()

    def with_dates(self, names: Collection[str]) -> NamedFilesTable:
        """The same table, with dates in those of these columns whose numbers are all such as 20241231.

        Files of text say so by themselves, and columns of .npy files have no names.
        """
        if self.is_array or any(file.text for file in self.files.files):
            return self
        known = [name for name in names if self.is_number(name)]
        few = self._with_dates_in(known, min(self.n_rows, _HEAD_ROWS))
        found = self._with_dates_in(few, self.n_rows)
        if not found:
            return self
        table = copy(self)
        files = tuple(replace(one, dates=frozenset(found)) for one in self.files.files)
        table.files = replace(self.files, files=files, types=self.files.types | dict.fromkeys(found, _DATES))
        table._reading = _read_as_dates(self.title, found)
        return table

    def _with_dates_in(self, names: list[str], n_rows: int) -> list[str]:
        """Those of some columns of numbers that hold nothing but dates in the first rows."""
        count = dict.fromkeys(names, 0)
        for batch in self._first(names, n_rows) if names else ():
            for name, values in batch.items():
                dates = dates_of(as_numbers(values)) if name in count else None
                if dates is None:
                    count.pop(name, None)
                else:
                    count[name] += int(np.count_nonzero(~np.isnat(dates)))
            if not count:
                break
        return [name for name, n in count.items() if n >= FEWEST or n_rows < self.n_rows]

    @property
    def codes(self) -> frozenset[str]:
        """Columns of whole numbers with leading zeros."""
        return frozenset(name for file in self.files.files if file.text for name in file.text.codes)

    @property
    def marks(self) -> dict[str, Counter[str]]:
        """Marks that were read as missing values, with the number of each, by column."""
        found: dict[str, Counter[str]] = {}
        for name, marks in (pair for file in self.files.files if file.text for pair in file.text.marks):
            found.setdefault(name, Counter()).update(dict(marks))
        return found

    @property
    def reading(self) -> TextReading | None:
        """How text was read."""
        texts = [file.text for file in self.files.files if file.text]
        if not texts:
            return self._reading
        rules = {name: rule for name, rule in zip(texts[0].names, texts[0].rules, strict=True) if rule}
        return TextReading(list(self._given.missing), self._given.thousands, self._given.decimal, rules)

    @property
    def is_array(self) -> bool:
        """Whether the rows are those of .npy files, whose columns have no names."""
        return any(isinstance(column, int) for column in self.columns.values())

    def as_written(self, names: Sequence[str] | None = None) -> NamedFilesTable:
        """The same table with codes of some columns, or of all, as they are written: leading zeros included.

        Columns are text in all files then, also in those that have no code with such zeros or hold numbers.
        """
        codes = tuple(name for name in self.names if name in self.codes and (names is None or name in names))
        if not codes:
            return self
        texts = [one.text and replace(one.text, codes=codes).with_codes_as_text() for one in self.files.files]
        files = tuple(replace(one, text=text) for one, text in zip(self.files.files, texts, strict=True))
        table = copy(self)
        table.files, table._texts = replace(self.files, files=files), frozenset(codes)
        return table

    def type(self, name: str) -> ColumnType:
        return self.files.types[self.columns[name]]

    def is_number(self, name: str) -> bool:
        return self.type(name).numpy is not None

    def whole(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that hold whole numbers, whatever their type, as in frames."""
        left = [name for name in names if self.is_number(name)]
        for n_rows in (min(self.n_rows, _HEAD_ROWS), self.n_rows):
            unsure = [name for name in left if np.dtype(self.type(name).numpy).kind == "f"]
            others = self._with_fractions(unsure, n_rows)
            left = [name for name in left if name not in others]
        return left

    def _with_fractions(self, names: list[str], n_rows: int) -> set[str]:
        """Those of some columns of numbers that hold others than whole numbers in the first rows."""
        left = list(names)
        for batch in self._first(names, n_rows) if names else ():
            left = [name for name in left if _are_whole(as_numbers(batch[name]))]
            if not left:
                break
        return {*names} - {*left}

    def word(self, name: str) -> str:
        return self.type(name).word

    def mistake(self, name: str, share: float) -> Mistake | None:
        """What is no number in a column of text where at most a share is none."""
        return mistake_in(self.files.files, self.columns[name], share) if self.word(name) == "text" else None

    def date_forms(self, name: str) -> str:
        """Examples of the forms of a column of text that holds dates of several forms."""
        return date_forms_in(self.files.files, self.columns[name]) if self.word(name) == "text" else ""

    def read(self, names: list[str]) -> Any:
        """Some columns of all rows, as a table of pyarrow."""
        if not self._texts.intersection(names):
            return self.files.read([self.columns[name] for name in names])
        parts = [arrow("").table(batch) for batch in self._first(names, self.n_rows)]
        return arrow("").concat_tables(parts, promote_options="permissive").unify_dictionaries()

    def batches(self, names: list[str], size: int = _BATCH_ROWS) -> Iterator[dict[str, Any]]:
        """Some columns a few rows at a time, as dicts of arrays."""
        return self._first(names, self.n_rows, size)

    def _first(self, names: list[str], n_rows: int, size: int | None = None) -> Iterator[dict[str, Any]]:
        """Some columns of the first rows, a few rows at a time; without a ``size``, some megabytes."""
        size = size or max(1, min(_BATCH_ROWS, BATCH_BYTES // (8 * len(names))))
        for batch in self.files.batches([self.columns[name] for name in names], 0, n_rows, size):
            pairs = zip(names, batch.columns, strict=True)
            yield {name: values.cast("string") if name in self._texts else values for name, values in pairs}

    def matrix(self, names: list[str]) -> NDArray[Any]:
        """Columns of numbers as they are, NaN where a value is missing."""
        rows = rows_of(self.files, [self.columns[name] for name in names])
        (chunk,) = rows.chunks(0, self.n_rows, self.n_rows, missing=True)
        return chunk.X

    def values(self, name: str) -> NDArray[Any]:
        return values_of(self.read([name]), name)

    def names_in(self, name: str) -> NDArray[Any]:
        """What a column calls rows or groups, as it is written: 007 is not 7."""
        return self.as_written([name]).values(name)


def _are_whole(x: NDArray[Any]) -> bool:
    """Whether all numbers that are not missing are whole."""
    return bool((np.isnan(x) | (x == np.rint(x))).all())


def _dates_in(numbers: Floats | None) -> NDArray[np.datetime64] | None:
    """Numbers such as 20241231 as dates; None if not all, or too few, are dates."""
    found = None if numbers is None else dates_of(numbers)
    is_sure = found is not None and np.count_nonzero(~np.isnat(found)) >= FEWEST
    return found.astype("datetime64[us]") if found is not None and is_sure else None


def _read_as_dates(title: str, names: Iterable[str]) -> TextReading:
    """What further tables are told about these columns; a warning names each."""
    for name in names:
        warn(f"{title}: {said(name)}", DataAdvice)
    return TextReading([], None, None, dict.fromkeys(names, FORM))


def row_numbers(table: FrameTable | NamedFilesTable, names: Sequence[str]) -> list[str]:
    """Which of these columns of whole numbers hold the number of each row.

    It is counted from 0 or 1 without gaps; or only rises, in a column without a name, or with one that programs give
    to the numbers of rows of which some were removed.
    """
    left, begin = dict.fromkeys(names, -np.inf), 0
    for batch in table.batches(list(left)) if left else ():
        for name, last in list(left.items()):
            column = as_numbers(batch[name]) if isinstance(batch, dict) else numbers_in(batch, name)
            x = np.asarray(column, dtype=np.float64)
            first = last + 1 if begin else x[0]
            counts = (begin > 0 or first in (0, 1)) and np.array_equal(x, first + np.arange(len(x)))
            rises = _INDEX.fullmatch(name) is not None and last < x[0] and bool((np.diff(x) > 0).all())
            left[name] = x[-1]
            if not rises and not counts:
                del left[name]
        if not left:
            break
        begin += len(x)
    return list(left)


def require_columns(table: FrameTable | NamedFilesTable, names: Sequence[str], where: str) -> None:
    """Raise unless a table has these columns; ``where`` says where they were named."""
    missing = [name for name in names if name not in table.names]
    if missing:
        raise ValueError(f"{table.title} has no column {quoted(missing)} ({where}); it has {quoted(table.names, 20)}.")


def group_names(names: NDArray[Any], numbers: Sequence[int] | NDArray[np.int64], title: str) -> NDArray[Any]:
    """The groups of rows, whose ``numbers`` in the table count from 0, as numbers or as texts; none may be missing."""
    # Times of NumPy in nanoseconds would be listed as numbers.
    listed = (names.astype("datetime64[us]") if names.dtype == "datetime64[ns]" else names).tolist()
    missing = [number for number, name in zip(numbers, listed, strict=True) if is_missing(name)]
    if missing:
        raise ValueError(
            f"{title}, row {missing[0] + 1}, has no group ({len(missing)} such row(s)); name the group of all rows."
        )
    return names if names.dtype.kind in "iufb" else np.array([str(name) for name in listed])
