"""Values on a lattice, such as whole numbers or answers on a scale."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats

# How far from a lattice rounding takes a value, in steps.
_ROUNDING = 1e-6


def lattice_steps(rows: Floats, most_values: float, n_first: int, most_in_first: float) -> Floats:
    """For each column the step of the lattice that its values are on; 0 if there is none, or it has too many values.

    Columns with more than ``most_in_first`` values in the first ``n_first`` rows are not looked at any further.
    """
    steps = np.zeros(rows.shape[1])
    first = np.sort(np.ascontiguousarray(rows[:n_first].T))
    for j in np.flatnonzero(1 + np.count_nonzero(np.diff(first), axis=1) <= most_in_first):
        values = np.unique(rows[:, j])
        if 1 < len(values) <= most_values:
            steps[j] = step_of(values)
    return steps


def step_of(values: Floats) -> float:
    """The step of the lattice that several ascending values are on, 0 if they are on none."""
    step = float(np.diff(values).min())
    place = (values - values[0]) / step
    return step if np.abs(place - np.round(place)).max() < _ROUNDING else 0.0
