"""The rows of some clusters, each row on one of two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index, Labels, totals
from kfree.engines.parts import Partial

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemoryBisection:
    """Rows of the wanted clusters, the pair of each and its side; ``_moving`` are those of active pairs, None all."""

    def __init__(self, part: InMemoryPart, labels: Labels, place: Labels, n_pairs: int):
        self._part, self._labels, self._n_pairs = part, labels, n_pairs
        self._rows: Index = np.flatnonzero(place[labels] >= 0)
        self._pair: Labels = place[labels[self._rows]]
        # Rows of weight zero are not counted when they change sides.
        self._counts = None if part.weight is None else np.sign(part.weights(self._rows))
        self.n_rows = self._number(self._pair, slice(None))
        self._sides: Labels = np.full(len(self._rows), -1, dtype=np.int32)
        self._moving: Index | None = None

    def scatter_product(self, pairs: Floats) -> Partial:
        return self._part.scatter_product(self._rows, self._pair, pairs)

    def choose(self, pairs: Floats, active: NDArray[np.bool_]) -> tuple[Partial, Floats]:
        if self._moving is not None:
            self._moving = self._moving[active[self._pair[self._moving]]]
        elif not active.all():
            self._moving = np.flatnonzero(active[self._pair])
        # A slice is a view, which takes no memory.
        moving = slice(None) if self._moving is None else self._moving
        pair, sides = self._pair[moving], self._sides[moving]
        chosen, partial = self._part.choose(self._rows[moving], pair, pairs)
        changed = np.flatnonzero(chosen != sides)
        n_changed = self._number(pair[changed], changed if self._moving is None else self._moving[changed])
        self._sides[moving] = chosen
        return partial, n_changed

    def _number(self, pair: Labels, rows: Index | slice) -> Floats:
        """How many of these rows count, per pair; ``rows`` are places in the list of rows."""
        if self._counts is None:
            return np.bincount(pair, minlength=self._n_pairs).astype(np.float64)
        return totals(pair, self._counts[rows], self._n_pairs)

    def divided(self, newborn: Labels) -> Labels:
        labels = self._labels.copy()
        target = newborn[self._pair]
        leaves = (self._sides % 2 == 1) & (target >= 0)
        labels[self._rows[leaves]] = target[leaves]
        return labels
