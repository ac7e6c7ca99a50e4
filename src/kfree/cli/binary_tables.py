"""Reading Parquet, Arrow and .npy files."""

import numpy as np

from kfree.cli.errors import CommandError
from kfree.cli.tables import ARROW, NPY, PARQUET, ArrowTable, Table, arrow, require_unique


def _read_parquet(source, columns):
    parquet = arrow("parquet", f"reading {source.name}")
    try:
        with source.open() as file:
            names = parquet.ParquetFile(file).schema_arrow.names
            require_unique(names, source)
            some = None if columns is None else [name for name in columns if name in names]
            table = parquet.read_table(file, columns=some)
    except (OSError, ValueError) as error:
        raise CommandError(f"{source.name} cannot be read as Parquet: {_first_line(error)}") from error
    return _of_arrow(source, table, columns, names)


def _read_arrow(source, columns):
    ipc = arrow("ipc", f"reading {source.name}")
    try:
        with source.open() as content:
            is_file = content.read(6) == b"ARROW1"
            content.seek(0)
            table = (ipc.open_file(content) if is_file else ipc.open_stream(content)).read_all()
    except (OSError, ValueError) as error:
        raise CommandError(f"{source.name} cannot be read as Arrow: {_first_line(error)}") from error
    require_unique(table.column_names, source)
    return _of_arrow(source, table, columns, table.column_names)


def _of_arrow(source, table, columns, names):
    held = dict(zip(table.column_names, table.columns, strict=True))
    read = ArrowTable(source, held)
    read.source_names = names
    if columns is not None:
        Table(source, dict.fromkeys(names, np.empty(0))).require(columns, "--columns")
    return read


def _read_npy(source, columns):
    try:
        array = np.load(source.open() if source.content is not None else source.name, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CommandError(f"{source.name} cannot be read as .npy: {_first_line(error)}") from error
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise CommandError(
            f"{source.name} holds an array of shape {array.shape} and type {array.dtype}; give numbers of shape "
            "(rows, columns)."
        )
    return Table(source, {f"x{j}": array[:, j] for j in range(array.shape[1])})


def _first_line(error):
    return str(error).strip().split("\n")[0][:200]


READERS = {PARQUET: _read_parquet, ARROW: _read_arrow, NPY: _read_npy}
