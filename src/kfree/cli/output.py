"""Where results go: the path and the format of an output, which is written whole or not at all."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kfree.cli.errors import CommandError, UsageError
from kfree.cli.writers import append_cells, plain, rows_again, write_csv, write_json_lines, write_parquet
from kfree.core.printing import quoted
from kfree.core.replacing import replacing
from kfree.files.places import arrow, is_pipe
from kfree.files.sheets import write_sheet

_ENDINGS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl"}
_ENDINGS |= {".ndjson": "jsonl", ".xlsx": "xlsx"}
# Endings of what is not written. A .csv.gz that is not packed is a file that other programs cannot read.
_OTHER_FORMATS = (".gz", ".bz2", ".xz", ".zip", ".zst", ".arrow", ".feather", ".ipc", ".npy", ".npz", ".xls", ".ods")
_BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


def output_of(input_name, output, format_):
    """The path to write and its format: what was given, else the input's name with .clusters before its ending."""
    if output is None and input_name == "-":
        output = "-"
    if output is None:
        path = Path(input_name.removesuffix(".gz"))
        is_pattern = any(sign in path.name for sign in "*?[") and not Path(input_name).exists()
        if is_pattern or is_pipe(input_name):
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
        if sys.stdout is None:
            raise CommandError("standard output is closed; give a file by --output.")
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
    # None is a file that is no text.
    dialects = {file.text and file.text.dialect for file in table.files.files}
    with written(path) as file:
        if format_ == "csv" and len(dialects) == 1 and None not in dialects:
            n_written = append_cells(table, new, file, _delimiter_of(path), safe)
        elif format_ == "csv":
            n_written = write_csv(rows_again(table, new), file, _delimiter_of(path), safe)
        elif format_ == "jsonl":
            n_written = write_json_lines(rows_again(table, new), file)
        elif format_ == "xlsx":
            n_written = write_sheet(rows_again(table, new), file)
        else:
            n_written = write_parquet(table, new, file)
        _require_all(table, {n_written}, path)


def _require_all(table, counts, path):
    """Raise unless all these are the number of rows of a table."""
    if counts != {table.n_rows}:
        raise CommandError(
            f"{table.title} has {table.n_rows} rows, and labels or rows to write are {quoted(counts)}; {path} was not "
            "written. Please report this, with the file."
        )


def write_columns(path, columns, format_, safe=False):
    """Write named columns of equal length as a table of their own."""
    names = list(columns)
    rows = [(names, zip(*(plain(values) for values in columns.values()), strict=True))]
    with written(path) as file:
        if format_ == "parquet":
            table = arrow("").table({name: plain(values) for name, values in columns.items()})
            arrow("parquet").write_table(table, file)
        elif format_ == "jsonl":
            write_json_lines(rows, file)
        elif format_ == "xlsx":
            write_sheet(rows, file)
        else:
            write_csv(rows, file, _delimiter_of(path), safe)


def _delimiter_of(path):
    """The delimiter that the ending of an output stands for; None if it is that of the input, or a comma."""
    return "\t" if path.lower().endswith(".tsv") else None


def _free_name(name, taken):
    """A name that no column of the input has."""
    while name in taken:
        name = f"kfree_{name}"
    return name


def save_model(model, path):
    """Write a model."""
    with reported(path):
        model.save(path)


def masked_elsewhere(values, kept):
    """Values of the kept rows at their places among all rows, masked elsewhere."""
    if kept.all():
        return values
    filled = np.ma.masked_all(len(kept), values.dtype)
    filled[kept] = values
    return filled
