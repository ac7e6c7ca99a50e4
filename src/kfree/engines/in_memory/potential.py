"""Squared distances of the rows to the nearest site so far, for seeding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
        self._sq_dist = np.full(part.n_rows, np.inf)
        self._masses: Masses | None = None

    def approach(self, site: Floats) -> None:
        self._part.approach(site, self._sq_dist)

    def masses(self, by_weight: bool) -> NodeSums:
        self._masses = self._part.masses(self._weights() if by_weight else self._saving())
        return NodeSums(self._masses.nodes, (self._masses.of_nodes(),))

    def row_at(self, node: Node, target: float) -> Floats:
        assert self._masses is not None
        point: Floats = self._part.points(np.array([self._masses.row_at(node, target)]))[0]
        return point

    def best(self, candidates: Floats) -> int:
        return self._part.best_candidate(candidates, self._sq_dist)

    def potentials(self, candidates: Floats) -> NodeSums:
        return self._part.potentials(candidates, self._sq_dist)

    def farthest(self) -> tuple[float, Floats]:
        saving = self._saving()
        row = int(np.argmax(saving))
        return float(saving[row]), self._part.points(np.array([row]))[0]

    def _weights(self) -> Floats:
        return self._part.weights(np.arange(self._part.n_rows))

    def _saving(self) -> Floats:
        with np.errstate(over="ignore"):  # what is infinitely far is farthest
            return self._sq_dist if self._part.weight is None else self._part.weight * self._sq_dist
