"""How many groups clusters have, if any: the one place that decides whether a further level exists.

The finest level is judged on held-out rows (:mod:`kfree.search.path.lam_path`). Few clusters have no rows to hold out:
of 30 planted hierarchies, that judge found the number of groups in 18, from the true centres. So the widest step of the
staircase of clusters is compared with those of clusters without groups: as many, drawn from one Gaussian of the same
covariance. Nothing in this depends on the scale of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats, Stats
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.path.gram_merges import merge_all
from kfree.search.path.staircase import Staircase
from kfree.search.path.steps import Step

# Draws without groups, and the standard deviations by which a step must be wider than theirs. With 3, at most 3 % of
# sets of points without groups got a level, and 92 to 100 % of those with groups (``benchmarks/nested.py judge``).
N_DRAWS, ENOUGH = 40, 3.0
# Fewer clusters have no groups of two.
FEWEST = 4


@dataclass(frozen=True)
class Verdict:
    """The widest step of k groups; ``evidence`` is how many standard deviations it is wider than without groups."""

    step: Step
    evidence: float
    path: Staircase

    @property
    def is_level(self) -> bool:
        """Whether there are groups."""
        return self.evidence >= ENOUGH


def judged(points: MemoryRows, objective: DPMeansObjective, rng: np.random.RandomState) -> Verdict | None:
    """The verdict on groups of weighted points; None where these are too few, or all equal."""
    assert points.weight is not None  # as it is opened
    rows, weight = points.rows(np.arange(points.n_rows)), points.weight
    if len(rows) < FEWEST:
        return None
    path = staircase_of(rows, weight, objective, points.name)
    k, score = _widest(path)
    if not score > 0:
        return None
    middle = weight / weight.sum() @ rows
    _, length, axes = np.linalg.svd(rows - middle, full_matrices=False)
    spread = length / np.sqrt(len(rows)) * np.eye(len(length)) @ axes
    drawn = [_drawn_score(middle, spread, weight, objective, points.name, rng) for _ in range(N_DRAWS)]
    usual = float(np.std(drawn)) or np.inf
    return Verdict(path.at(k=k), (score - float(np.mean(drawn))) / usual, path)


def _drawn_score(
    middle: Floats,
    spread: Floats,
    weight: Floats,
    objective: DPMeansObjective,
    engine: str,
    rng: np.random.RandomState,
) -> float:
    """The widest step of clusters without groups."""
    rows = middle + rng.standard_normal((len(weight), len(spread))) @ spread
    if objective.of_directions:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return _widest(staircase_of(rows, weight, objective, engine))[1]


def staircase_of(rows: Floats, weight: Floats, objective: DPMeansObjective, engine: str) -> Staircase:
    """Penalties at which greedy merging of weighted rows has each number of groups; ``engine`` names the code."""
    return Staircase.of_merges(merge_all(Stats.of_points(rows, weight), objective, engine).costs_by_k())


def _widest(path: Staircase) -> tuple[int, float]:
    """The number of groups whose step has the highest score, of groups of two clusters or more on average."""
    score = path.score[: len(path) // 2]
    best = int(np.argmax(score))
    return best + 1, float(score[best])
