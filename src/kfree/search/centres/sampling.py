"""Random orders of the rows, of which the first rows are a sample."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Index
from kfree.engines.contract import Engine
from kfree.search.centres.state import Objective, one_cluster, state_of
from kfree.search.loop import require_finite


def shuffled(engine: Engine, objective: Objective, rng: np.random.RandomState) -> Index:
    """The rows that count, in a random order that does not depend on the order in which they were given.

    Rows are first sorted by their distance to the mean, which only equal rows share but for rare coincidences.
    """
    sites = one_cluster(engine, objective)
    done = engine.nearest(sites)
    require_finite(state_of(sites, done, objective))
    order = np.argsort(done.sq_dist, kind="stable")
    if engine.weight is not None:
        order = order[engine.weight[order] > 0]
    return order[rng.permutation(len(order))]
