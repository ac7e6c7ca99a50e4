"""A test for density dips between clusters, on held-out rows.

A density without clusters, such as a Gaussian of any shape or a uniform one on any convex body, is log-concave. So is
its mass along a line within a convex set around it: what lies in a window half-way between two centres is at least the
geometric mean of what lies in equal windows around the two. Between clusters it is less.

Skewed and heavy-tailed densities are not log-concave, but still unimodal: no window between two centres holds less
than the emptier of the windows around the two. Between clusters some window does.
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
from kfree.search.path.cells import neighbours, off_span, span_of
from kfree.search.path.windows import Between, RowDistances, emptiest, too_few_in_the_middle, too_few_somewhere

# Standard deviations that are enough to believe in dips: data without clusters show them once in 4,000 times.
# So many are enough for a step that is wide: once in a hundred times.
ENOUGH, ENOUGH_IF_WIDE = 3.5, 2.33
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
        training = lines.rows_of(trial.training)
        for segment in neighbours(lines.sq_gap, look.n_nearest):
            between, placed = lines.rows.between(segment, look.tube), training.between(segment, look.tube)
            if between is not None and placed is not None:
                total.add(lines.rows, between, too_few_somewhere(between, emptiest(placed)))
        total.close()
    return total.z if total.sigmas else math.inf


def _seen(trials: list[_Lines], look: Look) -> DensityDips:
    """What one look shows."""
    total, unknown = _Sum(), False
    for trial in trials:
        for segment in neighbours(trial.sq_gap, look.n_nearest):
            between = trial.rows.between(segment, look.tube)
            unknown |= between is None
            if between is not None:
                total.add(trial.rows, between, too_few_in_the_middle(between))
        total.close()
    sigmas = total.sigmas
    if not sigmas:
        return DensityDips(0.0, 0.0)
    return DensityDips(
        float(np.mean(np.array(sigmas) > 0)),
        total.z,
        -math.inf if unknown else min(sigmas),
        len(sigmas),
        sum(sigma <= REFUTED for sigma in sigmas),
        look,
    )


class _Lines:
    """A trial's centres, and the distances of its rows to them."""

    def __init__(self, trial: Trial, space: Space):
        self._centres, self.sq_gap = trial.centres, space.sq_gaps(trial.centres, slice(None))
        self._span = span_of(trial.centres, self.sq_gap, space)
        self.rows = self.rows_of(trial.held_out)

    def rows_of(self, rows: MemoryRows) -> RowDistances:
        sq_dist = rows.sq_distances(self._centres)
        if self._span is not None:
            sq_dist -= off_span(sq_dist, self.sq_gap, self._span)[:, None]
        return RowDistances.of(sq_dist, rows.row_weights(), rows.name)


@dataclass
class _Sum:
    """By how much windows fall short of what a density without clusters has in them, over all pairs.

    A row takes part in several pairs, so the variance of the sum is computed row by row.
    """

    sigmas: list[float] = field(default_factory=list)
    _excess: float = 0.0
    _variance: float = 1.0
    _influence: Floats | None = None

    def add(self, rows: RowDistances, between: Between, found: tuple[float, Floats]) -> None:
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
