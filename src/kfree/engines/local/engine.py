"""Engines of rows that have coordinates: over parts anywhere, and over one part in the memory of this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, first_row_that_counts
from kfree.engines.chunked.engine import ChunkedEngine
from kfree.engines.contract import generic_direction
from kfree.engines.local.part import LocalPart


class LocalEngine(ChunkedEngine):
    """All rows in one part, in the memory of this process."""

    def __init__(self, name: str, part: LocalPart):
        super().__init__(name, [part], part.frame)
        self.weight, self._part = part.weight, part

    @classmethod
    def of(
        cls,
        name: str,
        passes: Any,
        X: Any,
        weight: Floats | None,
        unit: bool,
        frame: Frame | None,
        n_threads: int | None,
    ) -> LocalEngine:
        """From validated rows; without a ``frame`` it is made from them."""
        frame = frame or frame_of(passes, X, weight, unit, n_threads)
        return cls(name, LocalPart(passes, X, weight, frame, n_threads))

    @property
    def description(self) -> str:
        part = self._part
        threads = f"{part.n_threads} thread{'s' if part.n_threads > 1 else ''}"
        return f"{self.name} ({part.isa}, {threads})" if part.isa else self.name

    def gaps(self, centres: Floats) -> Floats:
        return self._part.gaps(centres)

    def generic_axis(self) -> Floats:
        return generic_direction(self.n_features)

    def copies(self, rows: Index) -> LocalEngine:
        return self.among(rows)

    def among(self, index: Index) -> LocalEngine:
        X, weight = self._part.copied(index)
        return LocalEngine(self.name, LocalPart(self._part.passes, X, weight, self.frame, self._part.n_threads))

    def rows(self, index: Index) -> Floats:
        return self._part.points(index)

    def sq_distances(self, centres: Floats) -> Floats:
        return self._part.sq_distances(centres)

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        return self._part.best_candidate(candidates, sq_dist)


def frame_of(passes: Any, X: Any, weight: Floats | None, unit: bool, n_threads: int | None) -> Frame:
    """Anchor at the first row that counts, shift by the weighted mean: rows of weight zero leave no trace.

    Sparse rows, which centring would fill up, and unit vectors are not shifted.
    """
    n_features = X.shape[1]
    if unit or sp.issparse(X):
        return Frame.plain(n_features, unit)
    anchored = Frame(X[first_row_that_counts(weight)].astype(np.float64), np.zeros(n_features))
    part = LocalPart(passes, X, weight, anchored, n_threads)
    stats = part.nearest(Sites.of(np.zeros((1, n_features))))[1].total()
    return Frame(anchored.anchor, stats.sum[0] / stats.n[0])
