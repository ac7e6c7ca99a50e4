"""Seeds of micro-clusters: k-means++ with several draws per pass, after k-means|| (Bahmani et al. 2012)."""

from __future__ import annotations

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index
from kfree.engines.contract import MemoryRows


def spread_seeds(engine: MemoryRows, n_seeds: int, rng: np.random.RandomState) -> Floats:
    """Rows in proportion to weight·squared distance to the nearest seed so far; fewer if there are fewer values.

    Each round adds half as many as there are. One pass over the rows serves all seeds of a round, so that 500 take 15
    passes; k-means++ takes 500.
    """
    weight, sq_dist = engine.row_weights(), np.full(engine.n_rows, np.inf)
    seeds = new = _drawn(weight, 1, rng)
    while len(seeds) < n_seeds:
        sites = Sites.of(engine.rows(new))
        assignment = engine.nearest(sites).assignment
        sq_dist = np.minimum(sq_dist, engine.sq_dists(assignment, sites.centres))
        mass = weight * sq_dist
        if not mass.any():  # every row is at a seed
            break
        new = _drawn(mass, min(max(len(seeds) // 2, 1), n_seeds - len(seeds)), rng)
        seeds = np.concatenate([seeds, new])
    return engine.rows(seeds)


def _drawn(mass: Floats, size: int, rng: np.random.RandomState) -> Index:
    """Up to ``size`` rows in proportion to their mass, each once, in ascending order."""
    cumulated = np.cumsum(mass / mass.max())
    last = int(np.searchsorted(cumulated, cumulated[-1]))  # none without mass
    drawn = np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right")
    return np.unique(np.minimum(drawn, last))
