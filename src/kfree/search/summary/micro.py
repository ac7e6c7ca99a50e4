"""Micro-clusters of all rows: a sample gives their places, one pass their statistics, and far rows found new ones.

A clustering of micro-clusters costs as much as that of their rows, but for a constant, if the rows of a micro-cluster
stay together. So a search on micro-clusters minimises an upper bound of J.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kfree.core.blocks import row_blocks
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, exact_sum
from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.local.rows import LocalRows
from kfree.native.memory import give_back_free_memory
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import lloyd
from kfree.search.centres.seeding import greedy_k_means_plus_plus
from kfree.search.centres.split_merge import grown
from kfree.search.centres.state import State, assigned, occupied, one_cluster
from kfree.search.loop import require_finite
from kfree.search.summary.plan import Plan

# Micro-clusters per cluster, and the fewest, if memory allows them. Where the number of clusters is not known there are
# at least 4,096, or fewer where the pass that makes them would compute more distances than this.
PER_CLUSTER, _USUAL, _FEWEST, _MOST_DISTANCES = 16, 4096, 1024, 10**11
# This share of the micro-clusters that memory allows is left for far rows.
_FOR_FAR_ROWS = 1 / 4
# They are seeded on so many rows each, and refined by so many iterations of k-means on the sample.
_ROWS_PER_SEED, _LLOYD_PASSES = 5, 4
# The number of clusters is estimated on so many rows.
_ROWS_TO_COUNT = 20_000
# Rows that are copied at a time.
_ROWS_AT_ONCE = 1024


class SummaryRows(LocalRows):
    """Micro-clusters ``X`` as weighted rows; samples are of the ``rows`` that they stand for."""

    def __init__(self, X: Floats, weight: Floats, rows: Rows, sample: MemoryRows, n_threads: int | None):
        super().__init__("native" if rows.name == "gpu" else rows.name, X, weight, rows.frame, n_threads)
        self.n_counting, self._some_rows = rows.n_counting, sample

    def sample(
        self, size: int, rng: np.random.RandomState, centre: Sites, beyond: Sites | None = None
    ) -> MemoryRows | None:
        """The first rows of the sample, which is in random order; with ``beyond``, those at none of these sites."""
        some = self._some_rows
        if beyond is not None:
            done = some.nearest(beyond)
            rows = np.flatnonzero(some.sq_dists(done.assignment, beyond.centres) > 0)
            if not len(rows):
                return None
            some = some.among(rows)
        return some.among(np.arange(min(size, some.n_rows)))


@dataclass(frozen=True)
class Summary:
    """Micro-clusters, ``rows``, of all rows, whose cost is higher by ``offset`` than that of the micro-clusters."""

    rows: SummaryRows
    sample: MemoryRows
    offset: float


def summarised(
    rows: Rows,
    objective: DPMeansObjective,
    plan: Plan,
    n_clusters: int | None,
    seed: int,
    n_threads: int | None,
    is_known: bool = False,
) -> Summary:
    """A summary that is fine enough for ``n_clusters``, or for the penalty of ``objective`` if that is None.

    ``is_known``: the search will have neither more nor fewer clusters than that.
    The sample is drawn with ``seed``, in a pass over the rows that may have been made when these were opened.
    """
    give_back_free_memory()
    rng = np.random.RandomState(seed)
    sample = rows.sample(plan.sample_rows, rng, Sites.of(np.zeros((1, rows.n_features))))
    assert sample is not None  # some row has a positive weight
    scale = rows.total_weight / sample.total_weight
    expected = _expected_clusters(sample, objective, scale) if n_clusters is None else n_clusters
    usual = _FEWEST if is_known else min(_USUAL, _MOST_DISTANCES // rows.n_rows)
    state = _settled(sample, objective, _n_micro(expected, usual, plan, sample.n_rows), rng)
    # A row founds a micro-cluster if it alone would add more than the mean cost of one.
    most_added = scale * state.inertia / state.n_clusters
    threshold = min(most_added, objective.lam) if objective.lam else most_added
    give_back_free_memory()
    done = rows.sweep(state.sites, threshold, None, plan.most_micro - state.n_clusters)
    points, weight = objective.as_rows(done.stats)
    # The mean of equal rows may differ from them by rounding.
    points = np.where((done.stats.sse == 0)[:, None], done.centres, points)
    counts = weight > 0
    micro = SummaryRows(rows.frame.outward(points[counts]), weight[counts], rows, sample, n_threads)
    offset = exact_sum(objective.least_cost(done.stats, done.centres))
    return Summary(micro, sample, offset)


def _n_micro(n_clusters: int, usual: int, plan: Plan, n_sampled: int) -> int:
    wanted = max(PER_CLUSTER * n_clusters, _FEWEST, usual)
    return max(1, min(wanted, int((1 - _FOR_FAR_ROWS) * plan.most_micro), n_sampled))


def _expected_clusters(sample: MemoryRows, objective: DPMeansObjective, scale: float) -> int:
    """How many clusters all rows will have, estimated on some rows with their share of the penalty."""
    if not objective.lam:
        return 1
    some = sample.among(np.arange(min(_ROWS_TO_COUNT, sample.n_rows)))
    share = replace(objective, lam=objective.lam / scale * some.total_weight / sample.total_weight)
    state = assigned(one_cluster(some, share), some, share)
    require_finite(state.cost)
    state = occupied(state, some, share)
    return len(grown(state, some, share, None).stats.n)


def _settled(sample: MemoryRows, objective: DPMeansObjective, n_micro: int, rng: np.random.RandomState) -> State:
    """Micro-clusters of the sample: k-means++, then a few iterations of k-means."""
    enough = _ROWS_PER_SEED * n_micro
    some = sample.among(np.arange(enough)) if enough < sample.n_rows else sample
    distinct = _distinct_rows(some)
    is_few = len(distinct) <= n_micro
    seeds = some.rows(distinct) if is_few else greedy_k_means_plus_plus(some, n_micro, rng, n_trials=1)
    state = assigned(Sites.of(seeds), sample, objective)
    for _ in range(_LLOYD_PASSES if state.inertia > 0 else 0):
        state = lloyd(state, sample, objective)
    return state


def _distinct_rows(rows: MemoryRows) -> Index:
    """Rows without their copies: the first of those whose products with a direction are equal."""
    direction = np.random.RandomState(0).uniform(0.5, 1.5, rows.n_features)
    blocks = (np.arange(block.start, block.stop) for block in row_blocks(rows.n_rows, _ROWS_AT_ONCE))
    keys = [(rows.rows(block) * direction).sum(axis=1) for block in blocks]
    return np.unique(np.concatenate(keys), return_index=True)[1]
