"""Labels beside the rows that they belong to: CSV, Parquet or JSON lines, written whole or not at all."""

import csv
import io
import json
import sys
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np

from kfree.cli.errors import CommandError, UsageError
from kfree.cli.tables import NPY, PARQUET, TEXT, arrow, read_table
from kfree.core.replacing import replacing

FORMATS = ["csv", "parquet", "jsonl"]
_ENDINGS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl"}
_ENDINGS |= {".ndjson": "jsonl"}
_ROWS_AT_ONCE = 65536


def output_of(input_name, output, format_):
    """The path to write and its format: what was given, else the input's name with .clusters before its ending."""
    if output is None and input_name == "-":
        output = "-"
    if output is None:
        path = Path(input_name)
        parquet = path.suffix.lower() in (".parquet", ".pq", ".arrow", ".feather", ".ipc")
        ending = {"csv": ".csv", "parquet": ".parquet", "jsonl": ".jsonl"}.get(format_)
        ending = ending or (".parquet" if parquet else path.suffix if path.suffix in (".tsv", ".txt") else ".csv")
        output = str(path.with_name(f"{path.stem}.clusters{ending}"))
    format_ = format_ or _ENDINGS.get(Path(output).suffix.lower(), "csv")
    if format_ == "parquet" and output == "-":
        raise UsageError("Parquet is not written to standard output; give --output or --format csv.")
    return output, format_


@contextmanager
def written(path):
    """A binary file that replaces ``path`` when all is written, or standard output for ``-``."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with reported(path), replacing(path) as file:
        yield file


@contextmanager
def reported(path):
    """Turn an OSError about ``path`` into an error of the command."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        kept = " The older file is kept." if Path(path).exists() else " Nothing was written."
        raise CommandError(f"{path} could not be written: {error.strerror or error}.{kept}") from error


def write_beside(table, new, path, format_):
    """Write the input again with further columns ``new``: name to (n,) values, None where there is none.

    ``table`` has source, names and dialect; its columns are read again, so that they need not be kept.
    """
    new = {_free_name(name, table.source_names): values for name, values in new.items()}
    with written(path) as file:
        if format_ == "csv" and table.source.format == TEXT:
            _append_cells(table, new, file)
        elif format_ == "csv":
            _write_csv(_rows_again(table, new), file)
        elif format_ == "jsonl":
            _write_json_lines(_rows_again(table, new), file)
        else:
            _write_parquet(table, new, file)


def write_columns(columns, path, format_):
    """Write named columns of equal length as a table of their own."""
    names = list(columns)
    rows = (dict(zip(names, row, strict=True)) for row in zip(*(plain(v) for v in columns.values()), strict=True))
    with written(path) as file:
        if format_ == "parquet":
            pyarrow, parquet = arrow(), arrow("parquet", "Parquet")
            parquet.write_table(pyarrow.table({name: plain(values) for name, values in columns.items()}), file)
        elif format_ == "jsonl":
            _write_json_lines(rows, file)
        else:
            _write_csv(rows, file)


def save_model(model, path):
    """Write a model."""
    with reported(path):
        model.save(path)


def plain(values):
    """Values as Python objects."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def with_gaps(values, kept):
    """Values of the kept rows at their places among all rows, None elsewhere."""
    if kept.all():
        return values
    filled = np.full(len(kept), None, dtype=object)
    filled[kept] = values
    return filled


def _append_cells(table, new, file):
    """The records of a text table as they stand, each with further cells; nothing is parsed and written anew."""
    dialect = table.dialect
    glue, encoding = dialect.delimiter, dialect.encoding
    text = io.TextIOWrapper(file, encoding, newline="", write_through=True)
    with io.TextIOWrapper(table.source.open(), encoding, newline="") as source:
        blocks = (records for records in record_blocks(source) if records)
        block = next(blocks)
        ending = "\r\n" if block[0].endswith("\r\n") else "\n"
        if dialect.header:
            names = [block.pop(0).rstrip("\r\n"), *(_cell(name, glue) for name in new)]
            text.write(glue.join(names) + ending)
        begin = 0
        for records in chain([block], blocks):
            end = begin + len(records)
            cells = _rendered([values[begin:end] for values in new.values()], glue, ending)
            stripped = [record.rstrip("\r\n") for record in records]
            text.write("".join(chain.from_iterable(zip(stripped, cells, strict=True))))
            begin = end
    text.flush()
    text.detach()


def _rendered(columns, glue, ending):
    """For each row the cells of some columns as the end of a record."""
    texts = [["" if cell is None else str(cell) for cell in plain(values)] for values in columns]
    if len(texts) == 1:
        return [glue + cell + ending for cell in texts[0]]
    return [glue + glue.join(cells) + ending for cells in zip(*texts, strict=True)]


def record_blocks(lines):
    """The records of a CSV text in lists: lines, joined where a quoted cell goes on; empty ones are left out."""
    lines, pending = iter(lines), []
    while block := list(islice(lines, _ROWS_AT_ONCE)):
        if pending or '"' in "".join(block):
            block, pending = _joined(pending + block)
        yield [record for record in block if record.strip("\r\n")]
    if pending:
        yield ["".join(pending)]


def _joined(lines):
    """Whole records, and the lines of one that goes on."""
    records, pending, n_quotes = [], [], 0
    for line in lines:
        pending.append(line)
        n_quotes += line.count('"')
        if n_quotes % 2 == 0:
            records.append("".join(pending))
            pending, n_quotes = [], 0
    return records, pending


def _rows_again(table, new):
    """The rows of the input, read again, as dicts with the new columns."""
    again = _read_again(table)
    names = [] if table.source.format == NPY else again.names
    columns = {name: again.values(name) for name in names}
    columns = {"row": np.arange(1, table.n_rows + 1)} | new if not columns else columns | new
    for begin in range(0, table.n_rows, _ROWS_AT_ONCE):
        part = [plain(values[begin : begin + _ROWS_AT_ONCE]) for values in columns.values()]
        for row in zip(*part, strict=True):
            yield dict(zip(columns, row, strict=True))


def _read_again(table):
    dialect = table.dialect
    if dialect is None:
        return read_table(table.source)
    return read_table(table.source, encoding=dialect.encoding, delimiter=dialect.delimiter, header=dialect.header)


def _write_csv(rows, file):
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(row)
        writer.writerow("" if _is_missing(cell) else cell for cell in row.values())
    text.flush()
    text.detach()


def _write_json_lines(rows, file):
    for row in rows:
        clean = {name: None if _is_missing(cell) else cell for name, cell in row.items()}
        file.write(json.dumps(clean, ensure_ascii=False, default=str).encode() + b"\n")


def _write_parquet(table, new, file):
    pyarrow, parquet = arrow(), arrow("parquet", "writing Parquet")
    if table.source.format == PARQUET:
        with table.source.open() as source:
            again = parquet.read_table(source)
    else:
        read = _read_again(table)
        names = [] if table.source.format == NPY else read.names
        again = pyarrow.table({name: read.column(name) for name in names})
        if not names:
            again = pyarrow.table({"row": np.arange(1, table.n_rows + 1)})
    for name, values in new.items():
        again = again.append_column(name, pyarrow.array(plain(values)))
    parquet.write_table(again, file)


def _free_name(name, taken):
    """A name that no column of the input has."""
    while name in taken:
        name = f"kfree_{name}"
    return name


def _cell(text, delimiter):
    """One cell of a CSV record."""
    needs_quotes = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def _is_missing(cell):
    return cell is None or cell != cell
