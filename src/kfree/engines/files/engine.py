"""Rows that are read again for every question, a chunk at a time, from files or from arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from kfree.core.frame import Frame
from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.files.repeats import Repeats
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.local.rows import LocalRows, described
from kfree.engines.questions import Copies, FirstRow, Question, Scan, Scanned
from kfree.files.chunks import Chunk, read_ahead
from kfree.native.processor import chosen_instruction_set

A = TypeVar("A")


@dataclass(frozen=True)
class Place:
    """Where rows with ``n_features`` columns are: ``rows`` gives them in a frame, with what a scan found, if any."""

    n_features: int
    rows: Callable[[Frame, Scanned | None], Rows]


class StreamedRows(Rows):
    """The rows of ``source``, or its rows ``begin`` … ``end`` − 1 of ``n_rows`` that there are in all (``span``)."""

    def __init__(
        self,
        source: RowSource,
        reading: Reading,
        frame: Frame,
        scanned: Scanned | None = None,
        span: tuple[int, int, int] | None = None,
        repeats: Repeats | None = None,
    ):
        self._source, self._reading, self.repeats = source, reading, repeats or Repeats()
        self._begin, self._end, self._n_rows_in_all = span or (0, source.n_rows, source.n_rows)
        name = "native" if reading.name == "auto" else reading.name
        super().__init__(name, frame, self._end - self._begin, source.n_features, scanned)

    @property
    def description(self) -> str:
        isa = chosen_instruction_set(self._reading.passes.instruction_sets())
        return f"{described(self.name, isa, self._reading.n_threads_used)}, streamed"

    def ask(self, question: Question[A]) -> A:
        return self.in_turn(question, (self._opened(chunk) for chunk in self._chunks()))

    def take(self, copies: Copies) -> LocalRows:
        return LocalRows.of(copies, self, self._reading.n_threads)

    def parts(self, n_bytes: int) -> list[Rows]:
        """The same rows in consecutive parts of about ``n_bytes``, as float64; each is a whole number of chunks."""
        chunk_rows = self._reading.chunk_rows
        size = max(n_bytes // (8 * self.n_features * chunk_rows), 1) * chunk_rows
        spans = (
            (begin, min(begin + size, self._end), self._n_rows_in_all) for begin in range(self._begin, self._end, size)
        )
        return [
            StreamedRows(self._source, self._reading, self.frame, span=span, repeats=self.repeats) for span in spans
        ]

    def _chunks(self) -> Iterator[Chunk]:
        """Chunks that are read while the last one is computed on; after each, the listener is told."""
        chunks = read_ahead(self._source.chunks(self._begin, self._end, self._reading.chunk_rows))
        try:
            for chunk in chunks:
                self.repeats.see(chunk)
                yield chunk
                if self._reading.listener is not None:
                    self._reading.listener(chunk.begin + len(chunk.X), self._n_rows_in_all)
        finally:
            chunks.close()

    def _opened(self, chunk: Chunk) -> MemoryRows:
        """The rows of a chunk, which is taken to a GPU if that computes them."""
        span = chunk.begin, self._n_rows_in_all
        if self._reading.name == "gpu":
            from kfree.engines.gpu.engine import uploaded  # torch takes seconds to import

            return uploaded(chunk.X, chunk.weight, self.frame, span)
        return LocalRows(self.name, chunk.X, chunk.weight, self.frame, self._reading.n_threads, span)


def streamed(source: RowSource, reading: Reading) -> Place:
    """The place of rows that this process reads."""
    repeats = Repeats()
    return Place(
        source.n_features, lambda frame, scanned: StreamedRows(source, reading, frame, scanned, repeats=repeats)
    )


def open_stream(place: Place, *, unit: bool = False, sample: tuple[int, int] = (0, 0)) -> Rows:
    """The rows of a place, after one pass that finds the frame and draws a sample.

    ``sample`` is its size and its seed: ``rows.sample`` with that seed needs no further pass.
    """
    plain = Frame.plain(place.n_features)
    first = place.rows(plain, None).ask(FirstRow())
    if first is None:
        raise ValueError("all weights are zero. Give at least one row a positive weight.")
    start = Frame.plain(place.n_features, unit) if unit else Frame(first, plain.shift)
    scanned = place.rows(start, None).ask(Scan(*sample))
    return place.rows(start if unit else scanned.centred(first), scanned)
