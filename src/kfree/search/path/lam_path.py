"""The lam path: the staircase of an objective, and the step best supported by the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.native.threads import one_blas_thread
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.judge.for_path import FEWEST_COLUMNS, MOST_COLUMNS, MOST_ROWS, judged_steps
from kfree.search.monitor import Tell, silent
from kfree.search.path.best_by_k import BestByK, best_by_k
from kfree.search.path.held_out import tested_on_halves
from kfree.search.path.micro_clusters import sample_of
from kfree.search.path.outliers import far_rows, may_have_far_rows
from kfree.search.path.staircase import Staircase

# Default for the largest number of clusters considered, the number of rows per cluster that it assumes, and the number
# of clusters considered however few rows there are.
DEFAULT_MAX_K, ROWS_PER_CLUSTER, LEAST_REACH = 120, 5, 10
# The best clusterings are computed up to this number, unless a step of the greedy merging beyond it has a score that
# data without clusters seldom show there. They go a third further, because the last ones are not as good as the rest.
_REFINED, _HINT = 30, 1.5
# Steps that are tested: the widest, and all of few clusters, because noise makes steps of many clusters as wide.
_WIDEST_JUDGED, _FEW = 10, 15
# Steps that are tested again, with narrow tubes, if they show no dips at first: those with such a score, and with so
# many rows per cluster that a tube that holds few of them still shows what a density without clusters has.
_RATHER_WIDE, _ROWS_TO_LOOK_CLOSELY = 2.0, 100
# The sample is halved within clusters of this many rows on average: fewer would make the halves copies of each other.
_ROWS_PER_STRATUM = 20
# With fewer rows, outliers are not tested for.
_FEWEST_FOR_OUTLIERS = 100
# A score that greedy merging seldom reaches without clusters.
_CLEAR = 3.0


class Path(NamedTuple):
    """A staircase, and the rows that it was computed from, None for all rows."""

    staircase: Staircase
    kept: MemoryRows | None = None


def lam_path(
    rows: MemoryRows,
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    max_k: int | None = None,
    tell: Tell = silent,
) -> Path:
    """The staircase up to ``max_k`` clusters, its widest steps tested on held-out rows.

    Without ``max_k`` it is made long enough for the widest step of a greedy merging not to be near its end. If some
    rows are far from all others, a second staircase is computed without these. ``_replaces`` says whether it is used.
    Directions are judged by comparison with surrogates as well, which sees more clusters than steps that are tested.
    """
    with one_blas_thread():  # starting others takes longer than most products here
        tell("micro-clusters", 0.0)
        sample = sample_of(rows, objective, rng)
        found = _tested(rows, sample, objective, rng, max_k, tell)
        if not objective.of_directions or not FEWEST_COLUMNS <= rows.n_features <= MOST_COLUMNS:
            return found
        tell("comparison with surrogates", 0.9)
        kept = sample if found.kept is None else found.kept
        return found._replace(staircase=_compared(found.staircase, rows, kept, objective, rng, max_k))


def _compared(
    path: Staircase,
    rows: MemoryRows,
    sample: MemoryRows,
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    max_k: int | None,
) -> Staircase:
    """The path with the number of clusters by which rows differ most from surrogates, made longer if need be."""
    some, suggested = sample.rows(np.arange(min(sample.n_rows, MOST_ROWS))), path.suggest().k
    seeded = np.random.default_rng(rng.randint(2**31))
    steps = judged_steps(some, path.is_sure, seeded).up_to(max_k)
    k = steps.choose(suggested)
    if k > len(path):
        path = staircase_to(rows, objective, rng, k)
    return path.with_judged(k, steps.near(k)) if steps.score and k <= len(path) else path


def _tested(
    rows: MemoryRows,
    sample: MemoryRows,
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    max_k: int | None,
    tell: Tell,
) -> Path:
    """The staircase of all rows, or of those that are not far from all others."""
    path = _staircase(rows, sample, objective, rng, max_k, tell)
    has_all = rows.n_counting <= sample.n_rows and sample.n_rows >= _FEWEST_FOR_OUTLIERS
    far = far_rows(sample) if has_all and may_have_far_rows(sample, objective.space) else np.zeros(0, dtype=bool)
    if not far.any():
        return Path(path)
    kept = sample.among(np.flatnonzero(~far))
    rest = _staircase(kept, kept, objective, rng, max_k, lambda doing, share: tell(f"{doing} without far rows", share))
    rest.n_outliers = int(np.count_nonzero(far))
    return Path(rest, kept) if _replaces(rest, path) else Path(path)


def _replaces(rest: Staircase, path: Staircase) -> bool:
    """Whether the staircase without far rows is used instead of that of all rows.

    It is if the latter is doubtful, or if it alone is sure. Otherwise it must have more clusters and be sure; or, where
    all rows have several clusters, have no reason for doubt and a larger score times share of dips.
    """
    with_far, without = path.suggest(), rest.suggest()
    if path.is_doubtful or (rest.is_sure and not path.is_sure):
        return True
    if without.k <= with_far.k or rest.is_doubtful:
        return False
    merit, old_merit = (step.score * (step.share or 0.0) for step in (without, with_far))
    return rest.is_sure or (with_far.k > 1 and merit > old_merit)


def _staircase(
    rows: MemoryRows,
    sample: MemoryRows,
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    max_k: int | None,
    tell: Tell,
) -> Staircase:
    most = max(rows.n_counting // ROWS_PER_CLUSTER, LEAST_REACH)
    reach = min(DEFAULT_MAX_K, most) if max_k is None else max_k
    best, micro = best_by_k(rows, sample, objective, rng, reach)
    greedy = _greedy_score(best)
    while max_k is None and reach < most and _widest_step(greedy) > 0.9 * reach:
        reach = min(2 * reach, most)
        best, micro = best_by_k(rows, sample, objective, rng, reach)
        greedy = _greedy_score(best)
    widest = _widest_step(greedy)
    refined = reach if max_k is not None or _hint(greedy) else min(reach, _REFINED)
    tell(f"clusterings up to k = {refined}", 0.2)
    cost = best.costs(refined + refined // 3) + micro.offset
    n_strata = min(refined, max(sample.n_rows // _ROWS_PER_STRATUM, 1), micro.rows.n_rows)
    centres = micro.outward(best.centres(n_strata))
    del best  # its clusterings take k² numbers
    is_complete = micro.complete and (max_k is None or max_k >= len(cost))
    path = Staircase(cost, reach, is_complete)
    score = path.score[:refined]
    judged = np.union1d(np.argsort(-score, kind="stable")[:_WIDEST_JUDGED], np.arange(len(score[:_FEW])))
    candidates = [int(path.k[j]) for j in judged if score[j] > 0]
    most_closely = sample.n_rows // _ROWS_TO_LOOK_CLOSELY
    closely = {k for k in candidates if score[k - 1] >= _RATHER_WIDE and k <= most_closely}
    strata = sample.sq_distances(centres).argmin(axis=1)
    dips = tested_on_halves(candidates, closely, path.score, (sample, strata), objective, rng, tell)
    return Staircase(cost, reach, is_complete, dips, k_beyond=widest if widest > len(path) else None)


def staircase_to(rows: MemoryRows, objective: DPMeansObjective, rng: np.random.RandomState, k: int) -> Staircase:
    """The staircase up to k clusters, or to the number of distinct rows if there are fewer; no step is tested.

    Where k is large, finding the best clustering for each smaller number would take long and change the penalty little:
    there it is that of greedy merging.
    """
    best, micro = best_by_k(rows, sample_of(rows, objective, rng), objective, rng, k)
    cost = best.costs(min(k + k // 3, DEFAULT_MAX_K)) + micro.offset
    return Staircase(cost, k, micro.complete)


def _greedy_score(best: BestByK) -> Floats:
    """Scores of the greedy merging's steps; its first half alone, because single micro-clusters make wide steps too."""
    greedy = Staircase.of_merges(best.merges.costs_by_k())
    return greedy.score[: len(greedy) // 2]


def _hint(score: Floats) -> bool:
    """Whether the greedy merging has a wide step of many clusters."""
    return bool((score[_REFINED:] > _HINT).any())


def _widest_step(score: Floats) -> int:
    """The number of clusters whose step of the greedy merging has the highest score, if that is clear, else 1."""
    return int(np.argmax(score)) + 1 if len(score) and score.max() > _CLEAR else 1
