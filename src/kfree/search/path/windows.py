"""Rows between two centres, and how many lie in windows along the way.

A density without clusters has a lower bound for what a window half-way holds, given those around the centres: their
geometric mean if it is log-concave, the emptier of the two if it is unimodal along the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kfree.core.cached import cached
from kfree.core.stats import Floats, Index
from kfree.search.path.cells import Mask, Segment

# The windows are as wide as half the way between the centres, so that the three do not overlap.
_HALF_WINDOW = 0.25
# Of the weight of a cluster, this share must lie with other rows for a mean of those to be known.
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
class Rows:
    """Rows and their distances to all centres, ``sq_dist`` (k, n), what lies off the span of the centres left out."""

    sq_dist: Floats
    labels: Index
    weight: Floats

    @classmethod
    def of(cls, sq_dist: Floats, weight: Floats) -> Rows:
        """From distances (n, k)."""
        return cls(np.ascontiguousarray(sq_dist.T), sq_dist.argmin(axis=1), weight / np.mean(weight))

    @cached
    def members(self) -> list[Index]:
        """The rows of each cluster, in order."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.labels, minlength=len(self.sq_dist)))[:-1])

    def between(self, segment: Segment, share: float) -> Between | None:
        """Rows within the tube and the cell of a segment; None where one end has fewer than two rows."""
        ends = self.members[segment.a], self.members[segment.b]
        if min(map(len, ends)) < 2:
            return None
        along, sq_off = segment.along(self.sq_dist)
        radius = _quantile(sq_off[np.concatenate(ends)], share) + 1e-9 * segment.gap**2
        near = np.flatnonzero(sq_off <= radius)
        place = self._place(along, segment, near)
        on_the_way = np.abs(place) < 0.5 + _HALF_WINDOW
        near, place = near[on_the_way], place[on_the_way]
        inside = segment.cell(self.sq_dist[:, near])
        index = near[inside]
        return Between(index, place[inside], self.weight[index])

    def _place(self, along: Floats, segment: Segment, rows: Index) -> Floats:
        """Coordinates of ``rows`` in which the members of a have their mean at −½ and those of b at ½.

        Centres lie too far apart for rows that they were not fitted to, the more so the more columns there are. A row
        is left out of the mean that it is compared with; otherwise it would shift the window to itself.
        """
        means, labels = [], self.labels[rows]
        for end in (segment.a, segment.b):
            members = self.members[end]
            mass, total = self.weight[members].sum(), (self.weight[members] * along[members]).sum()
            own = np.where(labels == end, self.weight[rows], 0.0)
            others = mass - own
            enough = others > _LEAST_SHARE * mass  # else the rest is rounding: no mean to compare the row with
            rest = total - own * along[rows]
            means.append(np.where(enough, rest / np.where(enough, others, 1.0), np.nan))
        gap = means[1] - means[0]
        return np.where(gap > 0, (along[rows] - (means[0] + means[1]) / 2) / np.where(gap > 0, gap, 1.0), np.inf)


def _quantile(values: Floats, share: float) -> float:
    """``np.quantile`` of finite values, in a fraction of its time."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    below, above = np.partition(values, (low, low + 1))[low : low + 2].tolist()
    return float(below + (above - below) * (place - low))


def too_few_in_the_middle(between: Between) -> tuple[float, Floats]:
    """By how much the middle window falls short of the geometric mean of the outer two, and each row's part in that."""
    windows = [between.window(centre, _HALF_WINDOW) for centre in (-0.5, 0.0, 0.5)]
    left, middle, right = map(between.mass, windows)
    influence = np.where(windows[1], -1.0, 0.0)
    if left > 0 and right > 0:
        influence[windows[0]] += 0.5 * math.sqrt(right / left)
        influence[windows[2]] += 0.5 * math.sqrt(left / right)
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
