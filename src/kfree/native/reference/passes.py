"""Reference implementation of the compiled passes in NumPy: same names, arguments and, for dense rows, bits.

Coordinates are z = (x − anchor) − shift in float64, or x over its length when ``unit``. A squared distance is
Σ_t (z_t − c_t)² with t in order. Sums run over the rows of fixed blocks in order, and are joined by a fixed tree over
block numbers (``kfree.core.sum_tree``). Arrays of statistics take the total or, with one more axis before the others,
the sums of each of ``rows.nodes``: what a part of the rows hands on.
``n_threads`` and ``isa`` are accepted because the compiled functions need them; here they have no effect.
"""

import math

import numpy as np

from kfree.core import hashing
from kfree.core.masses import MassTree
from kfree.core.row_costs import DirectionRowCosts, MeanRowCosts, row_sums
from kfree.core.stats import exact_sum
from kfree.core.sum_tree import join

# Functions that make rows belong to the passes' module, as in compiled code.
from kfree.native.reference.rows import BLOCK as BLOCK
from kfree.native.reference.rows import blocks_of, sq_dists
from kfree.native.reference.rows import csr_rows as csr_rows
from kfree.native.reference.rows import dense_rows as dense_rows
from kfree.native.reference.rows import instruction_sets as instruction_sets


def Masses(mass, block=BLOCK):
    """Draws in proportion to ``mass`` (n,)."""
    return MassTree.of(mass, block)


class Bounds:
    """A placeholder for the bounds that compiled code keeps between passes. Here everything is computed."""

    def __init__(self, n_rows, parted_columns=0, prefilter=None):
        pass

    def measured(self, row, cluster, centres, sq_dist):
        """Whether the last pass has left these distances, which are then in ``sq_dist``."""
        return False


def copy(rows, index, z):
    """out z (m, d): coordinates of the rows in ``index`` (m,)."""
    z[:] = rows.z(index)


def all_finite(X, n_threads):
    """Whether X (n, d) holds neither NaN nor infinite values."""
    return bool(np.isfinite(X).all())


def nearest(rows, centres, uids, lam, n_threads, bounds, label, sq_dist, n, sum, sse, far):
    """out label, sq_dist (n,), stats about the centres (k, d), and far (n,) or None: whether weight·sq_dist > lam.

    Returns the number of distances computed.
    """
    for block in rows.blocks():
        gaps = sq_dists(rows.z(block), centres)
        label[block] = gaps.argmin(axis=1)
        sq_dist[block] = gaps.min(axis=1)
    accumulate(rows, label, sq_dist, n_threads, n, sum, sse)
    if far is not None:
        far[:] = rows.weight * sq_dist > lam
    return rows.shape[0] * len(centres)


def k_means(rows, centres, uids, penalty, max_passes, n_threads, bounds, label, sq_dist, n, sum, sse):
    """in-out centres (k, d); out what ``nearest`` gives for the cheapest of the passes, the last one on ties.

    Passes, each about the means of the last one, go on until no label changes, the cost Σ sse + penalty does not fall,
    or a cluster has no weight. Returns the numbers of passes and distances, whether it was one of the first two, and
    the cost.
    """

    def passed(centres):
        state = centres, *(np.empty_like(part) for part in (label, sq_dist, n, sum, sse))
        nearest(rows, centres, uids, np.inf, n_threads, bounds, *state[1:], None)
        return state, exact_sum(state[-1].tolist()) + penalty

    (state, cost), n_passes, converged = passed(centres.copy()), 1, False
    while n_passes < max_passes and not converged and math.isfinite(cost) and (state[3] > 0).all():
        new, new_cost = passed(state[4] / state[3][:, None])
        n_passes += 1
        converged = np.array_equal(new[1], state[1]) or not new_cost < cost
        state, cost = (new, new_cost) if new_cost <= cost else (state, cost)
    for out, found in zip((centres, label, sq_dist, n, sum, sse), state, strict=True):
        out[:] = found
    return n_passes, n_passes * rows.shape[0] * len(centres), converged, cost


def nearest_labels(rows, centres, numbers, n_threads, label):
    """out label (n,): the number, of ``numbers`` (k,), of the nearest of the centres (k, d).

    Returns the number of distances computed.
    """
    for block in rows.blocks():
        label[block] = numbers[sq_dists(rows.z(block), centres).argmin(axis=1)]
    return rows.shape[0] * len(centres)


def accumulate(rows, label, sq_dist, n_threads, n, sum, sse):
    """in label, sq_dist (n,); out n (k,) total weight, sum (k, d) of weight·z, sse (k,) of weight·sq_dist.

    Labels beyond the clusters raise.
    """
    _require_labels(label, n.shape[-1])
    _sum_list(rows, np.arange(rows.shape[0]), label, rows.weight, sq_dist, n, sum, sse)


def fingerprints(rows, label, n_threads, sum):
    """out sum (k,): per cluster the sum, modulo 2^64, of a hash of its rows' global numbers.

    Labels beyond the clusters raise.
    """
    _require_labels(label, len(sum))
    sum[:] = hashing.fingerprints(label, rows.first_block * BLOCK, len(sum))


def open_clusters(rows, far, first_label, lam, room, n_threads, label, sq_dist):
    """Rows ``far`` in visiting order join what is nearest or open a cluster.

    in-out label, sq_dist (n,); clusters are numbered from first_label, no more than ``room`` are opened. Returns the
    founders as positions in ``far``, and how many rows found no room.
    """
    newborn, founders, n_refused = np.empty((0, rows.shape[1])), [], 0
    z_far = rows.z(far)
    for position, row in enumerate(far):
        z = z_far[position : position + 1]
        _join_nearer(z, newborn, np.array([row]), first_label, label, sq_dist)
        if not rows.weight[row] * sq_dist[row] > lam:
            continue
        if len(newborn) == room:
            n_refused += 1
        else:
            label[row], sq_dist[row] = first_label + len(newborn), 0.0
            newborn = np.vstack([newborn, z])
            founders.append(position)
    return np.array(founders, dtype=np.int64), n_refused


def join_newborn(rows, order, newborn, born_at, first_label, n_threads, label, sq_dist):
    """Rows visited after a birth join the newborn cluster where it is strictly nearer.

    in order (n,) or None, newborn (b, d), born_at (b,) places in the order, ascending; in-out label, sq_dist (n,).
    """
    visited = np.arange(rows.shape[0]) if order is None else order
    z = rows.z(visited)
    for j, place in enumerate(born_at):
        later = slice(place + 1, None)
        _join_nearer(z[later], newborn[j : j + 1], visited[later], first_label + j, label, sq_dist)


def approach(rows, site, n_threads, sq_dist):
    """in-out sq_dist (n,): lowered to the squared distance to the one site (1, d) where that is less."""
    for block in rows.blocks():
        sq_dist[block] = np.minimum(sq_dist[block], sq_dists(rows.z(block), site)[:, 0])


def best_candidate(rows, candidates, sq_dist, n_threads):
    """The candidate with the smallest potential Σ weight·min(sq_dist, squared distance to it), the first on ties."""
    potential, sums = np.empty(len(candidates)), {}
    for number, block in enumerate(rows.blocks()):
        gaps = np.minimum(sq_dist[block, None], sq_dists(rows.z(block), candidates))
        sums[rows.first_block + number] = np.add.accumulate(rows.weight[block, None] * gaps, axis=0)[-1]
    _join_blocks(rows, sums, potential)
    return int(potential.argmin())


def choose(rows, row, cluster, centres, n_threads, label, n, sum, sse):
    """Each listed row to one of the two sites of its cluster, 2·cluster and 2·cluster + 1, the first one on ties.

    in row, cluster (m,), centres (2k, d); out label (m,), stats (2k,).
    """
    first, second = _pair_sq_dists(rows, row, cluster, centres)
    label[:] = 2 * cluster + (second < first)
    _sum_list(rows, row, label, rows.weight[row], np.minimum(first, second), n, sum, sse)


def scatter_product(rows, row, cluster, centres, n_threads, n, sum, sse):
    """Per cluster Σ s and Σ s·z over the listed rows, s = weight·(squared distance to the second site − to the first).

    in row, cluster (m,), centres (2k, d); out n (k,), sum (k, d); sse (k,) is not defined.
    """
    first, second = _pair_sq_dists(rows, row, cluster, centres)
    _sum_list(rows, row, cluster, rows.weight[row] * (second - first), first, n, sum, sse)


def second_nearest(rows, row, cluster, centres, n_threads, second, sq_dist):
    """The nearest site of each listed row but its cluster's own; in row, cluster (m,); out second, sq_dist (m,)."""
    for block in blocks_of(len(row)):
        gaps = sq_dists(rows.z(row[block]), centres)
        gaps[np.arange(len(block)), cluster[block]] = np.inf
        second[block], sq_dist[block] = gaps.argmin(axis=1), gaps.min(axis=1)


@np.errstate(over="ignore", invalid="ignore")  # as in compiled code
def distances_to_own(rows, row, cluster, centres, n_threads, sq_dist):
    """Squared distances of the listed rows to the sites of their clusters; in row, cluster (m,); out sq_dist (m,)."""
    for block in blocks_of(len(row)):
        sq_dist[block] = row_sums((rows.z(row[block]) - centres[cluster[block]]) ** 2)


@np.errstate(over="ignore", invalid="ignore")  # as in compiled code
def deletion_costs(rows, row, cluster, second, centres, n_threads, cost):
    """What deleting each cluster adds to the cost if its listed rows go to the sites ``second`` instead.

    in row, cluster, second (m,), rows in ascending order; out cost (k,).
    """
    now, then = np.empty(len(row)), np.empty(len(row))
    distances_to_own(rows, row, cluster, centres, n_threads, now)
    distances_to_own(rows, row, second, centres, n_threads, then)
    blocks, added = rows.first_block + row // BLOCK, rows.weight[row] * (then - now)
    sums = {
        number: np.bincount(cluster[blocks == number], weights=added[blocks == number], minlength=len(centres))
        for number in np.unique(blocks)
    }
    _join_blocks(rows, sums, cost)


class Exchange:
    """Rows that may change clusters, visited in order, round by round.

    ``other`` (m,) names the cluster that each of ``row`` (m,) may go to, or −1 for the one where it costs least at the
    start. A row moves, or moves back, if that saves more than ``least_gain``. The shift of both centres is included in
    the cost, and made after every move; a cluster's last row stays. ``path_length`` is for the compiled code.
    """

    def __init__(self, rows, row, other, least_gain, n_threads, label, n, sum, centres, path_length):
        self._rows, self._row, self._other, self._least_gain = rows, row, other.copy(), least_gain
        self._costs = DirectionRowCosts if len(rows.lengths) else MeanRowCosts
        self._z, size = rows.z(row), self._costs.size(n, sum)
        for i in np.flatnonzero(other < 0) if len(centres) > 1 else ():
            joining = self._costs.joining(size, rows.weight[row[i]], sq_dists(self._z[i : i + 1], centres)[0])
            joining[label[row[i]]] = np.inf
            self._other[i] = joining.argmin()

    def round(self, label, n, sum, centres, path_length):
        """in-out label (n,), n (k,), sum and centres (k, d). Returns how many rows moved."""
        costs, size, n_moved = self._costs, self._costs.size(n, sum).copy(), 0
        for i, row in enumerate(self._row):
            pair, w = [label[row], self._other[i]], self._rows.weight[row]
            if pair[1] < 0 or not w > 0 or not n[pair[0]] > w:
                continue
            now, then = sq_dists(self._z[i : i + 1], centres[pair])[0]
            if not costs.joining(size[pair[1]], w, then) < costs.leaving(size[pair[0]], w, now) - self._least_gain:
                continue
            for j, change in zip(pair, (-w, w), strict=True):
                n[j] += change
                sum[j] += change * self._z[i]
                size[j] = costs.size(n[j : j + 1], sum[j : j + 1])[0]
                if size[j] > 0:
                    centres[j] = sum[j] / size[j]
            self._other[i], label[row] = pair
            n_moved += 1
        return n_moved


def distances(rows, centres, n_threads, sq_dist):
    """out sq_dist (n, k)."""
    for block in rows.blocks():
        sq_dist[block] = sq_dists(rows.z(block), centres)


def _pair_sq_dists(rows, row, cluster, centres):
    gaps = np.empty((2, len(row)))
    for side in (0, 1):
        distances_to_own(rows, row, 2 * cluster + side, centres, 1, gaps[side])
    return gaps


def _require_labels(label, k):
    if label.min(initial=0) < 0 or label.max(initial=-1) >= k:  # as with a damaged model
        raise ValueError(f"rows of X have labels beyond {k} clusters. Fit the model again.")


def _sum_list(rows, row, label, weight, sq_dist, n, sum, sse):
    """Statistics of listed rows, which are in ascending order."""
    if (np.diff(row) <= 0).any():
        raise ValueError("listed rows must be in ascending order, each once")
    blocks, k = rows.first_block + row // BLOCK, n.shape[-1]
    sums = {}
    for number in np.unique(blocks):
        own = blocks == number
        sums[number] = _sum_block(rows.z(row[own]), weight[own], label[own], sq_dist[own], k)
    for part, out in enumerate((n, sum, sse)):
        _join_blocks(rows, {number: parts[part] for number, parts in sums.items()}, out)


@np.errstate(over="ignore", invalid="ignore")  # a cost that is no number is found by the search
def _sum_block(z, weight, label, sq_dist, k):
    counted = weight * np.where(weight != 0, sq_dist, 0.0)  # an infinite distance may not count
    n, sse = (np.bincount(label, weights=values, minlength=k) for values in (weight, counted))
    sums = [np.bincount(label, weights=weight * column, minlength=k) for column in z.T]
    return n, np.column_stack(sums), sse


def _join_blocks(rows, sums, out):
    """The sums of blocks, by block number, joined to what ``out`` has room for."""
    shape = next(iter(sums.values())).shape if sums else out.shape
    for (level, index), total in zip(rows.nodes, out, strict=True) if out.ndim > len(shape) else [((63, 0), out)]:
        below = [number for number in sums if number >> level == index]
        total[:] = join([(0, number) for number in below], [sums[number] for number in below]) if below else 0.0


def _join_nearer(z, centres, index, first_label, label, sq_dist):
    if len(centres) and len(index):
        gaps = sq_dists(z, centres)
        nearer = gaps.min(axis=1) < sq_dist[index]
        label[index[nearer]] = first_label + gaps.argmin(axis=1)[nearer]
        sq_dist[index[nearer]] = gaps.min(axis=1)[nearer]
