"""Where to start: greedy k-means++ (Arthur & Vassilvitskii 2007) and farthest-first penalties (Kulis & Jordan 2012)."""

from __future__ import annotations

import math

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.engines.contract import Engine, row_weights
from kfree.search.centres.state import Objective, one_cluster
from kfree.search.loop import require_finite_cost


def greedy_k_means_plus_plus(
    engine: Engine, n_clusters: int, rng: np.random.RandomState, n_trials: int | None = None
) -> Floats:
    """Centres at rows drawn in proportion to weight·squared distance, each the best of several draws.

    There are 2 + log k draws unless ``n_trials`` is given; a single one makes it plain k-means++.
    """
    weight = row_weights(engine)
    sq_dist = np.full(engine.n_rows, np.inf)
    centres = np.empty((n_clusters, engine.n_features))
    centres[0] = engine.rows(_draw(weight, 1, rng))[0]
    engine.approach(centres[0], sq_dist)
    n_trials = n_trials or 2 + int(math.log(n_clusters))
    for found in range(1, n_clusters):
        saving = weight * sq_dist
        # Every row already is a centre: more of the same is all there is.
        candidates = engine.rows(_draw(saving if saving.any() else weight, n_trials, rng))
        centres[found] = candidates[engine.best_candidate(candidates, sq_dist) if n_trials > 1 else 0]
        engine.approach(centres[found], sq_dist)
    return centres


def _draw(mass: Floats, size: int, rng: np.random.RandomState) -> Index:
    """Row numbers drawn in proportion to mass; rows without mass are never drawn."""
    cumulated = np.cumsum(mass)
    drawn: Index = np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right")
    last_with_mass = np.searchsorted(cumulated, cumulated[-1])
    drawn[drawn > last_with_mass] = last_with_mass
    return drawn


def farthest_first(engine: Engine, objective: Objective, target_k: int) -> float:
    """The penalty at which a sweep opens about ``target_k`` clusters (Kulis & Jordan 2012, §6.1).

    T starts as the global mean; ``target_k`` times, the row farthest from T joins it. The penalty is what the last
    of them would save by opening a cluster: weight·squared distance, so that lam scales with the weights as J does.
    """
    weight = 1.0 if engine.weight is None else engine.weight
    sq_dist = np.full(engine.n_rows, np.inf)
    site = one_cluster(engine, objective).centres[0]
    lam = 0.0
    for found in range(target_k):
        engine.approach(site, sq_dist)
        saving = weight * sq_dist
        farthest = int(np.argmax(saving))
        lam = float(saving[farthest])
        require_finite_cost(lam)
        if lam == 0.0:
            raise ValueError(
                f"farthest-first cannot find {target_k} clusters: after {found} round(s) every row of X "
                f"(n_samples = {engine.n_rows}) coincides with one already taken. Give a smaller number of "
                "clusters, or lam as a positive number."
            )
        site = engine.rows(np.array([farthest]))[0]
    return lam
