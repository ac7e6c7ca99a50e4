"""Sums over rows by cluster, as nodes of the tree over block numbers (``core/sum_tree.py``), which can be joined.

Rows that are cut at blocks, into chunks or among workers, have sums of the same bits as all rows in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats, Stats
from kfree.core.sum_tree import Node, join


@dataclass(frozen=True)
class Sums:
    """Statistics of clusters for each of the ``nodes`` that cover some blocks: n (m, k), sum (m, k, d), sse (m, k)."""

    nodes: Sequence[Node]
    n: Floats
    sum: Floats
    sse: Floats

    @classmethod
    def of_all(cls, stats: Stats) -> Sums:
        """Sums of all rows, which are one node: blocks beyond the last one are absent."""
        return cls([ALL_BLOCKS], stats.n[None], stats.sum[None], stats.sse[None])

    def total(self) -> Stats:
        arrays = self.n, self.sum, self.sse
        if len(self.nodes) == 1:
            return Stats(*(array[0] for array in arrays))
        return Stats(*(join(self.nodes, list(array)) for array in arrays))


# The node of all rows of a fit, of which there are fewer than 2^62 blocks.
ALL_BLOCKS: Node = (62, 0)


def lifted(node: Node) -> Node:
    """The largest node that has no block but those of ``node`` and blocks beyond, given that it is the last one.

    Examples
    --------
    >>> lifted((0, 14)), lifted((0, 15))
    ((1, 7), (0, 15))
    """
    level, index = node
    while index and index % 2 == 0:
        level, index = level + 1, index // 2
    return level, index


def merged(found: Iterable[Sums]) -> Sums:
    """Sums of consecutive blocks, given in order, as few nodes.

    Later ones may know more clusters: sums of fewer clusters are those of clusters without rows. As many
    sums are kept at a time as a binary number of blocks has digits.
    """
    nodes: list[Node] = []
    sums: list[tuple[Floats, Floats, Floats]] = []
    for one in found:
        for place, node in enumerate(one.nodes):
            here = one.n[place], one.sum[place], one.sse[place]
            while nodes and _are_siblings(nodes[-1], node):
                nodes.pop()
                node = node[0] + 1, node[1] // 2
                n, sum_, sse = (_added(left, right) for left, right in zip(sums.pop(), here, strict=True))
                here = n, sum_, sse
            nodes.append(node)
            sums.append(here)
    n_clusters = max(len(n) for n, _, _ in sums)
    return Sums(nodes, *(np.stack([_padded(one, n_clusters) for one in arrays]) for arrays in zip(*sums, strict=True)))


def _are_siblings(left: Node, right: Node) -> bool:
    return left[0] == right[0] and left[1] % 2 == 0 and right[1] == left[1] + 1


def _added(left: Floats, right: Floats) -> Floats:
    return _padded(left, len(right)) + right


def _padded(sums: Floats, n_clusters: int) -> Floats:
    if len(sums) == n_clusters:
        return sums
    padded = np.zeros((n_clusters, *sums.shape[1:]))
    padded[: len(sums)] = sums
    return padded
