"""What it costs to close clusters, over several parts."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.sparse as sp

from kfree.core.sites import Sites
from kfree.core.stats import Floats
from kfree.engines.contract import Assignment
from kfree.engines.parts import PartClosings, joined


class ChunkedClosings:
    """See ``engines.contract.Closings``."""

    def __init__(self, parts: Sequence[PartClosings]):
        self._parts = parts

    def turn_to(self, assignment: Assignment, sites: Sites) -> None:
        for part, handle in zip(self._parts, assignment.handles, strict=True):
            part.turn_to(handle, sites)

    def costs(self) -> Floats:
        (costs,) = joined(part.costs() for part in self._parts)
        return costs

    def neighbours(self) -> sp.csr_array:
        return sp.csr_array(sum(part.neighbours() for part in self._parts))
