"""Reading CSV and TSV, with pyarrow where it is installed and otherwise with the csv module."""

import csv
import io
from itertools import count

import numpy as np

from kfree.cli.dialect import FALLBACK_ENCODING, Dialect, decoded, found_dialect, is_missing, is_number
from kfree.cli.errors import CommandError
from kfree.cli.tables import ArrowTable, Table, require_unique

_SAMPLE = 1 << 20


class NotInEncodingError(Exception):
    """A file holds bytes that mean nothing in its encoding."""


def read_text(source, *, encoding=None, delimiter=None, header=None, columns=None, say=lambda text: None):
    """The table in a text file, its dialect found from its first megabyte."""
    with source.open() as file:
        sample = file.read(_SAMPLE + 1)
    whole = len(sample) <= _SAMPLE
    dialect = found_dialect(source.name, sample, whole, encoding=encoding, delimiter=delimiter, header=header)
    try:
        table = _read(source, dialect, sample, columns)
    except (NotInEncodingError, UnicodeDecodeError):
        if encoding is not None or dialect.encoding != "utf-8":
            raise CommandError(_not_in(source, dialect.encoding)) from None
        dialect = Dialect(FALLBACK_ENCODING, dialect.delimiter, dialect.header, dialect.decimal)
        table = _read(source, dialect, sample, columns)
    if encoding is None and dialect.encoding == FALLBACK_ENCODING:
        say(f"{source.name} is not UTF-8 and was read as Windows-1252; give --encoding if that is wrong")
    if not table.n_rows:
        raise CommandError(f"{source.name} has a header and no rows; give at least one row.")
    return table


def _read(source, dialect, sample, columns):
    names = column_names(source, dialect, sample)
    if columns is not None:
        Table(source, dict.fromkeys(names, np.empty(0))).require(columns, "--columns")
    try:
        import pyarrow.csv
    except ImportError:
        table = _read_plain(source, dialect, names, columns)
    else:
        table = _read_arrow(pyarrow, source, dialect, names, columns, sample)
    table.source_names = names
    return table


def column_names(source, dialect, sample):
    """Names from the header, or column 1, column 2, …"""
    text = decoded(source.name, sample, dialect.encoding)
    first = next(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter) if row)
    names = [name.strip() for name in first] if dialect.header else [""] * len(first)
    names = [name or f"column {place}" for place, name in enumerate(names, start=1)]
    require_unique(names, source)
    return names


def _read_arrow(pyarrow, source, dialect, names, columns, sample):
    longest = max(map(len, sample.split(b"\n")))
    with source.open() as file:
        quoted_cells = _has_quotes(file)
    settings = (
        pyarrow.csv.ReadOptions(
            column_names=names,
            skip_rows_after_names=int(dialect.header),
            encoding=dialect.encoding.replace("-sig", ""),
            block_size=max(1 << 20, 8 * longest),
        ),
        pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=quoted_cells),
        pyarrow.csv.ConvertOptions(decimal_point=dialect.decimal, strings_can_be_null=True, include_columns=columns),
    )
    try:
        table = _by_blocks(pyarrow, source, settings)
    except pyarrow.ArrowInvalid as error:
        raise CommandError(_diagnosed(source, dialect, names, error)) from error
    if any(pyarrow.types.is_binary(column.type) for column in table.columns):  # bytes that are no UTF-8
        raise NotInEncodingError
    held = dict(zip(table.column_names, table.columns, strict=True))
    return ArrowTable(source, held, dialect)


def _by_blocks(pyarrow, source, settings):
    """The table read block by block, which takes little memory, if the first block shows the types of all columns."""
    try:
        with source.open() as file, pyarrow.csv.open_csv(file, *settings) as blocks:
            return blocks.read_all()
    except pyarrow.ArrowInvalid:
        with source.open() as file:
            return pyarrow.csv.read_csv(file, *settings)


def _has_quotes(file):
    while block := file.read(1 << 22):
        if b'"' in block:
            return True
    return False


def _read_plain(source, dialect, names, columns):
    wanted = [(place, name) for place, name in enumerate(names) if columns is None or name in columns]
    cells = {name: [] for _, name in wanted}
    for _, row in records(source, dialect, len(names)):
        for place, name in wanted:
            cells[name].append(row[place])
    return Table(source, {name: _converted(dialect, cells.pop(name)) for _, name in wanted}, dialect)


def records(source, dialect, width):
    """Row numbers, counted from 1 without the header, and cells; a row of another length is an error."""
    with io.TextIOWrapper(source.open(), dialect.encoding, newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter)
        rows = (row for row in reader if row)
        if dialect.header:
            next(rows, None)
        for number, row in zip(count(1), rows):
            if len(row) != width:
                raise CommandError(_ragged(source.name, number, reader.line_num, len(row), width))
            yield number, row


def _converted(dialect, cells):
    """A column of numbers if all cells are numbers or missing, else of text."""
    try:
        if dialect.decimal == ".":
            return np.array(cells, dtype=np.float64)
    except ValueError:
        pass
    values = [None if is_missing(cell) else cell for cell in cells]
    if all(cell is None or is_number(cell, dialect.decimal) for cell in values):
        return np.array([np.nan if cell is None else float(cell.replace(dialect.decimal, ".")) for cell in values])
    return np.array(values, dtype=object)


def _diagnosed(source, dialect, names, error):
    """What is wrong with the file, in terms of rows."""
    try:
        for _ in records(source, dialect, len(names)):
            pass
    except CommandError as found:
        return str(found)
    except (csv.Error, UnicodeDecodeError) as found:
        error = found
    return f"{source.name} cannot be read as a table: {str(error).strip().splitlines()[0][:200]}"


def _ragged(name, row, line, found, expected):
    return (
        f"{name}, row {row} (line {line}): {found} cell(s), where the first line has {expected}. Correct the row, "
        "quote cells that contain the delimiter, or give the right --delimiter."
    )


def _not_in(source, encoding):
    """Which line holds bytes that are no text in this encoding."""
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return (
                    f"{source.name} is not {encoding}: line {number} holds the byte {line[error.start]:#04x}. Give the "
                    "right --encoding, for example latin-1 or cp1252."
                )
    return f"{source.name} is not {encoding}. Give the right --encoding, for example latin-1 or cp1252."
