"""Which rows may gain by an exchange (Hartigan 1975)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.row_costs import RowCosts
from kfree.core.stats import Floats, Index, Labels, Stats

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart

# Candidate rows: those for which another cluster costs at most this much more.
NEARLY = 1.1
# Clusters that weigh less than this many rows are easy to move.
SMALL = 20.0


def candidates(
    part: InMemoryPart, labels: Labels, centres: Floats, stats: Stats, costs: type[RowCosts], max_weight: float
) -> tuple[Index, Labels]:
    """Rows that may gain by a move, and their target; −1 for those that must be compared with all clusters."""
    rows = part.counting()
    own, weight, sizes = labels[rows], part.weights(rows), costs.size(stats.n, stats.sum)
    second, sq_dist = part.second_nearest(rows, own, centres)
    saved = costs.leaving(sizes[own], weight, part.distances_to_own(rows, own, centres))
    # Joining a cluster of size n costs at least w·n/(n + w)·d², so a small one may be cheaper than the nearest.
    small = np.flatnonzero(sizes < SMALL * max_weight)
    least = _joining(max(sizes.min(), SMALL * max_weight), weight) * sq_dist
    if len(small):
        least = np.minimum(least, _joining(sizes[small].min(), weight) * _to_nearest(part, small, rows, own, centres))
    listed = np.flatnonzero((stats.n[own] > weight) & (least < NEARLY * saved))
    return rows[listed], np.where(least[listed] < saved[listed], -1, second[listed]).astype(np.int32)


def _joining(size: float, weight: Floats) -> Floats:
    return weight * size / (size + weight)


def _to_nearest(part: InMemoryPart, some: Index, rows: Index, labels: Labels, centres: Floats) -> Floats:
    """The squared distance of each row to the nearest of ``some`` clusters, its own aside."""
    nobody = len(some)
    place = np.full(len(centres), nobody, dtype=np.int32)
    place[some] = np.arange(nobody)
    _, sq_dist = part.second_nearest(rows, place[labels], np.vstack([centres[some], centres[some[:1]]]))
    # A cluster that is alone among them was compared with the placeholder for no cluster.
    return np.where((place[labels] < nobody) & (nobody == 1), np.inf, sq_dist)
