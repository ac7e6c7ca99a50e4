"""Formats of files with rows: what a file holds, and its rows from any place on, as arrays.

Each format has two functions. ``describe(path)`` reads the head of a file; for CSV, which does not state its number of
rows, it reads the whole file once. ``read(path, columns, begin, end, size)`` yields arrays of at most about ``size``
rows, one per column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.files.places import arrow, base_name, opened, opened_by_arrow

Column = str | int
# Some rows: one array (m,) per column.
Batch = Sequence[NDArray[Any]]
# Bytes of a Parquet column that are read at a time, which bounds the memory where row groups are large.
_BUFFER = 1 << 20


@dataclass(frozen=True)
class Description:
    """The rows of one file: how many there are, and the NumPy type of every column, None where that is no number."""

    n_rows: int
    types: dict[Column, str | None]


@dataclass(frozen=True)
class Format:
    """How files of one format are read."""

    describe: Callable[[str], Description]
    read: Callable[[str, Sequence[Column], int, int, int], Iterator[Batch]]


def format_of(path: str) -> Format:
    """The format of a file, by the end of its name."""
    name = base_name(path).lower()
    for ending, known in FORMATS.items():
        if name.endswith(ending):
            return known
    raise ValueError(f"{path}: the format is not known. Names of files end with one of {', '.join(FORMATS)}.")


def _describe_npy(path: str) -> Description:
    with opened(path) as file:
        shape, _, dtype, _ = _npy_header(file)
    is_number = dtype.kind in "fiub"
    return Description(shape[0], {j: str(dtype) if is_number else None for j in range(shape[1])})


def _npy_header(file: Any) -> tuple[tuple[int, int], bool, np.dtype[Any], int]:
    """Shape, whether columns are contiguous, type, and where the rows begin."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    if len(shape) != 2 or dtype.hasobject:
        raise ValueError(f"it holds an array of shape {shape} and type {dtype}, not a table of numbers")
    begin = file.tell()
    missing = begin + dtype.itemsize * shape[0] * shape[1] - file.seek(0, 2)
    if missing > 0:
        raise ValueError(f"it is truncated: {missing} bytes are missing")
    return shape, by_column, dtype, begin


def _read_npy(path: str, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with opened(path) as file:
        (n_rows, n_columns), by_column, dtype, start = _npy_header(file)
        for first in range(begin, end, size):
            n = min(size, end - first)
            if by_column:
                places = [start + dtype.itemsize * (n_rows * int(j) + first) for j in columns]
                yield [_numbers(file, place, n, dtype) for place in places]
            else:
                place = start + dtype.itemsize * n_columns * first
                table = _numbers(file, place, n * n_columns, dtype).reshape(n, n_columns)
                yield [table[:, int(j)] for j in columns]


def _numbers(file: Any, place: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    file.seek(place)
    return np.frombuffer(file.read(count * dtype.itemsize), dtype, count)


def _numpy_type(kind: Any) -> str | None:
    """The NumPy type of an Arrow type, None where that is no number."""
    types = arrow("types")
    if types.is_decimal(kind):
        return "float64"
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return str(np.dtype(kind.to_pandas_dtype()))
    return None


def _types(schema: Any) -> dict[Column, str | None]:
    return {field.name: _numpy_type(field.type) for field in schema}


def _arrays(batch: Any, columns: Sequence[Column]) -> Batch:
    """Columns of a record batch; missing values become NaN."""
    return [_array(batch.column(batch.schema.get_field_index(name))) for name in columns]


def _array(column: Any) -> NDArray[Any]:
    if arrow("types").is_decimal(column.type):
        column = column.cast("float64")
    if column.null_count:
        column = column.cast("float64").fill_null(np.nan)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _describe_parquet(path: str) -> Description:
    with opened_by_arrow(path) as file, closing(arrow("parquet").ParquetFile(file)) as parquet:
        return Description(parquet.metadata.num_rows, _types(parquet.schema_arrow))


def _read_parquet(path: str, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with opened_by_arrow(path) as file, closing(arrow("parquet").ParquetFile(file, buffer_size=_BUFFER)) as parquet:
        sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)]
        ends = np.cumsum(sizes, dtype=np.int64)
        wanted = [j for j in range(len(sizes)) if ends[j] > begin and ends[j] - sizes[j] < end]
        if wanted:
            first = int(ends[wanted[0]] - sizes[wanted[0]])
            batches = parquet.iter_batches(size, row_groups=wanted, columns=list(columns))
            yield from _within(batches, columns, begin - first, end - first)


def _within(batches: Any, columns: Sequence[Column], begin: int, end: int) -> Iterator[Batch]:
    """The rows ``begin`` … ``end`` − 1 of all batches together."""
    for batch in batches:
        if end <= 0:
            return
        first, last = max(begin, 0), min(batch.num_rows, end)
        if first < last:
            yield _arrays(batch.slice(first, last - first), columns)
        begin, end = begin - batch.num_rows, end - batch.num_rows


def _describe_ipc(path: str) -> Description:
    with opened_by_arrow(path) as file, arrow("ipc").open_file(file) as reader:
        n_rows = sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))
        return Description(n_rows, _types(reader.schema))


def _read_ipc(path: str, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with opened_by_arrow(path) as file, arrow("ipc").open_file(file) as reader:
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        yield from _within(batches, columns, begin, end)


def _csv_reader(file: Any, columns: Sequence[Column] | None, types: dict[Column, str] | None = None) -> Any:
    convert = arrow("csv").ConvertOptions(include_columns=columns, column_types=types)
    return arrow("csv").open_csv(file, convert_options=convert)


def _csv_source(file: Any, path: str) -> Any:
    return arrow("").CompressedInputStream(file, "gzip") if base_name(path).lower().endswith(".gz") else file


def _describe_csv(path: str) -> Description:
    with opened_by_arrow(path) as file, _csv_reader(_csv_source(file, path), None) as reader:
        # Whole numbers at the beginning may be followed by others: all numbers of a CSV file are float64.
        types = {name: kind and "float64" for name, kind in _types(reader.schema).items()}
    numbers = [name for name, kind in types.items() if kind]
    if not numbers:
        return Description(0, types)
    first = numbers[:1]
    with opened_by_arrow(path) as file, _csv_reader(_csv_source(file, path), first, {first[0]: "float64"}) as reader:
        return Description(sum(batch.num_rows for batch in reader), types)


def _read_csv(path: str, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    types: dict[Column, str] = dict.fromkeys(columns, "float64")
    with opened_by_arrow(path) as file, _csv_reader(_csv_source(file, path), list(columns), types) as reader:
        yield from _within(reader, columns, begin, end)


_PARQUET, _IPC = Format(_describe_parquet, _read_parquet), Format(_describe_ipc, _read_ipc)
_CSV = Format(_describe_csv, _read_csv)
FORMATS = {
    ".npy": Format(_describe_npy, _read_npy),
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _IPC,
    ".feather": _IPC,
    ".csv": _CSV,
    ".csv.gz": _CSV,
}
