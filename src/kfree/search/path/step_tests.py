"""The evidence of held-out rows for the steps of a staircase, and the most plausible step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kfree.core.marks import Shape
from kfree.core.stats import Floats, Mask
from kfree.search.path.density_dips import ENOUGH, ENOUGH_IF_WIDE, DensityDips

# Standard deviations by which a single density dip must exceed chance to be clear.
NO_DOUBT = 2.0
# The wider a step, the less evidence it needs. Between these scores the two make up for each other: of 1,440 paths of
# data without clusters, 1.6 steps each have a score ≥ 1.5, 0.4 one ≥ 2, 0.1 one ≥ 2.5 and 0.06 one ≥ 2.7, and that many
# times the chance of the evidence needed there is 0.0004 to 0.0006.
_WIDE, _VERY_WIDE = 1.5, 2.7
# Evidence changes by less than that, mostly, if the rows are halved in another way.
_CLOSE = 1.5


@dataclass(frozen=True)
class StepTests:
    """Per step, as arrays over k = 1, 2, …: the values of :class:`DensityDips`, NaN for steps that were not tested.

    ``refuted`` are steps with a pair that has no dip, or with a cluster of too few rows for the test.
    """

    share: Annotated[Floats, Shape("steps")]
    evidence: Annotated[Floats, Shape("steps")]
    weakest: Annotated[Floats, Shape("steps")]
    unimodal: Annotated[Floats, Shape("steps")]
    refuted: Annotated[Mask, Shape("steps")]

    @classmethod
    def of(cls, judged: dict[int, DensityDips], n_steps: int) -> StepTests:
        numbers, refuted = np.full((4, n_steps), np.nan), np.zeros(n_steps, dtype=bool)
        for k, found in judged.items():
            numbers[:, k - 1] = found.share, found.z, found.weakest, found.unimodal_z
            refuted[k - 1] = found.n_refuted > 0 or found.weakest == -math.inf
        share, evidence, weakest, unimodal = numbers
        return cls(share, evidence, weakest, unimodal, refuted)

    def ranked(self, score: Floats) -> list[int]:
        """Tested steps, the suggested one first, then those with enough evidence, then the others.

        The suggested step has the largest score times share of dips among those with enough evidence; or it is a finer
        one whose dips are all clear; or one cluster, if no step has enough evidence.
        """
        merit, sure = self._merit(score)
        best, step = max(int(np.argmax(merit)), sure), np.arange(len(score))
        others = step[~np.isnan(self.evidence) & (step != best)].tolist()
        return [best, *sorted(others, key=lambda j: (-merit[j], -self.evidence[j]))]

    def open_steps(self, score: Floats) -> list[int]:
        """Steps not yet tested for unimodality on which the suggestion or the runner-up depends."""
        decisive = {self._merit(score)[1], *self.ranked(score)[:2]}
        return sorted(j for j in decisive if self._confirmed(score)[j] and np.isnan(self.unimodal[j]))

    def _merit(self, score: Floats) -> tuple[Floats, int]:
        """Score times share of dips where there is enough evidence, else 0; and the finest step without any doubt."""
        confirmed = self._confirmed(score)
        sure = int(np.flatnonzero(confirmed & (self.weakest >= NO_DOUBT)).max(initial=0))
        if sure:  # A finer step that splits a cluster at its densest place, or adds a single row, must not replace it.
            confirmed &= ~(self.refuted & (np.arange(len(score)) > sure))
        return np.multiply(score, self.share, where=confirmed, out=np.zeros(len(score))), sure

    def close_calls(self, score: Floats) -> list[int]:
        """Steps with about as much evidence as they need, if none has much more."""
        excess = self.evidence - needed(score)
        best = np.nanmax(excess, initial=-np.inf)
        return np.flatnonzero(excess > -_CLOSE).tolist() if best < _CLOSE else []

    def _confirmed(self, score: Floats) -> Mask:
        """Steps with enough evidence, which is less for wide ones: of these there are few to be mistaken in."""
        return np.asarray((self.evidence >= needed(score)) & (self.share > 0) & ~(self.unimodal < 0))


def needed(score: Floats) -> Floats:
    """The evidence that steps need."""
    return np.interp(score, [_WIDE, _VERY_WIDE], [ENOUGH, ENOUGH_IF_WIDE])
