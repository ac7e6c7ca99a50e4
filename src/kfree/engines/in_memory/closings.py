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

# Rows per block, which bounds the memory of what is computed for each row and not kept.
_ROWS_AT_ONCE = 1 << 17


class InMemoryClosings:
    """Any other cluster gives an upper bound on what closing costs, so a row's second may be out of date."""

    def __init__(self, part: InMemoryPart):
        self._part, self._rows = part, part.counting()
        n_rows = len(self._rows)
        # Uids of the own cluster and of the second at the last turn, and their places now.
        self._own, self._uid = np.full(n_rows, -1, dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
        self._labels: Labels = np.empty(n_rows, dtype=np.int32)
        self._second: Labels = np.empty(n_rows, dtype=np.int32)

    def turn_to(self, labels: Labels, sites: Sites) -> None:
        """Rows whose cluster has changed or whose second has been closed look for the second-nearest site."""
        uids = sites.uids.astype(np.int32)
        place = np.full(sites.next_uid, -1, dtype=np.int32)
        place[uids] = np.arange(len(uids))
        for block in self._blocks():
            rows = self._rows[block]
            own = labels[rows]
            own_uid = uids[own]
            lost = np.flatnonzero((own_uid != self._own[block]) | (place[self._uid[block]] < 0))
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
            pairs = self._labels[block], self._second[block]
            counts = counts + sp.csr_array((np.ones(len(pairs[0]), dtype=np.int32), pairs), shape=(k, k))
        return counts

    def _blocks(self) -> list[slice]:
        return [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, len(self._rows), _ROWS_AT_ONCE)]
