"""Values on a lattice, such as whole numbers or answers on a scale."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from kfree.core.stats import Floats, Index

# How far from a lattice rounding takes a value, in steps.
_ROUNDING = 1e-6
# Rows that share a repeated value, and how many such values a column has at least.
_COPIES, _FEWEST_VALUES = 5, 3

# The gap below and above the value of each row.
Gaps: TypeAlias = tuple[Floats, Floats]


def lattice_steps(rows: Floats, most_values: float, n_first: int, most_in_first: float) -> Floats:
    """For each column the step of the lattice that its values are on; 0 if there is none, or it has too many values.

    Columns with more than ``most_in_first`` values in the first ``n_first`` rows are not looked at any further.
    """
    steps = np.zeros(rows.shape[1])
    for j in columns_of_few(rows, n_first, most_in_first):
        values = np.unique(rows[:, j])
        if 1 < len(values) <= most_values:
            steps[j] = step_of(values)
    return steps


def columns_of_few(rows: Floats, n_first: int, most: float) -> Index:
    """The columns with at most ``most`` values in the first ``n_first`` rows."""
    first = np.sort(np.ascontiguousarray(rows[:n_first].T))
    columns: Index = np.flatnonzero(1 + np.count_nonzero(np.diff(first), axis=1) <= most)
    return columns


def step_of(values: Floats) -> float:
    """The step of the lattice that several ascending values are on, 0 if they are on none."""
    step = float(np.diff(values).min())
    place = (values - values[0]) / step
    return step if np.abs(place - np.round(place)).max() < _ROUNDING else 0.0


def gaps_beside(column: Floats, widest: float = 1.0) -> Gaps | None:
    """For each row the gap below and above its value, or the nearest one, among the values that several rows share.

    Noise as wide as half of both fills the gaps between such values, which are no sign of clusters. Whole numbers,
    answers on a scale and their logarithms are repeated values; few of them may lie between, such as imputed ones. A
    gap counts as twice the one on the other side at most: beyond, it is a gap between groups. None if the column has no
    such values, or steps of more than ``widest`` standard deviations: then most rows have the same value.
    """
    values, counts = np.unique(column, return_counts=True)
    shared = values[counts >= _COPIES]
    repeated = counts[counts >= _COPIES].sum() - counts.max()
    is_rounded = len(values) * _COPIES > len(column)  # measurements, of which some are equal by chance
    if is_rounded or len(shared) < _FEWEST_VALUES or 2 * repeated < len(column) - counts.max():
        return None
    gap = np.diff(shared)
    if np.median(gap) > widest * column.std():
        return None
    below, above = np.append(gap[0], gap), np.append(gap, gap[-1])
    below, above = np.minimum(below, 2 * above), np.minimum(above, 2 * below)
    nearest = np.searchsorted((shared[1:] + shared[:-1]) / 2, column)
    return below[nearest], above[nearest]


def noise_in_gaps(moved: Floats, gaps: Gaps) -> Floats:
    """Noise that is ``moved``, −½ to ½, of the gap on its side of the value."""
    noise: Floats = moved * np.where(moved < 0, *gaps)
    return noise
