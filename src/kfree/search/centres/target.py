"""A given number of clusters: the penalty is adjusted until a search ends with it."""

from __future__ import annotations

import math
from collections.abc import Callable

from kfree.core.sites import Sites
from kfree.search.centres.state import State
from kfree.search.loop import Clock, Descent, always

# Maximum number of searches. Each starts from the result of the last one, so all but the first are short.
MOST_SEARCHES = 16
# Penalties nearer to each other than this share have no other between them.
_CLOSE = 1e-6

# From a penalty, and from sites or None, to where a search ends.
Search = Callable[[float, Sites | None], Descent[State]]


def nearest_to(k: int, lam: float, search: Search, in_time: Clock = always) -> tuple[float, Descent[State]]:
    """The penalty, ``lam`` at first, whose search ends with k clusters or, if none does, comes nearest; and that
    search.

    The higher the penalty, the fewer clusters. Out of time, no further search is begun.
    """
    found: list[tuple[float, Descent[State]]] = []
    too_low, too_high, sites = 0.0, math.inf, None
    while True:
        found.append((lam, search(lam, sites)))
        state = found[-1][1].state
        sites, n_clusters = state.sites, len(state.stats.n)
        too_low, too_high = (lam, too_high) if n_clusters > k else (too_low, lam)
        is_last = len(found) == MOST_SEARCHES or too_high < (1 + _CLOSE) * too_low or not in_time()
        if n_clusters == k or is_last:
            return min(found, key=lambda one: abs(len(one[1].state.stats.n) - k))
        lam = _between(too_low, too_high)


def _between(low: float, high: float) -> float:
    if low == 0.0:
        return high / 2
    return 2 * low if math.isinf(high) else math.sqrt(low) * math.sqrt(high)
