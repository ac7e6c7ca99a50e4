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
        self._own = part.arrays.full(len(self._rows), -1, np.int64)
        self._uid = part.arrays.full(len(self._rows), 0, np.int64)

    def turn_to(self, labels: Array, sites: Sites) -> None:
        """Rows whose cluster has changed or whose second has been closed look for the second-nearest site."""
        arrays, own = self._part.arrays, labels[self._rows]
        place_of = np.full(sites.next_uid, -1, dtype=np.int32)
        place_of[sites.uids] = np.arange(len(sites.uids))
        uids, place = arrays.of(sites.uids), arrays.of(place_of)
        lost = arrays.flatnonzero((uids[own] != self._own) | (place[self._uid] < 0))
        second, _ = self._part.second_nearest(self._rows[lost], own[lost], sites.centres)
        self._uid[lost], self._own = uids[second], uids[own]
        self._labels, self._second, self._centres = own, place[self._uid], sites.centres

    def costs(self) -> NodeSums:
        return self._part.closing_costs(self._rows, self._labels, self._second, self._centres)

    def neighbours(self) -> sp.csr_array:
        return self._part.arrays.counts_of_pairs(self._labels, self._second, len(self._centres))
