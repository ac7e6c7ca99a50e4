"""Two halves of a sample that know nothing of each other."""

from __future__ import annotations

import math

import numpy as np

from kfree.core.stats import Index
from kfree.engines.contract import Engine

# Rows whose distances to all others tell which rows are equal.
_REFERENCES = 3


def halves(engine: Engine) -> tuple[Index, Index]:
    """The rows, which are in random order, in two halves, copies of a row in the same one.

    A copy of a held-out row among the training rows would draw a centre to it. A value that more rows share than the
    square root of their number is no copied row but a point mass, and both halves have their part of it.
    """
    n_rows = engine.n_rows
    group = _equal_rows(engine)
    size = np.bincount(group)
    if size.max() == 1:
        return np.arange(n_rows // 2), np.arange(n_rows // 2, n_rows)
    is_mass = size[group] > math.sqrt(n_rows)
    masses, copied = np.flatnonzero(is_mass), np.flatnonzero(~is_mass)
    copied = copied[np.argsort(group[copied], kind="stable")]
    cut = len(copied) // 2
    while 0 < cut < len(copied) and group[copied[cut]] == group[copied[cut - 1]]:
        cut += 1
    masses = masses[np.argsort(group[masses], kind="stable")]
    return np.concatenate([copied[:cut], masses[::2]]), np.concatenate([copied[cut:], masses[1::2]])


def _equal_rows(engine: Engine) -> Index:
    """The number of each row's group of equal rows, in the order in which the groups appear."""
    references = engine.rows(np.arange(min(_REFERENCES, engine.n_rows)))
    _, first, group = np.unique(engine.sq_distances(references), axis=0, return_index=True, return_inverse=True)
    appearance = np.empty(len(first), dtype=np.int64)
    appearance[np.argsort(first)] = np.arange(len(first))
    return appearance[group.ravel()]
