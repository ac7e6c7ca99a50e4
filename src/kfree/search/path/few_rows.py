"""Split-merge search on few rows, which may start from the clusterings of the lam path too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kfree.core.sites import Sites
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import State, assigned
from kfree.search.loop import Descent, no_gain
from kfree.search.path.best_by_k import FEW_ROWS, BestByK, single_rows
from kfree.search.path.gram_merges import products_overflow
from kfree.search.path.lam_path import LEAST_REACH, ROWS_PER_CLUSTER
from kfree.search.path.micro_clusters import make_micro_clusters, sample_of


def split_merge_from_path(
    rows: MemoryRows,
    objective: DPMeansObjective,
    sites: Sites | None,
    max_iter: int,
    max_clusters: int | None,
    budget: Budget,
) -> Descent[State]:
    """The search from ``sites``; then, with few rows and no ``sites``, from the clustering that the path has at lam.

    The second search runs only where that clustering costs less than the first search found.
    """
    descent = split_merge(rows, objective, sites, max_iter, max_clusters, budget)
    if not may_start_again(descent, rows, sites, max_clusters) or products_overflow(single_rows(rows)):
        return descent

    def search(start: Sites) -> Descent[State]:
        return split_merge(rows, objective, start, max(max_iter - descent.n_iter, 1), max_clusters, budget)

    return continued(descent, _sites_of_path(rows, objective), rows, objective, search)


def may_start_again(descent: Descent[State], rows: MemoryRows, sites: Sites | None, max_clusters: int | None) -> bool:
    """Whether a second start is worth its time after a search from ``sites``: few rows, and nothing was asked for."""
    return sites is None and rows.n_counting <= FEW_ROWS and max_clusters is None and descent.converged


def continued(
    descent: Descent[State],
    start: Sites,
    rows: MemoryRows,
    objective: DPMeansObjective,
    search: Callable[[Sites], Descent[State]],
) -> Descent[State]:
    """A finished descent, followed by the search from ``start`` where that costs less than what was found."""
    if no_gain(descent.state, assigned(start, rows, objective)):
        return descent
    further = search(start)
    history = [*descent.cost_history, *further.cost_history]
    return replace(further, cost_history=history, n_iter=descent.n_iter + further.n_iter)


def _sites_of_path(rows: MemoryRows, objective: DPMeansObjective) -> Sites:
    """The centres of the path's clustering that is cheapest at the penalty of ``objective``."""
    rng, plain = np.random.RandomState(0), replace(objective, lam=0.0)
    # More micro-clusters than rows: every row is one.
    micro = make_micro_clusters(rows, sample_of(rows, plain, rng), plain, 2 * FEW_ROWS, rng)
    best_by_k = BestByK(micro.rows, micro.objective, by_rows=True)
    reach = max(rows.n_counting // ROWS_PER_CLUSTER, LEAST_REACH)
    cost = best_by_k.costs(reach + reach // 3)
    with np.errstate(over="ignore"):  # an infinite cost is not the lowest
        k = int(np.argmin(cost + objective.lam * np.arange(1, len(cost) + 1))) + 1
    return Sites.of(micro.outward(best_by_k.cheapest_centres(k)))
