"""The lam path: the staircase of an objective, and which of its steps the data speak for."""

from __future__ import annotations

import numpy as np

from kfree.engines.contract import Engine, SampleEngine
from kfree.search.path.best_by_k import BestByK
from kfree.search.path.density_dips import DensityDips, density_dips
from kfree.search.path.micro_clusters import MicroClusters, PathObjective, make_micro_clusters, sample_of
from kfree.search.path.staircase import Staircase

# Numbers of clusters that are looked at where nobody says otherwise, and rows that a cluster should then have.
DEFAULT_MAX_K, ROWS_PER_CLUSTER = 120, 5
# Micro-clusters per cluster. The list of best clusterings goes a third beyond max_k, because its last rungs are not as
# good as the rest.
_FINENESS, _FEWEST_MICRO = 4, 100
# Steps that are judged: the widest, and all of few clusters, because noise makes steps of many clusters as wide.
_WIDEST_JUDGED, _FEW = 10, 15
# A score that greedy merging seldom reaches without clusters.
_CLEAR = 3.0


def staircase(
    engine: Engine, objective: PathObjective, rng: np.random.RandomState, max_k: int | None = None
) -> Staircase:
    """The staircase up to ``max_k`` clusters, its widest steps judged by held-out rows.

    Without ``max_k`` it is made long enough for the widest step of a greedy merging not to be near its end.
    """
    sample = sample_of(engine, objective, rng)
    most = max(engine.n_counting // ROWS_PER_CLUSTER, 10)
    reach = min(DEFAULT_MAX_K, most) if max_k is None else max_k
    best_by_k, micro = _best_by_k(engine, sample, objective, rng, reach)
    while max_k is None and reach < most and _widest_step(best_by_k) > 0.9 * reach:
        reach = min(2 * reach, most)
        best_by_k, micro = _best_by_k(engine, sample, objective, rng, reach)
    cost = best_by_k.costs(reach + reach // 3) + micro.offset
    path = Staircase(cost, reach, micro.complete)
    score = path.score[:reach]
    judged = np.union1d(np.argsort(-score, kind="stable")[:_WIDEST_JUDGED], np.arange(len(score[:_FEW])))
    candidates = [int(path.k[j]) for j in judged if score[j] > 0]
    return Staircase(cost, reach, micro.complete, _judge(candidates, sample, objective, rng))


def staircase_to(engine: Engine, objective: PathObjective, rng: np.random.RandomState, k: int) -> Staircase:
    """The staircase up to k clusters, or to the number of distinct rows if there are fewer; no step is judged.

    Where k is large, finding the best clustering for each smaller number would take long and change the penalty little:
    there it is that of greedy merging.
    """
    best_by_k, micro = _best_by_k(engine, sample_of(engine, objective, rng), objective, rng, k)
    cost = best_by_k.costs(min(k + k // 3, DEFAULT_MAX_K)) + micro.offset
    return Staircase(cost, k, micro.complete)


def _widest_step(best_by_k: BestByK) -> int:
    """The number of clusters whose step of the greedy merging has the highest score, if that is clear, else 1."""
    greedy = Staircase.of_merges(best_by_k.merges.costs_by_k())
    score = greedy.score[: len(greedy) // 2]
    return int(np.argmax(score)) + 1 if len(score) and score.max() > _CLEAR else 1


def _judge(
    candidates: list[int], sample: SampleEngine, objective: PathObjective, rng: np.random.RandomState
) -> dict[int, DensityDips]:
    """Each half of the sample is clustered, and says of the clusters of the other half whether they are real."""
    if sample.n_rows < 2 or not candidates:
        return {}
    halves = [sample.among(rows) for rows in np.split(np.arange(sample.n_rows), [sample.n_rows // 2])]
    clustered = [_best_by_k(half, half, objective, rng, max(candidates)) for half in halves]
    for best_by_k, _ in clustered:
        best_by_k.climb(max(candidates) + max(candidates) // 3)
    pairs = list(zip(halves[::-1], clustered, strict=True))
    return {
        k: density_dips(
            [(half, micro.outward(best_by_k.centres(k))) for half, (best_by_k, micro) in pairs], objective.space
        )
        for k in candidates
        if k <= min(best_by_k.n_rungs for best_by_k, _ in clustered)
    }


def _best_by_k(
    engine: Engine, sample: SampleEngine, objective: PathObjective, rng: np.random.RandomState, max_k: int
) -> tuple[BestByK, MicroClusters]:
    micro = make_micro_clusters(engine, sample, objective, max(_FINENESS * max_k, _FEWEST_MICRO), rng)
    return BestByK(micro.engine, micro.objective), micro
