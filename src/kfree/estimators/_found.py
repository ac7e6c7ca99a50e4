"""The result of a search, before anything of it is published."""

from dataclasses import dataclass

from kfree.core.cached import cached
from kfree.core.stats import Labels
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import State
from kfree.search.loop import Descent
from kfree.search.path.staircase import Staircase


@dataclass(frozen=True)
class Found:
    """The result of a search: ``state`` is the state of ``descent`` to publish, under ``objective``.

    ``path`` is the one that the penalty was chosen from, or None.
    """

    engine: MemoryRows
    objective: DPMeansObjective
    state: State
    descent: Descent[State]
    path: Staircase | None = None

    @cached
    def labels(self) -> Labels:
        """The cluster of each row, (n,), as the search numbers them."""
        found: Labels = self.engine.labels(self.state.assignment)
        return found
