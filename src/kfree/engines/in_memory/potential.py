"""Squared distances of the rows to the nearest site so far, for seeding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.arrays import Array
from kfree.core.masses import Masses
from kfree.core.stats import Floats
from kfree.core.sum_tree import Node
from kfree.engines.parts import NodeSums

if TYPE_CHECKING:
    from kfree.engines.in_memory.part import InMemoryPart


class InMemoryPotential:
    """See ``engines.contract.Potential``."""

    def __init__(self, part: InMemoryPart):
        self._part = part
        self._sq_dist = part.arrays.full(part.n_rows, np.inf, np.float64)
        self._masses: Masses | None = None

    def approach(self, site: Floats) -> None:
        self._part.approach(site, self._sq_dist)

    def masses(self, by_weight: bool) -> NodeSums:
        self._masses = self._part.masses(self._weights() if by_weight else self._saving())
        return NodeSums(self._masses.nodes, (self._masses.of_nodes(),))

    def row_at(self, node: Node, target: float) -> Floats:
        assert self._masses is not None
        return self._point(self._masses.row_at(node, target))

    def best(self, candidates: Floats) -> int:
        return self._part.best_candidate(candidates, self._sq_dist)

    def potentials(self, candidates: Floats) -> NodeSums:
        return self._part.potentials(candidates, self._sq_dist)

    def farthest(self) -> tuple[float, Floats]:
        saving = self._saving()
        row = self._part.arrays.argmax(saving)
        return float(saving[row]), self._point(row)

    def _point(self, row: int) -> Floats:
        point: Floats = self._part.points(self._part.arrays.of(np.array([row])))[0]
        return point

    def _weights(self) -> Array:
        return self._part.weights(self._part.arrays.arange(self._part.n_rows))

    def _saving(self) -> Array:
        if self._part.weight is None:
            return self._sq_dist
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinitely far is farthest …
            saving = self._part.weight * self._sq_dist
        saving[self._part.weight == 0] = 0.0  # … but a row of no weight saves nothing, wherever it is
        return saving
