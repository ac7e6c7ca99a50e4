"""What one pass finds out about rows before any search: how many count, their mean, and a random sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.hashing import hashed
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Stats
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.files.sums import SumStack
from kfree.engines.in_memory.part import InMemoryPart
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import NodeSums, joined
from kfree.files.chunks import Chunk, read_ahead


@dataclass(frozen=True)
class Drawn:
    """The ``size`` rows of positive weight with the smallest keys, which are hashes of ``seed`` and row number.

    ``keys`` are ascending; ``rows`` are global numbers.
    """

    size: int
    seed: int
    keys: NDArray[np.uint64]
    rows: Index
    X: NDArray[Any]
    weight: Floats | None

    @classmethod
    def nothing(cls, size: int, seed: int) -> Drawn:
        return cls(size, seed, np.empty(0, np.uint64), np.empty(0, np.int64), np.empty((0, 0)), None)

    def with_chunk(self, chunk: Chunk) -> Drawn:
        """The same after the rows of one more chunk."""
        return self.with_others(self.candidates(chunk))

    def candidates(self, chunk: Chunk) -> Drawn:
        """The rows of a chunk whose keys are below the largest one here."""
        keys = hashed(chunk.begin, chunk.begin + len(chunk.X), self.seed)
        fits = np.ones(len(keys), dtype=bool) if chunk.weight is None else chunk.weight > 0
        if len(self.keys) == self.size:
            fits &= keys < self.keys[-1] if self.size else False
        rows = np.flatnonzero(fits)
        weight = None if chunk.weight is None else chunk.weight[rows]
        return Drawn(self.size, self.seed, keys[rows], chunk.begin + rows, chunk.X[rows], weight)

    def with_others(self, *others: Drawn) -> Drawn:
        """The rows with the smallest keys of all."""
        some = [one for one in (self, *others) if len(one.keys)]
        if not some:
            return self
        keys, rows = (np.concatenate([getattr(one, name) for one in some]) for name in ("keys", "rows"))
        order = np.argsort(keys, kind="stable")[: self.size]
        X, begin = np.empty((len(order), some[0].X.shape[1]), some[0].X.dtype), 0
        for one in some:  # without a copy of all of them
            here = np.flatnonzero((order >= begin) & (order < begin + len(one.keys)))
            X[here] = one.X[order[here] - begin]
            begin += len(one.keys)
        weight = None if some[0].weight is None else np.concatenate([one.weight for one in some])[order]
        return Drawn(self.size, self.seed, keys[order], rows[order], X, weight)


@dataclass(frozen=True)
class Facts:
    """How many rows have a positive weight, the largest weight, sums about the anchor by node, and a sample."""

    n_counting: int
    max_weight: float
    sums: NodeSums
    drawn: Drawn

    def centred(self, anchor: Floats) -> Frame:
        """The frame about the weighted mean."""
        stats = self.stats
        return Frame.centred(anchor, stats.sum[0] / stats.n[0])

    @classmethod
    def unknown(cls, n_rows: int) -> Facts:
        """What is assumed of rows that no pass has seen."""
        return cls(n_rows, 1.0, NodeSums((), ()), Drawn.nothing(0, 0))

    @property
    def stats(self) -> Stats:
        """Total weight and sum of all rows, about the anchor."""
        return Stats(*joined([self.sums]))


def chunks_of(source: RowSource, begin: int, end: int, reading: Reading) -> Iterator[Chunk]:
    """Chunks that are read while the last one is computed on; after each, the listener is told."""
    chunks = read_ahead(source.chunks(begin, end, reading.chunk_rows), depth=1)
    try:
        for chunk in chunks:
            yield chunk
            if reading.listener is not None:
                reading.listener(chunk.begin + len(chunk.X) - begin, end - begin)
    finally:
        chunks.close()


def first_counting_row(source: RowSource, begin: int, end: int, reading: Reading) -> Floats | None:
    """The first of some rows that has a positive weight, None if none has."""
    chunks = source.chunks(begin, end, reading.chunk_rows)
    try:
        for chunk in chunks:
            counting = np.arange(1) if chunk.weight is None else np.flatnonzero(chunk.weight > 0)
            if len(counting):
                return np.array(chunk.X[counting[0]], dtype=np.float64)  # no view, which would keep the chunk
    finally:
        chunks.close()
    return None


def facts_of(source: RowSource, begin: int, end: int, frame: Frame, reading: Reading, size: int, seed: int) -> Facts:
    """Facts about the rows ``begin`` … ``end`` − 1; ``frame`` is about the anchor, or of unit vectors."""
    stack, drawn, n_counting, max_weight = SumStack(), Drawn.nothing(size, seed), 0, 0.0
    origin, fresh = Sites.of(np.zeros((1, source.n_features))), list[Drawn]()
    for chunk in chunks_of(source, begin, end, reading):
        part = opened_chunk(chunk, frame, reading)
        stack.push(part.nearest(origin)[1].by_node())
        fresh.append(drawn.candidates(chunk))
        if sum(len(one.keys) for one in fresh) > size:  # joined now and then, because that copies the sample
            drawn, fresh = drawn.with_others(*fresh), []
        n_counting, max_weight = n_counting + part.n_counting, max(max_weight, part.max_weight)
    return Facts(n_counting, max_weight, stack.by_node(1), drawn.with_others(*fresh))


def joined_facts(found: Sequence[Facts]) -> Facts:
    """Facts about the rows of several ranges, in order."""
    drawn = found[0].drawn.with_others(*(one.drawn for one in found[1:]))
    nodes = tuple(node for one in found for node in one.sums.nodes)
    sums = tuple(np.concatenate(arrays) for arrays in zip(*(one.sums.sums for one in found), strict=True))
    largest = max(one.max_weight for one in found)
    return Facts(sum(one.n_counting for one in found), largest, NodeSums(nodes, sums), drawn)


def opened_chunk(chunk: Chunk, frame: Frame, reading: Reading) -> InMemoryPart:
    """The passes over the rows of a chunk, which is taken to a GPU if that computes them."""
    if reading.name == "gpu":
        from kfree.engines.gpu.part import uploaded  # torch takes seconds to import

        return uploaded(chunk.X, chunk.weight, frame, chunk.begin)
    return LocalPart(reading.passes, chunk.X, chunk.weight, frame, reading.n_threads, chunk.begin, alone=False)
