"""A given number of clusters of a graph: the penalty is adjusted until a search ends with it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import NormalizedCut
from kfree.search.agglomerate import Merges
from kfree.search.graph.multilevel import CutState, MoveNodes
from kfree.search.loop import Clock, Descent, always

# Searches at most.
MOST_SEARCHES = 12
# Penalties nearer to each other than this have no other between them.
_CLOSE = 1e-9


def crossing(fewer: CutState, more: CutState, objective: NormalizedCut) -> float:
    """The penalty at which two states with different numbers of clusters cost the same."""
    lower, higher = (float(objective.rates(state.clusters).sum()) for state in (fewer, more))
    return -(higher - lower) / (more.clusters.n_nodes - fewer.clusters.n_nodes)


def with_exactly(k: int, found: list[CutState], graph: Graph, objective: NormalizedCut) -> CutState | None:
    """The best clustering with k clusters by merges of those with more, the cheapest pair first; None if there is none.

    Then nodes move, as long as that keeps the number.
    """
    made = [state for more in found if (state := _merged_to(k, more, graph, objective)) is not None]
    return min(made, key=lambda state: state.cost, default=None)


def _merged_to(k: int, state: CutState, graph: Graph, objective: NormalizedCut) -> CutState | None:
    clusters = state.clusters
    if clusters.n_nodes < k:
        return None
    pairs, costs = clusters.merged(objective.volume(clusters), math.inf)
    if clusters.n_nodes - len(pairs) > k:
        return None
    labels = Merges(clusters.n_nodes, pairs, costs).labels(k).astype(np.int32)
    merged = CutState.of(in_order_of_first(labels[state.labels]), graph, objective)
    moved = MoveNodes()(merged, graph, objective)
    return moved if moved.clusters.n_nodes == k and moved.cost < merged.cost else merged


def nearest_to(
    k: int,
    lam: float,
    lowest: float,
    search: Callable[[float], Descent[CutState]],
    in_time: Clock = always,
) -> tuple[float, Descent[CutState]]:
    """The penalty, ``lam`` at first, whose search ends with k clusters or, if none does, comes nearest; and the search.

    Penalties lie between ``lowest`` and 0; the higher, the fewer clusters. Out of time, no further search is begun.
    """
    found: list[tuple[float, Descent[CutState]]] = []
    too_low, too_high = lowest, 0.0
    while True:
        found.append((lam, search(lam)))
        n_clusters = found[-1][1].state.clusters.n_nodes
        too_low, too_high = (lam, too_high) if n_clusters > k else (too_low, lam)
        is_last = len(found) == MOST_SEARCHES or too_high - too_low < _CLOSE or not in_time()
        if n_clusters == k or is_last:
            return min(found, key=lambda one: abs(one[1].state.clusters.n_nodes - k))
        lam = (too_low + too_high) / 2
