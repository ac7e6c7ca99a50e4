"""Noise for columns of few values, in which density dips are no sign of clusters.

On a lattice, such as whole numbers, answers on a scale, or yes and no, there is a dip between two values. Uniform noise
as wide as the step from one value to the next removes it: a rounded log-concave density becomes log-concave again. The
logarithms of whole numbers have steps of unequal width, and noise fills each of them.

One-hot columns of a category are spread over the neighbourhoods of its values.

Pairs of columns that are a point on a circle, such as the sine and cosine of an hour: angles that say nothing about
clusters are uniform on the circle, which has a dip across its inside. Each row goes to a random place of the sector
between the mid-points to the neighbouring angles, so that equally frequent angles become a uniform disc, which is
log-concave. Angles with gaps between them remain sectors with gaps between them.
"""

from __future__ import annotations

import math

import numpy as np

from kfree.core.equal_rows import distinct
from kfree.core.frame import Frame
from kfree.core.lattice import columns_of_few, gaps_beside, lattice_steps, noise_in_gaps
from kfree.core.one_hot import one_hot_groups, spread_over_cells
from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.engines.registry import open_local

# Rows per value that a lattice has, and how far from it rounding takes a value, in steps; from a circle, in radii.
_ROWS_PER_VALUE, _ROUNDING = 5, 1e-6
# Number of rows that are checked first for many distinct values.
_FIRST_ROWS = 500
# Maximum number of coordinates inspected.
_MOST = 2**24
# Rows that a circle is fitted to, and the fewest points among them.
_GLANCE, _FEWEST = 50, 5
# The mean of a narrow sector lies at two thirds of the radius of the disc.
_DISC = 1.5


def noise_widths(rows: Floats) -> Floats:
    """For each column the step of the lattice that its values are on, 0 where they are on none.

    The step may be √12 standard deviations wide at most, so that noise of this width does not outweigh the column.
    Two values, yes and no, make a lattice only beside another column: alone, they are two clusters.
    """
    n_first = min(len(rows), _FIRST_ROWS)
    steps = lattice_steps(rows, len(rows) / _ROWS_PER_VALUE, n_first, max(n_first / 2, 1))
    spread = np.ptp(rows, axis=0)
    alone = np.count_nonzero(spread) == 1
    for j in np.flatnonzero(steps):
        if steps[j] > math.sqrt(12) * rows[:, j].std() or (alone and steps[j] == spread[j]):
            steps[j] = 0.0
    return steps


def _uneven_steps(rows: Floats, even: Floats) -> dict[int, tuple[Floats, Floats]]:
    """The gaps below and above each row's value in columns of repeated values that are on no lattice.

    Copies of rows repeat the values of all columns. Noise would hide that they are copies.
    """
    n_first = min(len(rows), _FIRST_ROWS)
    possible = [j for j in columns_of_few(rows, n_first, max(n_first / 2, 1)).tolist() if not even[j]]
    found = {j: gaps_beside(rows[:, j]) for j in possible}
    gaps = {j: beside for j, beside in found.items() if beside is not None}
    all_repeat = len(gaps) + np.count_nonzero(even) == np.count_nonzero(np.ptp(rows, axis=0))
    return {} if gaps and all_repeat and not distinct(rows).all() else gaps


def with_lattice_noise(rows: MemoryRows, space: Space, rng: np.random.RandomState) -> MemoryRows:
    """The same rows with noise in columns on a lattice or a circle, or as they are if there are none.

    Directions and points of a kernel's feature space have no such columns.
    """
    if space is not EUCLIDEAN or rows.frame.unit or rows.n_rows * rows.n_features > _MOST:
        return rows
    X = rows.rows(np.arange(rows.n_rows))
    steps = noise_widths(X)
    uneven = _uneven_steps(X, steps)
    circles = circles_in(X)
    if not steps.any() and not uneven and not circles:
        return rows
    moved = rng.uniform(-0.5, 0.5, size=X.shape)
    noisy = X + steps * moved
    for j, gaps in uneven.items():
        noisy[:, j] += noise_in_gaps(moved[:, j], gaps)
    for group in one_hot_groups(X):
        spread = spread_over_cells(X[:, group], rng)
        noisy[:, group] = noisy[:, group] if spread is None else spread
    for j, circle in circles.items():
        noisy[:, j : j + 2] = spread_over_disc(X[:, j : j + 2], *circle, rng)
    plain = Frame.plain(rows.n_features)
    return open_local(rows.few_rows_name, noisy, weight=rows.row_weights(), frame=plain)


def circles_in(rows: Floats) -> dict[int, tuple[Floats, float]]:
    """Centre and radius for each column that is on a circle together with the next one."""
    if rows.shape[1] < 2:
        return {}
    # Four points are on a circle, or some of them equal, where the rows (x² + y², x, y, 1) are linearly dependent.
    four = np.stack([rows[:4, :-1] - rows[0, :-1], rows[:4, 1:] - rows[0, 1:]], axis=-1)
    size = np.abs(four).max(axis=(0, 2))
    four = np.swapaxes(four / np.where(size > 0, size, 1.0)[:, None], 0, 1)
    lifted = np.concatenate([(four**2).sum(axis=2, keepdims=True), four, np.ones_like(four[..., :1])], axis=2)
    possible = np.abs(np.linalg.det(lifted)) <= _ROUNDING if len(rows) >= 4 else np.zeros(len(four), dtype=bool)
    pairs = {int(j): circle_of(rows[:, j : j + 2]) for j in np.flatnonzero(possible)}
    return {j: circle for j, circle in pairs.items() if circle is not None}


def circle_of(pair: Floats) -> tuple[Floats, float] | None:
    """Centre and radius of the circle that all rows of two columns are on, None if there is none."""
    few = pair[:_GLANCE] - pair[0]
    # Three points are always on a circle, and so are the corners of a square, which two columns of yes and no have.
    if len(np.unique(few, axis=0)) < _FEWEST or np.linalg.matrix_rank(few) < 2:
        return None
    size = np.abs(few).max()
    few = few / size
    # x² + y² = 2ax + 2by + c
    solution = np.linalg.lstsq(np.column_stack([2 * few, np.ones(len(few))]), (few**2).sum(axis=1), rcond=None)[0]
    radius = np.sqrt(max(solution[2] + (solution[:2] ** 2).sum(), 0.0))
    off = np.abs(np.linalg.norm((pair - pair[0]) / size - solution[:2], axis=1) - radius)
    if off.max() > _ROUNDING * radius:
        return None
    return pair[0] + size * solution[:2], float(size * radius)


def spread_over_disc(pair: Floats, centre: Floats, radius: float, rng: np.random.RandomState) -> Floats:
    """Rows at uniform places of their sectors of a disc, so large that the mean of a narrow sector is its row."""
    angle = np.arctan2(*(pair - centre).T[::-1])
    values, place = np.unique(np.round(angle / _ROUNDING) * _ROUNDING, return_inverse=True)
    gap = np.diff(np.append(values, values[0] + 2 * np.pi))
    moved = rng.uniform(-0.5, 0.5, size=len(pair))
    angle = angle + moved * np.where(moved > 0, gap[place.ravel()], np.roll(gap, 1)[place.ravel()])
    distance = _DISC * radius * np.sqrt(rng.uniform(size=len(pair)))
    return np.asarray(centre + distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
