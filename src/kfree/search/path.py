"""The lam path: the staircase of an objective, and which of its steps the data speak for."""

from __future__ import annotations

import numpy as np

from kfree.engines.base import Engine, Index
from kfree.search.condense import SAMPLE, Condensed, PathObjective, condense, shuffled
from kfree.search.ladder import Ladder
from kfree.search.staircase import Staircase
from kfree.search.valleys import Valleys, valleys

# Numbers of clusters that are looked at where nobody says otherwise, and rows that a cluster should then have.
DEFAULT_MAX_K, ROWS_PER_CLUSTER = 120, 5
# Micro-clusters per cluster. The ladder goes a third beyond max_k, because its last rungs are not as good as the rest.
_FINENESS, _FEWEST_MICRO = 4, 100
_STEPS_JUDGED = 10


def staircase(
    engine: Engine, objective: PathObjective, rng: np.random.RandomState, max_k: int | None = None
) -> Staircase:
    """The staircase up to ``max_k`` clusters, its widest steps judged by held-out rows.

    Without ``max_k`` it is made longer until the suggested number is not near its end.
    """
    order = shuffled(engine, objective, rng)
    most = max(len(order) // ROWS_PER_CLUSTER, 10)
    reach = min(DEFAULT_MAX_K, most) if max_k is None else max_k
    while True:
        path = _judged_staircase(engine, order, objective, rng, reach)
        if max_k is not None or reach == most or path.suggest().k <= 0.9 * reach:
            return path
        reach = min(2 * reach, most)


def price_for(engine: Engine, objective: PathObjective, rng: np.random.RandomState, k: int) -> float:
    """The price at which k clusters are best; an error if there are fewer distinct rows."""
    order = shuffled(engine, objective, rng)
    ladder, micro = _ladder(engine, order, objective, rng, k, refined=min(k, DEFAULT_MAX_K))
    return Staircase(ladder.costs() + micro.offset, k, micro.complete).at(k=k).lam


def _judged_staircase(
    engine: Engine, order: Index, objective: PathObjective, rng: np.random.RandomState, max_k: int
) -> Staircase:
    ladder, micro = _ladder(engine, order, objective, rng, max_k, refined=max_k)
    cost = ladder.costs() + micro.offset
    path = Staircase(cost, max_k, micro.complete)
    widest = np.argsort(-path.score[:max_k], kind="stable")[:_STEPS_JUDGED]
    candidates = [int(path.k[j]) for j in widest if path.score[j] > 0]
    return Staircase(cost, max_k, micro.complete, _judge(candidates, engine, order[:SAMPLE], objective, rng))


def _judge(
    candidates: list[int], engine: Engine, sample: Index, objective: PathObjective, rng: np.random.RandomState
) -> dict[int, Valleys]:
    """Each half of the sample is clustered, and says of the clusters of the other half whether they are real."""
    if len(sample) < 2 or not candidates:
        return {}
    halves = [engine.among(sample[: len(sample) // 2]), engine.among(sample[len(sample) // 2 :])]
    ladders = []
    for half in halves:
        everyone = np.arange(half.n_rows)
        ladders.append(_ladder(half, everyone, objective, rng, max(candidates), refined=max(candidates))[0])
    return {
        k: valleys([(half, ladder.centres(k)) for half, ladder in zip(halves[::-1], ladders, strict=True)])
        for k in candidates
        if k <= min(ladder.n_rungs for ladder in ladders)
    }


def _ladder(
    engine: Engine, order: Index, objective: PathObjective, rng: np.random.RandomState, max_k: int, refined: int
) -> tuple[Ladder, Condensed]:
    micro = condense(engine, order, objective, max(_FINENESS * max_k, _FEWEST_MICRO), rng)
    return Ladder(micro.engine, objective, min(refined + refined // 3, micro.engine.n_rows)), micro
