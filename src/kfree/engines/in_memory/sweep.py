"""A sweep over one part, which takes turns with the sweeps over other parts (Kulis & Jordan 2012, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.arrays import Array
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index
from kfree.engines.contract import VisitingOrder
from kfree.engines.parts import Births, Partial

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemorySweep:
    """Rows against the old sites at once; then the far ones in visiting order, against the newborn as well.

    ``_order`` are the rows in visiting order (None: as they lie), and ``_positions`` when they are visited (None: one
    after the other). All rows of a first sweep may be far, so few arrays of that length are made.
    """

    def __init__(self, part: InMemoryPart, sites: Sites, lam: float, order: VisitingOrder | None):
        self._part, self._lam, self._k = part, lam, len(sites.uids)
        self._labels, self._sq_dist, self._partial, is_far = part.assign(sites, lam)
        self._order: Array | None = None
        self._positions: Array | None = None
        if order is not None:
            visited, positions = order.within(part.begin, self._end)
            self._order = part.arrays.of(visited)
            self._positions = None if positions is None else part.arrays.of(positions)
        self._far = self._listed(is_far)
        self._n_seen = 0

    def upcoming(self) -> int | None:
        return int(self._positions_of(self._far[:1])[0]) if len(self._far) else None

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        # Rows that have come near to clusters of other parts no longer come into question.
        self._far = self._still_far(newborn)
        n_taken = (
            len(self._far) if until is None else self._part.arrays.count_below(self._positions_of(self._far), until)
        )
        far, self._far = self._far[:n_taken], self._far[n_taken:]
        first_label = self._k + len(newborn)
        founders, n_refused = self._part.open_clusters(far, first_label, self._lam, room, self._labels, self._sq_dist)
        # Rows after these have not met what was born just now.
        self._n_seen = len(newborn)
        rows = far[founders]
        at: Index = self._part.arrays.to_numpy(self._positions_of(rows))
        return Births(self._part.points(rows), at, n_refused, self.upcoming())

    def end(self, newborn: Floats, born_at: Index) -> tuple[Array, Partial]:
        if not len(newborn):
            return self._labels, self._partial
        places = self._places_of(born_at)
        self._part.join_newborn(self._order, newborn, places, self._k, self._labels, self._sq_dist)
        return self._labels, self._part.stats_of(self._labels, self._sq_dist, self._k + len(newborn))

    @property
    def _end(self) -> int:
        return self._part.begin + self._part.n_rows

    def _listed(self, is_far: Array | None) -> Array:
        """Far rows in visiting order."""
        if is_far is None:
            return self._part.arrays.arange(0)
        return self._part.arrays.flatnonzero(is_far) if self._order is None else self._order[is_far[self._order]]

    def _positions_of(self, rows: Array) -> Array:
        """When some rows, listed in visiting order, are visited."""
        if self._order is None:
            return self._part.begin + rows
        listed = self._part.arrays.full(self._part.n_rows, False, np.bool_)
        listed[rows] = True
        places = self._part.arrays.flatnonzero(listed[self._order])
        return places if self._positions is None else self._positions[places]

    def _places_of(self, positions: Index) -> Index:
        """The last of the part's rows that is visited up to each position, as a place in their order; −1 if none is."""
        if self._order is None:
            return np.clip(positions, self._part.begin - 1, self._end - 1) - self._part.begin
        if self._positions is None:
            return positions
        visited: Index = self._part.arrays.to_numpy(self._positions)
        return np.searchsorted(visited, positions, side="right") - 1

    def _still_far(self, newborn: Floats) -> Array:
        """Far rows yet to come, after those near to clusters that they have not met have joined them."""
        unseen = newborn[self._n_seen :]
        if not len(unseen) or not len(self._far):
            return self._far
        self._part.join_listed(self._far, unseen, self._k + self._n_seen, self._labels, self._sq_dist)
        return self._far[self._part.weights(self._far) * self._sq_dist[self._far] > self._lam]
