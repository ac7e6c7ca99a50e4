"""One-hot columns of a category: where they are, and rows spread over the neighbourhoods of their values.

A value is a vertex of a simplex, and its neighbourhood is what lies nearer to it than to any other vertex. Rows spread
evenly over the neighbourhoods of their values. So the columns of a category that says nothing about clusters have a
log-concave density if its values are equally frequent, and no dip between any two if they are not.
"""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats, Index, Used

# How far rounding takes a value from the smaller or the larger of two, in differences of these.
_ROUNDING = 1e-6


def one_hot_groups(rows: Floats) -> list[Index]:
    """Adjacent columns of which every row has the larger of two values in exactly one, with the same step in all.

    A category that has all columns that vary is left out: its values are clusters.
    """
    low, step = rows.min(axis=0), np.ptp(rows, axis=0)
    place = (rows - low) / np.where(step > 0, step, 1.0)
    is_high = place > 0.5
    binary = (step > 0) & (np.abs(place - is_high) < _ROUNDING).all(axis=0)
    groups, first = [], 0
    while first < rows.shape[1]:
        end = _end_of_group(is_high, binary & (np.abs(step - step[first]) < _ROUNDING * step), first)
        if end is not None:
            groups.append(np.arange(first, end))
        first = first + 1 if end is None else end
    return [group for group in groups if len(group) < np.count_nonzero(step)]


def _end_of_group(is_high: Used, alike: Used, first: int) -> int | None:
    """Where the columns from ``first`` on have given every row one high value, None if some row gets none or two."""
    taken = np.zeros(len(is_high), dtype=bool)
    for column in range(first, len(alike)):
        if not alike[column] or (taken & is_high[:, column]).any():
            return None
        taken |= is_high[:, column]
        if taken.all():
            return column + 1
    return None


def spread_over_cells(columns: Floats, rng: np.random.RandomState | np.random.Generator) -> Floats | None:
    """One-hot columns, each row at a uniform point of its vertex' neighbourhood within a simplex around it.

    The simplex is so large that the mean of a neighbourhood is its vertex. None if the noise would vary more than the
    category does, as it does where most rows have the same value.
    """
    n_rows, n_values = columns.shape
    low, step = columns.min(axis=0), np.ptp(columns)
    highest = (1 / np.arange(1, n_values + 1)).sum() / n_values  # mean of the largest of n_values random shares
    other = (1 - highest) / (n_values - 1)
    scale = 1 / (highest - other)
    variance = scale**2 * (2 / (n_values + 1) - highest**2 - (n_values - 1) * other**2)
    is_high = columns > low + step / 2
    frequency = is_high.mean(axis=0)
    if variance > (frequency * (1 - frequency)).sum():
        return None
    shares = rng.dirichlet(np.ones(n_values), size=n_rows)
    row, value = np.arange(n_rows), is_high.argmax(axis=1)
    largest = shares.argmax(axis=1)
    shares[row, largest], shares[row, value] = shares[row, value], shares[row, largest]
    return np.asarray(low + step * scale * (shares - other))
