"""``open_rows``: a description of the rows of files. Nothing is read but what states their number and types."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.exact import rounded_number
from kfree.core.printing import printable, quoted
from kfree.core.stats import Floats
from kfree.files.chunks import Chunk, joined_batches
from kfree.files.dialect import TextOptions
from kfree.files.formats import Column, as_numbers
from kfree.files.places import arrow
from kfree.files.table import (
    BATCH_BYTES,
    FileBatch,
    FileTable,
    RowFile,
    batches_of,
    column_name,
    mistake_in,
    open_table,
    require_same_columns,
)

# What readers may take beside the memory: a share of it, or so many bytes.
_READING_SHARE, _READING_BYTES = 1 / 8, 10**6


@dataclass(frozen=True)
class FileRows:
    """Rows of files, numbered from 0 over all files in order. Made by :func:`open_rows`; can be pickled.

    Attributes
    ----------
    files : tuple of RowFile
        Path, number of rows and stamp of each file.
    columns : tuple of str or int
        The columns that are read, by name, or by number in .npy files.
    weight : str, int or None
        The column with the weights of the rows.
    dtype : "float32" or "float64"
        The type of the arrays that rows are read into; float32 if all columns of all files are.
    encoder : a fitted transformer such as TableEncoder, or None
        What turns a table with these columns into rows of numbers.
    """

    files: tuple[RowFile, ...]
    columns: tuple[Column, ...]
    weight: Column | None
    dtype: str
    encoder: Any = None

    @property
    def n_rows(self) -> int:
        return sum(file.n_rows for file in self.files)

    @property
    def n_features(self) -> int:
        return len(self.columns if self.encoder is None else self.encoder.get_feature_names_out())

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_features

    @property
    def n_bytes(self) -> int:
        """Bytes of the files."""
        return sum(file.stamp.size for file in self.files)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, None where they are numbers."""
        if self.encoder is not None:
            return [str(name) for name in self.encoder.get_feature_names_out()]
        return [str(name) for name in self.columns] if isinstance(self.columns[0], str) else None

    @property
    def digest(self) -> str:
        """A hash of this description: files with their stamps, columns, weight and encoding."""
        encoding = None if self.encoder is None else self.encoder.describe()
        said = repr((self.files, self.columns, self.weight, self.dtype, encoding))
        return hashlib.sha256(said.encode()).hexdigest()

    def chunks(self, begin: int, end: int, size: int, missing: bool = False) -> Generator[Chunk, None, None]:
        """The rows ``begin`` … ``end`` − 1 in order, in chunks of ``size`` rows of which the last may be shorter.

        Where files begin and end leaves no trace. Every file is checked before and after it was read: one that has
        changed, or that holds NaN or infinity, raises an error that names it. With ``missing``, NaN is allowed.
        """
        batches = self._batches(begin, end, size)
        names = self.columns if self.encoder is None else self.encoder.get_feature_names_out().tolist()
        return joined_batches(batches, begin, end, size, names, self.weight, self.dtype, missing)

    def _batches(self, begin: int, end: int, most_rows: int) -> Iterator[FileBatch]:
        columns = (*self.columns, *(() if self.weight is None else (self.weight,)))
        size = max(1, min(BATCH_BYTES // (8 * len(columns)), most_rows))
        for batch in batches_of(self.files, columns, begin, end, size):
            yield FileBatch(batch.path, batch.first_row, self._numbers(batch.path, batch.columns))

    def _numbers(self, path: str, values: Sequence[Any]) -> list[NDArray[Any]]:
        if self.encoder is None:
            known = (*self.columns, self.weight)
            return [_exact(column, name, path) for column, name in zip(values, known, strict=False)]
        names, n_columns = [column_name(column) for column in self.columns], len(self.columns)
        rows = np.asarray(self.encoder.transform(arrow("").table(list(values[:n_columns]), names)))
        return [*rows.T, *(as_numbers(column) for column in values[n_columns:])]

    def memory_for_fit(self, memory: int, least: int) -> int:
        """What is left of a limit of memory beside the readers of the files; an error if that is less than ``least``.

        A limit below ``least`` is returned as it is.

        Readers take little, unless a file has large row groups, or packs many rows together. A small share of the limit
        is not counted, so that results are those of other formats.
        """
        file = max(self.files, key=self._reading_bytes)
        needed = self._reading_bytes(file)
        left = memory if needed <= max(_READING_SHARE * memory, _READING_BYTES) else memory - needed
        if memory < least:
            return memory  # too little without any reader, which the plan of the fit says of the number that was given
        if left < least:
            raise ValueError(
                f"memory={memory} bytes is not enough for {printable(file.path)}: to read its row groups or record "
                f"batches takes {needed} bytes, and the fit {least}. Give at least {needed + least} bytes, or write "
                "smaller ones."
            )
        return left

    def _reading_bytes(self, file: RowFile) -> int:
        return file.reading_bytes + file.column_bytes * len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        weight = "" if self.weight is None else f", weight={self.weight!r}"
        return (
            f"FileRows({self.n_rows} rows of {self.n_features} columns in {len(self.files)} files, "
            f"{self.n_bytes} bytes{weight})"
        )


def _exact(values: Any, name: Column | None, path: str) -> NDArray[Any]:
    """A column as numbers; an error if float64 rounds one."""
    if isinstance(values, np.ndarray):
        present = values
    else:
        present = values.drop_null().to_numpy() if arrow("types").is_integer(values.type) else np.empty(0)
    found = rounded_number(present)
    if found is not None:
        raise ValueError(
            f"{printable(path)}: column {name!r} holds {found}, a whole number that float64 rounds. Leave out columns "
            "that name rows."
        )
    return as_numbers(values)


def open_rows(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: Sequence[Column] | None = None,
    weight: Column | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    thousands: str | None = None,
    na: Sequence[str] = (),
) -> FileRows:
    """Describe the rows of files, for ``fit`` and ``predict`` of :class:`kfree.DPMeans` and :class:`kfree.KMeans`.

    Parameters
    ----------
    paths : str, path, or list of these
        Files, folders or patterns such as ``"trips/*.parquet"``: .npy, Parquet, Arrow (file or stream), the first sheet
        of .xlsx (which needs openpyxl), CSV and TSV, which may be packed by gzip. The first bytes decide, then
        the name (.npy, .parquet, .pq, .arrow, .feather, .ipc, .xlsx); other files are text. Addresses that pyarrow.fs
        reads, such as s3://, gs:// and hdfs://, are allowed. Files keep the order given; those of a pattern or folder
        are sorted by name.
    columns : list of str or int, default=None
        The columns to use, by name, or by number in .npy files; None uses all but ``weight``.
    weight : str or int, default=None
        The column with the weight of each row; None counts every row once.
    delimiter, decimal, encoding : str, default=None
        How text is written; None infers it from the first megabyte of each file.
    header : bool, default=None
        Whether the first line of text holds names; None infers it. Columns without names are called "column 1", ….
    thousands : str, default=None
        The mark between thousands in numbers of text, such as "," or ".".
    na : list of str, default=()
        Further cells of text that stand for a missing value.

    Returns
    -------
    rows : FileRows
        A description, not the rows. It states the size of every file and when it was written; a fit raises an error
        if a file changes later.

    Notes
    -----
    Only the heads of files are read, except for text, all of whose rows are read once, and Arrow, all of whose batches
    are. A text file is also read from its beginning wherever a part of it is asked for. Convert large ones to Parquet.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from kfree import DPMeans, open_rows
    >>> folder = Path(tempfile.mkdtemp())
    >>> for number in range(2):
    ...     np.save(folder / f"{number}.npy", np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 9.0]]) + number / 10)
    >>> rows = open_rows(folder / "*.npy")
    >>> rows.shape
    (6, 2)
    >>> DPMeans(lam=5.0).fit(rows).n_clusters_
    2
    """
    text = TextOptions.of(
        delimiter=delimiter, decimal=decimal, encoding=encoding, header=header, thousands=thousands, na=na
    )
    table, described = open_table(paths, text)
    if columns is None:
        require_same_columns(table, described, "Give columns, by name, that all files have.")
    names = _chosen(table, columns, weight)
    for file, one in zip(table.files, described, strict=True):
        for name in [*names, *([] if weight is None else [weight])]:
            _require_numbers(file, one.types, name, "weight" if name == weight else "columns")
    if not table.n_rows:
        raise ValueError(
            f"{printable(table.files[0].path)} and {len(described) - 1} other file(s) have no rows. Give files that "
            "have rows."
        )
    return rows_of(table, names, weight)


def rows_of(table: FileTable, columns: Sequence[Column], weight: Column | None = None, encoder: Any = None) -> FileRows:
    """Columns of a table as rows of numbers; ``encoder`` makes numbers of other columns."""
    is_short = encoder is None and all(table.types[name].numpy in ("float32", "float16") for name in columns)
    return FileRows(table.files, tuple(columns), weight, "float32" if is_short else "float64", encoder)


def _chosen(table: FileTable, columns: Sequence[Column] | None, weight: Column | None) -> list[Column]:
    """The columns of the rows: those that were asked for, or all but the weight."""
    chosen = [name for name in table.types if name != weight] if columns is None else list(columns)
    if isinstance(columns, str) or not chosen:
        path = printable(table.files[0].path)
        raise ValueError(f"columns={columns!r} is not allowed; give a list of columns of {path}.")
    if len(set(chosen)) < len(chosen) or weight in chosen:
        raise ValueError(f"columns={columns!r}, weight={weight!r} is not allowed; give every column once.")
    return chosen


def _require_numbers(file: RowFile, types: dict[Column, Any], name: Column, role: str) -> None:
    if name not in types:
        shown = printable(file.path)
        raise ValueError(f"{shown} has no column {name!r}, which {role} names; it has {quoted(types)}.")
    if types[name].numpy is None:
        mistake = mistake_in([file], name)
        where = "" if mistake is None else mistake.with_remedy()
        raise ValueError(
            f"{printable(file.path)}: column {name!r} does not hold numbers{where}. Leave it out with columns=[…], or "
            "encode it first."
        )


def loaded(rows: FileRows) -> tuple[NDArray[Any], Floats | None]:
    """All rows and their weights, in memory."""
    (chunk,) = rows.chunks(0, rows.n_rows, rows.n_rows)
    if chunk.weight is not None and not chunk.weight.any():
        raise ValueError("all weights are zero. Give at least one row a positive weight.")
    return chunk.X, chunk.weight
