"""Labels beside the rows that they belong to: CSV, Parquet, JSON lines or .xlsx, written whole or not at all."""

import codecs
import csv
import io
import json
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kfree.cli.errors import CommandError, UsageError
from kfree.clustering import assigning
from kfree.core.printing import quoted
from kfree.core.replacing import replacing
from kfree.files.places import arrow, is_pipe
from kfree.files.records import split_records
from kfree.files.sheets import write_sheet
from kfree.files.text import cells_of

_ENDINGS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl"}
_ENDINGS |= {".ndjson": "jsonl", ".xlsx": "xlsx"}
# Endings of what is not written. A .csv.gz that is not packed is a file that other programs cannot read.
_OTHER_FORMATS = (".gz", ".bz2", ".xz", ".zip", ".zst", ".arrow", ".feather", ".ipc", ".npy", ".npz", ".xls", ".ods")
_BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
# Spreadsheets take a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def output_of(input_name, output, format_):
    """The path to write and its format: what was given, else the input's name with .clusters before its ending."""
    if output is None and input_name == "-":
        output = "-"
    if output is None:
        path = Path(input_name.removesuffix(".gz"))
        if any(sign in path.name for sign in "*?[") or is_pipe(input_name):
            raise UsageError("--output is needed where the input is a pattern or a pipe")
        suffix = path.suffix.lower()
        found = ".parquet" if suffix in _BINARY else suffix if suffix in (".tsv", ".txt", ".xlsx") else ".csv"
        ending = found if format_ is None else f".{format_}"
        output = str(path.with_name(f"{path.name if path.is_dir() else path.stem}.clusters{ending}"))
    ending = Path(output).suffix.lower()
    if format_ is None and ending in _OTHER_FORMATS:
        raise UsageError(f"--output {output}: {ending} is not written; use one of {', '.join(_ENDINGS)}, or --format")
    format_ = format_ or _ENDINGS.get(ending, "csv")
    if format_ in ("parquet", "xlsx") and output == "-":
        raise UsageError(f"{format_} is not written to standard output; give --output or --format csv.")
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


def write_beside(table, new, path, format_, safe=False):
    """Write the input again with further columns ``new``: name to (n,) values, masked where there is none.

    The input is read again, so that its columns need not be kept. An error is raised unless every row is written with
    its values. ``safe`` puts an apostrophe before cells that a spreadsheet would take for formulas.
    """
    new = {_free_name(name, table.names): values for name, values in new.items()}
    _require_all(table, {len(values) for values in new.values()}, path)
    text = {file.text.dialect for file in table.files.files if file.text}
    with written(path) as file:
        if format_ == "csv" and len(text) == 1:
            n_written = _append_cells(table, new, file, safe)
        elif format_ == "csv":
            n_written = _write_csv(_rows_again(table, new), file, safe)
        elif format_ == "jsonl":
            n_written = _write_json_lines(_rows_again(table, new), file)
        elif format_ == "xlsx":
            n_written = write_sheet(_rows_again(table, new), file)
        else:
            n_written = _write_parquet(table, new, file)
        _require_all(table, {n_written}, path)


def _require_all(table, counts, path):
    """Raise unless all these are the number of rows of a table."""
    if counts != {table.n_rows}:
        raise CommandError(
            f"{table.title} has {table.n_rows} rows, and labels or rows to write are {quoted(counts)}; {path} was not "
            "written. Please report this, with the file."
        )


def write_columns(columns, path, format_, safe=False):
    """Write named columns of equal length as a table of their own."""
    names = list(columns)
    rows = [(names, zip(*(plain(values) for values in columns.values()), strict=True))]
    with written(path) as file:
        if format_ == "parquet":
            table = arrow("").table({name: plain(values) for name, values in columns.items()})
            arrow("parquet").write_table(table, file)
        elif format_ == "jsonl":
            _write_json_lines(rows, file)
        elif format_ == "xlsx":
            write_sheet(rows, file)
        else:
            _write_csv(rows, file, safe)


def save_model(model, path):
    """Write a model."""
    with reported(path):
        model.save(path)


def scores_of(model, X):
    """How certain the label of each row is, and how far it is out, as columns."""
    if not hasattr(model, "confidence") or not hasattr(model, "outlier_score"):
        raise UsageError(f"--scores is not available for a {type(model).__name__}")
    return assigning.scores_of(model, X)


def plain(values):
    """Values as Python objects."""
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values.tolist())


def with_gaps(values, kept):
    """Values of the kept rows at their places among all rows, masked elsewhere."""
    if kept.all():
        return values
    filled = np.ma.masked_all(len(kept), values.dtype)
    filled[kept] = values
    return filled


def _append_cells(table, new, file, safe):
    """The records of text files as they stand, each with further cells; nothing is parsed and written anew."""
    texts = [file.text for file in table.files.files]
    dialect = texts[0].dialect
    glue, encode = dialect.delimiter, codecs.getincrementalencoder(dialect.encoding)().encode
    heading, ending = texts[0].heading()
    stated = (lambda record: _safe_record(record, glue)) if safe else (lambda record: record)
    if dialect.header:
        names = [stated(heading), *(_cell(name, glue) for name in new)]
        file.write(encode(glue.join(names) + ending))
    begin = 0
    for block in (block for text in texts for block in text.blocks()):
        records = split_records(block, glue)
        cells = [_rendered(values[begin : begin + len(records)]) for values in new.values()]
        rows = zip(map(stated, (record.decode() for record in records)), *cells, strict=True)
        file.write(encode("".join(glue.join(row) + ending for row in rows)))
        begin += len(records)
    return begin


def _rendered(values):
    return ["" if cell is None else str(cell) for cell in plain(values)]


def _rows_again(table, new):
    """The rows of the input, read again: for each batch names and rows of values, the new columns last."""
    begin, table = 0, table.as_written()
    for batch in table.batches(table.names):
        end = begin + len(next(iter(batch.values())))
        columns = {"row": np.arange(begin + 1, end + 1)} if table.is_array else batch
        columns = columns | {name: values[begin:end] for name, values in new.items()}
        yield list(columns), zip(*map(plain, columns.values()), strict=True)
        begin = end


def _write_csv(batches, file, safe):
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer, n_rows = csv.writer(text, lineterminator="\n"), 0
    for names, rows in batches:
        if n_rows == 0:
            writer.writerow(map(_safe, names) if safe else names)
        for row in rows:
            cells = ["" if _is_missing(cell) else cell for cell in row]
            writer.writerow([_safe(cell) if isinstance(cell, str) else cell for cell in cells] if safe else cells)
            n_rows += 1
    text.flush()
    text.detach()
    return n_rows


def _write_json_lines(batches, file):
    n_rows = 0
    for names, rows in batches:
        for row in rows:
            cells = {name: None if _is_missing(cell) else cell for name, cell in zip(names, row, strict=True)}
            file.write(json.dumps(cells, ensure_ascii=False, default=str).encode() + b"\n")
            n_rows += 1
    return n_rows


def _write_parquet(table, new, file):
    pa, parquet = arrow(""), arrow("parquet")
    writer, begin, table = None, 0, table.as_written()
    for batch in table.batches(table.names):
        end = begin + len(next(iter(batch.values())))
        columns = {"row": np.arange(begin + 1, end + 1)} if table.is_array else batch
        part = pa.table(columns | {name: pa.array(values[begin:end]) for name, values in new.items()})
        if writer is None:
            part = part.replace_schema_metadata(_metadata(table))
            writer = parquet.ParquetWriter(file, part.schema)
        writer.write_table(part.replace_schema_metadata(writer.schema.metadata).cast(writer.schema))
        begin = end
    writer.close()
    return begin


def _metadata(table):
    """What a Parquet file says about its columns, such as which of them is an index of pandas."""
    try:
        return arrow("parquet").read_schema(table.files.files[0].path).metadata
    except (arrow("").ArrowInvalid, OSError):
        return None


def _free_name(name, taken):
    """A name that no column of the input has."""
    while name in taken:
        name = f"kfree_{name}"
    return name


def _safe(text):
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _safe_record(record, delimiter):
    return delimiter.join(_cell(_safe(cell), delimiter) for cell in cells_of(record.encode(), delimiter))


def _is_number(text):
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _cell(text, delimiter):
    """One cell of a CSV record."""
    needs_quotes = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def _is_missing(cell):
    return cell is None or cell != cell
