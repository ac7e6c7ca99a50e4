"""From the clusters of a flat search to clusters of clusters: levels above them, then the search on J."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kfree.core.warning import warn, warn_cut_short
from kfree.engines.contract import MemoryRows
from kfree.objectives.nested import NESTED_OBJECTIVES, NestedObjective, Parents, sq_gaps
from kfree.search.centres.state import State
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.nested.descent import nested_descent
from kfree.search.nested.levels import LevelChoice
from kfree.search.nested.moves import flat_objective
from kfree.search.nested.state import NestedPlan, NestedState, Tree, assigned, planned
from kfree.search.nested.sweep import swept
from kfree.search.penalised import PenalisedSearch
from kfree.search.result import Result
from kfree.validation.parameters import random_generator


@dataclass(frozen=True)
class NestedResult:
    """``flat`` is the finest level as a search with centres returns it; ``tree`` and ``objective`` tell of the others.

    ``evidence`` is that of the levels above the finest which were judged; the last one may have been refused.
    """

    flat: Result
    objective: NestedObjective
    tree: Tree
    evidence: tuple[float, ...] = ()


@dataclass(frozen=True)
class NestedSearch:
    """Levels above the clusters that the search ``finest`` finds, and the search on J from there."""

    finest: PenalisedSearch
    choice: LevelChoice
    random_state: Any = None

    def __call__(self, found: Result, monitor: Monitor) -> NestedResult:
        """Clusters of clusters from the result of ``finest``."""
        rng = random_generator(self.random_state, if_none=0)
        levels, evidence = self.choice.levels(found.rows, found.state.stats, rng)
        penalties = (found.objective.lam, *(level.lam for level in levels))
        objective = self._objective(penalties, tuple(level.tau for level in levels))
        # A penalty that was given decides about the number of clusters; one that was found leaves the number as it is.
        count = None if self.finest.is_given else found.state.n_clusters
        plans = [_plan(found, tuple(level.parent for level in levels), objective)]
        by_passes, counts = found.summary is not None, (count, *(level.count for level in levels))
        if self.finest.is_given and self.choice.penalties and not by_passes and monitor.may_go_on():
            plans.append(self._bound_plan(found.in_memory, objective, monitor))
        starts = [assigned(found.rows, objective, plan) for plan in plans]
        how = objective, counts, self.finest.max_iter, monitor
        ended = [nested_descent(one, found.rows, *how, by_passes=by_passes) for one in starts]
        best = min(ended, key=lambda descent: descent.state.cost)
        if self.choice.numbers is not None and best.state.numbers != counts:
            warn(
                f"{self.finest.estimator} ends with levels_={best.state.numbers[::-1]} where levels={counts[::-1]} "
                "were found: groups pull the centres of their nodes so strongly that some lose all rows. Lower tau.",
                UserWarning,
            )
        return self._finished(found, objective, best, monitor, tuple(evidence))

    def _bound_plan(self, rows: MemoryRows, objective: NestedObjective, monitor: Monitor) -> NestedPlan:
        """A second place to start from, the best one where tau is large: every cluster is its own group."""
        found = replace(self.finest, lam=sum(objective.penalties))(rows, monitor)
        own = np.arange(found.state.n_clusters, dtype=np.int32)
        return _plan(found, (own,) * (objective.n_levels - 1), objective)

    def sweep(self, rows: MemoryRows, monitor: Monitor) -> NestedResult:
        """Sweeps over rows and clusters, from one cluster in one group; penalties and taus are numbers."""
        choice = self.choice
        assert choice.penalties is not None  # as parameters are checked
        assert choice.taus is not None
        objective = self._objective((float(self.finest.lam), *choice.penalties), tuple(choice.taus))
        monitor.begins()
        descent = swept(rows, objective, self.finest.max_iter, monitor)
        state = _flat_state(descent.state)
        flat = Result(rows, flat_objective(objective, objective.lam), state, Descent(state, descent.cost_history))
        return self._finished(flat, objective, descent, monitor, ())

    def _objective(self, penalties: tuple[float, ...], taus: tuple[float, ...]) -> NestedObjective:
        return NESTED_OBJECTIVES[self.choice.metric](penalties, taus, self.choice.by_rows)

    def _finished(
        self,
        found: Result,
        objective: NestedObjective,
        descent: Descent[NestedState],
        monitor: Monitor,
        evidence: tuple[float, ...],
    ) -> NestedResult:
        """The result for publication, and a warning where the search was cut short."""
        reason = monitor.stop_reason(descent, self.finest.max_iter)
        if reason == "max_iter":
            warn_cut_short(self.finest.estimator, "max_iter", self.finest.max_iter)
        told = Descent(_flat_state(descent.state), descent.cost_history, descent.n_iter, descent.converged)
        told.stop_reason = reason
        flat = replace(found, state=told.state, descent=told)
        return NestedResult(flat, objective, descent.state.tree, evidence)


def _plan(found: Result, parents: Parents, objective: NestedObjective) -> NestedPlan:
    """The clusters of a flat search with parents, at their best centres."""
    stats, sites = found.state.stats, found.state.sites
    mean = stats.sum / stats.n[:, None]
    scatter = np.maximum(stats.sse - stats.n * sq_gaps(mean, sites.centres), 0.0)
    return planned(sites, stats.n, mean, scatter, parents, objective)


def _flat_state(state: NestedState) -> State:
    """The finest level, whose cost is that of all levels."""
    return State(state.sites, state.assignment, state.stats, state.cost, settled=True)
