"""How tables are written: the input with further columns, and rows of values, as CSV, JSON lines and Parquet."""

import codecs
import json
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain

import numpy as np

from kfree.cli.console import finite
from kfree.cli.errors import CommandError
from kfree.files.places import arrow
from kfree.files.records import cells_of, split_records

# Spreadsheets take a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(values):
    """Values as Python objects."""
    if not hasattr(values, "to_pylist"):
        return list(values.tolist())
    try:
        return values.to_pylist()
    except OverflowError:
        return list(map(_in_any_year, values))


def _in_any_year(scalar):
    """A value of Arrow as a Python object, or as text if it is a date of a year that Python does not have."""
    try:
        return scalar.as_py()
    except OverflowError:
        (found,) = arrow("").array([scalar]).to_numpy(zero_copy_only=False)
        return f"{found}Z" if getattr(scalar.type, "tz", None) else str(found)


def append_cells(table, new, file, delimiter=None, safe=False):
    """The records of text files, each with further cells, in their encoding and with their marks.

    A record stays as it stands, unless it gets another ``delimiter`` or ``safe`` cells.
    """
    texts = [file.text for file in table.files.files]
    dialect = texts[0].dialect
    glue = delimiter or dialect.delimiter
    written_as = CellForm(glue, dialect.decimal, safe)
    _require_encoding(new, dialect.encoding, table.title)
    encode = codecs.getincrementalencoder(dialect.encoding)().encode

    def stated(record):
        is_kept = glue == dialect.delimiter and not safe
        return record.decode() if is_kept else glue.join(map(written_as.cell, cells_of(record, dialect.delimiter)))

    heading, ending = texts[0].heading()
    if dialect.header:
        file.write(encode(glue.join([stated(heading.encode()), *map(written_as.cell, new)]) + ending))
    begin = 0
    for block in (block for text in texts for block in text.blocks()):
        records = split_records(block, dialect.delimiter)
        cells = [map(written_as.cell, plain(values[begin : begin + len(records)])) for values in new.values()]
        rows = zip(map(stated, records), *cells, strict=True)
        file.write(encode("".join(glue.join(row) + ending for row in rows)))
        begin += len(records)
    return begin


@dataclass(frozen=True)
class CellForm:
    """How values are written as cells of text; ``safe`` ones are no formulas to a spreadsheet."""

    delimiter: str = ","
    decimal: str = "."
    safe: bool = False

    def cell(self, value):
        """One cell, quoted where it has to be."""
        if isinstance(value, int):
            return str(value)
        text = "" if _is_missing(value) else str(value)
        if isinstance(value, float):
            text = text.replace(".", self.decimal)
        elif self.safe and text.startswith(_FORMULA) and not _is_number(text):
            text = f"'{text}"
        needs_quotes = any(mark in text for mark in (self.delimiter, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def _require_encoding(new, encoding, title):
    """Raise if a further cell has characters that the encoding of a file lacks."""
    for name, values in new.items():
        for text in sorted(set(filter(None, plain(values)))) if values.dtype.kind == "O" else ():
            try:
                text.encode(encoding)
            except UnicodeEncodeError:
                raise CommandError(
                    f"{title} is written in {encoding}, which lacks characters of {text!r} ({name}). Give "
                    "--format jsonl, parquet or xlsx, or other names to the clusters."
                ) from None


def rows_again(table, new):
    """The rows of the input, read again: for each batch names and rows of values, the new columns last."""
    begin, table = 0, table.as_written()
    for batch in table.batches(table.names):
        end = begin + len(next(iter(batch.values())))
        columns = {"row": np.arange(begin + 1, end + 1)} if table.is_array else batch
        columns = columns | {name: values[begin:end] for name, values in new.items()}
        yield list(columns), zip(*map(plain, columns.values()), strict=True)
        begin = end


def write_csv(batches, file, delimiter=None, safe=False):
    """Rows of values under their names, as UTF-8."""
    written_as, n_rows = CellForm(delimiter or ",", safe=safe), 0
    for names, rows in batches:
        for row in rows if n_rows else chain([names], rows):
            file.write(f"{written_as.delimiter.join(map(written_as.cell, row))}\n".encode())
            n_rows += 1
    return n_rows - 1


def write_json_lines(batches, file):
    """Rows of values by name, a line each; numbers that JSON does not have are null."""
    n_rows = 0
    for names, rows in batches:
        for row in rows:
            cells = {
                name: None if _is_missing(cell) else cell for name, cell in zip(names, map(finite, row), strict=True)
            }
            file.write(json.dumps(cells, ensure_ascii=False, default=str).encode() + b"\n")
            n_rows += 1
    return n_rows


def write_parquet(table, new, file):
    """The input again, with further columns. A column has the type that holds the values of all files."""
    pa, parquet = arrow(""), arrow("parquet")
    begin, about, table = 0, _metadata(table), table.as_written()
    with ExitStack() as stack:
        writer = None
        for batch in table.batches(table.names):
            end = begin + len(next(iter(batch.values())))
            columns = {"row": np.arange(begin + 1, end + 1)} if table.is_array else _in_common_types(table, batch)
            part = pa.table(columns | {name: pa.array(values[begin:end]) for name, values in new.items()})
            part = part.replace_schema_metadata(about)
            writer = writer or stack.enter_context(parquet.ParquetWriter(file, part.schema))
            writer.write_table(part.cast(writer.schema))
            begin = end
    return begin


def _in_common_types(table, batch):
    """The columns of a batch as those of all files; codes stay as they are written."""
    found = {}
    for name, values in batch.items():
        kind = arrow("").string() if name in table.codes else table.files.types[table.columns[name]].arrow
        try:
            found[name] = values if kind == values.type else values.cast(kind)
        except arrow("").ArrowInvalid as error:
            raise CommandError(
                f"{table.title}: values of column {name!r} of its files do not fit in one column of a Parquet file "
                f"({error}). Give --format csv or jsonl."
            ) from None
    return found


def _metadata(table):
    """What a Parquet file says about its columns, such as which of them is an index of pandas."""
    try:
        return arrow("parquet").read_schema(table.files.files[0].path).metadata
    except (arrow("").ArrowInvalid, OSError):
        return None


def _is_number(text):
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _is_missing(cell):
    return cell is None or cell != cell
