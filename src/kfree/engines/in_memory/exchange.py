"""Which rows may gain by an exchange (Hartigan 1975)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.arrays import Array, namespace_of
from kfree.core.row_costs import RowCosts
from kfree.core.stats import Floats, Index, Stats

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart

# Candidate rows: those for which another cluster costs at most this much more.
NEARLY = 1.1
# Clusters that weigh less than this many rows are easy to move.
SMALL = 20.0


def candidates(
    part: InMemoryPart, labels: Array, centres: Floats, stats: Stats, costs: type[RowCosts], max_weight: float
) -> tuple[Array, Array]:
    """Rows that may gain by a move, and their target; −1 for those that must be compared with all clusters."""
    arrays, rows, sizes = part.arrays, part.counting(), costs.size(stats.n, stats.sum)
    own, weight = labels[rows], part.weights(rows)
    second, sq_dist = part.second_nearest(rows, own, centres)
    saved = costs.leaving(arrays.of(sizes)[own], weight, part.distances_to_own(rows, own, centres))
    # Joining a cluster of size n costs at least w·n/(n + w)·d², so a small one may be cheaper than the nearest.
    small = np.flatnonzero(sizes < SMALL * max_weight)
    with np.errstate(over="ignore"):  # where costs overflow, no move pays
        least = _joining(max(float(sizes.min()), SMALL * max_weight), weight) * sq_dist
        if len(small):
            nearest = _joining(float(sizes[small].min()), weight) * _to_nearest(part, small, rows, own, centres)
            least = namespace_of(least).minimum(least, nearest)
    listed = arrays.flatnonzero((arrays.of(stats.n)[own] > weight) & (least < NEARLY * saved))
    others = second[listed]
    others[least[listed] < saved[listed]] = -1
    return rows[listed], others


def _joining(size: float, weight: Array) -> Array:
    return weight * size / (size + weight)


def _to_nearest(part: InMemoryPart, some: Index, rows: Array, labels: Array, centres: Floats) -> Array:
    """The squared distance of each row to the nearest of ``some`` clusters, its own aside."""
    nobody = len(some)
    place_of = np.full(len(centres), nobody, dtype=np.int32)
    place_of[some] = np.arange(nobody)
    place = part.arrays.of(place_of)[labels]
    _, sq_dist = part.second_nearest(rows, place, np.vstack([centres[some], centres[some[:1]]]))
    # A cluster that is alone among them was compared with the placeholder for no cluster.
    if nobody == 1:
        sq_dist[place < nobody] = np.inf
    return sq_dist
