"""The judge for the lam path: how many round clusters, for all numbers that the rows allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kfree.core.stats import Floats
from kfree.search.judge.choose import FEWEST_ROWS, Judge

# The number that the path suggests is kept if it has this share of the best score.
_KEPT = 0.9


class JudgedSteps(NamedTuple):
    """The score of each tested number of clusters; empty if rows without clusters may have what was found."""

    score: dict[int, float]

    def best(self) -> int:
        """The number with the highest score; one if there is none."""
        return max(self.score, key=lambda k: self.score[k]) if self.score else 1

    def choose(self, suggested: int) -> int:
        """The number to take where the path suggests one: that, if it is about as good as the best."""
        if not self.score:
            return suggested
        nearest = min(self.score, key=lambda k: abs(np.log(k / suggested)))
        as_good = self.score[nearest] >= _KEPT * self.score[self.best()]
        return suggested if suggested > 1 and as_good else self.best()


def judged_steps(rows: Floats, unit: bool, rng: np.random.Generator) -> JudgedSteps:
    """Scores of k-means with 2 to n / 8 clusters against surrogates; rows are a sample of at most some thousands.

    Rows are unit rows if ``unit``. Rows whose neighbour graph has no more clusters than those of surrogates have no
    scores.
    """
    if len(rows) < FEWEST_ROWS:
        return JudgedSteps({})
    judge = Judge(rows, unit, rng)
    graph, curves = judge.best_graph()
    if graph.score < judge.gate:
        return JudgedSteps({})
    measured, scores = judge.by_centres(curves)
    return JudgedSteps(dict(zip(measured.numbers.tolist(), scores.score.tolist(), strict=True)))
