"""Shared by estimators with a penalty per cluster: parameters, the choice of the penalty, and both searches."""

import time
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.warning import warn
from kfree.engines.contract import VisitingOrder
from kfree.estimators._found import Found
from kfree.estimators._validation import is_positive_number, random_generator, require, require_choice, require_count
from kfree.estimators._watching import Watched, path_progress
from kfree.search.centres.moves import Sweep
from kfree.search.centres.seeding import farthest_first
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import one_cluster, settle
from kfree.search.centres.target import nearest_to
from kfree.search.loop import descend
from kfree.search.path.few_rows import split_merge_from_path
from kfree.search.path.lam_path import lam_path, staircase_to

SEARCHES = ["split-merge", "sweep"]
ORDERS = ["given", "random"]
PENALTIES = ["auto", "farthest-first"]


class PenalisedSearch(Watched):
    """Searches for clusters that cost ``lam`` each, for estimators with the parameters of :class:`kfree.DPMeans`."""

    def _check_search_parameters(self):
        by_name = isinstance(self.lam, str) and self.lam in PENALTIES
        require(
            by_name or is_positive_number(self.lam),
            "lam",
            self.lam,
            "a finite number > 0 (the penalty of a cluster in squared-distance units), 'auto' or 'farthest-first'",
        )
        require_count("target_k", self.target_k, or_none=True)
        require(
            self.target_k is None or by_name,
            "target_k",
            self.target_k,
            "None with a lam that is a number",
        )
        require(
            self.target_k is not None or self.lam != "farthest-first",
            "target_k",
            self.target_k,
            "the number of clusters to aim at with lam='farthest-first'",
        )
        self._check_limits()
        self._check_watching()

    def _check_limits(self):
        require_choice("search", self.search, SEARCHES)
        require_choice("order", self.order, ORDERS)
        swept = self.search == "sweep"
        require(swept or self.order == "given", "order", self.order, "'given', or search='sweep', which uses an order")
        require_count("patience", self.patience, least=0)
        require(
            not (swept and self.patience),
            "patience",
            self.patience,
            "0 with search='sweep', which makes no random splits",
        )
        require(
            self.time_budget is None or is_positive_number(self.time_budget),
            "time_budget",
            self.time_budget,
            "a number of seconds > 0 or None",
        )
        require(not swept or self.time_budget is None, "time_budget", self.time_budget, "None with search='sweep'")
        require_count("max_clusters", self.max_clusters, or_none=True)
        require(
            None in (self.max_clusters, self.target_k) or self.max_clusters >= self.target_k,
            "max_clusters",
            self.max_clusters,
            f"None or at least target_k={self.target_k}",
        )

    def _limits(self, false_alarms):
        """The limits for outliers: √lam for a given penalty, else by the spread of each cluster."""
        given = is_positive_number(self.lam)
        return np.full(self.n_clusters_, np.sqrt(self.lam_)) if given else super()._limits(false_alarms)

    def _penalty(self, engine, plain):
        """The penalty, the path that it was chosen from (or None), and the rows that the path kept (None for all).

        ``plain`` is the objective without a penalty.
        """
        if is_positive_number(self.lam):
            return float(self.lam), None, None
        swept = self.search == "sweep"
        if self.lam == "farthest-first" or (swept and self.target_k is not None):
            return farthest_first(engine, plain, self.target_k), None, None
        rng = random_generator(0 if self.random_state is None else self.random_state)
        if self.target_k is not None:
            path = staircase_to(engine, plain, rng, self.target_k)
            if self.target_k > len(path):
                end = f"{len(path)} distinct rows of X" if path.complete else f"{len(path)} that are found on a sample"
                raise ValueError(
                    f"target_k={self.target_k} is more than the {end}; give at most that many, or lam as a number."
                )
            return path.at(k=self.target_k).lam, None, None
        with path_progress(type(self).__name__, self.verbose) as tell:
            path, kept = lam_path(engine, plain, rng, tell=tell)
        step = path.suggest()
        if path.is_doubtful:
            self._warn_of_doubt(path)
        # A sweep compares lam with the squared distance of a single row, so the gain of a whole cluster would be too
        # large.
        by_row = swept and path.cost[0] > 0
        return farthest_first(engine, plain, step.k) if by_row else step.lam, path, kept

    def _warn_of_doubt(self, path):
        found = path.summary()
        if np.isfinite(found["weakest"]):
            weakest = f"the weakest differs from none by {found['weakest']:.1f} standard deviations"
        else:
            weakest = "some of them have too few rows for the test"
        second = "" if found["runner_up"] is None else f" The runner-up is k={found['runner_up']}."
        warn(
            f"{type(self).__name__} chose {found['k']} clusters with lam='auto', but held-out rows do not agree: there "
            f"is a density dip between {found['share']:.0%} of neighbouring clusters, and {weakest}.{second} "
            "path_ shows all. Give lam or target_k to set the number of clusters.",
            UserWarning,
        )

    def _search(self, engine, plain, watch=None):
        """Choose the penalty and search: the objective, the path, the end of the search, and the state to publish.

        ``plain`` is the objective without a penalty. The number of clusters is ``target_k``, or what the path suggests;
        where that kept some rows only, these alone are searched. ``watch`` is None for one of its own.
        """
        lam, path, kept = self._penalty(engine, plain)
        with self._watching() if watch is None else nullcontext(watch) as seen_by:
            seen_by.has_state = True
            objective, descent = self._descended(seen_by, engine, replace(plain, lam=lam), path, kept)
            descent.stop_reason = self._stop_reason(descent, seen_by)
        searched_all = self.search == "sweep" or kept is None
        return Found(engine, objective, self._finished(descent, engine, objective, searched_all), descent, path)

    def _descended(self, watch, engine, objective, path, kept):
        """The objective, whose penalty ``target_k`` or ``path`` may change, and the end of the search."""
        if self.search == "sweep":
            return objective, self._swept(engine, objective, watch)
        if path is not None:
            return self._as_suggested(engine if kept is None else kept, objective, path, self._budget(watch))
        if self.target_k is None or self.lam != "auto":
            limits = self.max_iter, self.max_clusters, self._budget(watch)
            return objective, split_merge_from_path(engine, objective, self._given_sites(engine), *limits)
        return self._with_target_k(engine, objective, self._budget(watch))

    def _with_target_k(self, engine, objective, budget):
        lam, descent = self._nearest_to(self.target_k, engine, objective, budget)
        n_found = len(descent.state.stats.n)
        if n_found != self.target_k and budget.may_go_on():
            warn(
                f"{type(self).__name__} found no penalty at which target_k={self.target_k} clusters are best; "
                f"lam_={lam:g} gives {n_found}. Use KMeans({self.target_k}) for exactly this number.",
                UserWarning,
            )
        return replace(objective, lam=lam), descent

    def _as_suggested(self, engine, objective, path, budget):
        """The number of clusters that a path suggests, at a penalty within or next to the suggested step."""
        step = path.suggest()
        if self.max_clusters is not None and self.max_clusters < step.k:
            return objective, self._split_merge(engine, objective, self._given_sites(engine), budget)
        lam, descent = self._nearest_to(step.k, engine, objective, budget, (step.lam_low / 2, step.lam_high * 2))
        n_found = len(descent.state.stats.n)
        if n_found != step.k and budget.may_go_on():
            warn(
                f"{type(self).__name__} found {n_found} clusters where path_ suggests {step.k}: all rows together have "
                f"clusterings of lower cost than the path found. Give target_k={step.k} for that number.",
                UserWarning,
            )
        return replace(objective, lam=lam), descent

    def _nearest_to(self, k, engine, objective, budget, within=(0.0, np.inf)):
        """A penalty whose search ends with k clusters, or comes nearest, and that search; the first if outside."""
        given, found = self._given_sites(engine), []

        def search(lam, sites):
            start = given if sites is None else sites
            found.append((lam, self._split_merge(engine, replace(objective, lam=lam), start, budget)))
            return found[-1][1]

        lam, descent = nearest_to(k, objective.lam, search, budget.in_time)
        return (lam, descent) if within[0] <= lam <= within[1] else found[0]

    def _split_merge(self, engine, objective, sites, budget):
        return split_merge(engine, objective, sites, self.max_iter, self.max_clusters, budget)

    def _budget(self, watch):
        """Remaining time is spent on random splits, unless a number of clusters is to be reached."""
        deadline = np.inf if self.time_budget is None else time.monotonic() + self.time_budget
        patience = self.patience or (0 if self.time_budget is None or self.target_k is not None else np.inf)
        return Budget(random_generator(self.random_state), patience, deadline, watch.may_go_on, watch.report)

    def _swept(self, engine, objective, watch):
        order = VisitingOrder(self._order_seed(), engine.n_rows) if self.order == "random" else None
        sweep = Sweep(order, self.max_clusters)
        sites = self._given_sites(engine) or one_cluster(engine, objective)
        state, watched = sweep.start(sites, engine, objective), (watch.may_go_on, watch.report)
        return descend(state, [sweep], engine, objective, self.max_iter, None, *watched)

    def _order_seed(self):
        """The seed of a random order: ``random_state`` if that is a number, else drawn from it."""
        given = self.random_state
        return int(given) if isinstance(given, Integral) else int(random_generator(given).randint(2**31))

    def _given_sites(self, engine):
        """Sites to start from; none unless an estimator has a parameter for them."""
        return None

    def _finished(self, descent, engine, objective, searched_all=True):
        """The last state, with every row at its nearest centre even if the search was cut short or left rows out."""
        state = descent.state
        limit = descent.stop_reason
        # Random splits come last; a time limit reached during them is no failure.
        if limit == "max_iter" or (limit == "time_budget" and not descent.reached_last):
            warn(
                f"{type(self).__name__} did not converge within {limit}={getattr(self, limit)}; the clustering is "
                f"valid but a longer search may improve it. Raise {limit}.",
                ConvergenceWarning,
            )
        if state.was_full:
            warn(
                f"max_clusters={self.max_clusters} was reached; more clusters would lower the cost at "
                f"lam={objective.lam:g}. Raise max_clusters, or lam.",
                UserWarning,
            )
        if not searched_all or not state.settled or not np.all(state.stats.n > 0):
            state = settle(state, engine, objective)
            # Costs of a sample of the rows are not comparable with costs of all rows.
            descent.cost_history = [*(descent.cost_history if searched_all else []), state.cost]
        return state
