"""Categories as coordinates in which two different levels are 1 apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kfree.core.fields import Name
from kfree.explain.units import SHARE
from kfree.tables.columns import BOOLEAN, LEVELS


@dataclass(frozen=True)
class Categories:
    """Unordered levels, one coordinate each: 1/√2 where a row has the level, else 0.

    So any two levels are 1 apart, which is how far two rows typically are in a column of numbers.
    """

    family: ClassVar[str] = LEVELS
    unit: ClassVar[str] = SHARE
    name: Name
    levels: tuple[Name, ...]

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """(n, number of levels) from places among the levels, NaN where the value is missing."""
        rows = np.where(np.isnan(values)[:, None], np.nan, 0.0) + np.zeros(len(self.levels))
        known = np.flatnonzero(~np.isnan(values))
        rows[known, values[known].astype(int)] = np.sqrt(0.5)
        return rows

    def decoded(self, block: np.ndarray) -> np.ndarray:
        """The level with the largest share; the first on ties."""
        return np.array(self.levels, dtype=object)[block.argmax(axis=1)]

    def in_units(self, block: np.ndarray) -> np.ndarray:
        """1 where a row has the level, else 0; of means, shares of rows."""
        return block / np.sqrt(0.5)

    @property
    def names_out(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels]

    def __str__(self) -> str:
        return f"{self.name}: {len(self.levels)} levels, each 1 apart from the others"


@dataclass(frozen=True)
class Binary:
    """Two levels as 0 and 1."""

    family: ClassVar[str] = LEVELS
    unit: ClassVar[str] = SHARE
    name: Name
    levels: tuple[Name, Name]

    def encoded(self, values: np.ndarray) -> np.ndarray:
        return values[:, None]

    def decoded(self, block: np.ndarray) -> np.ndarray:
        return np.array(self.levels, dtype=object)[(block[:, 0] > 0.5).astype(int)]

    def in_units(self, block: np.ndarray) -> np.ndarray:
        """0 for the first level and 1 for the second; of means, shares of rows."""
        return block

    @property
    def names_out(self) -> list[str]:
        return [f"{self.name}={self.levels[1]}"]

    def __str__(self) -> str:
        return f"{self.name}: 0 for {self.levels[0]}, 1 for {self.levels[1]}"


@dataclass(frozen=True)
class YesNo(Binary):
    """False and True as 0 and 1."""

    family: ClassVar[str] = BOOLEAN

    @property
    def names_out(self) -> list[str]:
        return [str(self.name)]


def places(values: np.ndarray, levels: tuple[Any, ...]) -> tuple[np.ndarray, list[Any]]:
    """The place of each value among the levels, NaN if it is None or unknown; and the unknown values, each once."""
    place = {level: j for j, level in enumerate(levels)}
    known = np.array([place.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
    unknown = {
        value for value, at in zip(values.tolist(), known.tolist(), strict=True) if value is not None and at != at
    }
    return known, sorted(unknown, key=str)
