"""What merging each of many clusters costs at least, kept while few of them change from one clustering to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index
from kfree.search.path.gram_merges import AT_ONCE


class Partners:
    """For each cluster a bound on the cost of merging it with any other, and the cluster with that bound.

    Comparing all clusters with all takes k² steps, at each of k steps of a path. After a merge and k-means, most have
    the same rows as before. Only those that changed, and those whose partner did, are compared again.
    """

    def __init__(self) -> None:
        self._uids = self._partner = np.empty(0, dtype=np.int64)
        self._sizes = self._least = np.empty(0)
        self._centres = np.empty((0, 0))

    def least_costs(self, uids: Index, sizes: Floats, centres: Floats) -> Floats:
        """The bounds (k,) for clusters with these ascending ids, positive ``sizes`` and ``centres``."""
        before, same = self._unchanged(uids, sizes, centres)
        now = np.full(len(self._uids), -1)
        now[before[same]] = np.flatnonzero(same)
        least, partner = np.full(len(uids), np.inf), np.full(len(uids), -1)
        least[same], partner[same] = self._least[before[same]], now[self._partner[before[same]]]
        alone = partner < 0
        for some in _blocks(np.flatnonzero(alone)):
            costs = _bounds(some, sizes, centres)
            least[some], partner[some] = costs.min(axis=1), costs.argmin(axis=1)
            new = ~same[some]
            if new.any():
                nearest = costs[new].argmin(axis=0)
                offered = costs[new][nearest, np.arange(len(uids))]
                better = np.flatnonzero(~alone & (offered < least))
                least[better], partner[better] = offered[better], some[new][nearest[better]]
        self._uids, self._sizes, self._centres, self._least, self._partner = uids, sizes, centres, least, partner
        return least

    def _unchanged(self, uids: Index, sizes: Floats, centres: Floats) -> tuple[Index, NDArray[np.bool_]]:
        """The place of each cluster when last asked about, and whether it was there with this size and centre."""
        if not len(self._uids):
            return np.zeros(len(uids), dtype=np.int64), np.zeros(len(uids), dtype=bool)
        before = np.minimum(np.searchsorted(self._uids, uids), len(self._uids) - 1)
        same = (self._uids[before] == uids) & (self._sizes[before] == sizes)
        return before, same & (self._centres[before] == centres).all(axis=1)


def _blocks(clusters: Index) -> list[Index]:
    return [clusters[begin : begin + AT_ONCE] for begin in range(0, len(clusters), AT_ONCE)]


def _bounds(some: Index, sizes: Floats, centres: Floats) -> Floats:
    """A lower bound on what merging each of ``some`` clusters with each one costs, (number, k); infinite with itself.

    It is ‖μ_a − μ_b‖² / (1/size_a + 1/size_b), less rounding: what the pair costs, or under cosine at least half of it.
    It takes a fraction of the time of the costs, since one matrix product gives the squared distances.
    """
    sq_norm, inverse, one = np.einsum("ij,ij->i", centres, centres), 1 / sizes, np.ones(len(sizes))
    slack = 4 * (centres.shape[1] + 4) * np.finfo(float).eps * sq_norm.max()
    left = np.column_stack([-2 * centres[some], sq_norm[some] - slack, one[some]])
    costs: Floats = left @ np.column_stack([centres, one, sq_norm]).T
    costs /= inverse[some, None] + inverse
    costs[np.arange(len(some)), some] = np.inf
    return costs
