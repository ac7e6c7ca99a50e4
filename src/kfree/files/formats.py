"""Formats of files with rows: what a file holds, and its rows from any place on, as arrays.

Each format has two functions. ``describe(path, options)`` reads the head of a file; for text, which does not state its
number of rows, it reads the whole file once. ``read(path, text, columns, begin, end, size)`` yields arrays of at most
about ``size`` rows, one per column: of NumPy for .npy files, of Arrow for others.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.printing import printable
from kfree.files.dialect import TextOptions
from kfree.files.places import arrow, base_name, is_address, opened, opened_by_arrow
from kfree.files.text import TextTable, described_text, read_text, warn_of_encoding

Column = str | int
# Some rows: one array (m,) per column.
Batch = Sequence[Any]
# Bytes of a Parquet column that are read at a time, which bounds the memory where row groups are large.
_BUFFER = 1 << 16
# The type of a file by its first bytes, whatever its name.
_SIGNATURES = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy"}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass(frozen=True)
class ColumnType:
    """What a column holds: "number", "text", or the name of another Arrow type; and the NumPy type of numbers."""

    word: str
    numpy: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.numpy is not None and np.dtype(self.numpy).kind in "iu"


@dataclass(frozen=True)
class Description:
    """The rows of one file: how many there are, the type of every column, and how text is read.

    ``rows_at_once`` is the least number of rows that can be read at a time.
    """

    n_rows: int
    types: dict[Column, ColumnType]
    text: TextTable | None = None
    rows_at_once: int = 1


@dataclass(frozen=True)
class Format:
    """How files of one format are read."""

    describe: Callable[[str, TextOptions], Description]
    read: Callable[[str, Any, Sequence[Column], int, int, int], Iterator[Batch]]


def format_of(path: str) -> Format:
    """The format of a file, by its first bytes, else by the end of its name; text if neither is known."""
    name = base_name(path).lower()
    if name.endswith(_SPREADSHEETS):
        raise ValueError(f"{printable(path)} is a spreadsheet, which kfree does not read. Save it as CSV or Parquet.")
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
        values = (values.cast("uint8") if whole else values).cast("float64").fill_null(np.nan)
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


def _types(names: Sequence[str], types: Sequence[Any]) -> dict[Column, ColumnType]:
    """Types by name; an error if two columns have one name, which could not be told apart."""
    require_distinct(names)
    return {name: _column_type(kind) for name, kind in zip(names, types, strict=True)}


def require_distinct(names: Sequence[str], title: str = "it") -> None:
    """Raise if two columns have one name."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if places.setdefault(name, place) != place:
            raise ValueError(f"{title} has two columns named {name!r}, number {places[name]} and {place}; rename one")


def _column_type(kind: Any) -> ColumnType:
    types = arrow("types")
    if types.is_decimal(kind) or types.is_null(kind):
        return ColumnType("number", "float64")
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return ColumnType("number", str(np.dtype(kind.to_pandas_dtype())))
    held = kind.value_type if types.is_dictionary(kind) else kind
    is_text = types.is_string(held) or types.is_large_string(held) or types.is_dictionary(kind)
    return ColumnType("text" if is_text else str(kind))


@contextmanager
def _parquet(path: str) -> Generator[Any, None, None]:
    """A Parquet file that is read page by page; pyarrow would keep all row groups otherwise."""
    reading = {"buffer_size": _BUFFER, "pre_buffer": False}
    with opened_by_arrow(path) as file, closing(arrow("parquet").ParquetFile(file, **reading)) as parquet:
        yield parquet


def _describe_parquet(path: str, _: TextOptions) -> Description:
    with _parquet(path) as parquet:
        schema = parquet.schema_arrow
        return Description(parquet.metadata.num_rows, _types(schema.names, schema.types))


def _read_parquet(path: str, _: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with _parquet(path) as parquet:
        sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)]
        ends = np.cumsum(sizes, dtype=np.int64)
        wanted = [j for j in range(len(sizes)) if ends[j] > begin and ends[j] - sizes[j] < end]
        if wanted:
            first = int(ends[wanted[0]] - sizes[wanted[0]])
            batches = parquet.iter_batches(size, row_groups=wanted, columns=list(columns))
            yield from _within(batches, columns, begin - first, end - first, size)


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


@contextmanager
def _ipc(path: str, columns: Sequence[str] | None) -> Generator[tuple[Any, Any], None, None]:
    """A reader of some columns of an Arrow file or stream, and the map of the file in memory, None for an address."""
    ipc = arrow("ipc")
    with opened(path) as file:
        mapped = None if is_address(path) else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        source = file if mapped is None else arrow("").py_buffer(mapped)
        is_file = (source.read(6) if mapped is None else mapped[:6]) == b"ARROW1"
        if mapped is None:
            source.seek(0)
        opener = ipc.open_file if is_file else ipc.open_stream
        options = ipc.IpcReadOptions(use_threads=False)
        if columns is not None:
            names = opener(source).schema.names
            if mapped is None:
                source.seek(0)
            options.included_fields = [names.index(name) for name in columns]
        with opener(source, options=options) as reader:
            yield reader, mapped


def _ipc_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _describe_ipc(path: str, _: TextOptions) -> Description:
    with _ipc(path, None) as (reader, _map):
        types = _types(reader.schema.names, reader.schema.types)
    with _ipc(path, reader.schema.names[:1]) as (reader, mapped):
        n_rows, rows_at_once = 0, 1
        for batch in _ipc_batches(reader):
            n_rows += batch.num_rows
            if mapped is None or _is_copied(batch, mapped):
                rows_at_once = max(rows_at_once, batch.num_rows)
    return Description(n_rows, types, rows_at_once=rows_at_once)


def _is_copied(batch: Any, mapped: mmap.mmap) -> bool:
    """Whether a batch was packed, so that its rows are not those of the file itself."""
    begin = np.frombuffer(mapped, np.uint8).ctypes.data
    buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None and buffer.size]
    return not all(begin <= buffer.address < begin + len(mapped) for buffer in buffers)


def _read_ipc(path: str, _: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with _ipc(path, [str(name) for name in columns]) as (reader, mapped):
        for batch in _within(_ipc_batches(reader), columns, begin, end, size):
            yield batch
            if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)  # pages that were read; a fit counts its memory


def _describe_text(path: str, options: TextOptions) -> Description:
    n_rows, table = described_text(path, options)
    types = _types(table.names, table.types)
    warn_of_encoding(table, options)
    return Description(n_rows, types, table)


def _read_text(path: str, text: Any, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    return read_text(text, [str(name) for name in columns], begin, end)


_PARQUET, _IPC = Format(_describe_parquet, _read_parquet), Format(_describe_ipc, _read_ipc)
_TEXT = Format(_describe_text, _read_text)
FORMATS = {
    ".npy": Format(_describe_npy, _read_npy),
    **dict.fromkeys([".parquet", ".pq"], _PARQUET),
    **dict.fromkeys([".arrow", ".feather", ".ipc"], _IPC),
    **dict.fromkeys([".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"], _TEXT),
}
