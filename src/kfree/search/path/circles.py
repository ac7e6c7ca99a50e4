"""Pairs of columns that are a point on a circle, such as the sine and cosine of an hour, filled to a disc with noise.

Angles that say nothing about clusters are uniform on the circle, which has a dip across its inside. Each row goes to a
random place of the sector between the mid-points to the neighbouring angles, so that equally frequent angles become a
uniform disc, which is log-concave. Angles with gaps between them remain sectors with gaps between them.
"""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats

# Rows that a circle is fitted to, the fewest points among them, and how far from it rounding takes a row, in radii.
_GLANCE, _FEWEST, _ROUNDING = 50, 5, 1e-6
# The mean of a narrow sector lies at two thirds of the radius of the disc.
_DISC = 1.5


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
