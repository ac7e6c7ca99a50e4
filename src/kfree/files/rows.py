"""``open_rows``: a description of the rows of files. Nothing is read but what states their number and types."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.files.chunks import Chunk, FileBatch, joined_batches
from kfree.files.columns import chosen_columns, require_columns
from kfree.files.formats import Batch, Column, format_of
from kfree.files.places import Stamp, found, stamp

# Bytes that are read at a time before they are joined to chunks; no more rows than a chunk has.
_BATCH_BYTES = 1 << 24


@dataclass(frozen=True)
class RowFile:
    """One file: ``n_rows`` rows, and the stamp that it had when it was described."""

    path: str
    n_rows: int
    stamp: Stamp

    def require_unchanged(self) -> None:
        """Raise if the file has changed since it was described."""
        try:
            now = stamp(self.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.path} is gone: it was there when open_rows described it.") from error
        if now != self.stamp:
            raise ValueError(
                f"{self.path} has changed since open_rows described it ({self.stamp.size} bytes then, {now.size} now, "
                "or a later time of writing). Call open_rows and fit again while no program writes to it."
            )


@dataclass(frozen=True)
class FileRows:
    """Rows of files, numbered from 0 over all files in order. Made by :func:`open_rows`; can be pickled.

    Attributes
    ----------
    files : tuple of RowFile
        Path, number of rows and stamp of each file.
    columns : tuple of str or int
        The columns of the rows, by name, or by number in .npy files.
    weight : str, int or None
        The column with the weights of the rows.
    dtype : "float32" or "float64"
        The type of the arrays that rows are read into; float32 if all columns of all files are.
    """

    files: tuple[RowFile, ...]
    columns: tuple[Column, ...]
    weight: Column | None
    dtype: str

    @property
    def n_rows(self) -> int:
        return sum(file.n_rows for file in self.files)

    @property
    def n_features(self) -> int:
        return len(self.columns)

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
        return [str(name) for name in self.columns] if isinstance(self.columns[0], str) else None

    @property
    def digest(self) -> str:
        """A hash of this description: files with their stamps, columns and weight."""
        return hashlib.sha256(repr((self.files, self.columns, self.weight, self.dtype)).encode()).hexdigest()

    def chunks(self, begin: int, end: int, size: int) -> Generator[Chunk, None, None]:
        """The rows ``begin`` … ``end`` − 1 in order, in chunks of ``size`` rows of which the last may be shorter.

        Where files begin and end leaves no trace. Every file is checked before and after it was read: one that has
        changed, or that holds NaN or infinity, raises an error that names it.
        """
        batches = self._batches(begin, end, size)
        return joined_batches(batches, begin, end, size, self.columns, self.weight, self.dtype)

    def _batches(self, begin: int, end: int, most_rows: int) -> Iterator[FileBatch]:
        columns = (*self.columns, *(() if self.weight is None else (self.weight,)))
        size, first = max(1, min(_BATCH_BYTES // (8 * len(columns)), most_rows)), 0
        for file in self.files:
            inside = max(begin - first, 0), min(end - first, file.n_rows)
            if inside[0] < inside[1]:
                file.require_unchanged()
                n_seen = inside[0]
                for batch in _read(file.path, columns, *inside, size):
                    yield FileBatch(file.path, n_seen, batch)
                    n_seen += len(batch[0])
                file.require_unchanged()
                if n_seen != inside[1]:
                    raise ValueError(f"{file.path} has {n_seen} rows where {inside[1]} were described. Is it damaged?")
            first += file.n_rows

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        weight = "" if self.weight is None else f", weight={self.weight!r}"
        return (
            f"FileRows({self.n_rows} rows of {self.n_features} columns in {len(self.files)} files, "
            f"{self.n_bytes} bytes{weight})"
        )


def open_rows(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: Sequence[Column] | None = None,
    weight: Column | None = None,
) -> FileRows:
    """Describe the rows of files, for ``fit`` and ``predict`` of :class:`kfree.DPMeans` and :class:`kfree.KMeans`.

    Parameters
    ----------
    paths : str, path, or list of these
        Files, folders or patterns such as ``"trips/*.parquet"``. Names end with .npy, .parquet, .pq, .arrow, .feather,
        .csv or .csv.gz. Addresses that pyarrow.fs reads, such as s3://, gs:// and hdfs://, are allowed. Files keep the
        order given; those of a pattern or folder are sorted by name.
    columns : list of str or int, default=None
        The columns to use, by name, or by number in .npy files; None uses all but ``weight``.
    weight : str or int, default=None
        The column with the weight of each row; None counts every row once.

    Returns
    -------
    rows : FileRows
        A description, not the rows. It states the size of every file and when it was written; a fit raises an error
        if a file changes later.

    Notes
    -----
    Only the heads of files are read, except for CSV: its rows are counted, which takes a pass over the file. A CSV
    file is also read from its beginning wherever a part of it is asked for. Convert large ones to Parquet.

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
    files, described = [], []
    for path in found(paths):
        before = stamp(path)
        with naming(path):
            described.append(format_of(path).describe(path))
        files.append(RowFile(path, described[-1].n_rows, before))
    names = chosen_columns(files[0].path, described[0], columns, weight)
    used = [*names, *([] if weight is None else [weight])]
    for file, description in zip(files, described, strict=True):
        require_columns(file.path, description, used, columns is None, described[0], files[0].path, weight)
    if not sum(file.n_rows for file in files):
        raise ValueError(f"{files[0].path} and {len(files) - 1} other file(s) have no rows. Give files with rows.")
    is_short = all(description.types[name] in ("float32", "float16") for description in described for name in names)
    return FileRows(tuple(files), tuple(names), weight, "float32" if is_short else "float64")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of what is read within name the file."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (ValueError, OSError, NotImplementedError, KeyError, EOFError) as error:
        if str(error).startswith(path):
            raise
        raise ValueError(
            f"{path} cannot be read: {str(error).rstrip('.')}. Is the file complete, and of the format that its name "
            "says?"
        ) from error


def _read(path: str, columns: Sequence[Column], begin: int, end: int, size: int) -> Iterator[Batch]:
    with naming(path):
        yield from format_of(path).read(path, columns, begin, end, size)


def loaded(rows: FileRows) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """All rows and their weights, in memory."""
    (chunk,) = rows.chunks(0, rows.n_rows, rows.n_rows)
    if chunk.weight is not None and not chunk.weight.any():
        raise ValueError("all weights are zero. Give at least one row a positive weight.")
    return chunk.X, chunk.weight
