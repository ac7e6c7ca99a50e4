"""The judge for the lam path: how many round clusters, for all numbers that the rows allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kfree.core.stats import Floats
from kfree.search.judge.choose import FEWEST_ROWS, Judge
from kfree.search.judge.numbers import is_about

# Rows that are judged, and the most columns: time and memory grow with their product.
MOST_ROWS, MOST_COLUMNS = 2000, 2048
# With fewer columns, density dips decide alone.
FEWEST_COLUMNS = 30
# The number that the path suggests is kept if it has this share of the best score.
_KEPT = 0.9


class JudgedSteps(NamedTuple):
    """The score of each tested number of clusters; empty if rows without clusters may have what was found.

    One cluster alone has a score if dips that are seen may be those of skewed factors.
    """

    score: dict[int, float]

    def up_to(self, most: int | None) -> JudgedSteps:
        """Numbers that are not larger."""
        return JudgedSteps({k: score for k, score in self.score.items() if most is None or k <= most})

    def best(self) -> int:
        """The number with the highest score; one if there is none."""
        return max(self.score, key=lambda k: self.score[k]) if self.score else 1

    def choose(self, suggested: int) -> int:
        """The number to take where the path suggests one: that, if it is about as good as the best."""
        if not self.score:
            return suggested
        if self.best() == 1:
            return 1
        as_good = self.near(suggested) >= _KEPT * self.score[self.best()]
        return suggested if suggested > 1 and as_good else self.best()

    def near(self, k: int) -> float:
        """The highest score of the tested numbers about as large as k, or that of the nearest."""
        about = [tested for tested in self.score if is_about(tested, k)]
        nearest = min(self.score, key=lambda tested: abs(np.log(tested / k)))
        return max(self.score[tested] for tested in (*about, nearest))


def judged_steps(rows: Floats, is_sure: bool, rng: np.random.Generator) -> JudgedSteps:
    """Scores of k-means with 2 to n / 8 clusters against surrogates; unit rows are a sample of at most some thousands.

    Rows whose neighbour graph has no more clusters than those of surrogates have no scores. They are compared with rows
    of independent factors as well, unless density dips are sure: skewed factors have some dips.
    """
    if len(rows) < FEWEST_ROWS:
        return JudgedSteps({})
    # One surrogate and one split: at 2,000 rows, three and two give the same numbers in twice the time.
    judge = Judge(rows, True, rng, n_surrogates=1, n_splits=1)
    graph, partitions, curves = judge.best_graph()
    if graph.score < judge.gate:
        return JudgedSteps({})
    if not is_sure:
        beyond_factors = judge.against_factors(partitions).score
        if beyond_factors < judge.gate:
            return JudgedSteps({1: beyond_factors})
    measured, scores = judge.by_centres(curves)
    return JudgedSteps(dict(zip(measured.numbers.tolist(), scores.score.tolist(), strict=True)))
