"""An engine over rows that are streamed, from files or from arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.frame import Frame
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


def open_stream(
    source: RowSource,
    reading: Reading,
    *,
    unit: bool = False,
    sample: tuple[int, int] = (0, 0),
    begins: Sequence[int] = (0,),
) -> StreamEngine:
    """An engine over the rows of ``source``, after one pass that finds the frame and draws a sample.

    ``sample`` is its size and its seed: ``engine.sample`` with that seed needs no further pass. ``begins`` are the rows
    at which parts begin, multiples of the block size; the answer does not depend on them.
    """
    n, d = source.n_rows, source.n_features
    start = Frame.plain(d, True) if unit else Frame(first_counting_row(source, reading), np.zeros(d))
    spans = list(zip(begins, [*begins[1:], n], strict=True))
    found = [facts_of(source, begin, end, start, reading, *sample) for begin, end in spans]
    everything = joined_facts(found)
    frame = start if unit else everything.centred(start.anchor)
    parts = [_part(source, *span, frame, reading, facts) for span, facts in zip(spans, found, strict=True)]
    return StreamEngine(_name(reading), parts, float(everything.stats.n[0]))


def open_stream_in(source: RowSource, reading: Reading, frame: Frame) -> StreamEngine:
    """An engine over the rows of ``source`` in given coordinates, without a pass; every row counts."""
    return StreamEngine(_name(reading), [StreamPart(source, 0, source.n_rows, frame, reading, source.n_rows)])


def _part(source: RowSource, begin: int, end: int, frame: Frame, reading: Reading, facts: Facts) -> StreamPart:
    return StreamPart(source, begin, end, frame, reading, facts.n_counting, facts.max_weight, facts.drawn)


def _name(reading: Reading) -> str:
    return "native" if reading.name == "auto" else reading.name
