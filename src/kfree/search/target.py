"""A wished number of clusters: the price moves until the best clustering has that many."""

from __future__ import annotations

import math
from collections.abc import Callable

from kfree.engines.base import Sites
from kfree.search.loop import Clock, Descent, always
from kfree.search.state import State

# Searches at most. Each begins where the last one ended, so all but the first are short.
MOST_SEARCHES = 16
# Prices nearer to each other than this share have no other between them.
_CLOSE = 1e-6

# From a price, and from sites or None, to where a search ends.
Search = Callable[[float, Sites | None], Descent[State]]


def nearest_to(k: int, lam: float, search: Search, in_time: Clock = always) -> tuple[float, Descent[State]]:
    """The price, ``lam`` at first, whose search ends with k clusters or, if none does, comes nearest; and that search.

    The higher the price, the fewer clusters. Out of time, no further search is begun.
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
