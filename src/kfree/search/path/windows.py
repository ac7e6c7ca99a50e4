"""Rows between two centres, and how many lie in windows along the way.

A density without clusters has a lower bound for what a window half-way holds, given those around the centres: their
geometric mean if it is log-concave, the emptier of the two if it is unimodal along the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from kfree.core.cached import cached
from kfree.core.stats import Floats, Index, Mask
from kfree.native.implementations import implementation
from kfree.search.path.cells import Segment

# The windows are as wide as half the way between the centres, so that the three do not overlap.
_HALF_WINDOW = 0.25
# At least this share of the weight of a cluster must lie with other rows for a mean of those to be known.
_LEAST_SHARE = 1e-9
# Places between two centres where the emptiest window is sought, and its half width: narrow, to find a narrow dip.
_PLACES, _HALF_NARROW = np.linspace(-0.3, 0.3, 13), 0.125


@dataclass(frozen=True)
class Between:
    """Rows near the way from a to b: their numbers, their place on it (a is at −½, b at ½) and their weights."""

    rows: Index
    place: Floats
    weight: Floats

    def window(self, centre: float, half: float) -> Mask:
        return np.abs(self.place - centre) < half

    def mass(self, window: Mask) -> float:
        return float(self.weight[window].sum())


@dataclass(frozen=True)
class RowDistances:
    """Rows and their distances to all centres, ``sq_dist`` (k, n), what lies off the span of the centres left out."""

    sq_dist: Floats
    labels: Index
    weight: Floats
    passes: ModuleType

    @classmethod
    def of(cls, sq_dist: Floats, weight: Floats, engine: str) -> RowDistances:
        """From distances (n, k); ``engine`` names the code."""
        by_centre, passes = np.ascontiguousarray(sq_dist.T), implementation(engine, "path")
        return cls(by_centre, sq_dist.argmin(axis=1), weight / np.mean(weight), passes)

    @cached
    def sizes(self) -> list[int]:
        """Rows of each cluster."""
        sizes: list[int] = np.bincount(self.labels, minlength=len(self.sq_dist)).tolist()
        return sizes

    def between(self, segment: Segment, share: float) -> Between | None:
        """Rows within the tube and the cell of a segment; None where one end has fewer than two rows.

        They are placed between the means of the rows of both ends. Centres lie too far apart for rows that they were
        not fitted to, the more so the more columns there are. A row is left out of the mean that it is compared with;
        otherwise it would shift the window to itself.
        """
        a, b, gap = segment.a, segment.b, segment.gap
        if min(self.sizes[a], self.sizes[b]) < 2:
            return None
        way = a, b, gap, gap**2, segment.foot
        limits = share, 0.5 + _HALF_WINDOW, _LEAST_SHARE
        rows, place = self.passes.between(self.sq_dist, self.labels, self.weight, *way, *limits)
        return Between(rows, place, self.weight[rows])


def too_few_in_the_middle(between: Between) -> tuple[float, Floats]:
    """By how much the middle window falls short of the geometric mean of the outer two, and each row's part in that."""
    # All rows lie within the three windows, whose limits these are.
    at_left, at_right = between.place < -_HALF_WINDOW, between.place > _HALF_WINDOW
    at_middle = np.abs(between.place) < _HALF_WINDOW
    left, middle, right = map(between.mass, (at_left, at_middle, at_right))
    influence = np.where(at_middle, -1.0, 0.0)
    if left > 0 and right > 0:
        influence[at_left] = 0.5 * math.sqrt(right / left)
        influence[at_right] = 0.5 * math.sqrt(left / right)
    return math.sqrt(left * right) - middle, influence


def too_few_somewhere(between: Between, place: float) -> tuple[float, Floats]:
    """By how much a narrow window at ``place`` falls short of the emptier end, and each row's part in that."""
    windows = [between.window(centre, _HALF_NARROW) for centre in (-0.5, place, 0.5)]
    left, middle, right = map(between.mass, windows)
    end = windows[0] if left <= right else windows[2]
    return min(left, right) - middle, end.astype(float) - windows[1]


def emptiest(training: Between) -> float:
    """The place between the centres where the training rows are fewest, the middle one of equals."""
    mass = np.array([training.mass(training.window(place, _HALF_NARROW)) for place in _PLACES])
    lowest = np.flatnonzero(mass == mass.min())
    return float(_PLACES[lowest[len(lowest) // 2]])
