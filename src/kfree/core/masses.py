"""Draws in proportion to numbers that rows have, by a descent of the tree over block numbers (``core/sum_tree.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np

from kfree.core.stats import Floats


class Masses(Protocol):
    """Non-negative numbers, one per row, that draws are made from."""

    @property
    def total(self) -> float:
        """Their sum, over the tree."""
        ...

    def rows_at(self, targets: list[float]) -> list[int]:
        """The rows at which the running sum exceeds each target; a node without mass is not chosen unless all are."""
        ...


class MassTree:
    """Masses of rows anywhere, of which a draw asks for those of one block. ``_levels[l]`` are those of level l."""

    def __init__(self, of_blocks: Floats, of_rows: Callable[[int], Floats], block: int):
        """``of_blocks`` are sums in row order; ``of_rows(b)`` are the masses of the rows of block b."""
        self._of_rows, self._block = of_rows, block
        self._levels: list[Floats] = [of_blocks]
        with np.errstate(over="ignore"):  # the search finds out that costs overflow
            while len(self._levels[-1]) > 1:
                masses = self._levels[-1]
                pairs = np.zeros(len(masses) + len(masses) % 2)
                pairs[: len(masses)] = masses
                self._levels.append(pairs[0::2] + pairs[1::2])

    @classmethod
    def of(cls, mass: Floats, block: int) -> Self:
        """The masses ``mass`` (n,) in memory."""
        padded = np.zeros(-(-len(mass) // block) * block)
        padded[: len(mass)] = mass
        with np.errstate(over="ignore"):  # the search finds out that costs overflow
            # NumPy's own sum groups the terms by the machine's vector width.
            of_blocks = np.add.accumulate(padded.reshape(-1, block), axis=1)[:, -1]
        return cls(of_blocks, lambda b: mass[b * block : (b + 1) * block], block)

    @property
    def total(self) -> float:
        return float(self._levels[-1][0])

    def rows_at(self, targets: list[float]) -> list[int]:
        with np.errstate(over="ignore"):  # the search finds out that costs overflow
            return [self._row_at(target) for target in targets]

    def _row_at(self, target: float) -> int:
        index = 0
        for masses in self._levels[-2::-1]:
            index *= 2
            left, right = float(masses[index]), float(masses[index + 1]) if index + 1 < len(masses) else 0.0
            if not (target < left or not right > 0):
                target, index = target - left, index + 1
        cumulated = self._of_rows(index).cumsum()
        last_with_mass = int(cumulated.searchsorted(cumulated[-1]))
        return index * self._block + min(int(cumulated.searchsorted(target, side="right")), last_with_mass)
