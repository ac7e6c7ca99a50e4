"""Formats of files with rows: what a file holds, and its rows from any place on, as arrays.

Each format has two functions. ``describe(path, options)`` reads the head of a file; for text, which does not state its
number of rows, it reads the whole file once. ``read(path, text, columns, begin, end, size)`` yields arrays of at most
``size`` rows, one per column: of NumPy for .npy files, of Arrow for others. Those of text end where a block of it does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.printing import printable
from kfree.files.dialect import TextOptions
from kfree.files.ipc import opened_ipc
from kfree.files.places import arrow, base_name, opened, opened_by_arrow
from kfree.files.sheets import described_sheet, read_sheet
from kfree.files.text import TextFormat, described_text, read_text, require_distinct, warn_of_encoding

Column = str | int
# Some rows: one array (m,) per column.
Batch = Sequence[Any]
# Bytes of a Parquet column that are read at a time, which bounds the memory where row groups are large.
_BUFFER = 1 << 16
# What pyarrow keeps for a Parquet column while it is read, in sizes of a page (or of all pages, if they are smaller),
# and for the description of a column in a row group; what a block of text takes.
_PAGE, _PAGES_HELD, _PER_COLUMN_CHUNK, _TEXT_BYTES = 1 << 20, 3, 1000, 1 << 22
# Pages of less than 16 kB, of 20,000 values as pyarrow writes them, stay in its buffer until a row group ends.
_SMALL_PAGES = 0.82
# A value of a packed column, as it is in the file and unpacked.
_UNPACKED_BYTES = 16
# The type of a file by its first bytes, whatever its name.
_SIGNATURES = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"PK\x03\x04": ".xlsx"}
# What files are that kfree does not read, by their endings.
_OTHERS = {
    **dict.fromkeys([".xls", ".xlsb", ".ods", ".numbers"], "a spreadsheet"),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], "JSON"),
    **dict.fromkeys([".zip", ".tar", ".7z", ".npz"], "an archive"),
    **dict.fromkeys([".bz2", ".xz", ".zst", ".lz4"], "packed by another program than gzip"),
}


@dataclass(frozen=True)
class ColumnType:
    """What a column holds: "number", "text", or the name of another Arrow type; and the NumPy type of numbers.

    ``arrow`` is the type as it is read; None for .npy files.
    """

    word: str
    numpy: str | None = None
    arrow: Any = None


@dataclass(frozen=True)
class Description:
    """The rows of one file: how many there are, the type of every column, and how text is read.

    To read it takes ``reading_bytes`` for the file, and ``column_bytes`` for every column.
    """

    n_rows: int
    types: dict[Column, ColumnType]
    text: TextFormat | None = None
    reading_bytes: int = 0
    column_bytes: int = 0


@dataclass(frozen=True)
class Format:
    """How files of one format are read."""

    describe: Callable[[str, TextOptions], Description]
    read: Callable[[str, Any, Sequence[Column], int, int, int], Iterator[Batch]]


def format_of(path: str) -> Format:
    """The format of a file, by its first bytes, else by the end of its name; text if neither is known."""
    name = base_name(path).lower()
    if other := next((what for ending, what in _OTHERS.items() if name.endswith(ending)), None):
        raise ValueError(
            f"{printable(path)} is {other}, which kfree does not read. Save it as CSV, Parquet, .xlsx or .npy."
        )
    with opened(path) as file:
        head = file.read(8)
    ending = next((ending for signature, ending in _SIGNATURES.items() if head.startswith(signature)), None)
    ending = ending or next((ending for ending in FORMATS if name.endswith(ending)), ".csv")
    return FORMATS[ending]


def as_numbers(values: Any) -> NDArray[Any]:
    """An array of numbers; missing values become NaN."""
    if isinstance(values, np.ndarray):
        return values
    types = arrow("types")
    if types.is_decimal(values.type) or types.is_null(values.type):
        values = values.cast("float64")
    if values.null_count:
        whole = types.is_boolean(values.type)
        values = (values.cast("uint8") if whole else values).cast("float64", safe=False).fill_null(np.nan)
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _describe_npy(path: str, _: TextOptions) -> Description:
    with opened(path) as file:
        shape, _by_column, dtype, _begin = _npy_header(file)
    kind = ColumnType("number", str(dtype)) if dtype.kind in "fiub" else ColumnType(str(dtype))
    return Description(shape[0], dict.fromkeys(range(shape[1]), kind))


def _npy_header(file: Any) -> tuple[tuple[int, int], bool, np.dtype[Any], int]:
    """Shape, whether columns are contiguous, type, and where the rows begin."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    if len(shape) != 2 or min(shape) < 0 or dtype.hasobject:
        raise ValueError(f"it holds an array of shape {shape} and type {dtype}, not numbers of shape (rows, columns)")
    begin = file.tell()
    missing = begin + dtype.itemsize * shape[0] * shape[1] - file.seek(0, 2)
    if missing > 0:
        raise ValueError(f"it is truncated: {missing} bytes are missing")
    return shape, by_column, dtype, begin


def _read_npy(path: str, _: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
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


def _types(path: str, schema: Any) -> dict[Column, ColumnType]:
    """Types by name; an error if two columns have one name, which could not be told apart."""
    require_distinct(schema.names, printable(path))
    return _types_of(schema)


def _types_of(table: Any) -> dict[Column, ColumnType]:
    return {name: column_type(kind) for name, kind in zip(table.names, table.types, strict=True)}


def column_type(kind: Any) -> ColumnType:
    """What a column of an Arrow type holds."""
    types = arrow("types")
    if types.is_decimal(kind) or types.is_null(kind):
        return ColumnType("number", "float64", kind)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return ColumnType("number", str(np.dtype(kind.to_pandas_dtype())), kind)
    held = kind.value_type if types.is_dictionary(kind) else kind
    is_text = types.is_string(held) or types.is_large_string(held) or types.is_dictionary(kind)
    return ColumnType("text" if is_text else str(kind), None, kind)


@contextmanager
def _parquet(path: str) -> Generator[Any, None, None]:
    """A Parquet file that is read page by page; pyarrow would keep all row groups otherwise."""
    reading = {"buffer_size": _BUFFER, "pre_buffer": False}
    with opened_by_arrow(path) as file, closing(arrow("parquet").ParquetFile(file, **reading)) as parquet:
        yield parquet


def _describe_parquet(path: str, _: TextOptions) -> Description:
    with _parquet(path) as parquet:
        about, types = parquet.metadata, _types(path, parquet.schema_arrow)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        largest = max(groups, key=lambda group: group.num_rows, default=None)
        columns = [] if largest is None else [largest.column(j) for j in range(about.num_columns)]
        reading = _PER_COLUMN_CHUNK * about.num_columns * about.num_row_groups
        return Description(about.num_rows, types, None, reading, max(map(_bytes_to_read, columns), default=0))


def _bytes_to_read(column: Any) -> int:
    """What a column of a row group takes while it is read."""
    small = min(column.total_compressed_size, int(_SMALL_PAGES * column.num_values))
    return int(_PAGES_HELD * min(_PAGE, column.total_uncompressed_size) + small)


def _read_parquet(path: str, _: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with _parquet(path) as parquet:
        sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)]
        ends = np.cumsum(sizes, dtype=np.int64)
        wanted = [j for j in range(len(sizes)) if ends[j] > begin and ends[j] - sizes[j] < end]
        if wanted:
            first = int(ends[wanted[0]] - sizes[wanted[0]])
            # Threads of pyarrow would keep pages of several columns, and memory that no other thread can use.
            batches = parquet.iter_batches(size, row_groups=wanted, columns=list(columns), use_threads=False)
            for batch in _within(batches, columns, begin - first, end - first, size):
                yield batch
                arrow("").default_memory_pool().release_unused()


def _within(batches: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    """The rows ``begin`` … ``end`` − 1 of all batches together."""
    for batch in batches:
        if end <= 0:
            return
        last = min(batch.num_rows, end)
        for first in range(max(begin, 0), last, size):
            rows = batch.slice(first, min(size, last - first))
            yield [rows.column(rows.schema.get_field_index(name)) for name in columns]
        begin, end = begin - batch.num_rows, end - batch.num_rows


def _describe_ipc(path: str, _: TextOptions) -> Description:
    with opened_ipc(path) as file:
        types = _types(path, file.schema)
        heads = list(file.heads())
    packed = max((n_rows for n_rows, is_costly in heads if is_costly), default=0)
    return Description(sum(n_rows for n_rows, _ in heads), types, column_bytes=_UNPACKED_BYTES * packed)


def _read_ipc(path: str, _: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with opened_ipc(path) as file:
        for batch in _within(file.batches([str(name) for name in columns]), columns, begin, end, size):
            yield batch
            file.forget()


def _describe_text(path: str, options: TextOptions) -> Description:
    n_rows, table = described_text(path, options)
    warn_of_encoding(table, options)
    return Description(n_rows, _types_of(table), table, _TEXT_BYTES)


def _read_text(path: str, text: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    return read_text(text, [str(name) for name in columns], begin, end, size)


def _describe_sheet(path: str, options: TextOptions) -> Description:
    n_rows, table = described_sheet(path, options)
    return Description(n_rows, _types_of(table), table, _TEXT_BYTES)


_PARQUET, _IPC = Format(_describe_parquet, _read_parquet), Format(_describe_ipc, _read_ipc)
_TEXT = Format(_describe_text, _read_text)
FORMATS = {
    ".npy": Format(_describe_npy, _read_npy),
    **dict.fromkeys([".parquet", ".pq"], _PARQUET),
    **dict.fromkeys([".arrow", ".feather", ".ipc"], _IPC),
    **dict.fromkeys([".xlsx", ".xlsm"], Format(_describe_sheet, read_sheet)),
    **dict.fromkeys([".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"], _TEXT),
}
