"""Clusters that groups share: the choice of both penalties, and both searches (Kulis & Jordan 2012)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.warning import warn_cut_short
from kfree.engines.local.grouped import GroupedRows
from kfree.objectives.hdp import HDPObjective
from kfree.search.centres.exact_number import with_exactly
from kfree.search.centres.split_merge import Budget
from kfree.search.centres.state import State
from kfree.search.groups.hdp import at_rest, shared_split_merge, sweeps
from kfree.search.groups.penalties import fitting_penalties, global_penalty, local_penalty
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.result import Result
from kfree.search.span import coordinates, ended, is_wide
from kfree.search.target import around, nearest_to, warn_of_number
from kfree.validation.parameters import random_generator


@dataclass(frozen=True)
class SharedSearch:
    """A search for clusters that groups share; fields are those of :class:`kfree.HardHDP`, penalties None if "auto"."""

    lam_local: float | str | None
    lam_global: float | str | None
    target_k: int | None
    target_k_local: int | None
    sweep: bool
    patience: int
    max_iter: int
    random_state: Any

    def __call__(self, rows: GroupedRows, monitor: Monitor) -> Result:
        """Choose the penalties and search from one cluster."""
        objective = self._objective(rows)
        monitor.begins()
        if self.target_k is None or None not in (self.lam_local, self.lam_global):
            return self.from_sites(rows, objective, None, monitor)
        return self._with_target_k(rows, objective, monitor)

    def from_sites(self, rows: GroupedRows, objective: HDPObjective, sites: Sites | None, monitor: Monitor) -> Result:
        """From ``sites``, or from one cluster, to a state in which every row is where ``predict`` would put it."""
        monitor.begins()
        return self._finished(rows, objective, self._descended(rows, objective, sites, monitor), monitor)

    def _objective(self, rows: GroupedRows) -> HDPObjective:
        """The objective with the penalties that were given or found."""
        local = self._by_rule(self.lam_local, local_penalty, rows, self.target_k_local)
        global_ = self._by_rule(self.lam_global, global_penalty, rows, self.target_k)
        if local is None or global_ is None:
            rng = random_generator(self.random_state, if_none=0)
            local, global_ = fitting_penalties(rows, local, global_, rng)
        return HDPObjective(global_, local)

    @staticmethod
    def _by_rule(
        lam: float | str | None, rule: Callable[[GroupedRows, int], float], rows: GroupedRows, number: int | None
    ) -> float | None:
        """The penalty as it was given, or by farthest-first for a number of clusters; None for "auto"."""
        if not isinstance(lam, str):
            return lam
        assert number is not None  # as parameters are checked
        return rule(rows, number)

    def _scaled(self, objective: HDPObjective, scale: float) -> HDPObjective:
        """The objective with the penalties that are "auto" multiplied by ``scale``."""
        local, global_ = (scale if value is None else 1.0 for value in (self.lam_local, self.lam_global))
        return HDPObjective(global_ * objective.lam, local * objective.lam_local)

    def _with_target_k(self, rows: GroupedRows, objective: HDPObjective, monitor: Monitor) -> Result:
        """Penalties whose search ends with ``target_k`` global clusters; else the best clustering with so many that is
        found, and the penalties at which those with fewer and more clusters cost the same."""
        k = self.target_k
        assert k is not None  # the caller has looked

        def search(scale: float, last: State | None) -> Descent[State]:
            sites = None if last is None else last.sites
            return self._descended(rows, self._scaled(objective, scale), sites, monitor)

        (scale, descent), found = nearest_to(k, 1.0, search, monitor)
        is_exact = descent.state.n_clusters == k
        if not is_exact and not self.sweep and monitor.may_go_on():
            near = around(k, found)
            scale = self._crossing(objective, *near) if len(near) == 2 else scale
            at_crossing = self._scaled(objective, scale)
            budget = self._budget(monitor)
            descent = with_exactly(k, near, rows.penalised(at_crossing.lam_local), at_crossing, self.max_iter, budget)
        chosen = self._scaled(objective, scale)
        result = self._finished(rows, chosen, descent, monitor)
        if not is_exact:
            at = f"lam_local_={chosen.lam_local:g} and lam_global_={chosen.lam:g}"
            warn_of_number("HardHDP", f"target_k={k} global clusters", k, result.state.n_clusters, at)
        return result

    def _crossing(self, objective: HDPObjective, fewer: State, more: State) -> float:
        """The scale of the penalties at which two states cost the same."""
        free = self._scaled(objective, 0.0)
        lost, saved = (one.cost(fewer.stats) - one.cost(more.stats) for one in (free, objective))
        return max(lost / (lost - saved), 0.0) if lost != saved else 1.0

    def _descended(
        self, rows: GroupedRows, objective: HDPObjective, sites: Sites | None, monitor: Monitor
    ) -> Descent[State]:
        find = sweeps if self.sweep else shared_split_merge
        return find(rows, objective, sites, self.max_iter, self._budget(monitor))

    def _budget(self, monitor: Monitor) -> Budget:
        rng = random_generator(self.random_state)
        return Budget(rng, self.patience, np.inf, monitor)

    def _finished(
        self, rows: GroupedRows, objective: HDPObjective, descent: Descent[State], monitor: Monitor
    ) -> Result:
        descent.stop_reason = monitor.stop_reason(descent, self.max_iter)
        if descent.stop_reason == "max_iter":
            warn_cut_short("HardHDP", "max_iter", self.max_iter)
        state = at_rest(descent.state, rows, objective)
        if state.cost < descent.cost_history[-1]:
            descent.cost_history.append(state.cost)
        return Result(rows, objective, state, descent)


def searched_in_span(
    search: SharedSearch, X: ArrayOrCSR, rows: GroupedRows, n_threads: int | None, monitor: Monitor
) -> Result:
    """The result of a search on the coordinates of rows in their span, if there are few rows of many columns."""
    places = coordinates(X, rows.frame) if not search.sweep and is_wide(X) else None
    if places is None:
        return search(rows, monitor)
    frame = Frame.plain(places.shape[1])
    spanning = GroupedRows.open(rows.name, places, rows.group, weight=rows.weight, frame=frame, n_threads=n_threads)
    found = search(spanning, monitor)
    assert isinstance(found.objective, HDPObjective)  # as every search for shared clusters has
    state = _lifted(found, found.objective, rows)
    found.descent.cost_history = ended(found.descent.cost_history, state.cost)
    return replace(found, rows=rows, state=state)


def _lifted(found: Result, objective: HDPObjective, rows: GroupedRows) -> State:
    """The clusters of a search in the span, in the coordinates of the rows."""
    uids, next_uid = found.state.sites.uids, found.state.sites.next_uid
    stats = rows.pass_of_labels(found.labels, np.zeros((len(uids), rows.n_features))).stats
    centres = objective.centres(stats, previous=stats.sum)
    sites = Sites(centres, uids, next_uid, stats.used)
    return at_rest(replace(found.state, sites=sites), rows, objective)
