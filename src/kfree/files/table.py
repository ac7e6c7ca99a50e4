"""Tables in files: columns of any type, rows in batches. ``open_rows`` and the command line read through them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kfree.core.packed_dates import dates_of
from kfree.core.printing import printable, quoted
from kfree.files.cells import date_form
from kfree.files.dialect import Dialect, TextOptions
from kfree.files.formats import Batch, Column, ColumnType, Description, as_numbers, column_type, format_of
from kfree.files.numbers import is_amount, is_in_thousands, is_mark, is_number, other_mark
from kfree.files.places import Stamp, arrow, found, is_pipe, stamp
from kfree.files.text import TextFormat, common_type

# Bytes that are read at a time; and rows of a column of text.
BATCH_BYTES = 1 << 24
_TEXT_ROWS = 1 << 16
# A column of text is one of numbers with mistakes in it if at most this share are none.
_MOSTLY = 0.5
# Up to so many different cells among numbers may be marks of missing values.
_MOST_MARKS = 3
# Characters of a cell that an error shows; a mark of missing values is no longer.
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class RowFile:
    """One file: ``n_rows`` rows, the stamp that it had when it was described, and how text is read.

    To read it takes ``reading_bytes`` for the file, and ``column_bytes`` for every column.
    """

    path: str
    n_rows: int
    stamp: Stamp
    text: TextFormat | None = None
    reading_bytes: int = 0
    column_bytes: int = 0
    # Columns of whole numbers that are read as dates; see kfree.core.packed_dates.
    dates: frozenset[Column] = field(default=frozenset(), repr=False)
    # Columns that have another type in other files, and the Arrow type that holds the values of all.
    casts: Mapping[Column, Any] = field(default_factory=dict, repr=False)

    def require_unchanged(self) -> None:
        """Raise if the file has changed since it was described."""
        name = printable(self.path)
        try:
            now = stamp(self.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{name} is gone: it was there when open_rows described it.") from error
        if now != self.stamp:
            raise ValueError(
                f"{name} has changed since open_rows described it ({self.stamp.size} bytes then, {now.size} now, or a "
                "later time of writing). Call open_rows and fit again while no program writes to it."
            )

    def batches(self, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
        """Columns of the rows ``begin`` … ``end`` − 1; an error if the file has changed, or has other rows."""
        self.require_unchanged()
        n_seen = begin
        with naming(self.path):
            for batch in format_of(self.path).read(self.path, self.text, columns, begin, end, size):
                is_same = not (self.dates or self.casts)
                yield batch if is_same else [self._read(*pair) for pair in zip(columns, batch, strict=True)]
                n_seen += len(batch[0])
        self.require_unchanged()
        if n_seen != end:
            raise ValueError(f"{printable(self.path)} has {n_seen} rows where {end} were described. Is it damaged?")

    def _read(self, column: Column, values: Any) -> Any:
        if column in self.casts:
            is_code = arrow("types").is_string(values.type)  # read as text, to be written as it is
            return values if is_code else values.cast(self.casts[column])
        found = dates_of(as_numbers(values)) if column in self.dates else None
        return values if found is None else arrow("").array(found.astype("datetime64[s]"))


@dataclass(frozen=True)
class FileBatch:
    """Rows of the file at ``path``, from its row ``first_row`` on."""

    path: str
    first_row: int
    columns: Batch


@dataclass(frozen=True)
class FileTable:
    """A table in one file or several, whose rows are numbered from 0 over all files in order."""

    files: tuple[RowFile, ...]
    types: dict[Column, ColumnType]

    @property
    def n_rows(self) -> int:
        return sum(file.n_rows for file in self.files)

    def batches(self, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[FileBatch]:
        """Columns of the rows ``begin`` … ``end`` − 1, at most ``size`` rows at a time."""
        return batches_of(self.files, columns, begin, end, size)

    def read(self, columns: Sequence[Column]) -> Any:
        """Columns of all rows, as a table of pyarrow."""
        pa = arrow("")
        names, size = [column_name(column) for column in columns], max(1, BATCH_BYTES // (8 * len(columns)))
        parts = [pa.table(list(batch.columns), names) for batch in self.batches(columns, 0, self.n_rows, size)]
        if not parts:
            raise ValueError(f"{printable(self.files[0].path)} has no rows; give a table with at least one.")
        return pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()


def batches_of(
    files: Sequence[RowFile], columns: Sequence[Column], begin: int, end: int, size: int
) -> Iterator[FileBatch]:
    """Columns of the rows ``begin`` … ``end`` − 1 of files, whose rows are numbered over all of them."""
    for file in files:
        low, high = max(begin, 0), min(end, file.n_rows)
        if low < high:
            for batch in file.batches(columns, low, high, size):
                yield FileBatch(file.path, low, batch)
                low += len(batch[0])
        begin, end = begin - file.n_rows, end - file.n_rows


def column_name(column: Column) -> str:
    """The name of a column; those of .npy files are called x0, x1, …"""
    return column if isinstance(column, str) else f"x{column}"


def open_table(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], options: TextOptions | None = None
) -> tuple[FileTable, list[Description]]:
    """A table in files that have the same columns, and the description of each file."""
    files, described = [], []
    for path in found(paths):
        if is_pipe(path):
            raise ValueError(
                f"{printable(path)} is a pipe, which can be read only once. Write its rows to a file first."
            )
        before = stamp(path)
        with naming(path):
            one = format_of(path).describe(path, options or TextOptions())
        files.append(RowFile(path, one.n_rows, before, one.text, one.reading_bytes, one.column_bytes))
        described.append(one)
    types = dict(described[0].types)
    for one in described[1:]:
        for name in types.keys() & one.types.keys():
            types[name] = _common(types[name], one.types[name])
    files = [replace(file, casts=_casts(one.types, types)) for file, one in zip(files, described, strict=True)]
    return FileTable(tuple(files), types), described


def _common(a: ColumnType, b: ColumnType) -> ColumnType:
    """The type of a column that has these types in two files."""
    if a == b:
        return a
    both = None if a.arrow is None or b.arrow is None else column_type(common_type(a.arrow, b.arrow))
    if a.numpy and b.numpy and (both is None or both.numpy is None):
        # Yes and no are numbers beside numbers; and an array of NumPy may stand beside a table.
        return ColumnType("number", "float64", None if both is None else arrow("").float64())
    return both or ColumnType("text")


def _casts(own: Mapping[Column, ColumnType], common: Mapping[Column, ColumnType]) -> dict[Column, Any]:
    """The columns of a file that have another type in all files together, with this type."""
    pairs = {name: (own[name].arrow, kind.arrow) for name, kind in common.items() if name in own}
    return {name: after for name, (before, after) in pairs.items() if before != after and _is_cast(before, after)}


def _is_cast(before: Any, after: Any) -> bool:
    """Whether values are cast. Whole numbers beside others are numbers as they are; a cast could round some."""
    types = arrow("types")
    return not types.is_dictionary(after) and not (types.is_integer(before) and types.is_floating(after))


def require_same_columns(table: FileTable, described: list[Description], remedy: str) -> None:
    """Raise unless all files have the columns of the first one; the error ends with a ``remedy``."""
    first = list(described[0].types)
    for file, one in zip(table.files, described, strict=True):
        if list(one.types) != first:
            raise ValueError(
                f"{printable(file.path)} has the columns {quoted(one.types)}, and {printable(table.files[0].path)} has "
                f"{quoted(first)}. {remedy}"
            )


@dataclass(frozen=True)
class Mistake:
    """What is no number in a column of numbers: the end of a clause that says it, and the cells if these are few."""

    clause: str
    cells: tuple[str, ...] = ()
    # The mark that stands between thousands in all these cells, or is the decimal mark of the column.
    mark: str | None = None

    def with_remedy(self) -> str:
        """The clause, and what to do if the cells stand for missing values, or have marks between thousands."""
        remedy = f"; give na={list(self.cells)} if that stands for a missing value" if self.cells else ""
        remedy = remedy if self.mark is None else f"; {mark_remedy(self.mark)}"
        return f"{self.clause[:-1]}{remedy})"


def mark_remedy(mark: str) -> str:
    """What to give for numbers such as 1,096."""
    return f"give thousands={mark!r} if it stands between thousands, or decimal={mark!r} if it is the decimal mark"


def mistake_in(files: Sequence[RowFile], column: Column, share: float = _MOSTLY) -> Mistake | None:
    """What is no number in a column of text where at most a ``share`` is none. Amounts such as €5 count as numbers."""
    n_rows = sum(file.n_rows for file in files)
    if any(file.text is None for file in files) or not n_rows:
        return None
    dialect = files[0].text.dialect if files[0].text else Dialect()
    other = other_mark(dialect.decimal)
    first, n_bad, n_text, n_seen, distinct, in_thousands = "", 0, 0, 0, dict[str, None](), True
    for batch in batches_of(files, [column], 0, n_rows, _TEXT_ROWS):
        cells = batch.columns[0].cast("string").to_pylist()
        bad = [i for i, cell in enumerate(cells) if cell is not None and not _is_fine(cell, dialect)]
        n_bad, n_seen = n_bad + len(bad), n_seen + len(cells) - cells.count(None)
        in_thousands = in_thousands and all(is_in_thousands(cells[i], other) for i in bad)
        # A number with marks between thousands is no text, nor is an amount.
        n_text += sum(not is_number(cells[i], other) and not is_amount(cells[i]) for i in bad if not in_thousands)
        distinct.update((cells[i], None) for i in bad[: _MOST_MARKS + 1])
        if n_text > share * n_seen:
            return None
        if bad and not first:
            row, cell = batch.first_row + bad[0] + 1, cells[bad[0]]
            first = f", {_row_of(batch, row, files)}: {cell[:_LONGEST_SHOWN]!r} {_fault_of(cell, dialect)}"
            first += "; if the first line holds names, say so by header" if row == 1 and not dialect.header else ""
    could_be = [cell for cell in distinct if not is_number(cell, other) and not is_amount(cell)]
    are_few = len(distinct) <= _MOST_MARKS and len(could_be) == len(distinct)
    are_marks = are_few and all(len(cell) <= _LONGEST_SHOWN for cell in could_be)
    clause = f"{first} ({n_bad} such value(s) in a column of numbers)"
    if first and in_thousands and dialect.thousands is None:
        return Mistake(clause, (), other)
    return Mistake(clause, tuple(could_be) if are_marks else ()) if first else None


def _is_fine(cell: str, dialect: Dialect) -> bool:
    """Whether a cell among numbers is one, or is read as missing."""
    return is_number(cell, dialect.decimal) or (dialect.reads_marks and is_mark(cell))


def _fault_of(cell: str, dialect: Dialect) -> str:
    """Why a cell is no number."""
    if is_amount(cell):
        return "has a unit or a form that not all numbers of the column have"
    is_other = is_number(cell, other_mark(dialect.decimal))
    return "is not a number" + (f", and the decimal mark of this file is {dialect.decimal!r}" if is_other else "")


def _row_of(batch: FileBatch, row: int, files: Sequence[RowFile]) -> str:
    """What an error calls a row: its number in its file, which is named if there are others."""
    return f"row {row}" if len(files) == 1 else f"row {row} of {printable(batch.path)}"


def date_forms_in(files: Sequence[RowFile], column: Column) -> str:
    """Examples of the forms of a column whose cells are all dates, of several forms, as the end of a clause."""
    n_rows, forms = sum(file.n_rows for file in files), dict[tuple[str, str], str]()
    if any(file.text is None for file in files) or not n_rows:
        return ""
    for batch in batches_of(files, [column], 0, n_rows, _TEXT_ROWS):
        for row, cell in enumerate(batch.columns[0].cast("string").to_pylist(), batch.first_row + 1):
            form = None if cell is None else date_form(cell)
            if form is None and cell is not None:
                return ""
            if form is not None:
                forms.setdefault(form, f"{cell!r} ({_row_of(batch, row, files)})")
    # A date that does not decide which number is the day may have the form of one that does.
    marks = {mark for mark, first in forms if first}
    told = [example for (mark, first), example in forms.items() if first or mark not in marks]
    return f" holds dates of several forms: {', '.join(told)}" if len(told) > 1 else ""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of what is read within name the file."""
    name = printable(path)
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise type(error)(
            f"{name} cannot be read: {error.strerror or error}. Give a file that this user may read."
        ) from error
    except (ValueError, OSError, NotImplementedError, KeyError, EOFError) as error:
        if name in str(error):
            raise
        raise ValueError(
            f"{name} cannot be read: {str(error).rstrip('.')}. Is the file complete, and of the format that its name "
            "says?"
        ) from error
