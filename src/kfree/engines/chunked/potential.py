"""Seeding over several parts: draws descend the tree over block numbers, so that parts leave no trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.stats import Floats
from kfree.core.sum_tree import MassTree, total
from kfree.engines.parts import PartPotential


class ChunkedPotential:
    """See ``engines.contract.Potential``."""

    def __init__(self, parts: Sequence[PartPotential]):
        self._parts, self._has_sites = parts, False

    def approach(self, site: Floats) -> None:
        self._has_sites = True
        for part in self._parts:
            part.approach(site)

    def draw(self, uniform: Floats) -> Floats:
        owner, tree = self._masses(by_weight=not self._has_sites)
        if not tree.total > 0:  # every row is at a site: more of the same is all there is
            owner, tree = self._masses(by_weight=True)
        drawn = []
        for u in uniform.tolist():
            node, target = tree.located(u * tree.total)
            drawn.append(owner[node.level, node.index].row_at(node, target))
        return np.array(drawn)

    def best(self, candidates: Floats) -> int:
        if len(self._parts) == 1:
            return self._parts[0].best(candidates)
        (potentials,) = total([node for part in self._parts for node in part.potentials(candidates)])
        return int(np.argmin(potentials))

    def farthest(self) -> tuple[float, Floats]:
        return max((part.farthest() for part in self._parts), key=lambda found: found[0])

    def _masses(self, by_weight: bool) -> tuple[dict[tuple[int, int], PartPotential], MassTree]:
        nodes = [(part, node) for part in self._parts for node in part.masses(by_weight)]
        return {(node.level, node.index): part for part, node in nodes}, MassTree([node for _, node in nodes])
