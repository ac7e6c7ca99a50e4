"""Where to start: greedy k-means++ (Arthur & Vassilvitskii 2007) and farthest-first penalties (Kulis & Jordan 2012)."""

from __future__ import annotations

import math

import numpy as np

from kfree.core.memory import require_memory
from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import one_cluster
from kfree.search.loop import require_finite

# Seeds, and the sums and centres of what is to follow.
_COPIES = 3


def greedy_k_means_plus_plus(
    rows: MemoryRows, n_clusters: int, rng: np.random.RandomState, n_trials: int | None = None
) -> Floats:
    """Centres at rows drawn in proportion to weight·squared distance, each the best of several draws.

    There are 2 + log k draws unless ``n_trials`` is given; a single one makes it plain k-means++.
    """
    require_memory(n_clusters, rows.n_features, _COPIES)
    seeding = rows.seeding()
    centres = np.empty((n_clusters, rows.n_features))
    centres[0] = seeding.draw(rng.uniform(size=1))[0]
    n_trials = n_trials or 2 + int(math.log(n_clusters))
    for found in range(1, n_clusters):
        seeding.approach(centres[found - 1])
        candidates = seeding.draw(rng.uniform(size=n_trials))
        centres[found] = candidates[seeding.best(candidates) if n_trials > 1 else 0]
    return centres


def random_rows(rows: MemoryRows, n_clusters: int, rng: np.random.RandomState) -> Floats:
    """Centres at different rows, drawn in proportion to weight (Forgy 1965)."""
    require_memory(n_clusters, rows.n_features, _COPIES)
    weight = rows.row_weights()
    if rows.n_counting < n_clusters:
        raise ValueError(
            f"init='random' draws n_clusters={n_clusters} different rows of positive weight, and X has "
            f"{rows.n_counting}; give a smaller n_clusters."
        )
    return rows.rows(rng.choice(rows.n_rows, n_clusters, replace=False, p=weight / weight.sum()))


def farthest_first(rows: MemoryRows, objective: DPMeansObjective, target_k: int) -> float:
    """The penalty at which a sweep opens about ``target_k`` clusters (Kulis & Jordan 2012, §6.1).

    T starts as the global mean; ``target_k`` times, the row farthest from T joins it. The penalty is what the last
    of them would save by opening a cluster: weight·squared distance, so that lam scales with the weights as J does.
    """
    seeding = rows.seeding()
    site = one_cluster(rows, objective).centres[0]
    lam = 0.0
    for found in range(target_k):
        seeding.approach(site)
        lam, site = seeding.farthest()
        require_finite(lam)
        if lam == 0.0:
            raise ValueError(
                f"farthest-first cannot find {target_k} clusters: after {found} round(s) every row of X "
                f"(n_samples = {rows.n_rows}) coincides with one already taken. Give a smaller number of "
                "clusters, or lam as a positive number."
            )
    return lam
