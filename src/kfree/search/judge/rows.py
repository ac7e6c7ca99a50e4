"""Rows as the judge sees them: dithered where they are on a lattice, and a second time whitened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kfree.core.marks import FINITE, Shape
from kfree.core.one_hot import one_hot_groups, spread_over_cells
from kfree.core.stats import Floats, Index, Used
from kfree.search.judge.surrogates import principal

# A column takes few values if each of these is shared by so many rows on average; repeated values that make a lattice.
_COPIES, _FEWEST_VALUES = 5, 3
# Rows are copies if at most this share of them are distinct, and equal pairs so many times as frequent as by chance.
_MOST_DISTINCT, _BEYOND_CHANCE = 0.9, 3
# Share of the mean variance that is added to each principal component's variance before it is divided by it.
_RIDGE = 0.01
# Principal components with less than this share of the largest variance are rounding errors.
_NO_VARIANCE = 1e-10


def dithered(rows: Floats, rng: np.random.Generator) -> Floats:
    """Columns on a lattice and one-hot columns of a category with noise as wide as their step.

    Otherwise rows with equal values are islands of the neighbour graph, each of them a cluster. A category is spread
    over the neighbourhoods of its values, as for density dips.
    """
    spread = _off_lattice(rows, rng)
    for group in one_hot_groups(rows):
        cells = spread_over_cells(rows[:, group], rng)
        spread[:, group] = rows[:, group] if cells is None else cells
    return spread


def _off_lattice(rows: Floats, rng: np.random.Generator) -> Floats:
    """Columns of repeated values, each row at a uniform place of the cell of its value."""
    spread = rows.copy()
    for j, column in enumerate(rows.T):
        gaps = _gaps_beside(column)
        if gaps is not None:
            moved = rng.uniform(-0.5, 0.5, size=len(rows))
            spread[:, j] += moved * np.where(moved < 0, *gaps)
    return spread


def _gaps_beside(column: Floats) -> tuple[Floats, Floats] | None:
    """For each row the gap below and above its value, or the nearest one, among the values that several rows share.

    Whole numbers, answers on a scale and their logarithms are repeated values; few of them may lie between, such as
    imputed ones. A gap counts as twice the one on the other side at most: beyond, it is a gap between groups. None if
    the column has no such values, or steps of more than a standard deviation: then most rows have the same value.
    """
    values, counts = np.unique(column, return_counts=True)
    shared = values[counts >= _COPIES]
    repeated = counts[counts >= _COPIES].sum() - counts.max()
    if len(shared) < _FEWEST_VALUES or 2 * repeated < len(column) - counts.max():
        return None
    gap = np.diff(shared)
    if np.median(gap) > column.std():
        return None
    below, above = np.append(gap[0], gap), np.append(gap, gap[-1])
    below, above = np.minimum(below, 2 * above), np.minimum(above, 2 * below)
    nearest = np.searchsorted((shared[1:] + shared[:-1]) / 2, column)
    return below[nearest], above[nearest]


def distinct(rows: Floats) -> Used:
    """Which rows count: the first of copies.

    Rows are copies if some column has a value of its own for each distinct row, or if many more of them are equal than
    columns with so many values would make equal by chance. Otherwise they have equal answers.
    """
    first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)[1:]
    by_column = [np.unique(column, return_counts=True)[1] for column in rows.T]
    most_values = max(len(values) for values in by_column)
    tells_apart = most_values == len(first) and (rows.shape[1] > 1 or most_values * _COPIES > len(rows))
    beyond_chance = _share_equal(counts) > _BEYOND_CHANCE * np.prod([_share_equal(values) for values in by_column])
    many = len(first) <= _MOST_DISTINCT * len(rows) and most_values * _COPIES > len(first)
    if not (tells_apart or (many and beyond_chance)):
        return np.ones(len(rows), dtype=bool)
    counted = np.zeros(len(rows), dtype=bool)
    counted[first] = True
    return counted


def _share_equal(counts: Index) -> float:
    """The share of pairs that are equal, by how often each value is there."""
    n = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / max(n * (n - 1), 1))


def has_few_points(rows: Floats) -> bool:
    """Whether few distinct points are shared by many rows each, and no column that is dithered tells them apart.

    Each point is an island of the neighbour graph then, and links say nothing.
    """
    if len(np.unique(rows, axis=0)) * _COPIES > len(rows):
        return False
    return np.array_equal(_off_lattice(rows, np.random.default_rng(0)), rows)


def has_steps(rows: Floats) -> bool:
    """Whether some column takes few values, as zeros and ones do; in dithered rows, those that were not spread."""
    return any(len(np.unique(column)) * _COPIES <= len(rows) for column in rows.T)


@dataclass(frozen=True)
class Whitening:
    """Principal components of about unit variance; the smallest are shrunk, since they are mostly noise."""

    mean: Annotated[Floats, Shape("used"), FINITE]
    axes: Annotated[Floats, Shape("used", "ready"), FINITE]

    @classmethod
    def of(cls, rows: Floats) -> Whitening:
        mean = rows.mean(axis=0)
        variance, axes = principal(rows - mean)
        kept = variance > _NO_VARIANCE * variance.max()
        ridge = _RIDGE * variance.sum() / rows.shape[1]
        return cls(mean, axes[:, kept] / np.sqrt(variance[kept] + ridge))

    def __call__(self, rows: Floats) -> Floats:
        white: Floats = (rows - self.mean) @ self.axes
        return white
