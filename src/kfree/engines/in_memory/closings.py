"""The cost of closing clusters: for each row a second cluster, updated only where necessary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from kfree.core.arrays import Array
from kfree.core.sites import Sites
from kfree.engines.parts import NodeSums

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemoryClosings:
    """Any other cluster gives an upper bound on what closing costs, so a row's second may be out of date."""

    def __init__(self, part: InMemoryPart):
        self._part, self._rows = part, part.counting()
        # Uids of the own cluster and of the second at the last turn, and their places now.
        self._own, self._uid, self._labels, self._second = (
            part.arrays.full(len(self._rows), value, np.int32) for value in (-1, 0, 0, 0)
        )

    def turn_to(self, labels: Array, sites: Sites) -> None:
        """Rows whose cluster has changed or whose second has been closed look for the second-nearest site."""
        arrays, place_of = self._part.arrays, np.full(sites.next_uid, -1, dtype=np.int32)
        place_of[sites.uids] = np.arange(len(sites.uids))
        uids, place = arrays.of(sites.uids.astype(np.int32)), arrays.of(place_of)
        for block in self._blocks():
            rows = self._rows[block]
            own = labels[rows]
            own_uid = uids[own]
            lost = arrays.flatnonzero((own_uid != self._own[block]) | (place[self._uid[block]] < 0))
            second, _ = self._part.second_nearest(rows[lost], own[lost], sites.centres)
            self._uid[block][lost], self._own[block] = uids[second], own_uid
            self._labels[block], self._second[block] = own, place[self._uid[block]]
        self._centres = sites.centres

    def costs(self) -> NodeSums:
        return self._part.closing_costs(self._rows, self._labels, self._second, self._centres)

    def neighbours(self) -> sp.csr_array:
        k = len(self._centres)
        counts = sp.csr_array((k, k), dtype=np.int32)
        for block in self._blocks():
            counts = counts + self._part.arrays.counts_of_pairs(self._labels[block], self._second[block], k)
        return counts

    def _blocks(self) -> list[slice]:
        size = self._part.arrays.rows_at_once
        return [slice(begin, begin + size) for begin in range(0, len(self._rows), size)]
