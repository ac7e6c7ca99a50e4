"""The search for clusters under a Bregman divergence: the moves of DP-means, and penalties without a lam path.

The path tests its steps by densities between centres, which are measured by Euclidean distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Floats, Stats, totals
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.seeding import farthest_first
from kfree.search.centres.split_merge import Budget
from kfree.search.centres.state import State, assigned, one_cluster
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.path.few_rows import continued, may_start_again
from kfree.search.path.staircase import Staircase
from kfree.search.penalised import PenalisedSearch


@dataclass(frozen=True)
class BregmanSearch(PenalisedSearch):
    """A search at a given penalty, or at one that is adjusted until ``target_k`` clusters are found."""

    def _penalty(self, rows: MemoryRows, monitor: Monitor) -> tuple[float, Staircase | None, MemoryRows | None]:
        if self.is_given:
            return float(self.lam), None, None
        assert self.target_k is not None  # as parameters are checked
        plain = self.family(0.0)
        if self.sweep or self.lam == "farthest-first":
            return farthest_first(rows, plain, self.target_k), None, None
        return self._first_guess(rows), None, None

    def _first_guess(self, rows: MemoryRows) -> float:
        """What each of ``target_k`` clusters would save if together they saved all that one cluster costs."""
        assert self.target_k is not None  # the caller has looked
        one, plain = one_cluster(rows, self.family(0.0)), self.family(0.0)
        cost = assigned(one, rows, plain).cost
        # Equal rows cost nothing, and any penalty gives one cluster.
        return cost / (self.target_k + 1) or 1.0

    def _at(self, rows: MemoryRows, lam: float, budget: Budget) -> Descent[State]:
        given = self._start(rows)
        descent = self._split_merge(rows, lam, given, budget)
        if not may_start_again(descent, rows, given, self.max_clusters):
            return descent
        # For few rows, a start by merging them one by one takes as long as the search.
        objective, counting = self.family(lam), rows.counting()
        start = _merged(rows.rows(counting), rows.weights(counting), objective)
        return continued(descent, start, rows, objective, lambda sites: self._split_merge(rows, lam, sites, budget))


def _merged(points: Floats, weight: Floats, objective: DPMeansObjective) -> Sites:
    """The means that are left when rows are merged, the cheapest pair first, while that lowers J."""
    stats = Stats.of_points(points, weight)
    merges = agglomerate(stats, objective, below=objective.lam)
    labels = merges.labels(len(weight) - len(merges.pairs))
    n, sums = totals(labels, weight), np.zeros((int(labels.max()) + 1, points.shape[1]))
    np.add.at(sums, labels, stats.sum)
    return Sites.of(sums / n[:, None])
