"""What a stream reads: rows by number, in chunks. ``kfree.files.FileRows`` is one, and arrays are another."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from kfree.core.sparse import ArrayOrCSR
from kfree.core.sphere import require_degrees, unit_vectors
from kfree.core.stats import Floats
from kfree.files.chunks import Chunk
from kfree.files.rows import FileRows
from kfree.native.implementations import implementation
from kfree.native.threads import thread_count

# Told after every chunk: how many of the rows of a pass are done, and how many there are.
Listener = Callable[[int, int], None]


class RowSource(Protocol):
    """Rows 0 … ``n_rows`` − 1 with ``n_features`` columns."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def chunks(self, begin: int, end: int, size: int) -> Generator[Chunk, None, None]:
        """The rows ``begin`` … ``end`` − 1 in order, ``size`` at a time."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, which may be a memory map, and their weights. The first row that is there is ``begin``."""

    X: ArrayOrCSR
    weight: Floats | None = None
    begin: int = 0

    @property
    def n_rows(self) -> int:
        return self.begin + int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def chunks(self, begin: int, end: int, size: int) -> Generator[Chunk, None, None]:
        for first in range(begin, end, size):
            rows = slice(first - self.begin, min(first + size, end) - self.begin)
            yield Chunk(first, self.X[rows], None if self.weight is None else self.weight[rows])


@dataclass(frozen=True)
class VectorRows:
    """Latitudes and longitudes of ``places`` as unit vectors, which are made of every chunk when it is read."""

    places: FileRows

    @property
    def n_rows(self) -> int:
        return self.places.n_rows

    @property
    def n_features(self) -> int:
        return 3

    @property
    def n_bytes(self) -> int:
        return self.places.n_bytes

    @property
    def digest(self) -> str:
        return self.places.digest

    def memory_for_fit(self, memory: int, least: int) -> int:
        return self.places.memory_for_fit(memory, least)

    def chunks(self, begin: int, end: int, size: int) -> Generator[Chunk, None, None]:
        for chunk in self.places.chunks(begin, end, size):
            require_degrees(chunk.X, first_row=chunk.begin)
            yield Chunk(chunk.begin, unit_vectors(chunk.X), chunk.weight)


@dataclass(frozen=True)
class Reading:
    """How rows are streamed: by which implementation, on how many threads, and ``chunk_rows`` at a time.

    ``chunk_rows`` is a multiple of the block size of sums.
    """

    name: str
    n_threads: int | None
    chunk_rows: int
    listener: Listener | None = None

    @property
    def passes(self) -> ModuleType:
        """The module of passes."""
        return implementation(self.name, "rows")

    @property
    def n_threads_used(self) -> int:
        return thread_count(self.n_threads)
