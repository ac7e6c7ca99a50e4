"""Greedy merging from inner products: with many columns, a fraction of the time that coordinates take."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Index, Stats
from kfree.native.implementations import implementation
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.agglomerate import Merges

# Clusters whose costs are computed together: so few that these stay in the processor's cache.
AT_ONCE = 128


def products_overflow(stats: Stats) -> bool:
    """Whether an inner product of sums of these clusters, merged or not, may overflow float64."""
    with np.errstate(over="ignore"):
        longest = np.abs(stats.sum).sum(axis=0).max(initial=0.0) * np.sqrt(stats.sum.shape[1])
    return not longest < np.sqrt(np.finfo(np.float64).max)


def merge_all(stats: Stats, objective: DPMeansObjective, engine: str) -> Merges:
    """Merge the cheapest pair, the smallest one on ties, until one cluster is left; ``engine`` names the code."""
    return Merges.by_gram(stats.n, stats.sum @ stats.sum.T, objective.of_directions, engine)


def cheapest_pair(stats: Stats, objective: DPMeansObjective, engine: str) -> tuple[int, int, float]:
    """The pair a < b that is cheapest to merge, the first one on ties, and its cost; ``engine`` names the code."""
    n, sums = stats.n, stats.sum
    sq_sum, best = np.einsum("ij,ij->i", sums, sums), (0, 0, np.inf)
    passes = implementation(engine, "trees")
    for begin in range(0, len(n), AT_ONCE):
        products = sums[begin : begin + AT_ONCE] @ sums[begin:].T
        a, b, cost = passes.cheapest_pair(n[begin:], sq_sum[begin:], products, objective.of_directions)
        if cost < best[2]:
            best = begin + a, begin + b, cost
    return best


def cheapest_pair_with(some: Index, stats: Stats, objective: DPMeansObjective) -> tuple[int, int, float]:
    """The cheapest of the pairs that one of ``some`` clusters is in, the first one on ties, and its cost."""
    sums = stats.sum
    sq_sum = np.einsum("ij,ij->i", sums, sums)
    costs = objective.merge_costs_by_gram(stats.n, sq_sum, sums[some] @ sums.T, some)
    costs[np.arange(len(some)), some] = np.inf
    lowest = costs.min()
    place, partner = np.nonzero(costs == lowest)
    pairs = np.sort(np.column_stack([some[place], partner]), axis=1)
    a, b = pairs[np.lexsort(pairs.T[::-1])[0]]
    return int(a), int(b), float(lowest)
