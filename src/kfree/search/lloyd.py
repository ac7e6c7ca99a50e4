"""K-means with a given number of clusters, from one or several starts (Lloyd 1982; Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.sites import Sites
from kfree.core.stats import Floats
from kfree.core.warning import warn
from kfree.engines.contract import MemoryRows, Rows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import lloyd
from kfree.search.centres.state import State, assigned, one_cluster
from kfree.search.loop import Descent, descend
from kfree.search.monitor import Monitor
from kfree.search.result import Result
from kfree.search.summary.exact import means
from kfree.search.summary.micro import Summary, summarised
from kfree.search.summary.plan import Plan
from kfree.validation.parameters import random_generator, require

# Coordinates of centres that are compared with the stopping rule before all others are.
_SOME_VALUES = 4096
# Centres (k, d) to start from, in the coordinates of the rows.
Seeds: TypeAlias = Callable[[MemoryRows, int, np.random.RandomState], Floats]


def given(centres: Floats) -> Seeds:
    """The same centres at every start, in the coordinates of the user."""
    return lambda rows, n_clusters, rng: rows.frame.placed(centres)


@dataclass(frozen=True)
class LloydSearch:
    """Lloyd's algorithm from ``n_init`` starts, each at centres that ``seeds`` gives.

    The other fields have the names and the meaning of the parameters of :class:`kfree.KMeans`.
    """

    family: Callable[[float], DPMeansObjective]
    n_clusters: int
    seeds: Seeds
    n_init: int
    max_iter: int
    tol: float
    random_state: Any
    step = staticmethod(means)

    def __call__(self, rows: MemoryRows, monitor: Monitor) -> Result:
        """The best of the descents from all starts."""
        objective = self.family(0.0)
        rule = _StoppingRule(self._limit(rows, objective))
        monitor.begins()
        best: Descent[State] | None = None
        n_begun = 0
        for centres in self._starts(rows):
            n_begun += 1
            start = assigned(Sites.of(centres), rows, objective)
            descent = descend(start, [lloyd], rows, objective, self.max_iter + 1, rule, monitor)
            descent.n_iter = self._n_iterations(descent, rule)
            best = descent if best is None or descent.state.cost < best.state.cost else best
            if not monitor.may_go_on():
                break
        assert best is not None  # there is a start
        # Starts that were left out may have ended better.
        best.converged &= n_begun == self.n_init
        best.stop_reason = monitor.stop_reason(best, self.max_iter)
        return Result(rows, objective, best.state, best)

    def summary_of(self, rows: Rows, plan: Plan, seed: int, n_threads: int | None) -> Summary:
        """A summary that is fine enough for the number of clusters."""
        require(
            2 * self.n_clusters <= plan.most_micro,
            "memory",
            plan.memory,
            f"more memory for n_clusters={self.n_clusters}; {plan.most_micro // 2} fit in it",
        )
        return summarised(rows, self.family(0.0), plan, self.n_clusters, seed, n_threads, is_known=True)

    def region_search(self, monitor: Monitor) -> None:
        """The number of clusters stays."""

    def _starts(self, rows: MemoryRows) -> Iterator[Floats]:
        if rows.n_rows < self.n_clusters:
            raise ValueError(
                f"n_samples={rows.n_rows} should be >= n_clusters={self.n_clusters}; give more rows or "
                "a smaller n_clusters."
            )
        rng = random_generator(self.random_state)
        for _ in range(self.n_init):
            yield self.seeds(rows, self.n_clusters, rng)

    def _limit(self, rows: MemoryRows, objective: DPMeansObjective) -> float:
        """The summed squared shift of the centres that ``tol`` allows at the end."""
        if self.tol == 0:
            return 0.0
        spread = rows.nearest(one_cluster(rows, objective)).stats
        with np.errstate(over="ignore"):
            return float(self.tol * spread.sse[0] / (spread.n[0] * rows.n_features))

    def _n_iterations(self, descent: Descent[State], rule: _StoppingRule) -> int:
        """Pairs of an assignment and new means, as scikit-learn counts them.

        The assignment to the last means belongs to the last pair. It is a pair of its own if it alone has shown that no
        label changes.
        """
        if descent.converged and not rule.is_within_limit:
            return min(descent.n_iter, self.max_iter)
        return descent.n_iter - 1

    def warn_of_limits(self, descent: Descent[State]) -> None:
        """Warn of a search that did not converge, and of clusters without rows."""
        if descent.stop_reason == "max_iter":
            warn(
                f"KMeans did not converge within max_iter={self.max_iter} iterations. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        n_distinct = int((descent.state.stats.n > 0).sum())
        if n_distinct < self.n_clusters:
            warn(
                f"KMeans found {n_distinct} clusters with rows, not n_clusters={self.n_clusters}: X has too few "
                "distinct rows.",
                ConvergenceWarning,
            )


class _StoppingRule:
    """Whether two states count as equal: the centres have moved by no more than ``limit``, or no label has changed.

    ``is_within_limit`` says whether the centres did at the last two states.
    """

    def __init__(self, limit: float):
        self._limit, self.is_within_limit = limit, False

    def __call__(self, old: State, new: State) -> bool:
        self.is_within_limit = self._is_near(old.sites.centres, new.sites.centres)
        return self.is_within_limit or old.same_partition(new)

    def _is_near(self, old: Floats, new: Floats) -> bool:
        """A few numbers of all centres mostly tell, and all of them take long to subtract where there are millions."""
        step = 1 + new.size // _SOME_VALUES
        with np.errstate(over="ignore"):
            some = ((new.ravel()[::step] - old.ravel()[::step]) ** 2).sum()
            # Sums of more squares are not smaller but for rounding.
            return not some > (1 + 1e-9) * self._limit and bool(((new - old) ** 2).sum() <= self._limit)
