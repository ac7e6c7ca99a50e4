"""The change of a cluster's cost by adding or removing one row, under means and under mean directions.

A row of weight w at squared distance d² from the centre adds ``joining`` to the cost by joining the cluster, and takes
``leaving`` from it by leaving; the move of the centre is counted in both. Arrays or numbers in, the same out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kfree.core.arrays import Array, namespace_of
from kfree.core.stats import Floats


def row_sums(terms: Floats) -> Floats:
    """Sums over columns, added in order: NumPy's own sum groups the terms by the machine's vector width."""
    totals: Floats = np.add.accumulate(terms, axis=1)[:, -1]
    return totals


class RowCosts(Protocol):
    """The three formulas."""

    @staticmethod
    def size(n: Floats, sum: Floats) -> Floats: ...

    @staticmethod
    def joining(size: Array, w: Array, sq_dist: Array) -> Array: ...

    @staticmethod
    def leaving(size: Array, w: Array, sq_dist: Array) -> Array: ...


class MeanRowCosts:
    """Centres are means: the cost is Σ w·‖x − μ‖², and the size of a cluster is its weight (Hartigan 1975)."""

    @staticmethod
    def size(n: Floats, sum: Floats) -> Floats:
        return n

    @staticmethod
    def joining(size: Array, w: Array, sq_dist: Array) -> Array:
        return w * size / (size + w) * sq_dist

    @staticmethod
    def leaving(size: Array, w: Array, sq_dist: Array) -> Array:
        return w * size / namespace_of(size).where(size > w, size - w, np.inf) * sq_dist


class DirectionRowCosts:
    """Centres are unit vectors: the cost is 2(W − ‖S‖) for a cluster of weight W and sum S, and its size is ‖S‖.

    ‖S ± wx‖² = (‖S‖ ± w)² ∓ w‖S‖d². Written without differences of nearly equal numbers.
    """

    @staticmethod
    def size(n: Floats, sum: Floats) -> Floats:
        return np.sqrt(row_sums(sum * sum))

    @staticmethod
    def joining(size: Array, w: Array, sq_dist: Array) -> Array:
        xp = namespace_of(sq_dist)
        after = xp.sqrt(xp.clip((size + w) * (size + w) - w * size * sq_dist, 0.0, None))
        return 2.0 * w * size * sq_dist / (size + w + after)

    @staticmethod
    def leaving(size: Array, w: Array, sq_dist: Array) -> Array:
        xp = namespace_of(sq_dist)
        after = xp.sqrt(xp.clip((size - w) * (size - w) + w * size * sq_dist, 0.0, None))
        rest = xp.where(size > w, size - w + after, np.inf)
        return xp.where(size > w, 2.0 * w * size * sq_dist / rest, 2.0 * (w - size + after))
