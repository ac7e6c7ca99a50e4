"""The result of a search for clusters with centres, before anything of it is published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kfree.core.blocks import blocks
from kfree.core.cached import cached
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.contract import MemoryRows, Rows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import State
from kfree.search.loop import Descent
from kfree.search.path.staircase import Staircase


@dataclass(frozen=True)
class SummarySearch:
    """The search on a summary that came before the passes over all rows: a sample of the rows, cost and moves.

    ``n_passes`` over all rows make a summary: one draws the sample, one makes micro-clusters.
    """

    n_passes: ClassVar[int] = 2

    sample: MemoryRows
    cost: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Result:
    """``state`` is to be published, under ``objective``; ``descent`` tells how the search came there.

    ``path`` is the one that the penalty was chosen from, and ``summary`` the search on a summary; None without one.
    ``sample`` are some of the rows in memory, where all were swept elsewhere.
    """

    rows: Rows
    objective: DPMeansObjective
    state: State
    descent: Descent[State]
    path: Staircase | None = None
    summary: SummarySearch | None = None
    sample: MemoryRows | None = None

    @property
    def some_rows(self) -> MemoryRows | None:
        """Rows in memory that stand for all, None where all rows are there themselves."""
        return self.sample if self.summary is None else self.summary.sample

    @cached
    def labels(self) -> Labels:
        """The cluster of each row, (n,), as the search numbers them."""
        found: Labels = self.rows.labels(self.state.assignment)
        return found

    @property
    def in_memory(self) -> MemoryRows:
        """The rows, where all of them were searched in memory."""
        assert isinstance(self.rows, MemoryRows)  # there is no summary
        return self.rows

    def labels_of(self, places: Index) -> Labels:
        """The clusters of some rows; no others are copied from where they are."""
        arrays = self.in_memory.arrays
        found: Labels = arrays.to_numpy(self.state.assignment.labels[arrays.of(places)])
        return found

    def distances(self) -> Iterator[tuple[slice, Floats]]:
        """Distances of all rows to all centres, block by block."""
        centres = self.state.sites.centres
        for places in blocks(self.rows.n_rows, len(centres)):
            some = self.in_memory.among(np.arange(places.start, places.stop))
            yield places, np.sqrt(some.sq_distances(centres))
