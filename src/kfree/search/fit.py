"""The one road of estimators with centres: all rows in memory, or a summary of them and then all rows in passes."""

from __future__ import annotations

from typing import Protocol

from kfree.engines.contract import MemoryRows, Rows
from kfree.search.centres.state import State, assigned
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.result import Result, SummarySearch
from kfree.search.summary.exact import MOST_PASSES, Step, descended
from kfree.search.summary.micro import Summary
from kfree.search.summary.plan import Plan
from kfree.search.summary.regions import Proposal, searched_by_regions
from kfree.search.summary.regions import Search as RegionSearch


class Search(Protocol):
    """What an estimator does with rows in memory, and how it goes on with all rows of which these are a summary.

    ``step`` gives the sites of the next pass.
    """

    max_iter: int

    @property
    def step(self) -> Step: ...

    def __call__(self, rows: MemoryRows, monitor: Monitor) -> Result: ...

    def summary_of(self, rows: Rows, plan: Plan, seed: int, n_threads: int | None) -> Summary: ...

    def region_search(self, monitor: Monitor) -> RegionSearch | None:
        """The search on the rows of some clusters, None if the number of clusters is to stay."""


def fit_by_summary(
    rows: Rows, search: Search, plan: Plan, seed: int, n_threads: int | None, monitor: Monitor
) -> Result:
    """Search a summary of the rows, then go on with passes over all rows."""
    summary = search.summary_of(rows, plan, seed, n_threads)
    found = search(summary.rows, monitor)
    most = min(MOST_PASSES, search.max_iter)
    begun = _begun(rows, found, search, plan, most, seed, monitor)
    descent = descended(rows, begun, found.objective, search.step, most, monitor)
    limit = "max_iter" if most == search.max_iter else "passes"
    descent.stop_reason = monitor.stop_reason(descent, most, limit)
    earlier, cost = found.descent, found.descent.state.cost + summary.offset
    searched = SummarySearch(summary.sample, cost, earlier.n_iter, earlier.converged)
    return Result(rows, found.objective, descent.state, descent, found.path, searched)


def _begun(
    rows: Rows, found: Result, search: Search, plan: Plan, most: int, seed: int, monitor: Monitor
) -> Descent[State]:
    """The first pass over all rows, or the passes that search them region by region."""
    region_search = search.region_search(monitor)
    if region_search is None:
        begun = Descent.at(assigned(found.state.sites, rows, found.objective))
        monitor.report(begun)
        return begun
    start = Proposal(found.state.sites, found.state.stats.n)
    return searched_by_regions(rows, start, found.objective, region_search, plan, most, seed, monitor)
