"""Rows of some clusters on two sides each, over several parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Labels, Stats
from kfree.engines.contract import Assignment
from kfree.engines.parts import PartBisection

if TYPE_CHECKING:
    from kfree.engines.chunked.engine import ChunkedEngine


class ChunkedBisection:
    """See ``engines.contract.Bisection``."""

    def __init__(self, engine: ChunkedEngine, assignment: Assignment, parts: Sequence[PartBisection]):
        self._engine, self._assignment, self._parts = engine, assignment, parts
        self.n_rows: Floats = np.sum([part.n_rows for part in parts], axis=0)

    def scatter_product(self, pairs: Floats) -> tuple[Floats, Floats]:
        stats = self._engine.joined(part.scatter_product(pairs) for part in self._parts)
        return stats.n, stats.sum

    def choose(self, pairs: Floats, active: NDArray[np.bool_]) -> tuple[Stats, Floats]:
        done = [part.choose(pairs, active) for part in self._parts]
        n_changed: Floats = np.sum([changed for _, changed in done], axis=0)
        return self._engine.joined(partial for partial, _ in done), n_changed

    def divided(self, newborn: Labels) -> Assignment:
        n_clusters = max(self._assignment.n_clusters, int(newborn.max(initial=-1)) + 1)
        return self._engine.assignment([part.divided(newborn) for part in self._parts], n_clusters)
