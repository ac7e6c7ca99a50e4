"""An engine over rows that are streamed, from files or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kfree.core.frame import Frame
from kfree.core.stats import Floats
from kfree.engines.files.facts import Facts, facts_of, first_counting_row, joined_facts
from kfree.engines.files.part import StreamPart
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.local.engine import RowEngine


class StreamEngine(RowEngine):
    """Rows in streamed parts. Passes that need labels of rows in memory are not available."""

    def __init__(self, name: str, parts: Sequence[StreamPart], total_weight: float | None = None):
        super().__init__(name, parts)
        self._total_weight = total_weight

    @property
    def total_weight(self) -> float:
        return super().total_weight if self._total_weight is None else self._total_weight

    @property
    def description(self) -> str:
        return f"{super().description}, streamed"


class Place(Protocol):
    """Where rows are streamed: in this process, or on workers."""

    name: str
    n_features: int

    def first_row(self) -> Floats | None:
        """The first row of positive weight, as it was given."""

    def facts(self, frame: Frame, size: int, seed: int) -> list[Facts]:
        """What one pass finds, with a sample, for every part."""

    def parts(self, frame: Frame, found: Sequence[Facts]) -> list[Any]:
        """Parts about which ``found`` is known: ``StreamPart``, or with the same methods."""


class Here:
    """Rows of ``source`` that are streamed in this process. ``begins`` are the rows at which parts begin, multiples of
    the block size; the answer does not depend on them."""

    def __init__(self, source: RowSource, reading: Reading, begins: Sequence[int] = (0,)):
        self.name, self.n_features = engine_name(reading), source.n_features
        self._source, self._reading = source, reading
        self._spans = list(zip(begins, [*begins[1:], source.n_rows], strict=True))

    def first_row(self) -> Floats | None:
        return first_counting_row(self._source, 0, self._source.n_rows, self._reading)

    def facts(self, frame: Frame, size: int, seed: int) -> list[Facts]:
        return [facts_of(self._source, *span, frame, self._reading, size, seed) for span in self._spans]

    def parts(self, frame: Frame, found: Sequence[Facts]) -> list[Any]:
        return [_part(self._source, *span, frame, self._reading, f) for span, f in zip(self._spans, found, strict=True)]


def open_stream(place: Place, *, unit: bool = False, sample: tuple[int, int] = (0, 0)) -> StreamEngine:
    """An engine over the rows at a place, after one pass that finds the frame and draws a sample.

    ``sample`` is its size and its seed: ``engine.sample`` with that seed needs no further pass.
    """
    first, d = place.first_row(), place.n_features
    if first is None:
        raise ValueError("all weights are zero. Give at least one row a positive weight.")
    start = Frame.plain(d, True) if unit else Frame(first, np.zeros(d))
    found = place.facts(start, *sample)
    everything = joined_facts(found)
    frame = start if unit else everything.centred(start.anchor)
    return StreamEngine(place.name, place.parts(frame, found), float(everything.stats.n[0]))


def open_stream_in(source: RowSource, reading: Reading, frame: Frame) -> StreamEngine:
    """An engine over the rows of ``source`` in given coordinates, without a pass; every row counts."""
    return StreamEngine(engine_name(reading), [StreamPart(source, 0, source.n_rows, frame, reading, source.n_rows)])


def _part(source: RowSource, begin: int, end: int, frame: Frame, reading: Reading, facts: Facts) -> StreamPart:
    return StreamPart(source, begin, end, frame, reading, facts.n_counting, facts.max_weight, facts.drawn)


def engine_name(reading: Reading) -> str:
    return "native" if reading.name == "auto" else reading.name
