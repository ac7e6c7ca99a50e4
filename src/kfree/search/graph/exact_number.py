"""A number of clusters of a graph that no penalty makes the best: merges of clusterings with more."""

from __future__ import annotations

import math

import numpy as np

from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import NormalizedCut
from kfree.search.agglomerate import Merges
from kfree.search.graph.multilevel import CutState, MoveNodes


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
