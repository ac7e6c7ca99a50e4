"""The dialect of a text table: encoding, delimiter, decimal mark and header, inferred from its beginning."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from kfree.core.printing import quoted
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.header import holds_names
from kfree.files.numbers import is_gap, is_in_thousands, is_number
from kfree.files.records import cells_of, split_records

DELIMITERS = [",", ";", "\t", "|", " "]
# Decimal marks, and further marks between thousands.
_MARKS = (".", ",", " ", "'", "_")
FALLBACK_ENCODING = "cp1252"
_RECORDS = 200
# Characters of a cell that a warning shows.
_LONGEST_SHOWN = 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LINE = re.compile(r"[^\r\n]+(?:\r\n|\r|\n|\Z)")
_FOR_SPREADSHEETS = re.compile(r'(?i)"?sep=.?"?')


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    encoding: str = "utf-8"
    delimiter: str = ","
    header: bool = True
    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    # Whether marks such as "?" are missing values where all other cells of a column are numbers, or dates.
    reads_marks: bool = False
    # Whether the first numbers show that a point is the decimal mark.
    shows_point: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True)
class TextOptions:
    """What the caller knows about a text table; None is inferred."""

    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    # How columns were read in an earlier file, by name, where cells of this one do not decide; see kfree.files.cells.
    rules: tuple[tuple[str, str], ...] = ()
    # Columns that held numbers in an earlier file, and those that held text, which stay text whatever their cells are.
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    reads_marks: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter {self.delimiter!r} is not allowed; give one ASCII character.")
        if self.encoding is not None:
            _require_encoding(self.encoding)
        if self.decimal not in (None, *_MARKS[:2]):
            raise ValueError(f"decimal={self.decimal!r} is not allowed; give '.' or ','.")
        if self.thousands not in (None, *_MARKS) or (self.thousands and self.thousands == self.decimal):
            allowed = "one of . , ' _ or a space, and not the decimal mark"
            raise ValueError(f"thousands={self.thousands!r} is not allowed; give {allowed}.")

    @classmethod
    def of(
        cls,
        *,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        header: bool | None = None,
        thousands: str | None = None,
        na: Sequence[str] = (),
    ) -> TextOptions:
        """From the names that parameters of functions have."""
        missing = (na,) if isinstance(na, str) else tuple(na)
        return cls(encoding, delimiter, header, decimal, thousands, missing)


def found_dialect(name: str, sample: bytes, whole: bool, options: TextOptions) -> Dialect:
    """The dialect of a table from its first bytes; ``whole`` says that ``sample`` is the whole file."""
    encoding = options.encoding or _found_encoding(name, sample)
    lines = _complete_lines(_decoded(name, sample, encoding, whole), whole)
    if not lines:
        raise ValueError(f"{name} is empty; give a table with rows.")
    if len(lines) > 1 and _FOR_SPREADSHEETS.fullmatch(lines[0].strip()):
        raise ValueError(
            f"{name}: line 1 is {lines[0].strip()!r}, which tells a spreadsheet the delimiter and is no row of the "
            "table. Remove this line."
        )
    delimiter = options.delimiter or found_delimiter(lines)
    rows = _rows(lines, delimiter)
    columns = _columns_of_numbers(rows)
    shows_point = any(_shows_decimal(cells, ".") for _, cells in columns)
    decimal = options.decimal or _found_decimal(name, delimiter, columns, shows_point, options)
    header = _header(name, rows, decimal, options)
    given = (decimal, options.thousands, options.missing, options.reads_marks)
    return Dialect(encoding, delimiter, header, *given, shows_point)


def _found_encoding(name: str, sample: bytes) -> str:
    """By the byte order mark, else UTF-8 if the bytes are valid, else Windows-1252."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        raise ValueError(
            f"{name} is not a text table: it holds zero bytes. Give CSV, TSV, Parquet, Arrow or .npy, and name binary "
            "files by their usual endings."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return FALLBACK_ENCODING
    return "utf-8"


def _decoded(name: str, sample: bytes, encoding: str, whole: bool) -> str:
    """The text of a sample, which may end within a character unless it is the whole file."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=whole)
    except UnicodeDecodeError as error:
        raise not_encoded(name, encoding, sample[: error.start].count(b"\n") + 1, sample[error.start]) from None


def _require_encoding(encoding: str) -> None:
    """Raise unless text has this encoding: codecs such as hex have bytes alone."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise ValueError(f"encoding {encoding!r} is unknown; give one such as utf-8, latin-1 or cp1252.") from None


def not_encoded(name: str, encoding: str, line: int, byte: int) -> ValueError:
    """The error about a byte that means nothing in an encoding."""
    return ValueError(
        f"{name} is not {encoding}: line {line} holds the byte {byte:#04x}. Give the right encoding, for example "
        "latin-1 or cp1252."
    )


def found_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts all records into equally many cells, numbers for preference; a comma if none does."""
    best, chosen = (0.9, 0.0, 1), ","
    for delimiter in DELIMITERS:
        rows = _rows(lines, delimiter)
        width, n_alike = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if width < 2:
            continue
        marks = "." if delimiter == "," else ".,"
        cells = [cell for row in rows for cell in row]
        numeric = sum(any(is_number(cell, mark) for mark in marks) for cell in cells) / len(cells)
        merit = (n_alike / len(rows), round(numeric, 2), width)
        # A space separates words as well, so it must cut every record alike.
        if merit > best and (delimiter != " " or merit[0] == 1.0):
            best, chosen = merit, delimiter
    return chosen


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """The cells of the records of some lines."""
    return [cells_of(record, delimiter) for record in split_records("".join(lines).encode(), delimiter)]


def _header(name: str, rows: Sequence[Sequence[str]], decimal: str, options: TextOptions) -> bool:
    """Whether the first record holds names; a warning says how it is read where that is doubtful."""
    if options.header is not None:
        return options.header
    known = {*options.numbers, *options.texts, *(column for column, _ in options.rules)}
    if known and known <= {cell.strip() for cell in rows[0]}:
        return True
    header, is_sure = holds_names(rows, decimal)
    if not is_sure:
        shown = quoted(cell[:_LONGEST_SHOWN] for cell in rows[0])
        told = "the header, although numbers stand in it" if header else "a row, although it could hold names"
        other = "header=False if it is a row" if header else "header=True if it does"
        warn(f"{name}: the first line ({shown}) is read as {told}. Give {other}.", DataAdvice)
    return header


def _complete_lines(text: str, whole: bool) -> list[str]:
    """The first lines of a text that were not cut off, without empty ones."""
    lines = list(islice(_LINE.finditer(text), _RECORDS))
    if not whole and len(lines) > 1 and lines[-1].end() == len(text):
        lines = lines[:-1]
    return [line[0] for line in lines]


def _columns_of_numbers(rows: Sequence[Sequence[str]]) -> list[tuple[str, list[str]]]:
    """The cells of columns that hold nothing but numbers with points or commas, with the first cell of each."""
    columns = zip_longest(*rows, fillvalue="")
    found = [(cells[0], [cell for cell in cells[1:] or cells if not is_gap(cell)]) for cells in columns]
    return [
        (name, cells)
        for name, cells in found
        if any(all(is_number(cell, mark) for cell in cells) and any(mark in cell for cell in cells) for mark in ".,")
    ]


def _shows_decimal(cells: Sequence[str], mark: str) -> bool:
    """Whether a mark that some numbers have is decimal for sure: three digits could follow one between thousands."""
    marked = [cell for cell in cells if mark in cell]
    return bool(marked) and not all(is_in_thousands(cell, mark) for cell in marked)


def _found_decimal(
    name: str, delimiter: str, columns: list[tuple[str, list[str]]], shows_point: bool, options: TextOptions
) -> str:
    """The decimal mark; a warning names columns whose commas could stand between thousands as well.

    Decimals that all have three digits could be thousands. Beside numbers without a comma they are not taken for
    decimals: :class:`kfree.files.cells.FormDetector` reads such columns if the file has decimal points, else not.
    """
    if options.thousands == ".":
        return ","
    with_commas = [(column, cells) for column, cells in columns if any("," in cell for cell in cells)]
    if options.thousands == "," or delimiter == "," or not with_commas:
        return "."
    if any(_shows_decimal(cells, ",") for _, cells in with_commas):
        return ","
    doubtful = [column for column, cells in with_commas if all("," in cell for cell in cells)]
    if shows_point or len(doubtful) < len(with_commas):
        return "."
    warn(
        f"{name}: the decimal mark is read as ',', which could stand between thousands in column(s) "
        f"{quoted(doubtful)}, such as {with_commas[0][1][0]!r}. Give thousands=',' if so.",
        DataAdvice,
    )
    return ","
