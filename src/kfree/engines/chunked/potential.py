"""Seeding over several parts: draws descend the tree over block numbers, so that the result does not depend on
parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.masses import MassTree
from kfree.core.stats import Floats
from kfree.core.sum_tree import Node
from kfree.engines.parts import PartPotential, joined


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
        if not tree.total > 0:  # every row is at a site, so draws repeat rows
            owner, tree = self._masses(by_weight=True)
        drawn = []
        for u in uniform.tolist():
            node, target = tree.located(u * tree.total)
            drawn.append(owner[node].row_at(node, target))
        return np.array(drawn)

    def best(self, candidates: Floats) -> int:
        if len(self._parts) == 1:
            return self._parts[0].best(candidates)
        (potentials,) = joined(part.potentials(candidates) for part in self._parts)
        return int(np.argmin(potentials))

    def farthest(self) -> tuple[float, Floats]:
        return max((part.farthest() for part in self._parts), key=lambda found: found[0])

    def _masses(self, by_weight: bool) -> tuple[dict[Node, PartPotential], MassTree]:
        """Whose nodes are whose, and the tree above them."""
        found = [part.masses(by_weight) for part in self._parts]
        owner = {node: part for part, masses in zip(self._parts, found, strict=True) for node in masses.nodes}
        return owner, MassTree(list(owner), np.concatenate([masses.sums[0] for masses in found]))
