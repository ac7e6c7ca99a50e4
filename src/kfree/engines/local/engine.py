"""Engines of rows in the memory of this process, in one part or in several."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, first_row_that_counts
from kfree.engines.chunked.drawing import nearest_drawing
from kfree.engines.chunked.engine import ChunkedEngine
from kfree.engines.contract import Pass, SampleEngine, generic_direction
from kfree.engines.drawing import Region
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import Part


class RowEngine(ChunkedEngine):
    """Rows that have coordinates, in parts of this process: of ``LocalPart``, or with the same attributes."""

    def __init__(self, name: str, parts: Sequence[Any]):
        super().__init__(name, parts, parts[0].frame)
        self._local = parts

    @property
    def description(self) -> str:
        part = self._local[0]
        threads = f"{part.n_threads} thread{'s' if part.n_threads > 1 else ''}"
        return f"{self.name} ({part.isa}, {threads})" if part.isa else self.name

    def gaps(self, centres: Floats) -> Floats:
        return np.asarray(self._local[0].gaps(centres))

    def generic_axis(self) -> Floats:
        return generic_direction(self.n_features)

    def copies(self, rows: Index) -> LocalEngine:
        return self._in_memory(*gathered(self.parts, rows))

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, LocalEngine | None, bool]:
        done, found = nearest_drawing(self, sites, region)
        return done, self._in_memory(found.X, found.weight) if len(found.keys) else None, found.is_all

    def _in_memory(self, X: ArrayOrCSR, weight: Floats | None) -> LocalEngine:
        part = self._local[0]
        return LocalEngine(self.name, LocalPart(part.passes, X, weight, self.frame, part.n_threads))


class LocalEngine(RowEngine):
    """All rows in one part. It shows them, as samples must."""

    def __init__(self, name: str, part: LocalPart):
        super().__init__(name, [part])
        self.weight, self._part = part.weight, part

    def among(self, index: Index) -> LocalEngine:
        X, weight = self._part.copied(index)
        return LocalEngine(self.name, LocalPart(self._part.passes, X, weight, self.frame, self._part.n_threads))

    def copies(self, rows: Index) -> LocalEngine:
        return self.among(rows)

    def rows(self, index: Index) -> Floats:
        return self._part.points(index)

    def given(self) -> ArrayOrCSR:
        return self._part.X

    def sq_distances(self, centres: Floats) -> Floats:
        return self._part.sq_distances(centres)

    def sq_dists_of(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        """Squared distances of some rows to the centres that ``labels`` name; no search asks, so they do not count."""
        return copy(self._part).distances_to_own(rows, labels, centres)

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        return self._part.nearest_labels(sites, numbers)

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        return self._part.best_candidate(candidates, sq_dist)


def beside(rows: SampleEngine, points: Floats, weight: Floats) -> RowEngine:
    """``rows``, which are not copied, and weighted ``points`` after them, in coordinates of the same frame."""
    assert isinstance(rows, LocalEngine)  # samples are
    first, frame = rows._part, rows.frame
    block = first.passes.BLOCK
    begin = -(-first.n_rows // block) * block
    more = LocalPart(first.passes, frame.outward(points), weight, frame, first.n_threads, begin, alone=False)
    return RowEngine(rows.name, [first.with_others(), more])


def gathered(parts: Sequence[Part], rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
    """Some rows of all parts, by their global numbers, which ascend, and their weights, in memory."""
    found = []
    for part in parts:
        inside = rows[(rows >= part.begin) & (rows < part.begin + part.n_rows)]
        found.append(part.copied(inside - part.begin))
    if len(found) == 1:
        return found[0]
    X = [X for X, _ in found]
    weights = [weight for _, weight in found if weight is not None]
    stacked = sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X)
    return stacked, np.concatenate(weights) if weights else None


def open_parts(
    name: str,
    passes: ModuleType,
    X: ArrayOrCSR,
    weight: Floats | None,
    unit: bool,
    frame: Frame | None,
    n_threads: int | None,
    begins: Sequence[int],
) -> RowEngine:
    """Validated rows in parts that begin at the rows ``begins``; without a ``frame`` it is made from the rows."""

    def engine_in(frame: Frame) -> RowEngine:
        ends = [*begins[1:], X.shape[0]]
        parts = [
            LocalPart(passes, X[b:e], None if weight is None else weight[b:e], frame, n_threads, b, len(begins) == 1)
            for b, e in zip(begins, ends, strict=True)
        ]
        return LocalEngine(name, parts[0]) if len(parts) == 1 else RowEngine(name, parts)

    if frame is None and (unit or sp.issparse(X)):
        frame = Frame.plain(X.shape[1], unit)
    return engine_in(frame or centred_frame(engine_in(anchored_frame(X, weight))))


def anchored_frame(X: ArrayOrCSR, weight: Floats | None) -> Frame:
    """Coordinates about the first row of positive weight: rows of weight zero have no effect."""
    return Frame(X[first_row_that_counts(weight)].astype(np.float64), np.zeros(X.shape[1]))


def centred_frame(anchored: ChunkedEngine) -> Frame:
    """The frame of an anchored engine, shifted by the weighted mean."""
    stats = anchored.nearest(Sites.of(np.zeros((1, anchored.n_features)))).stats
    return Frame.centred(anchored.frame.anchor, stats.sum[0] / stats.n[0])
