"""Streams of chunks: rows of any batches joined to chunks of one size, checked, and read ahead by a thread."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import kfree.native._core as _core
from kfree.core.printing import printable
from kfree.core.stats import LEAST_WEIGHT, Floats
from kfree.files.formats import Column
from kfree.files.table import FileBatch

T = TypeVar("T")


@dataclass(frozen=True)
class Chunk:
    """The rows ``begin`` … ``begin + len(X)`` − 1 and their weights (None: all are one)."""

    begin: int
    X: NDArray[Any]
    weight: Floats | None


class ChunkBuffers:
    """A few arrays that chunks of rows are written to, in turn; each is written again when nobody reads it any more.

    New memory for every chunk would cost as much time as the rows that are written to it: the system clears every page.
    An array is free if its only reference is the one kept here. Views, tensors and compiled code that read it hold
    references of their own, and no other thread can get one to a free array. Do not keep the bare address of the rows
    of a chunk.
    """

    # One that is filled, one that was read ahead, one in use, and one that was until a moment ago.
    _MOST = 4

    def __init__(self) -> None:
        self._kept: list[NDArray[Any]] = []

    def array(self, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
        """An array with undefined values."""
        for place in range(len(self._kept)):
            # This list and the argument refer to it; views of it are references, too.
            is_free = sys.getrefcount(self._kept[place]) == 2
            if is_free and self._kept[place].shape == shape:
                return self._kept[place]
        made = np.empty(shape, dtype)
        if len(self._kept) < self._MOST:
            self._kept.append(made)
        return made


def joined_batches(
    batches: Iterator[FileBatch],
    begin: int,
    end: int,
    size: int,
    columns: Sequence[Column],
    weight_column: Column | None,
    dtype: str,
    missing: bool = False,
) -> Generator[Chunk, None, None]:
    """Batches of ``columns``, after which the weights come if there are any, as chunks of rows.

    What is no number raises an error, but for NaN if it is allowed as ``missing``.
    """
    X = nothing = np.empty((0, len(columns)), dtype)
    weight: Floats | None = None
    n_filled, buffers = 0, ChunkBuffers()
    for batch in batches:
        taken, n_batch = 0, len(batch.columns[0])
        if weight_column is not None:
            require_numbers(batch.columns[-1:], [weight_column], weight_column, batch.path, batch.first_row)
        while taken < n_batch:
            if n_filled == len(X):
                n_filled, shape = 0, (min(size, end - begin), len(columns))
                X = buffers.array(shape, dtype)
                weight = None if weight_column is None else np.empty(shape[0])
            n = min(n_batch - taken, len(X) - n_filled)
            same_type = [np.asarray(column[taken : taken + n], dtype) for column in batch.columns[: len(columns)]]
            if not _core.interleave(same_type, X[n_filled : n_filled + n]):
                require_numbers(same_type, columns, None, batch.path, batch.first_row + taken, missing)
            if weight is not None:
                weight[n_filled : n_filled + n] = batch.columns[-1][taken : taken + n]
            n_filled, taken = n_filled + n, taken + n
            if n_filled == len(X):
                yield Chunk(begin, X, weight)
                begin, X, n_filled = begin + n_filled, nothing, 0


def require_numbers(
    batch: Sequence[NDArray[Any]],
    columns: Sequence[Column],
    weight: Column | None,
    path: str,
    first_row: int,
    missing: bool = False,
) -> None:
    """Raise where a batch, which begins at the row ``first_row`` of a file, holds what is no number."""
    for name, values in zip(columns, batch, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            is_fine = values.dtype.kind in "iub" or np.isfinite(values.sum())
        if not is_fine:
            bad = np.flatnonzero(np.isinf(values) if missing else ~np.isfinite(values))
            if len(bad):
                raise ValueError(
                    f"{printable(path)}: row {first_row + bad[0]} holds {values[bad[0]]} in column {name!r} (rows are "
                    "counted from 0). Remove or impute such rows."
                )
        if name == weight:
            _require_weights(values, name, path, first_row)


def _require_weights(values: NDArray[Any], name: Column, path: str, first_row: int) -> None:
    is_fine = (values == 0) | ((values >= LEAST_WEIGHT) & (values <= 1 / LEAST_WEIGHT))
    if not is_fine.all():
        bad = int(np.argmin(is_fine))
        raise ValueError(
            f"{printable(path)}: row {first_row + bad} holds {values[bad]} in the weight column {name!r} (rows are "
            f"counted from 0); weights are zero or numbers between {LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}."
        )


def read_ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """The same items, made by a thread that is at most one item ahead.

    The thread ends when the items do, or when the iterator is closed; its errors are raised here.
    """
    waiting: queue.Queue[Any] = queue.Queue(1)
    is_closed = threading.Event()

    def put(entry: tuple[str, Any]) -> None:
        while not is_closed.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(("item", item))
                if is_closed.is_set():
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))

    thread = threading.Thread(target=work, name="kfree-reader", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        is_closed.set()
        thread.join()
        items.close()
