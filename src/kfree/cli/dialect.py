"""The dialect of a text table: encoding, delimiter, decimal mark and header, inferred from its beginning."""

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass

from kfree.cli.errors import CommandError

DELIMITERS = [",", ";", "\t", "|", " "]
_RECORDS = 200
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Cells that stand for a missing value, in lower case.
MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "-nan", "null", "none"])
FALLBACK_ENCODING = "cp1252"


@dataclass(frozen=True)
class Dialect:
    """How to read a text table."""

    encoding: str = "utf-8"
    delimiter: str = ","
    header: bool = True
    decimal: str = "."


def found_dialect(name, sample, whole, *, encoding=None, delimiter=None, header=None):
    """The dialect of a table from its first bytes; given values are not inferred.

    ``whole`` says that ``sample`` is the whole file.
    """
    encoding = encoding or found_encoding(name, sample)
    text = decoded(name, sample, encoding, whole)
    records = _complete_lines(text, whole)
    if not records:
        raise CommandError(f"{name} is empty; give a table with a header and rows.")
    delimiter = delimiter or found_delimiter(records)
    rows = list(csv.reader(records, delimiter=delimiter))
    rows = [row for row in rows if row]
    decimal = "," if delimiter != "," and _has_decimal_commas(rows) else "."
    has_header = found_header(rows, decimal) if header is None else header
    return Dialect(encoding, delimiter, has_header, decimal)


def found_encoding(name, sample):
    """By the byte order mark, else UTF-8 if the bytes are valid, else Windows-1252."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        raise CommandError(
            f"{name} is not a text table: it holds zero bytes. Give CSV, TSV, Parquet, Arrow or .npy, and name binary "
            "files by their usual endings."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return FALLBACK_ENCODING
    return "utf-8"


def decoded(name, sample, encoding, whole=False):
    """The text of a sample, which may end within a character unless it is the ``whole`` file."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=whole)
    except LookupError:
        raise CommandError(f"encoding {encoding!r} is unknown; give one such as utf-8, latin-1 or cp1252.") from None
    except UnicodeDecodeError as error:
        line = sample[: error.start].count(b"\n") + 1
        raise CommandError(
            f"{name} is not {encoding}: line {line} holds the byte {sample[error.start]:#04x}. Give the right "
            "--encoding, for example latin-1 or cp1252."
        ) from None


def found_delimiter(lines):
    """The delimiter that cuts all records into equally many cells, numbers for preference; a comma if none does."""
    best, chosen = (0.9, 0.0, 1), ","
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:  # a cell without end, which another delimiter would cut
            continue
        width, n_alike = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if width < 2:
            continue
        decimal = "." if delimiter == "," else ","
        cells = [cell for row in rows for cell in row]
        numeric = sum(is_number(cell, ".") or is_number(cell, decimal) for cell in cells) / len(cells)
        merit = (n_alike / len(rows), round(numeric, 2), width)
        # A space separates words as well, so it must cut every record alike.
        if merit > best and (delimiter != " " or merit[0] == 1.0):
            best, chosen = merit, delimiter
    return chosen


def found_header(rows, decimal="."):
    """Whether the first record holds names: no number stands where others are numbers, and no cell comes again."""
    if len(rows) < 2:
        return not any(is_number(cell, decimal) for cell in rows[0])
    names, body = rows[0], rows[1:]
    numeric = [
        column
        for column in range(len(names))
        if all(len(row) <= column or is_number(row[column], decimal) or is_missing(row[column]) for row in body)
        and any(len(row) > column and is_number(row[column], decimal) for row in body)
    ]
    if numeric:
        return not any(is_number(names[column], decimal) for column in numeric)
    again = {cell for row in body for cell in row}
    return not any(cell in again for cell in names if cell)


def is_number(cell, decimal="."):
    """Whether a cell is a number with this decimal mark."""
    try:
        float(cell.replace(decimal, ".") if decimal != "." else cell)
    except ValueError:
        return False
    return "_" not in cell and cell.strip().lower() not in MISSING


def is_missing(cell):
    """Whether a cell stands for a missing value."""
    return cell.strip().lower() in MISSING


def _complete_lines(text, whole):
    """The first lines of a text that were not cut off, without empty ones."""
    lines = list(io.StringIO(text, newline=""))
    if not whole and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines[:_RECORDS] if line.strip("\r\n")]


def _has_decimal_commas(rows):
    cells = [cell for row in rows for cell in row]
    with_comma = [cell for cell in cells if "," in cell]
    return bool(with_comma) and all(is_number(cell, ",") for cell in with_comma)
