"""Spreadsheets (.xlsx): the first sheet as a text table, which is read like any other.

So types, missing values, dates and codes are found as in text files, and a sheet need not fit in memory as a whole.
"""

from __future__ import annotations

import atexit
import csv
import datetime
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import IO, Any

from kfree.core.optional import optional
from kfree.core.printing import printable
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.dialect import Dialect, TextOptions
from kfree.files.places import Stamp, opened, stamp
from kfree.files.text import TextFormat, described_as, read_text

# Rows of a sheet, its header included.
MOST_ROWS = 1 << 20
# The largest whole number of a cell, whose numbers have 15 digits; and the characters of a text.
_LARGEST, _LONGEST = 10**15 - 1, (1 << 15) - 1


def openpyxl(what: str) -> Any:
    """The library that reads and writes sheets."""
    otherwise = f'to {what} .xlsx needs openpyxl: pip install "kfree[excel]". Or save the sheet as CSV.'
    return optional("openpyxl", otherwise)


def described_sheet(path: str, options: TextOptions) -> tuple[int, TextFormat]:
    """The number of rows of the first sheet of a file, and how it is read."""
    decimal = options.decimal or "."
    copy = _as_text(path, stamp(path), decimal)
    given = (decimal, options.thousands, options.missing, options.reads_marks)
    dialect = Dialect("utf-8", _delimiter(decimal), True, *given)
    return described_as(copy.path, dialect, options, path)


def read_sheet(path: str, text: Any, columns: Sequence[Any], begin: int, end: int, size: int) -> Iterator[Any]:
    """Columns of the rows ``begin`` … ``end`` − 1 of the sheet that ``text`` describes."""
    copy = _as_text(path, stamp(path), text.dialect.decimal)
    return read_text(replace(text, path=copy.path), [str(name) for name in columns], begin, end, size)


class _Copy:
    """The text of a sheet, in a file that is gone when the process ends."""

    def __init__(self, title: str, decimal: str):
        folder = tempfile.mkdtemp(prefix="kfree-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.title, self.path, self.decimal = title, os.path.join(folder, "sheet.csv"), decimal

    def write(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows, without empty ones, as long as the names are: a sheet does not keep empty cells at the end."""
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=_delimiter(self.decimal), lineterminator="\n")
            width = None
            for number, row in enumerate(rows, start=1):
                if all(cell is None for cell in row):
                    continue
                found = _width(row)
                width = found if width is None else width
                if found > width:
                    raise ValueError(
                        f"{self.title}: row {number} of the sheet has a cell in column {found}, where the names end "
                        f"with column {width}. Give the column a name, or clear the cell; remove rows above the names."
                    )
                writer.writerow([self._text(cell) for cell in (*row[:width], *[None] * (width - len(row)))])

    def _text(self, cell: Any) -> str:
        if cell is None:
            return ""
        if isinstance(cell, bool):
            return "true" if cell else "false"
        if isinstance(cell, float):
            return repr(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell).replace(".", self.decimal)
        if isinstance(cell, datetime.datetime):
            is_day = cell.time() == datetime.time()
            timespec = "milliseconds" if cell.microsecond else "seconds"
            return cell.date().isoformat() if is_day else cell.isoformat(" ", timespec=timespec)
        return str(cell)


def _width(row: tuple[Any, ...]) -> int:
    return max(place for place, cell in enumerate(row, start=1) if cell is not None)


def _delimiter(decimal: str) -> str:
    return ";" if decimal == "," else ","


@cache
def _as_text(path: str, changed: Stamp, decimal: str) -> _Copy:
    """The first sheet of a file as it was when it was last ``changed``."""
    copy = _Copy(printable(path), decimal)
    with opened(path) as file:
        copy.write(_first_sheet(path, file))
    return copy


def _first_sheet(path: str, file: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    library = openpyxl("read")
    try:
        book = library.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # whatever a damaged archive leads to
        raise ValueError(f"it is no spreadsheet, or a damaged one ({error})") from error
    try:
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            names = ", ".join(repr(one.title) for one in book.worksheets[1:4])
            warn(
                f"{printable(path)} has {len(book.worksheets)} sheets, and the first, {sheet.title!r}, is read. Save "
                f"another one ({names}) to a file of its own if that is meant.",
                DataAdvice,
            )
        sheet.reset_dimensions()  # which some programs write too small
        yield from sheet.iter_rows(values_only=True)
    finally:
        book.close()


def write_sheet(batches: Iterable[tuple[list[str], Iterable[tuple[Any, ...]]]], file: IO[bytes]) -> int:
    """Write rows of values under their names to a new file; no text is a formula. Returns their number."""
    library = openpyxl("write")
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL

    book = library.Workbook(write_only=True)
    sheet, n_rows = book.create_sheet("kfree"), 0

    def cell(value: Any) -> Any:
        if value is None or value != value:
            return None
        # A sheet has no number for infinite values, nor for whole ones of more digits.
        is_infinite = isinstance(value, float) and math.isinf(value)
        is_long = isinstance(value, int) and abs(value) > _LARGEST
        is_plain = isinstance(value, bool | int | float | datetime.date | datetime.time)
        if is_plain and not (is_infinite or is_long or getattr(value, "tzinfo", None)):
            return value
        if len(str(value)) > _LONGEST:
            raise ValueError(
                f"row {n_rows} has a cell of {len(str(value))} characters, and one of a sheet holds {_LONGEST}; write "
                ".csv or .parquet instead"
            )
        made = WriteOnlyCell(sheet, value=ILLEGAL.sub("\ufffd", str(value)))
        made.data_type = "s"  # not a formula
        return made

    try:
        for names, rows in batches:
            if n_rows == 0:
                sheet.append([cell(name) for name in names])
            for row in rows:
                n_rows += 1
                if n_rows >= MOST_ROWS:
                    raise ValueError(f"a sheet holds {MOST_ROWS - 1} rows; write .csv or .parquet instead")
                sheet.append([cell(value) for value in row])
    finally:
        sheet.close()  # else openpyxl prints a traceback about a sheet that is not complete
    book.save(file)
    return n_rows
