"""A sweep over one part, which takes turns with the sweeps over other parts (Kulis & Jordan 2012, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.contract import VisitingOrder
from kfree.engines.parts import Births, Partial

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemorySweep:
    """Compares rows with the old sites in one pass; then the far ones in visiting order with the newborn sites."""

    def __init__(self, part: InMemoryPart, sites: Sites, lam: float, order: VisitingOrder | None):
        self._part, self._lam, self._k = part, lam, len(sites.uids)
        self._labels, self._sq_dist, self._partial, is_far = part.assign(sites, lam)
        far = np.flatnonzero(is_far if is_far is not None else np.zeros(0, dtype=bool))
        self._position = None if order is None else order.positions(part.begin, part.begin + part.n_rows)
        at = part.begin + far if self._position is None else self._position[far]
        by_visit = np.argsort(at, kind="stable")
        self._far, self._at = far[by_visit], at[by_visit]
        self._begin, self._n_seen = 0, 0

    def upcoming(self) -> int | None:
        return int(self._at[self._begin]) if self._begin < len(self._at) else None

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        # Rows near to clusters of other parts are no longer candidates.
        self._far, self._at = self._still_far(newborn)
        end = len(self._at) if until is None else int(np.searchsorted(self._at, until))
        far, at = self._far[self._begin : end], self._at[self._begin : end]
        first_label = self._k + len(newborn)
        founders, n_refused = self._part.open_clusters(far, first_label, self._lam, room, self._labels, self._sq_dist)
        # Rows after these have not been compared with the newest clusters.
        self._begin, self._n_seen = end, len(newborn)
        return Births(self._part.points(far[founders]), at[founders], n_refused, self.upcoming())

    def end(self, newborn: Floats, born_at: Index) -> tuple[Labels, Partial]:
        if not len(newborn):
            return self._labels, self._partial
        order = None if self._position is None else np.argsort(self._position)
        visited = self._part.begin + np.arange(self._part.n_rows) if order is None else self._position_at(order)
        places = np.searchsorted(visited, born_at, side="right") - 1
        labels, sq_dist = self._labels, self._sq_dist
        self._part.join_newborn(order, newborn, places, self._k, labels, sq_dist)
        return labels, self._part.stats_of(labels, sq_dist, self._k + len(newborn))

    def _position_at(self, order: Index) -> Index:
        assert self._position is not None
        return self._position[order]

    def _still_far(self, newborn: Floats) -> tuple[Index, Index]:
        """Far rows yet to come, after those near to clusters born elsewhere have joined them."""
        unseen = newborn[self._n_seen :]
        far, at = self._far[self._begin :], self._at[self._begin :]
        self._begin = 0
        if not len(unseen) or not len(far):
            return far, at
        self._part.join_listed(far, unseen, self._k + self._n_seen, self._labels, self._sq_dist)
        is_far = self._part.weights(far) * self._sq_dist[far] > self._lam
        return far[is_far], at[is_far]
