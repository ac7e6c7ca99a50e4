"""Columns on a lattice, such as whole numbers, answers on a scale, or yes and no.

Between two values of such a column is a density dip that is no sign of clusters. Uniform noise as wide as the step from
one value to the next removes it: a rounded log-concave density becomes log-concave again.
"""

from __future__ import annotations

import math

import numpy as np

from kfree.core.frame import Frame
from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.engines.registry import open_local
from kfree.search.path.circles import circles_in, spread_over_disc
from kfree.search.path.one_hot import one_hot_groups, spread_over_cells

# Rows per value that a lattice has, and how far from it rounding takes a value, in steps.
_ROWS_PER_VALUE, _ROUNDING = 5, 1e-6
# Number of rows that are checked first for many distinct values.
_FIRST_ROWS = 500
# Maximum number of coordinates inspected.
_MOST = 2**24


def lattice_steps(rows: Floats) -> Floats:
    """Of each column the step of the lattice that its values are on, 0 where they are on none.

    The step may be √12 standard deviations wide at most, so that noise of this width does not outweigh the column.
    Two values, yes and no, make a lattice only beside another column: alone, they are two clusters.
    """
    steps, first = np.zeros(rows.shape[1]), np.sort(rows[:_FIRST_ROWS], axis=0)
    n_values = 1 + np.count_nonzero(np.diff(first, axis=0), axis=0)
    varied = np.ptp(rows, axis=0) > 0
    for column in np.flatnonzero(varied & (n_values <= max(len(first) / 2, 1))):
        values = np.unique(rows[:, column])
        alone = len(values) == 2 and np.count_nonzero(varied) == 1
        if len(values) * _ROWS_PER_VALUE <= len(rows) and not alone:
            steps[column] = _step(values, rows[:, column].std())
    return steps


def _step(values: Floats, deviation: float) -> float:
    step = float(np.diff(values).min())
    place = (values - values[0]) / step
    return step if np.abs(place - np.round(place)).max() < _ROUNDING and step <= math.sqrt(12) * deviation else 0.0


def with_lattice_noise(engine: MemoryRows, space: Space, rng: np.random.RandomState) -> MemoryRows:
    """An engine of the same rows with noise in columns on a lattice or a circle, or the same one if there are none.

    Directions and points of a kernel's feature space have no such columns.
    """
    if space is not EUCLIDEAN or engine.frame.unit or engine.n_rows * engine.n_features > _MOST:
        return engine
    rows = engine.rows(np.arange(engine.n_rows))
    steps = lattice_steps(rows)
    circles = circles_in(rows)
    if not steps.any() and not circles:
        return engine
    noisy = rows + steps * rng.uniform(-0.5, 0.5, size=rows.shape)
    for group in one_hot_groups(rows):
        spread = spread_over_cells(rows[:, group], rng)
        noisy[:, group] = noisy[:, group] if spread is None else spread
    for j, circle in circles.items():
        noisy[:, j : j + 2] = spread_over_disc(rows[:, j : j + 2], *circle, rng)
    plain = Frame.plain(engine.n_features)
    return open_local(engine.few_rows_name, noisy, weight=engine.row_weights(), frame=plain)
