"""Rows as the judge sees them: dithered where they are on a lattice, and a second time whitened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kfree.core.equal_rows import COPIES, share_equal
from kfree.core.lattice import Gaps, gaps_beside, noise_in_gaps
from kfree.core.marks import FINITE, Shape
from kfree.core.one_hot import one_hot_groups, spread_over_cells
from kfree.core.stats import Floats, Index
from kfree.search.judge.links import n_links
from kfree.search.judge.surrogates import principal

# A step is filled with noise that varies less than the column, in standard deviations of which it has so many.
_WIDEST_STEP = np.sqrt(12.0)
# Share of the mean variance that is added to each principal component's variance before it is divided by it.
_RIDGE = 0.01
# Principal components with less than this share of the largest variance are rounding errors.
_NO_VARIANCE = 1e-10


def dithered(rows: Floats, rng: np.random.Generator) -> Floats:
    """Columns on a lattice, of yes and no and of a category with noise as wide as their step.

    Otherwise rows with equal values are islands of the neighbour graph, each of them a cluster. A category is spread
    over the neighbourhoods of its values, as for density dips.
    """
    spread, groups = rows.copy(), one_hot_groups(rows)
    for j, gaps in _gaps_of_columns(rows, groups).items():
        spread[:, j] += noise_in_gaps(rng.uniform(-0.5, 0.5, size=len(rows)), gaps)
    for group in groups:
        cells = spread_over_cells(rows[:, group], rng)
        spread[:, group] = rows[:, group] if cells is None else cells
    return spread


def _gaps_of_columns(rows: Floats, groups: list[Index]) -> dict[int, Gaps]:
    """The gaps that noise fills, by column; ``groups`` are the columns of categories.

    Coarse columns have few values that lie far apart, such as yes and no or the number of children. They are dithered
    only if chance alone makes at least m rows agree in all of them (m: neighbours per row), because such groups would
    look like clusters. With many coarse columns agreement is not chance; if all columns are coarse, their values are
    the clusters.
    """
    alone = np.setdiff1d(np.flatnonzero(np.ptp(rows, axis=0) > 0), np.concatenate([np.arange(0), *groups]))
    fine = {int(j): gaps_beside(rows[:, j]) for j in alone}
    coarse = {j: _coarse_gaps(rows[:, j]) for j, gaps in fine.items() if gaps is None}
    filled = [j for j, gaps in coarse.items() if gaps is not None]
    agree = np.prod([share_equal(np.unique(rows[:, j], return_counts=True)[1]) for j in filled])
    are_islands = len(filled) < len(alone) and agree * len(rows) >= n_links(len(rows))
    found = fine | coarse if are_islands else fine
    return {j: gaps for j, gaps in found.items() if gaps is not None}


def _coarse_gaps(column: Floats) -> Gaps | None:
    """The gaps beside few values that lie far apart, if noise in them varies less than the column."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) != 2:
        return gaps_beside(column, _WIDEST_STEP)
    gap = np.full(len(column), values[1] - values[0])
    return (gap, gap) if counts.min() >= COPIES and gap[0] < _WIDEST_STEP * column.std() else None


def has_few_points(rows: Floats) -> bool:
    """Whether few distinct points are shared by many rows each, and no column that is dithered tells them apart.

    Each point is an island of the neighbour graph then, and links say nothing.
    """
    if len(np.unique(rows, axis=0)) * COPIES > len(rows):
        return False
    return not _gaps_of_columns(rows, one_hot_groups(rows))


def has_steps(rows: Floats) -> bool:
    """Whether some column takes few values, as zeros and ones do; in dithered rows, those that were not spread."""
    return any(len(np.unique(column)) * COPIES <= len(rows) for column in rows.T)


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
