"""Sums over fixed blocks of rows, joined by a fixed binary tree over block numbers.

A node (level, index) of the tree covers the blocks index·2^level … (index + 1)·2^level − 1, and its value is that of
its left child plus that of its right child; a child without blocks is skipped. So every cut of the rows into parts, at
block boundaries, gives the same bits, and a part ships as many nodes as its number of blocks has binary digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree.core.stats import Floats


@dataclass(frozen=True)
class Node:
    """A node of the tree; ``sums`` are arrays, or numbers, that add."""

    level: int
    index: int
    sums: tuple[Any, ...]

    def followed_by(self, other: Node) -> tuple[Any, ...]:
        """The sums of this node and of one to its right."""
        return tuple(mine + theirs for mine, theirs in zip(self.sums, other.sums, strict=True))


def merged(nodes: Iterable[Node]) -> list[Node]:
    """The same sums in as few nodes as possible; ``nodes`` come in the order of their blocks."""
    stack: list[Node] = []
    for node in nodes:
        stack.append(node)
        while len(stack) > 1 and _are_siblings(stack[-2], stack[-1]):
            right, left = stack.pop(), stack.pop()
            stack.append(Node(left.level + 1, left.index // 2, left.followed_by(right)))
    return stack


def total(nodes: Sequence[Node]) -> tuple[Any, ...]:
    """The value of the root; ``nodes`` come in the order of their blocks."""
    stack = merged(nodes)
    last = stack.pop()
    while stack:
        left = stack.pop()
        last = Node(left.level + 1, left.index // 2, left.followed_by(last))
    return last.sums


def _are_siblings(left: Node, right: Node) -> bool:
    return left.level == right.level and left.index % 2 == 0 and right.index == left.index + 1


class Masses:
    """Non-negative numbers, one per row of a part, for draws in proportion to them that do not depend on parts.

    The part begins with block number ``first_block``. ``_levels[l]`` holds the masses of the nodes of level l from
    number ``_first[l]`` on; those that reach beyond the part know their share of it only, and are not used.
    """

    def __init__(self, mass: Floats, first_block: int, block: int):
        self._mass, self._block = mass, block
        padded = np.zeros(-len(mass) % block + len(mass))
        padded[: len(mass)] = mass
        # In row order within a block: NumPy's own sum groups the terms by the machine's vector width.
        self._levels: list[Floats] = [np.add.accumulate(padded.reshape(-1, block), axis=1)[:, -1]]
        self._first = [first_block]
        while len(self._levels[-1]) > 1:
            first, masses = self._first[-1], self._levels[-1]
            masses = np.pad(masses, (first % 2, (first % 2 + len(masses)) % 2))
            self._levels.append(masses[0::2] + masses[1::2])
            self._first.append(first // 2)

    def nodes(self) -> list[Node]:
        """The nodes that a part ships."""
        spans = aligned(self._first[0], self._first[0] + len(self._levels[0]))
        return [Node(level, index, (float(self._at(level, index)),)) for level, index in spans]

    def row_at(self, node: Node, target: float) -> int:
        """The row of the part at which the running sum within ``node`` exceeds ``target``."""
        index = node.index
        for level in range(node.level - 1, -1, -1):
            left, right = self._at(level, 2 * index), self._at(level, 2 * index + 1)
            index *= 2
            if not (target < left or not right > 0):
                target, index = target - left, index + 1
        first = (index - self._first[0]) * self._block
        cumulated = np.cumsum(self._mass[first : first + self._block])
        last_with_mass = int(np.searchsorted(cumulated, cumulated[-1]))
        return first + min(int(np.searchsorted(cumulated, target, side="right")), last_with_mass)

    def _at(self, level: int, index: int) -> float:
        return float(self._levels[level][index - self._first[level]])


def aligned(begin: int, end: int) -> list[tuple[int, int]]:
    """The fewest nodes (level, index) that cover the blocks ``begin`` … ``end`` − 1, in order."""
    spans = []
    while begin < end:
        level = min((begin & -begin).bit_length() - 1 if begin else end.bit_length(), (end - begin).bit_length() - 1)
        spans.append((level, begin >> level))
        begin += 1 << level
    return spans


class MassTree:
    """All nodes above ``nodes``, whose masses are numbers, to find the node where a running sum exceeds a target."""

    def __init__(self, nodes: Sequence[Node]):
        self._ends = {(node.level, node.index): node for node in nodes}
        self._mass = {at: node.sums[0] for at, node in self._ends.items()}
        self._top = max(level + index.bit_length() for level, index in self._ends)
        for level in range(self._top):
            for index in sorted(index for at_level, index in self._mass if at_level == level and index % 2 == 0):
                self._mass[level + 1, index // 2] = self._mass[level, index] + self._mass.get((level, index + 1), 0.0)
            for index in [index for at_level, index in self._mass if at_level == level and index % 2 == 1]:
                self._mass.setdefault((level + 1, index // 2), self._mass[level, index])

    @property
    def total(self) -> float:
        return float(self._mass[self._top, 0])

    def located(self, target: float) -> tuple[Node, float]:
        """The node in which the running sum exceeds ``target``, and what is left of the target within it.

        The descent compares the target with left children, so that it does not depend on where the nodes are cut.
        A node without mass is never chosen unless all are.
        """
        at = (self._top, 0)
        while at not in self._ends:
            level, index = at
            left, right = (self._mass.get((level - 1, 2 * index + side), 0.0) for side in (0, 1))
            if target < left or not right > 0:
                at = (level - 1, 2 * index)
            else:
                at = (level - 1, 2 * index + 1)
                target -= left
        return self._ends[at], target
