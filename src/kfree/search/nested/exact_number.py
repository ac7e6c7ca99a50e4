"""A search that ends with a given number of clusters, also where no penalty makes this number the best."""

from __future__ import annotations

import numpy as np

from kfree.core.warning import warn
from kfree.engines.contract import MemoryRows
from kfree.search.agglomerate import closest_pair
from kfree.search.centres.bisection import bisect
from kfree.search.centres.refine import CONVERGE
from kfree.search.centres.split_merge import Budget
from kfree.search.centres.state import State, recentred
from kfree.search.loop import Descent
from kfree.search.penalised import PenalisedSearch
from kfree.search.summary.micro import SummaryObjective


class ExactNumberSearch(PenalisedSearch):
    """From the number of clusters nearest to ``target_k``, clusters are merged or split until there are so many."""

    number = "levels"

    def _with_target_k(self, rows: MemoryRows, lam: float, budget: Budget) -> tuple[float, Descent[State]]:
        assert self.target_k is not None  # the caller has looked
        lam, descent = self._nearest_to(self.target_k, rows, lam, budget)
        state = with_number(self.target_k, descent.state, rows, self.family(lam))
        if state is not descent.state:
            descent.state, descent.cost_history = state, [state.cost]
        if len(state.stats.n) != self.target_k and budget.may_go_on():
            warn(
                f"{self.estimator} found {len(state.stats.n)} clusters where levels ask for {self.target_k}: X has too "
                "few distinct rows, or they are too close together.",
                UserWarning,
            )
        return lam, descent


def with_number(k: int, state: State, rows: MemoryRows, objective: SummaryObjective) -> State:
    """k clusters: the cheapest pairs are merged, or the clusters split that gain most, and k-means follows each."""
    for _ in range(2 * abs(len(state.stats.n) - k)):
        n_found = len(state.stats.n)
        if n_found == k:
            break
        new = _one_less(state, rows, objective) if n_found > k else _one_more(state, rows, objective)
        if new is None:
            break
        state = new
    return state


def _one_less(state: State, rows: MemoryRows, objective: SummaryObjective) -> State:
    stats = state.stats.copy()
    a, b, cost = closest_pair(state.stats, objective)
    stats.absorb(a, b, cost)
    sites = state.sites.moved(objective.centres(stats, previous=state.sites.centres))
    return CONVERGE.start(sites.kept(np.arange(len(stats.n)) != b), rows, objective)


def _one_more(state: State, rows: MemoryRows, objective: SummaryObjective) -> State | None:
    halves = bisect(state, rows, objective)
    if not (halves.gain > 0).any():
        return None
    best = np.array([int(halves.gain.argmax())])
    return CONVERGE.start(halves.divided(recentred(state, objective), best), rows, objective)
