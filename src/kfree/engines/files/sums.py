"""Sums of a stream: nodes of the tree over block numbers, joined as soon as two of them are siblings."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats
from kfree.core.sum_tree import Node
from kfree.engines.parts import NodeSums


class SumStack:
    """Nodes in the order of their blocks. As many are kept as a binary number of blocks has digits.

    Clusters may be born between two chunks: sums of fewer clusters are those of clusters without rows.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._sums: list[tuple[Floats, ...]] = []

    def push(self, found: NodeSums) -> None:
        """Add the sums of the blocks that come next."""
        for place, node in enumerate(found.nodes):
            sums = tuple(array[place] for array in found.sums)
            while self._nodes and _are_siblings(self._nodes[-1], node):
                node = (node[0] + 1, node[1] // 2)
                self._nodes.pop()
                sums = tuple(_added(left, right) for left, right in zip(self._sums.pop(), sums, strict=True))
            self._nodes.append(node)
            self._sums.append(sums)

    def by_node(self, n_clusters: int) -> NodeSums:
        """All sums, for this many clusters."""
        arrays = zip(*self._sums, strict=True)
        return NodeSums(tuple(self._nodes), tuple(np.stack([_padded(one, n_clusters) for one in a]) for a in arrays))


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
