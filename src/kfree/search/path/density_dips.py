"""A test for density dips between clusters, on held-out rows.

A density without clusters, such as a Gaussian of any shape or a uniform one on any convex body, is log-concave. So is
its mass along a line within a convex set around it: what lies in a window half-way between two centres is at least the
geometric mean of what lies in equal windows around the two. Between clusters it is less.

Skewed and heavy-tailed densities are not log-concave, but still unimodal: no window between two centres holds less
than the emptier of the windows around the two. Between clusters some window does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kfree.core.cached import cached
from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats, Index
from kfree.engines.contract import SampleEngine, row_weights
from kfree.search.path.cells import Mask, Segment, neighbours, off_span, spans_all

# The windows are as wide as half the way between the centres, so that the three do not overlap.
_HALF_WINDOW = 0.25
# Of the weight of a cluster, this share must lie with other rows for a mean of those to be known.
_LEAST_SHARE = 1e-9
# Standard deviations that are enough to believe in dips: data without clusters show them once in 4,000 times.
# So many are enough for a step that is wide: once in a hundred times.
ENOUGH, ENOUGH_IF_WIDE = 3.5, 2.33
# Places between two centres where the emptiest window is sought, and its half width: narrow, to find a narrow dip.
_PLACES, _HALF_NARROW = np.linspace(-0.3, 0.3, 13), 0.125
# A pair whose middle is fuller than log-concavity needs by so many standard deviations has no dip.
REFUTED = -2.0


class Look(NamedTuple):
    """How pairs are tested: each centre and its nearest ones, by rows in a tube around the line between them.

    The tube holds the share ``tube`` of the rows of the two clusters.
    """

    tube: float
    n_nearest: int


# A wide tube uses most rows. If clusters are close, rows of third ones fall into it, and a narrow tube has more power
# if it tests more pairs.
WIDE, NARROW = Look(0.9, 1), Look(0.4, 3)


class Trial(NamedTuple):
    """Centres, held-out rows, and the training rows of the centres, if these are known."""

    held_out: SampleEngine
    centres: Floats
    training: SampleEngine | None = None


@dataclass(frozen=True)
class DensityDips:
    """``share`` of the pairs of neighbours have a dip between them; together these exceed chance by ``z`` sigma.

    ``weakest`` is the same for the one pair that has the least of a dip, minus infinity if some pair has too few
    rows for the test. ``n_pairs`` had enough, and for ``n_refuted`` of these the middle is fuller than chance allows.
    ``unimodal_z`` says by how many sigma the emptiest windows between centres fall short of the emptier ends: it is
    below zero for every unimodal density, and minus infinity where dips are too few to ask.
    """

    share: float
    z: float
    weakest: float = -math.inf
    n_pairs: int = 0
    n_refuted: int = 0
    unimodal_z: float = math.inf


def density_dips(trials: list[Trial], space: Space = EUCLIDEAN, closely: bool = False) -> DensityDips:
    """Density dips between neighbouring centres, as rows see them that these centres were found without.

    ``closely`` takes a second look, through narrow tubes, where the first one shows too little.
    """
    lines = [_Lines(trial, space) for trial in trials]
    found = _seen(lines, WIDE)
    if not closely or found.z >= ENOUGH:
        return found
    closer = _seen(lines, NARROW)
    return closer if closer.z > found.z else found


def _seen(trials: list[_Lines], look: Look) -> DensityDips:
    """What one look shows; whether the density is unimodal is asked only where there is enough evidence of dips."""
    log_concave, unimodal = _Sum(), _Sum()
    seen: list[list[tuple[Segment, _Between]]] = []
    for trial in trials:
        segments = neighbours(trial.sq_gap, look.n_nearest)
        betweens = [trial.rows.between(segment, look.tube) for segment in segments]
        seen.append([(segment, one) for segment, one in zip(segments, betweens, strict=True) if one is not None])
        log_concave.unknown |= len(seen[-1]) < len(segments)
        for _, between in seen[-1]:
            log_concave.add(trial.rows, between, _too_few_in_the_middle(between))
        log_concave.close()
    for trial, pairs in zip(trials, seen, strict=True) if log_concave.z >= ENOUGH_IF_WIDE else ():
        for segment, between in pairs:
            placed = None if trial.training is None else trial.training.between(segment, look.tube)
            if placed is not None:
                unimodal.add(trial.rows, between, _too_few_somewhere(between, _emptiest(placed)))
        unimodal.close()
    sigmas = log_concave.sigmas
    if not sigmas:
        return DensityDips(0.0, 0.0)
    return DensityDips(
        float(np.mean(np.array(sigmas) > 0)),
        log_concave.z,
        -math.inf if log_concave.unknown else min(sigmas),
        len(sigmas),
        sum(sigma <= REFUTED for sigma in sigmas),
        unimodal.z if unimodal.sigmas else (-math.inf if log_concave.z < ENOUGH_IF_WIDE else math.inf),
    )


class _Lines:
    """A trial's centres, and the distances of its rows to them."""

    def __init__(self, trial: Trial, space: Space):
        self._trial, self._spans_all = trial, spans_all(trial.centres, space)
        self.sq_gap = space.sq_gaps(trial.centres, slice(None))
        self.rows = self._rows(trial.held_out)

    @cached
    def training(self) -> _Rows | None:
        """The training rows, of which only steps with enough evidence need to know."""
        training = self._trial.training
        return None if training is None else self._rows(training)

    def _rows(self, engine: SampleEngine) -> _Rows:
        sq_dist = engine.sq_distances(self._trial.centres)
        if not self._spans_all:
            sq_dist -= off_span(sq_dist, self.sq_gap)[:, None]
        return _Rows.of(sq_dist, row_weights(engine))


@dataclass(frozen=True)
class _Between:
    """Rows near the way from a to b: their numbers, their place on it (a is at −½, b at ½) and their weights."""

    rows: Index
    place: Floats
    weight: Floats

    def window(self, centre: float, half: float) -> Mask:
        return np.abs(self.place - centre) < half

    def mass(self, window: Mask) -> float:
        return float(self.weight[window].sum())


@dataclass(frozen=True)
class _Rows:
    """Rows of a trial and their distances to all centres, what lies off the span of these left out.

    The distances to one centre are adjacent in memory, because those to two centres are looked at a time.
    """

    sq_dist: Floats
    labels: Index
    weight: Floats

    @classmethod
    def of(cls, sq_dist: Floats, weight: Floats) -> _Rows:
        return cls(np.asfortranarray(sq_dist), sq_dist.argmin(axis=1), weight / np.mean(weight))

    def between(self, segment: Segment, share: float) -> _Between | None:
        """Rows within the tube and the cell of a segment; None where one end has fewer than two rows."""
        members = self.labels == segment.a, self.labels == segment.b
        if min(map(np.count_nonzero, members)) < 2:
            return None
        along, sq_off = segment.along(self.sq_dist)
        pair = np.concatenate([sq_off[inside] for inside in members])
        near = np.flatnonzero(sq_off <= np.quantile(pair, share) + 1e-9 * segment.gap**2)
        place = _place(along, members, self.weight, near)
        on_the_way = np.abs(place) < 0.5 + _HALF_WINDOW
        near, place = near[on_the_way], place[on_the_way]
        inside = segment.cell(self.sq_dist[near])
        index = near[inside]
        return _Between(index, place[inside], self.weight[index])


@dataclass
class _Sum:
    """By how much windows fall short of what a density without clusters has in them, over all pairs.

    A row takes part in several pairs, so the variance of the sum is computed row by row.
    """

    sigmas: list[float] = field(default_factory=list)
    unknown: bool = False
    _excess: float = 0.0
    _variance: float = 1.0
    _influence: Floats | None = None

    def add(self, rows: _Rows, between: _Between, found: tuple[float, Floats]) -> None:
        excess, influence = found
        own = between.weight * influence
        self._excess += excess
        self.sigmas.append(excess / math.sqrt(1 + (own**2).sum()))
        if self._influence is None:
            self._influence = np.zeros(len(rows.weight))
        self._influence[between.rows] += own

    def close(self) -> None:
        """The rows of one trial are done."""
        if self._influence is not None:
            self._variance += float((self._influence**2).sum())
            self._influence = None

    @property
    def z(self) -> float:
        return self._excess / math.sqrt(self._variance)


def _place(along: Floats, members: tuple[Mask, Mask], weight: Floats, rows: Index) -> Floats:
    """Coordinates of ``rows`` in which the members of a have their mean at −½ and those of b at ½.

    Centres lie too far apart for rows that they were not fitted to, the more so the more columns there are. A row is
    left out of the mean that it is compared with; otherwise it would shift the window to itself.
    """
    means = []
    for inside in members:
        mass, total = weight[inside].sum(), (weight[inside] * along[inside]).sum()
        own = np.where(inside[rows], weight[rows], 0.0)
        others = mass - own
        enough = others > _LEAST_SHARE * mass  # else the rest is rounding, and the row has nowhere to be held against
        rest = total - own * along[rows]
        means.append(np.where(enough, rest / np.where(enough, others, 1.0), np.nan))
    gap = means[1] - means[0]
    return np.where(gap > 0, (along[rows] - (means[0] + means[1]) / 2) / np.where(gap > 0, gap, 1.0), np.inf)


def _too_few_in_the_middle(between: _Between) -> tuple[float, Floats]:
    """By how much the middle window falls short of the geometric mean of the outer two, and each row's part in that."""
    windows = [between.window(centre, _HALF_WINDOW) for centre in (-0.5, 0.0, 0.5)]
    left, middle, right = map(between.mass, windows)
    influence = np.where(windows[1], -1.0, 0.0)
    if left > 0 and right > 0:
        influence[windows[0]] += 0.5 * math.sqrt(right / left)
        influence[windows[2]] += 0.5 * math.sqrt(left / right)
    return math.sqrt(left * right) - middle, influence


def _too_few_somewhere(between: _Between, place: float) -> tuple[float, Floats]:
    """By how much a narrow window at ``place`` falls short of the emptier end, and each row's part in that."""
    windows = [between.window(centre, _HALF_NARROW) for centre in (-0.5, place, 0.5)]
    left, middle, right = map(between.mass, windows)
    end = windows[0] if left <= right else windows[2]
    return min(left, right) - middle, end.astype(float) - windows[1]


def _emptiest(training: _Between) -> float:
    """The place between the centres where the training rows are fewest, the middle one of equals."""
    mass = np.array([training.mass(training.window(place, _HALF_NARROW)) for place in _PLACES])
    lowest = np.flatnonzero(mass == mass.min())
    return float(_PLACES[lowest[len(lowest) // 2]])
