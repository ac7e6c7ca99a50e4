"""A random sample of the rows of several parts, copied to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Index
from kfree.engines.contract import SampleEngine

if TYPE_CHECKING:
    from kfree.engines.chunked.engine import ChunkedEngine


def sampled(
    engine: ChunkedEngine, size: int, rng: np.random.RandomState, centre: Sites, beyond: Sites | None
) -> SampleEngine | None:
    """See ``engines.contract.Engine.sample``."""
    seed = 0 if engine.n_counting <= size and beyond is None else int(rng.randint(2**31))
    rows = _with_smallest_keys(engine, size, seed, beyond)
    if not len(rows):
        return None
    copies = engine.copies(rows)
    sq_dist = copies.sq_dists(copies.nearest(centre).assignment, centre.centres)
    order = np.argsort(sq_dist, kind="stable")
    return copies.among(order[rng.permutation(len(order))])


def _with_smallest_keys(engine: ChunkedEngine, size: int, seed: int, beyond: Sites | None) -> Index:
    """Global numbers of ``size`` rows, ascending."""
    found = engine.each(lambda part: part.sampled(size, seed, beyond))
    keys, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return np.sort(rows[np.argsort(keys, kind="stable")[:size]])
