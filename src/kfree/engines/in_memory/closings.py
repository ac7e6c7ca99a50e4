"""The cost of closing clusters: for each row a second cluster, updated only where necessary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from kfree.core.sites import Sites
from kfree.core.stats import Labels
from kfree.engines.parts import NodeSums

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemoryClosings:
    """Any other cluster gives an upper bound on what closing costs, so a row's second may be out of date."""

    def __init__(self, part: InMemoryPart):
        self._part, self._rows = part, part.counting()
        self._own = np.full(len(self._rows), -1, dtype=np.int64)
        self._uid = np.zeros(len(self._rows), dtype=np.int64)

    def turn_to(self, labels: Labels, sites: Sites) -> None:
        """Rows whose cluster has changed or whose second has been closed look for the second-nearest site."""
        uids, own = sites.uids, labels[self._rows]
        place = np.full(sites.next_uid, -1, dtype=np.int32)
        place[uids] = np.arange(len(uids))
        lost = np.flatnonzero((uids[own] != self._own) | (place[self._uid] < 0))
        second, _ = self._part.second_nearest(self._rows[lost], own[lost], sites.centres)
        self._uid[lost], self._own = uids[second], uids[own]
        self._labels, self._second, self._centres = own, place[self._uid], sites.centres

    def costs(self) -> NodeSums:
        return self._part.closing_costs(self._rows, self._labels, self._second, self._centres)

    def neighbours(self) -> sp.csr_array:
        k, ones = len(self._centres), np.ones(len(self._rows), dtype=np.int32)
        return sp.csr_array((ones, (self._labels, self._second)), shape=(k, k))
