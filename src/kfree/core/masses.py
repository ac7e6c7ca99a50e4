"""Draws in proportion to numbers that rows have, by a descent of the tree over block numbers, so that the result does
not depend on parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kfree.core.stats import Floats
from kfree.core.sum_tree import Node, nodes_covering


class Masses:
    """Non-negative numbers, one per row of a part, which begins with block number ``first_block``.

    ``_levels[l]`` holds the masses of the nodes of level l from number ``_first[l]`` on; those that reach beyond the
    part hold a partial sum and are not used.
    """

    def __init__(self, of_blocks: Floats, of_rows: Callable[[int], Floats], first_block: int, block: int):
        """``of_blocks`` are sums in row order; ``of_rows(b)`` are the masses of the rows of the part's block b."""
        self._of_rows, self._block = of_rows, block
        self._levels: list[Floats] = [of_blocks]
        self._first = [first_block]
        while len(self._levels[-1]) > 1:
            first, masses = self._first[-1], self._levels[-1]
            pairs = np.zeros(2 * ((first % 2 + len(masses) + 1) // 2))
            pairs[first % 2 : first % 2 + len(masses)] = masses
            self._levels.append(pairs[0::2] + pairs[1::2])
            self._first.append(first // 2)
        self.nodes: list[Node] = nodes_covering(first_block, first_block + len(self._levels[0]))

    @classmethod
    def of(cls, mass: Floats, first_block: int, block: int) -> Masses:
        """The masses ``mass`` (n,) in memory."""
        padded = np.zeros(-len(mass) % block + len(mass))
        padded[: len(mass)] = mass
        # In row order within a block: NumPy's own sum groups the terms by the machine's vector width.
        of_blocks: Floats = np.add.accumulate(padded.reshape(-1, block), axis=1)[:, -1]
        return cls(of_blocks, lambda b: mass[b * block : (b + 1) * block], first_block, block)

    def of_nodes(self) -> Floats:
        """The mass of each of ``nodes``."""
        return np.array([self._at(level, index) for level, index in self.nodes])

    def row_at(self, node: Node, target: float) -> int:
        """The row of the part at which the running sum within ``node`` exceeds ``target``."""
        level, index = node
        while level > 0:
            level, index = level - 1, 2 * index
            left, right = self._at(level, index), self._at(level, index + 1)
            if not (target < left or not right > 0):
                target, index = target - left, index + 1
        place = index - self._first[0]
        cumulated = np.cumsum(self._of_rows(place))
        last_with_mass = int(np.searchsorted(cumulated, cumulated[-1]))
        return place * self._block + min(int(np.searchsorted(cumulated, target, side="right")), last_with_mass)

    def _at(self, level: int, index: int) -> float:
        return float(self._levels[level][index - self._first[level]])


class MassTree:
    """All nodes above ``nodes``, to find the one in which a running sum exceeds a target."""

    def __init__(self, nodes: Sequence[Node], masses: Floats):
        self._ends = set(nodes)
        self._mass = dict(zip(nodes, masses.tolist(), strict=True))
        self._top = max(level + index.bit_length() for level, index in nodes)
        for level in range(self._top):
            for index in sorted(index for at_level, index in self._mass if at_level == level):
                parent = (level + 1, index // 2)
                self._mass[parent] = self._mass.get(parent, 0.0) + self._mass[level, index]

    @property
    def total(self) -> float:
        return float(self._mass[self._top, 0])

    def located(self, target: float) -> tuple[Node, float]:
        """The node in which the running sum exceeds ``target``, and what is left of the target within it.

        The descent compares the target with left children, so that it does not depend on where the nodes are cut.
        A node without mass is never chosen unless all are.
        """
        level, index = self._top, 0
        while (level, index) not in self._ends:
            level, index = level - 1, 2 * index
            left, right = self._mass.get((level, index), 0.0), self._mass.get((level, index + 1), 0.0)
            if not (target < left or not right > 0):
                target, index = target - left, index + 1
        return (level, index), target
