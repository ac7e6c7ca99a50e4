"""A given number of clusters of a graph: the penalty is adjusted until a search ends with it."""

from __future__ import annotations

from collections.abc import Callable

from kfree.search.graph.multilevel import CutState
from kfree.search.loop import Clock, Descent, always

# Searches at most.
MOST_SEARCHES = 12
# Penalties nearer to each other than this have no other between them.
_CLOSE = 1e-9


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
