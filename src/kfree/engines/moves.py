"""What searches ask of rows in memory more than once, and what lives as long as a search: arrays beside the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from kfree.core.arrays import Array, namespace_of
from kfree.core.assignment import Assignment
from kfree.core.blocks import row_blocks
from kfree.core.masses import Masses
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Mask, Stats
from kfree.engines.passes import RowPasses, sq_dist_to_nearest

# Candidate rows for an exchange: those for which another cluster costs at most this much more.
NEARLY = 1.1
# Clusters that weigh less than this many rows are easy to move.
SMALL = 20.0
# Maximum number of rounds of exchanges; with rounding, rows could move back and forth without end.
_MOST_ROUNDS = 100


class Bisection:
    """Rows of some clusters, each cluster a pair of sites; the side that a row is on stays with the row.

    ``n_rows`` (m,) are the rows of positive weight in each pair. ``place`` (k,) is the number of the pair of each
    cluster, or −1. ``_moving`` are rows of active pairs, None for all.
    """

    def __init__(self, rows: RowPasses, assignment: Assignment, place: Labels, n_pairs: int):
        self._passes, self._assignment, self._n_pairs = rows, assignment, n_pairs
        labels = assignment.labels
        self._arrays = arrays = rows.arrays
        place_of = arrays.of(place)
        self._rows = arrays.flatnonzero(place_of[labels] >= 0)
        self._pair = place_of[labels[self._rows]]
        # Rows of weight zero are not counted when they change sides.
        self._counts = None if rows.weight is None else rows.weights(self._rows) > 0
        self.n_rows = self._number(self._pair, slice(None))
        self._sides = arrays.full(len(self._rows), -1, np.int32)
        self._moving: Array | None = None

    def scatter_product(self, pairs: Floats) -> tuple[Floats, Floats]:
        """Per pair Σ s and Σ s·z, where s is weight·(squared distance to the second site − to the first).

        With sites at mean ± axis this multiplies the axis with the scatter matrix, which is never formed.
        """
        return self._passes.scatter_product(self._rows, self._pair, pairs)

    def choose(self, pairs: Floats, active: Mask) -> tuple[Stats, Floats]:
        """Each row of an ``active`` pair (m,) goes to the nearer site of ``pairs`` (2m, d), the first one on ties.

        Statistics (2m,) about the sites, of which those of other pairs are not defined, and how many rows of positive
        weight changed sides, (m,); the first time all did. Once a pair is not active, it stays so.
        """
        if self._moving is not None:
            self._moving = self._moving[self._arrays.of(active)[self._pair[self._moving]]]
        elif not active.all():
            self._moving = self._arrays.flatnonzero(self._arrays.of(active)[self._pair])
        # A slice is a view, which takes no memory.
        moving = slice(None) if self._moving is None else self._moving
        pair, sides = self._pair[moving], self._sides[moving]
        chosen, stats = self._passes.choose(self._rows[moving], pair, pairs)
        changed = self._arrays.flatnonzero(chosen != sides)
        n_changed = self._number(pair[changed], changed if self._moving is None else self._moving[changed])
        self._sides[moving] = chosen
        return stats, n_changed

    def divided(self, newborn: Labels) -> Assignment:
        """The assignment in which the second side of pair p is the cluster ``newborn[p]``, unless that is −1."""
        labels = self._arrays.copy(self._assignment.labels)
        target = self._arrays.of(newborn)[self._pair]
        leaves = (self._sides % 2 == 1) & (target >= 0)
        labels[self._rows[leaves]] = target[leaves]
        n_clusters = max(self._assignment.n_clusters, int(newborn.max(initial=-1)) + 1)
        return self._passes.assignment(labels, n_clusters)

    def _number(self, pair: Array, rows: Array | slice) -> Floats:
        """How many of these rows count, per pair; ``rows`` are places in the list of rows."""
        return self._arrays.counts(pair if self._counts is None else pair[self._counts[rows]], self._n_pairs)


class DeletionCosts(Protocol):
    """What it would cost to delete each cluster, its rows going to other clusters. Caches intermediate results."""

    def update(self, assignment: Assignment, sites: Sites) -> None: ...

    def costs(self) -> Floats:
        """What deleting one cluster adds to the cost, its own penalty aside; an upper bound, (k,)."""

    def neighbours(self) -> sp.csr_array:
        """(k, k): not zero where rows of one cluster would go to another."""


class SecondNearest:
    """Deletion costs from a second cluster of each row.

    Any other cluster gives an upper bound, so a row's second may be out of date; it is updated only where necessary.
    """

    def __init__(self, rows: RowPasses):
        self._passes, self._rows = rows, rows.counting()
        # Uids of the own cluster and of the second at the last update, and their places now.
        self._own, self._uid, self._labels, self._second = (
            rows.arrays.full(len(self._rows), value, np.int32) for value in (-1, 0, 0, 0)
        )

    def update(self, assignment: Assignment, sites: Sites) -> None:
        """Rows whose cluster has changed or whose second has been deleted look for the second-nearest site."""
        arrays, place_of = self._passes.arrays, np.full(sites.next_uid, -1, dtype=np.int32)
        place_of[sites.uids] = np.arange(len(sites.uids))
        uids, place = arrays.of(sites.uids.astype(np.int32)), arrays.of(place_of)
        for block in row_blocks(len(self._rows), arrays.rows_at_once):
            rows = self._rows[block]
            own = assignment.labels[rows]
            own_uid = uids[own]
            lost = arrays.flatnonzero((own_uid != self._own[block]) | (place[self._uid[block]] < 0))
            second, _ = self._passes.second_nearest(rows[lost], own[lost], sites.centres)
            self._uid[block][lost], self._own[block] = uids[second], own_uid
            self._labels[block], self._second[block] = own, place[self._uid[block]]
        self._centres = sites.centres

    def costs(self) -> Floats:
        return self._passes.second_costs(self._rows, self._labels, self._second, self._centres)

    def neighbours(self) -> sp.csr_array:
        arrays, k = self._passes.arrays, len(self._centres)
        blocks = row_blocks(len(self._rows), arrays.rows_at_once)
        counts = (arrays.counts_of_pairs(self._labels[block], self._second[block], k) for block in blocks)
        return reduce(add, counts)


class Seeding:
    """The squared distance of every row to the nearest of the sites taken so far; infinite at first."""

    def __init__(self, rows: RowPasses):
        self._passes, self._has_sites = rows, False
        self._sq_dist = rows.arrays.full(rows.n_rows, np.inf, np.float64)

    def approach(self, site: Floats) -> None:
        """Take one more site (d,)."""
        self._has_sites = True
        self._passes.approach(site, self._sq_dist)

    def draw(self, uniform: Floats) -> Floats:
        """Rows drawn in proportion to weight·squared distance, or to weight where that is zero everywhere; (m, d).

        ``uniform`` (m,) are numbers in [0, 1).
        """
        masses = self._passes.masses(self._saving()) if self._has_sites else self._weights()
        if not masses.total > 0:  # every row is at a site, so draws repeat rows
            masses = self._weights()
        return self._points(masses.rows_at([u * masses.total for u in uniform.tolist()]))

    def best(self, candidates: Floats) -> int:
        """The candidate that would leave the smallest Σ weight·squared distance; the first one on ties."""
        return self._passes.best_of(candidates, self._sq_dist)

    def farthest(self) -> tuple[float, Floats]:
        """The largest weight·squared distance and the first row (d,) that has it."""
        saving = self._saving()
        row = self._passes.arrays.argmax(saving)
        return float(saving[row]), self._points([row])[0]

    def _points(self, rows: list[int]) -> Floats:
        return self._passes.points(self._passes.arrays.of(np.array(rows)))

    def _weights(self) -> Masses:
        return self._passes.masses(self._passes.weights(self._passes.arrays.arange(self._passes.n_rows)))

    def _saving(self) -> Array:
        weight = self._passes.weight
        if weight is None:
            return self._sq_dist
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinitely far is farthest …
            saving = weight * self._sq_dist
        saving[weight == 0] = 0.0  # … but a row of no weight saves nothing, wherever it is
        return saving


def exchange_candidates(
    passes: RowPasses, labels: Array, centres: Floats, stats: Stats, costs: type[RowCosts]
) -> tuple[Array, Array]:
    """Rows that may gain by an exchange (Hartigan 1975), and the target of each: −1 for those that must be compared
    with all clusters."""
    arrays, rows, sizes = passes.arrays, passes.counting(), costs.size(stats.n, stats.sum)
    own, weight = labels[rows], passes.weights(rows)
    max_weight = 1.0 if passes.weight is None else float(weight.max())
    second, sq_dist = passes.second_nearest(rows, own, centres)
    saved = costs.leaving(arrays.of(sizes)[own], weight, passes.distances_to_own(rows, own, centres))
    # Joining a cluster of size n costs at least w·n/(n + w)·d², so a small one may be cheaper than the nearest.
    small = np.flatnonzero(sizes < SMALL * max_weight)
    with np.errstate(over="ignore"):  # where costs overflow, no move pays
        least = _joining(max(float(sizes.min()), SMALL * max_weight), weight) * sq_dist
        if len(small):
            nearest = _joining(float(sizes[small].min()), weight) * _to_nearest(passes, small, rows, own, centres)
            least = namespace_of(least).minimum(least, nearest)
    listed = arrays.flatnonzero((arrays.of(stats.n)[own] > weight) & (least < NEARLY * saved))
    others = second[listed]
    others[least[listed] < saved[listed]] = -1
    return rows[listed], others


def _joining(size: float, weight: Array) -> Array:
    return weight * size / (size + weight)


def _to_nearest(passes: RowPasses, some: Index, rows: Array, labels: Array, centres: Floats) -> Array:
    """The squared distance of each row to the nearest of ``some`` clusters, its own aside."""
    arrays, place_of = passes.arrays, np.full(len(centres), -1, dtype=np.int32)
    place_of[some] = np.arange(len(some))
    place = arrays.of(place_of)[labels]
    within, beyond = arrays.flatnonzero(place >= 0), arrays.flatnonzero(place < 0)
    sq_dist = arrays.full(len(rows), np.inf, np.float64)
    sq_dist[beyond] = sq_dist_to_nearest(passes, rows[beyond], centres[some])
    if len(some) > 1:
        sq_dist[within] = passes.second_nearest(rows[within], place[within], centres[some])[1]
    return sq_dist


def until_at_rest(exchange_round: Callable[[], int]) -> int:
    """Rounds of exchanges until no row moves; how many moves there were."""
    n_moved = 0
    for _ in range(_MOST_ROUNDS):
        n_moved_now = exchange_round()
        n_moved += n_moved_now
        if not n_moved_now:
            break
    return n_moved
