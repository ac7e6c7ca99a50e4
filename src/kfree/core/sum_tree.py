"""The fixed binary tree over block numbers that sums over rows are joined by.

Node (level, index) covers the blocks index·2^level … (index + 1)·2^level − 1, and its sum is left + right; an absent
block is skipped. So no cut of the rows at block boundaries changes a bit of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Node = tuple[int, int]


def nodes_covering(begin: int, end: int) -> list[Node]:
    """The fewest nodes that cover the blocks from ``begin`` to ``end`` − 1, in order.

    Examples
    --------
    >>> nodes_covering(3, 11)
    [(0, 3), (2, 1), (1, 4), (0, 10)]
    """
    nodes = []
    while begin < end:
        level, index = 0, begin
        while index % 2 == 0 and (index // 2 + 1) << (level + 1) <= end:
            level, index = level + 1, index // 2
        nodes.append((level, index))
        begin = (index + 1) << level
    return nodes


def join(nodes: Sequence[Node], sums: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The total of the sums of some nodes, given in any order; no two of them cover the same block.

    Examples
    --------
    >>> first, second = np.array([[1.0], [2.0]]), np.array([[4.0]])
    >>> join([(1, 0), (0, 2)] + [(0, 3)], [*first, *second])
    array([7.])
    """
    left = {(level, index): np.array(value) for (level, index), value in zip(nodes, sums, strict=True)}
    level = 0
    while len(left) > 1:
        lifted = {node: value for node, value in left.items() if node[0] > level}
        for node in sorted(node for node in left if node[0] == level):
            parent = level + 1, node[1] // 2
            lifted[parent] = lifted[parent] + left[node] if parent in lifted else left[node]
        left, level = lifted, level + 1
    (total,) = left.values()
    return total
