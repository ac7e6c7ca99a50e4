"""Reference implementation of the compiled quadratic costs and kd-tree in NumPy: same names and arguments."""

import numpy as np

from kfree.core.sum_tree import join
from kfree.native.reference.rows import BLOCK


def cheapest(rows, centre, factor, offset, n_threads, label):
    """in rows (n, d), costs ‖factor_c(x − centre_c)‖² + offset_c; out label (n,): the first of the cheapest."""
    label[:] = _costs(rows, centre, factor, offset).argmin(axis=1)


def moments(rows, label, n_threads, n, sum, scatter):
    """in rows (n, d), label (n,); out n (k,), sum (k, d), scatter (k, d, d) about the means."""
    n[:] = np.bincount(label, minlength=len(n))
    sum[:] = _sum_blocks(rows, label, len(n))
    gaps = rows - (sum / np.maximum(n, 1.0)[:, None])[label]
    products = (gaps[:, :, None] * gaps[:, None, :]).reshape(len(rows), -1)
    scatter[:] = _sum_blocks(products, label, len(n)).reshape(scatter.shape)


def _sum_blocks(values, label, k):
    """Sums (k, width) of values (n, width): in order within a block, joined by the tree of blocks."""
    sums = []
    for begin in range(0, len(values), BLOCK):
        own, some = label[begin : begin + BLOCK], values[begin : begin + BLOCK]
        sums.append(np.column_stack([np.bincount(own, column, minlength=k) for column in some.T]))
    return join([(0, number) for number in range(len(sums))], sums)


class KdTree:
    """Boxes of rows, halved at the median of their widest side until they hold at most ``leaf_size`` rows."""

    def __init__(self, rows, leaf_size):
        self.order = np.arange(len(rows))
        self._nodes = []
        self._grow(rows, 0, len(rows), leaf_size)

    def assign(self, rows, centre, factor, offset, n_threads, label, n, sum, scatter):
        """in rows in ``order``; out label in the same order, and moments. Returns the number of evaluations."""
        n_evaluations = self._descend(rows, 0, np.arange(len(offset)), (centre, factor, offset), label)
        moments(rows, label, n_threads, n, sum, scatter)
        return n_evaluations

    def _grow(self, rows, begin, end, leaf_size):
        own = rows[self.order[begin:end]]
        low, high = own.min(axis=0), own.max(axis=0)
        place, side = len(self._nodes), np.argmax(high - low)
        self._nodes.append([begin, end, (low + high) / 2, (high - low) / 2 * (1 + 1e-15), None])
        if end - begin <= leaf_size or low[side] == high[side]:
            return place
        half = (end - begin) // 2
        self.order[begin:end] = self.order[begin:end][np.argpartition(own[:, side], half)]
        children = (self._grow(rows, *part, leaf_size) for part in [(begin, begin + half), (begin + half, end)])
        self._nodes[place][-1] = tuple(children)
        return place

    def _descend(self, rows, node, candidates, costs, label):
        begin, end, middle, reach, children = self._nodes[node]
        n_evaluations = 0
        if len(candidates) > 1:
            n_evaluations = len(candidates)
            candidates = candidates[~_dearer(middle, reach, *(part[candidates] for part in costs))]
        if len(candidates) == 1:
            label[begin:end] = candidates[0]
        elif children is None:
            n_evaluations += (end - begin) * len(candidates)
            some = (part[candidates] for part in costs)
            label[begin:end] = candidates[_costs(rows[begin:end], *some).argmin(axis=1)]
        else:
            for child in children:
                n_evaluations += self._descend(rows, child, candidates, costs, label)
        return n_evaluations


def _costs(rows, centre, factor, offset):
    """All costs (n, k), each added in the order of columns."""
    out = np.empty((len(rows), len(offset)))
    for c in range(len(offset)):
        gaps, total = rows - centre[c], np.zeros(len(rows))
        for i in range(rows.shape[1]):
            y = np.zeros(len(rows))
            for j in range(i + 1):
                y += factor[c, i, j] * gaps[:, j]
            total += y * y
        out[:, c] = total + offset[c]
    return out


def _dearer(middle, reach, centre, factor, offset):
    """Which clusters cost more, everywhere in a box, than the one that is cheapest in its middle.

    Over the box the cost is value + 2·gradient·u + ‖F u‖² with |u| ≤ reach. It lies above its tangent plane.
    """
    gap = middle - centre
    y = np.einsum("kij,kj->ki", factor, gap)
    gradient = np.einsum("kij,ki->kj", factor, y)
    sq_dist, slope = (y**2).sum(axis=1), np.abs(gradient) @ reach
    reach_sq = ((np.abs(factor) @ reach) ** 2).sum(axis=1)
    magnitude = (np.einsum("kij,kj->ki", np.abs(factor), np.abs(gap) + reach) ** 2).sum(axis=1) + np.abs(offset)
    value = sq_dist + offset
    nearest = np.maximum(np.sqrt(sq_dist) - np.sqrt(reach_sq), 0.0)
    lower = offset + np.maximum(sq_dist - 2 * slope, nearest**2)
    best = np.argmin(value)
    doubt = 16 * (len(middle) + 4) * np.finfo(float).eps * (magnitude + magnitude[best])
    parting = np.abs(gradient - gradient[best]) @ reach
    apart = lower - (value[best] + 2 * slope[best] + reach_sq[best]) > doubt
    dearer = apart | (value - value[best] - 2 * parting - reach_sq[best] > doubt)
    dearer[best] = False
    return dearer
