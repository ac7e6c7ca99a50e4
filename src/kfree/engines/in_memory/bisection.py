"""The rows of some clusters, each row on one of two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.stats import Floats, Labels
from kfree.engines.parts import Partial

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemoryBisection:
    """Rows of the wanted clusters, the pair of each and its side; ``_moving`` are those of active pairs, None all."""

    def __init__(self, part: InMemoryPart, labels: Array, place: Labels, n_pairs: int):
        self._part, self._labels, self._n_pairs = part, labels, n_pairs
        self._arrays = arrays = part.arrays
        place_of = arrays.of(place)
        self._rows = arrays.flatnonzero(place_of[labels] >= 0)
        self._pair = place_of[labels[self._rows]]
        # Rows of weight zero are not counted when they change sides.
        self._counts = None if part.weight is None else part.weights(self._rows) > 0
        self.n_rows = self._number(self._pair, slice(None))
        self._sides = arrays.full(len(self._rows), -1, np.int32)
        self._moving: Array | None = None

    def scatter_product(self, pairs: Floats) -> Partial:
        return self._part.scatter_product(self._rows, self._pair, pairs)

    def choose(self, pairs: Floats, active: NDArray[np.bool_]) -> tuple[Partial, Floats]:
        if self._moving is not None:
            self._moving = self._moving[self._arrays.of(active)[self._pair[self._moving]]]
        elif not active.all():
            self._moving = self._arrays.flatnonzero(self._arrays.of(active)[self._pair])
        # A slice is a view, which takes no memory.
        moving = slice(None) if self._moving is None else self._moving
        pair, sides = self._pair[moving], self._sides[moving]
        chosen, partial = self._part.choose(self._rows[moving], pair, pairs)
        changed = self._arrays.flatnonzero(chosen != sides)
        n_changed = self._number(pair[changed], changed if self._moving is None else self._moving[changed])
        self._sides[moving] = chosen
        return partial, n_changed

    def divided(self, newborn: Labels) -> Array:
        labels = self._arrays.copy(self._labels)
        target = self._arrays.of(newborn)[self._pair]
        leaves = (self._sides % 2 == 1) & (target >= 0)
        labels[self._rows[leaves]] = target[leaves]
        return labels

    def _number(self, pair: Array, rows: Array | slice) -> Floats:
        """How many of these rows count, per pair; ``rows`` are places in the list of rows."""
        return self._arrays.counts(pair if self._counts is None else pair[self._counts[rows]], self._n_pairs)
