"""A test for density dips between clusters, on held-out rows.

A density without clusters, such as a Gaussian of any shape or a uniform one on any convex body, is log-concave. So is
its mass along a line within a convex set around it: what lies in a window half-way between two centres is at least the
geometric mean of what lies in equal windows around the two. Between clusters it is less.

Skewed and heavy-tailed densities are not log-concave, but still unimodal: no window between two centres holds less
than the emptier of the windows around the two. Between clusters some window does.

Rows are placed between the means of the rows of both ends. Centres lie too far apart for rows that they were not fitted
to, the more so the more columns there are. A row is left out of the mean that it is compared with; otherwise it would
shift the window to itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import NamedTuple

import numpy as np

from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.native.implementations import implementation
from kfree.search.path.cells import neighbours, off_span, span_of

# Standard deviations that are enough to believe in dips: data without clusters show them once in 4,000 times.
# So many are enough for a step that is wide: once in a hundred times.
ENOUGH, ENOUGH_IF_WIDE = 3.5, 2.33
# A pair whose middle is fuller than log-concavity needs by so many standard deviations has no dip.
REFUTED = -2.0
# The windows are as wide as half the way between the centres, so that the three do not overlap. So far from the middle
# rows may lie.
_HALF_WINDOW = 0.25
_REACH = 0.5 + _HALF_WINDOW
# At least this share of the weight of a cluster must lie with other rows for a mean of those to be known.
_LEAST_SHARE = 1e-9
# Places between two centres where the emptiest window is sought, and its half width: narrow, to find a narrow dip.
_PLACES, _HALF_NARROW = np.linspace(-0.3, 0.3, 13), 0.125


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
    """Centres, held-out rows, and the training rows that the centres were found with."""

    held_out: MemoryRows
    centres: Floats
    training: MemoryRows


@dataclass(frozen=True)
class DensityDips:
    """``share`` of the pairs of neighbours have a dip between them; together these exceed chance by ``z`` sigma.

    ``weakest`` is the same for the one pair that has the least of a dip, minus infinity if some pair has too few
    rows for the test. ``n_pairs`` had enough, and for ``n_refuted`` of these the middle is fuller than chance allows.
    ``look`` says how pairs were tested. ``unimodal_z`` is the result of :func:`unimodality`, NaN if not asked.
    """

    share: float
    z: float
    weakest: float = -math.inf
    n_pairs: int = 0
    n_refuted: int = 0
    look: Look = WIDE
    unimodal_z: float = math.nan


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


def median_dips(found: list[DensityDips]) -> DensityDips:
    """The median of each value over several halvings of the same rows.

    Whatever the halvings have in common, chance takes the median of the evidence beyond a bound at most twice as often
    as a single one.
    """
    middle = sorted(found, key=lambda one: one.z)[(len(found) - 1) // 2]
    names = ("share", "weakest", "n_refuted")
    return replace(middle, **{name: median_low(getattr(one, name) for one in found) for name in names})


def unimodality(trials: list[Trial], space: Space, look: Look) -> float:
    """By how many sigma the emptiest windows between centres fall short of the emptier ends, summed over pairs.

    The training rows say where the emptiest window is. The result is below zero for every unimodal density, but for
    chance, and infinite where no pair has enough rows.
    """
    total = _Sum()
    for trial in trials:
        lines = _Lines(trial, space)
        total.add(*lines.dips_somewhere(look, trial.training))
    return total.z if total.sigmas else math.inf


def _seen(trials: list[_Lines], look: Look) -> DensityDips:
    """What one look shows."""
    total = _Sum()
    for trial in trials:
        total.add(*trial.dips_in_the_middle(look))
    sigmas = total.sigmas
    if not sigmas:
        return DensityDips(0.0, 0.0)
    return DensityDips(
        float(np.mean(np.array(sigmas) > 0)),
        total.z,
        -math.inf if total.has_unknown else min(sigmas),
        len(sigmas),
        sum(sigma <= REFUTED for sigma in sigmas),
        look,
    )


class _Lines:
    """A trial's centres, and the distances of its rows to them."""

    def __init__(self, trial: Trial, space: Space):
        self._centres, self._sq_gap = trial.centres, space.sq_gaps(trial.centres, slice(None))
        self._span = span_of(trial.centres, self._sq_gap, space)
        self._passes = implementation(trial.held_out.name, "path")
        self._rows = self._placed(trial.held_out)

    def dips_in_the_middle(self, look: Look) -> tuple[Floats, Floats, float]:
        """Per pair of neighbours by how much the middle falls short, and in sigma; and the variance of the sum."""
        segments = neighbours(self._sq_gap, look.n_nearest)
        excess, sigmas = np.empty((2, len(segments.gap)))
        limits = look.tube, _HALF_WINDOW, _LEAST_SHARE
        return excess, sigmas, self._passes.dips_in_the_middle(*self._rows, *segments, *limits, excess, sigmas)

    def dips_somewhere(self, look: Look, training: MemoryRows) -> tuple[Floats, Floats, float]:
        """Per pair of neighbours how far the emptiest place, which training rows say, falls short; as in the middle."""
        segments = neighbours(self._sq_gap, look.n_nearest)
        excess, sigmas = np.empty((2, len(segments.gap)))
        rows, limits = (*self._rows, *self._placed(training)), (look.tube, _REACH, _LEAST_SHARE, _PLACES, _HALF_NARROW)
        return excess, sigmas, self._passes.dips_somewhere(*rows, *segments, *limits, excess, sigmas)

    def _placed(self, rows: MemoryRows) -> tuple[Floats, Floats]:
        """Squared distances to all centres (k, n), what lies off their span left out, and weights of mean one."""
        sq_dist = rows.sq_distances(self._centres)
        if self._span is not None:
            sq_dist -= off_span(sq_dist, self._sq_gap, self._span)[:, None]
        weight = rows.row_weights()
        return np.ascontiguousarray(sq_dist.T), weight / np.mean(weight)


@dataclass
class _Sum:
    """By how much windows fall short of what a density without clusters has in them, over all pairs.

    ``has_unknown`` says that an end of some pair had too few rows.
    """

    sigmas: list[float] = field(default_factory=list)
    has_unknown: bool = False
    _excess: float = 0.0
    _variance: float = 1.0

    def add(self, excess: Floats, sigmas: Floats, variance: float) -> None:
        """The pairs of one trial."""
        known = ~np.isnan(sigmas)
        self.sigmas += sigmas[known].tolist()
        self.has_unknown |= not known.all()
        for one in excess[known].tolist():
            self._excess += one
        self._variance += variance

    @property
    def z(self) -> float:
        return self._excess / math.sqrt(self._variance)
