"""Two halves of a sample, each held out from the clustering of the other."""

from __future__ import annotations

import math

import numpy as np

from kfree.core.stats import Index
from kfree.engines.contract import MemoryRows

# Number of reference rows: rows with equal distances to all of these count as equal.
_REFERENCES = 3


def stratified_halves(engine: MemoryRows, strata: Index) -> tuple[Index, Index]:
    """The rows, which are in random order, in two halves of each stratum (n,); copies of a row are left out.

    Strata are clusters of all rows. Without them, a cluster of ten rows would have three in one half in every third
    draw, too few to be worth a cluster there. Which rows of a stratum go to which half is random.

    A copy of a held-out row among the training rows would attract a centre, and copies that are held out together would
    count as several observations. A value that more rows share than the square root of their number is no copied row
    but a point mass, and both halves have their part of it.
    """
    group = _equal_rows(engine)
    is_mass = np.bincount(group)[group] > math.sqrt(engine.n_rows)
    masses = np.flatnonzero(is_mass)
    masses = masses[np.argsort(group[masses], kind="stable")]
    first = np.zeros(engine.n_rows, dtype=bool)
    first[np.unique(group, return_index=True)[1]] = True
    single = np.flatnonzero(first & ~is_mass)
    single = single[np.argsort(strata[single], kind="stable")]
    return np.concatenate([single[::2], masses[::2]]), np.concatenate([single[1::2], masses[1::2]])


def _equal_rows(engine: MemoryRows) -> Index:
    """The number of each row's group of equal rows, in the order in which the groups appear."""
    references = engine.rows(np.arange(min(_REFERENCES, engine.n_rows)))
    _, first, group = np.unique(engine.sq_distances(references), axis=0, return_index=True, return_inverse=True)
    appearance = np.empty(len(first), dtype=np.int64)
    appearance[np.argsort(first)] = np.arange(len(first))
    return appearance[group.ravel()]
