"""Advice about columns that hide clusters of others, and about pairs of columns that are one angle."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.printing import first_few
from kfree.core.stats import Floats, Labels, Mask

# Windows per column between the two quantiles, and those of a smoothed histogram that are added up.
_BINS, _TOGETHER, _TAIL = 40, 3, 0.02
# A gap is clear if it is so many standard deviations deep on held-out rows, and holds at most this share of what the
# emptier side has. Chance reaches 4.5 once in 300,000 columns.
_CLEAR, _EMPTY = 4.5, 0.5
# A value that more rows share makes gaps around it.
_POINT_MASS, _FEWEST_ROWS = 0.05, 100
# How much the radius of a circle may vary, relative to itself, and rows that are looked at first.
_ROUNDING, _GLANCE = 1e-6, 50
# Names of longitudes; degrees that are near to the date line, and the share of the rows that must lie there, each side.
_LONGITUDE = re.compile(r"(?i)(?<![a-z])(lon|lng|long|longitude)(?![a-z])")
_NEAR_DATE_LINE, _SOME = 165.0, 0.01


def hidden_groups(rows: Floats, named: list[str], labels: Labels) -> list[str]:
    """Columns with a gap within clusters, where rows of other columns are too wide for round clusters to see it.

    Columns of noise as wide as the clusters lie apart hide them from a cost that adds up all columns.
    """
    if rows.shape[1] < 2:
        return []
    found = np.zeros(rows.shape[1], dtype=bool)
    for cluster in np.unique(labels):
        distinct = _distinct(rows[labels == cluster])  # copies of a row would make gaps between them
        if len(distinct) >= _FEWEST_ROWS:
            found |= _have_gap(distinct)
    if not found.any() or found.all():
        return []
    columns = np.flatnonzero(found).tolist()
    listed = first_few([named[j] for j in columns], most=3)
    fall = "falls" if len(columns) == 1 else "fall"
    return [
        f"{listed} {fall} into groups within clusters, which the other columns hide. "
        f"Fit X[:, {columns[:10]}] alone, or leave out columns that have nothing to do with the question."
    ]


def angles(rows: Floats, named: list[str], n_clusters: int) -> list[str]:
    """Adjacent columns that are the sine and cosine of an angle, which round clusters cut into arcs."""
    if n_clusters < 2:
        return []
    varies = np.ptp(rows, axis=0) > 0
    glance = np.hypot(rows[:_GLANCE, :-1], rows[:_GLANCE, 1:])
    possible = np.ptp(glance, axis=0) <= 2 * _ROUNDING * glance.max(axis=0)
    for j in np.flatnonzero(varies[:-1] & varies[1:] & possible):
        radius = np.hypot(rows[:, j], rows[:, j + 1])
        if np.ptp(radius) <= _ROUNDING * radius.max():
            return [
                f"{named[j]} and {named[j + 1]} are a point on a circle, such as the sine and cosine of an hour: "
                "DPMeans cuts a circle into arcs even if all angles are equally frequent. Leave them out, or "
                "use kfree.SpectralDPMeans."
            ]
    return []


def date_line(rows: Floats, named: list[str]) -> list[str]:
    """Degrees of longitude on both sides of the date line, which are 360 apart instead of close together.

    A longitude is a column whose name says so, or one within ±180 beside a column within ±90.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    both_sides = ((rows > _NEAR_DATE_LINE).mean(axis=0) >= _SOME) & ((rows < -_NEAR_DATE_LINE).mean(axis=0) >= _SOME)
    for j in np.flatnonzero((low >= -180) & (high <= 180) & both_sides):
        beside = [i for i in (j - 1, j + 1) if 0 <= i < len(named)]
        if _LONGITUDE.search(named[j]) or any(low[i] >= -90 and high[i] <= 90 and high[i] - low[i] > 1 for i in beside):
            return [
                f"{named[j]} looks like degrees of longitude, and rows lie on both sides of the date line: -179 and "
                "179 are 358 apart here, and 2 on the globe. Use metric='haversine' with latitude and longitude alone, "
                "or give cos(latitude)·cos(longitude), cos(latitude)·sin(longitude) and sin(latitude) in place of both "
                "columns."
            ]
    return []


def _distinct(rows: Floats) -> Floats:
    """Rows without copies, compared by their bytes, which is faster than by their numbers."""
    rows = np.ascontiguousarray(rows)
    _, first = np.unique(rows.view(np.dtype((np.void, rows[0].nbytes))).ravel(), return_index=True)
    return rows[np.sort(first)]


def _have_gap(rows: Floats) -> Mask:
    """Columns (d,) of which each half shows a gap, together clearly, at the place that the other half has named."""
    ordered = np.sort(np.ascontiguousarray(rows.T)).T  # columns in contiguous memory sort faster
    n_rows = len(rows)
    shared = max(int(_POINT_MASS * n_rows), 1)
    low, high = ordered[int(_TAIL * n_rows)], ordered[int((1 - _TAIL) * n_rows)]
    usable = np.isfinite(high - low) & (high > low) & ~(ordered[shared:] == ordered[:-shared]).any(axis=0)
    bins = np.floor((rows[:, usable] - low[usable]) * (_BINS / (high - low)[usable]))
    order = np.random.RandomState(0).permutation(n_rows)
    first, second = (_smoothed(bins[half]) for half in (order[::2], order[1::2]))
    sides, gap = _held_out(first, second) + _held_out(second, first)
    found = np.zeros(rows.shape[1], dtype=bool)
    found[usable] = (gap <= _EMPTY * sides) & (sides - gap >= _CLEAR * np.sqrt(sides + gap + 1))
    return found


def _smoothed(bins: NDArray[Any]) -> NDArray[Any]:
    """The histogram of each column, (windows, d), of the bins that are given by row."""
    n_columns = bins.shape[1]
    inside = (bins >= 0) & (bins < _BINS)
    column = np.broadcast_to(np.arange(n_columns), bins.shape)
    place = bins[inside].astype(np.int64) * n_columns + column[inside]
    counts = np.bincount(place, minlength=_BINS * n_columns).reshape(_BINS, n_columns)
    shifted = [counts[shift : len(counts) - _TOGETHER + 1 + shift] for shift in range(_TOGETHER)]
    return np.asarray(np.sum(shifted, axis=0))


def _held_out(training: NDArray[Any], held_out: NDArray[Any]) -> NDArray[Any]:
    """Per column, rows of the emptier side and of the gap, where the training rows have the deepest gap; (2, d)."""
    left, right = np.maximum.accumulate(training), np.maximum.accumulate(training[::-1])[::-1]
    gap = np.argmax(np.minimum(left, right) - training, axis=0)
    window, column = np.arange(len(training))[:, None], np.arange(training.shape[1])
    sides = [np.argmax(np.where(side, training, -1), axis=0) for side in (window <= gap, window >= gap)]
    return np.array([np.minimum(*(held_out[side, column] for side in sides)), held_out[gap, column]])
