"""Clusters that cost ``lam`` each: the choice of the penalty, and both searches (Kulis & Jordan 2012)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Floats
from kfree.core.warning import warn, warn_cut_short
from kfree.engines.contract import MemoryRows, Rows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.exact_number import crossing, with_exactly
from kfree.search.centres.moves import Sweep
from kfree.search.centres.seeding import farthest_first
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import State, occupied_at, one_cluster, recentred, settle
from kfree.search.loop import Descent, Silent, descend
from kfree.search.monitor import Monitor
from kfree.search.path.few_rows import split_merge_from_path
from kfree.search.path.lam_path import lam_path, staircase_to
from kfree.search.path.staircase import Staircase
from kfree.search.result import Result
from kfree.search.summary.exact import Step, merged_means
from kfree.search.summary.micro import Summary, summarised
from kfree.search.summary.plan import Plan
from kfree.search.summary.regions import Search as RegionSearch
from kfree.search.target import Trial, around, nearest_to, warn_of_number
from kfree.validation.parameters import is_positive_number, random_generator


@dataclass(frozen=True)
class PenalisedSearch:
    """A search for clusters that cost ``lam`` each; ``family`` gives the objective for a penalty.

    Fields have the names and the meaning of the parameters of :class:`kfree.DPMeans`; ``init`` are centres (k, d) or
    None. ``estimator`` is the name that warnings use.
    """

    estimator: str
    family: Callable[[float], DPMeansObjective]
    lam: float | str
    target_k: int | None = None
    sweep: bool = False
    patience: int = 0
    time_budget: float | None = None
    order: str = "given"
    max_iter: int = 300
    max_clusters: int | None = None
    random_state: Any = None
    init: Floats | None = None
    # What costs are multiplied by when a user sees them.
    sq_unit: float = 1.0
    # The path that a given penalty was chosen from by an earlier search.
    path: Staircase | None = None
    # The parameter of the estimator that sets the number of clusters, for warnings.
    number: str = "target_k"
    # Whether time that remains is spent on random splits, since no search without some of the rows follows.
    is_last: bool = True

    def __call__(self, rows: MemoryRows, monitor: Monitor) -> Result:
        """Choose the penalty and search. Where the path kept some rows only, these alone are searched."""
        lam, path, kept = self._penalty(rows, monitor)
        monitor.begins()
        if self.sweep:
            descent = self._swept(rows, lam, monitor)
        elif path is not None:
            lam, descent = self._as_suggested(rows if kept is None else kept, lam, path, self._budget(monitor))
        elif self.target_k is not None and self.lam == "auto":
            lam, descent = self._with_target_k(rows, lam, self._budget(monitor))
        else:
            descent = self._at(rows, lam, self._budget(monitor))
        result = self._finished(rows, lam, descent, monitor, searched_all=self.sweep or kept is None)
        return replace(result, path=self.path if path is None else path)

    def swept_elsewhere(self, rows: Rows, sample_rows: int, seed: int, monitor: Monitor) -> Result:
        """Sweeps over rows that are not in memory, at a penalty that was given, and a sample of them."""
        lam = float(self.lam)
        monitor.begins()
        result = self._finished(rows, lam, self._swept(rows, lam, monitor), monitor, searched_all=True)
        sample = rows.sample(sample_rows, np.random.RandomState(seed), one_cluster(rows, result.objective))
        return replace(result, sample=sample)

    @property
    def is_given(self) -> bool:
        """Whether the penalty is a number."""
        return bool(is_positive_number(self.lam))

    def after(self, first: Result, n_left_out: int) -> PenalisedSearch:
        """The search without some rows, at the penalty that all rows have chosen, from the centres found for these.

        The penalty is chosen anew if the path has set aside more rows than are left out now. Without a path nothing is
        as the first search has found it, but under a budget of time, which is that of both.
        """
        centres = first.rows.frame.outward(first.state.sites.centres)
        if first.path is not None and first.path.n_outliers <= n_left_out:
            return replace(self, lam=first.objective.lam, init=centres, path=first.path)
        return self if self.time_budget is None else replace(self, init=centres)

    def name_of(self, result: Result) -> str:
        """Which search gave a result."""
        return "sweep" if self.sweep else "split-merge" if result.summary is None else "summary"

    def summary_of(self, rows: Rows, plan: Plan, seed: int, n_threads: int | None) -> Summary:
        """A summary that is fine enough for the penalty, or for the number of clusters to aim at."""
        objective = self.family(float(self.lam) if self.is_given else 0.0)
        return summarised(rows, objective, plan, None if self.is_given else self.target_k or 1, seed, n_threads)

    @property
    def step(self) -> Step:
        """The sites of the next pass: a penalty that was given decides about merging, a number of clusters stays."""
        return merged_means if self.is_given else recentred

    def region_search(self, monitor: Monitor) -> RegionSearch | None:
        """The search on rows of a region, None if the number of clusters is to stay."""
        if not self.is_given:
            return None
        budget = Budget(random_generator(self.random_state), watch=Silent(monitor))

        def search(rows: MemoryRows, objective: DPMeansObjective, sites: Sites, divisible: float) -> State:
            return split_merge(rows, objective, sites, self.max_iter, self.max_clusters, budget, divisible).state

        return search

    def _penalty(self, rows: MemoryRows, monitor: Monitor) -> tuple[float, Staircase | None, MemoryRows | None]:
        """The penalty, the path that it was chosen from (or None), and the rows that the path kept (None for all)."""
        if self.is_given:
            if self.path is not None and self.path.is_doubtful:
                self._warn_of_doubt(self.path)
            return float(self.lam), None, None
        plain = self.family(0.0)
        if self.lam == "farthest-first" or (self.sweep and self.target_k is not None):
            assert self.target_k is not None  # as parameters are checked
            return farthest_first(rows, plain, self.target_k), None, None
        rng = random_generator(self.random_state, if_none=0)
        if self.target_k is not None:
            return self._penalty_for(self.target_k, staircase_to(rows, plain, rng, self.target_k)), None, None
        path, kept = lam_path(rows, plain, rng, tell=monitor.path)
        step = path.suggest()
        if path.is_doubtful:
            self._warn_of_doubt(path)
        # A sweep compares lam with the squared distance of a single row, so the gain of a whole cluster would be too
        # large.
        by_row = self.sweep and path.cost[0] > 0
        return farthest_first(rows, plain, step.k) if by_row else step.lam, path, kept

    def _penalty_for(self, k: int, path: Staircase) -> float:
        if k > len(path):
            end = f"{len(path)} distinct rows of X" if path.complete else f"{len(path)} that are found on a sample"
            raise ValueError(f"{self.number}={k} is more than the {end}; give at most that many, or lam as a number.")
        return path.at(k=k).lam

    def _with_target_k(self, rows: MemoryRows, lam: float, budget: Budget) -> tuple[float, Descent[State]]:
        """A penalty whose search ends with ``target_k`` clusters; else the best clustering with so many that is found,
        and the penalty at which those with fewer and more clusters cost the same."""
        k = self.target_k
        assert k is not None  # the caller has looked
        (lam, descent), found = self._nearest_to(k, rows, lam, budget)
        if descent.state.n_clusters == k or not budget.may_go_on():
            return lam, descent
        near = around(k, found)
        lam = crossing(*near) if len(near) == 2 else lam
        exact = with_exactly(k, near, rows, self.family(lam), self.max_iter, budget)
        n_found = exact.state.n_clusters
        if n_found != k or self.number == "target_k":  # levels of clusters are asked for without a penalty in mind
            at = f"lam_={self.sq_unit * lam:g}"
            warn_of_number(self.estimator, f"{self.number}={k} clusters", k, n_found, at)
        return lam, exact

    def _as_suggested(
        self, rows: MemoryRows, lam: float, path: Staircase, budget: Budget
    ) -> tuple[float, Descent[State]]:
        """The number of clusters that a path suggests, at a penalty within or next to the suggested step."""
        step = path.suggest()
        if self.max_clusters is not None and self.max_clusters < step.k:
            return lam, self._split_merge(rows, lam, self._start(rows), budget)
        (lam, descent), found = self._nearest_to(step.k, rows, lam, budget)
        if not step.lam_low / 2 <= lam <= step.lam_high * 2:
            lam, descent = found[0]
        n_found = descent.state.n_clusters
        if not path.suggests(n_found) and budget.watch.may_go_on():
            warn(
                f"{self.estimator} found {n_found} clusters where path_ suggests {step.k}: all rows together have "
                f"clusterings of lower cost than the path found. Give {self.number}={step.k} for that number.",
                UserWarning,
            )
        return lam, descent

    def _nearest_to(
        self, k: int, rows: MemoryRows, lam: float, budget: Budget
    ) -> tuple[Trial[State], list[Trial[State]]]:
        """A penalty whose search ends with k clusters, or comes nearest, and that search; and all that were tried."""
        given = self._start(rows)

        def search(lam: float, last: State | None) -> Descent[State]:
            return self._split_merge(rows, lam, given if last is None else last.sites, budget)

        return nearest_to(k, lam, search, budget)

    def _at(self, rows: MemoryRows, lam: float, budget: Budget) -> Descent[State]:
        """The search at a penalty that was given."""
        limits = self.max_iter, self.max_clusters, budget
        return split_merge_from_path(rows, self.family(lam), self._start(rows), *limits)

    def _split_merge(self, rows: MemoryRows, lam: float, sites: Sites | None, budget: Budget) -> Descent[State]:
        return split_merge(rows, self.family(lam), sites, self.max_iter, self.max_clusters, budget)

    def _budget(self, monitor: Monitor) -> Budget:
        """Remaining time is spent on random splits, unless a number of clusters is to be reached."""
        deadline, spends_rest = np.inf, False
        if self.time_budget is not None:
            deadline = monitor.begun_at + self.time_budget
            spends_rest = self.is_last and self.target_k is None
        patience = self.patience or (np.inf if spends_rest else 0)
        return Budget(random_generator(self.random_state), patience, deadline, monitor)

    def _swept(self, rows: Rows, lam: float, monitor: Monitor) -> Descent[State]:
        objective = self.family(lam)
        is_random = self.order == "random"
        order = np.random.RandomState(self._order_seed()).permutation(rows.n_rows) if is_random else None
        sweep = Sweep(order, self.max_clusters)
        state = sweep.start(self._start(rows) or one_cluster(rows, objective), rows, objective)
        return descend(state, [sweep], rows, objective, self.max_iter, None, monitor)

    def _finished(
        self, rows: Rows, lam: float, descent: Descent[State], monitor: Monitor, *, searched_all: bool
    ) -> Result:
        """The result, with every row at its nearest centre even if the search was cut short or left rows out."""
        descent.stop_reason = monitor.stop_reason(descent, self.max_iter)
        self._warn_of_limits(descent, lam)
        objective, state = self.family(lam), descent.state
        if not searched_all:
            state = occupied_at(recentred(state, objective), rows, objective)
            # Costs of some of the rows are not comparable with costs of all rows.
            descent.cost_history = [state.cost]
        elif not state.settled or not np.all(state.stats.n > 0):
            state = settle(state, rows, objective)
            descent.cost_history.append(state.cost)
        return Result(rows, objective, state, descent)

    def _order_seed(self) -> int:
        """The seed of a random order: ``random_state`` if that is a number, else drawn from it."""
        given = self.random_state
        return int(given) if isinstance(given, Integral) else int(random_generator(given).randint(2**31))

    def _start(self, rows: Rows) -> Sites | None:
        return None if self.init is None else Sites.of(rows.frame.placed(self.init))

    def _warn_of_doubt(self, path: Staircase) -> None:
        found = path.summary()
        if np.isfinite(found["weakest"]):
            weakest = f"the weakest dip is {found['weakest']:.1f} standard deviations from no dip"
        else:
            weakest = "some of them have too few rows for the test"
        second = "" if found["runner_up"] is None else f" The runner-up is k={found['runner_up']}."
        warn(
            f"{self.estimator} chose {found['k']} clusters with lam='auto', but held-out rows do not agree: there "
            f"is a density dip between {found['share']:.0%} of neighbouring clusters, and {weakest}.{second} "
            f"path_ shows all. Give lam or {self.number} to set the number of clusters.",
            UserWarning,
        )

    def _warn_of_limits(self, descent: Descent[State], lam: float) -> None:
        limit = descent.stop_reason
        # Random splits come last; a time limit reached during them is no failure.
        if limit == "max_iter" or (limit == "time_budget" and not descent.reached_last):
            warn_cut_short(self.estimator, limit, getattr(self, limit))
        if descent.state.was_full:
            warn(
                f"max_clusters={self.max_clusters} was reached; more clusters would lower the cost at "
                f"lam={self.sq_unit * lam:g}. Raise max_clusters, or lam.",
                UserWarning,
            )
