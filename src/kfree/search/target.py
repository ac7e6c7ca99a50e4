"""A given number of clusters: the penalty is adjusted until a search ends with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from kfree.core.warning import warn
from kfree.search.loop import UNWATCHED, Costed, Descent, Watch

# Penalties nearer to each other than this, as a share or by itself, have no other between them.
_CLOSE_SHARE, _CLOSE = 1e-6, 1e-9

S = TypeVar("S", bound=Costed)

# A penalty, and the search at it.
Trial: TypeAlias = tuple[float, Descent[S]]
# From a penalty, and the state in which the last search ended or None, to where a search ends.
Search = Callable[[float, S | None], Descent[S]]
# The next penalty to try between two others, None if there is none.
Between = Callable[[float, float], float | None]


def by_ratio(low: float, high: float) -> float | None:
    """The geometric middle of positive penalties; that of zero and another is half of it."""
    if high < (1 + _CLOSE_SHARE) * low:
        return None
    if low == 0.0:
        return high / 2
    return 2 * low if math.isinf(high) else math.sqrt(low) * math.sqrt(high)


def by_difference(low: float, high: float) -> float | None:
    """The arithmetic middle of two penalties."""
    return None if high - low < _CLOSE else (low + high) / 2


def nearest_to(
    k: int,
    lam: float,
    search: Search[S],
    watch: Watch = UNWATCHED,
    bounds: tuple[float, float] = (0.0, math.inf),
    between: Between = by_ratio,
    most_searches: int = 16,
) -> tuple[Trial[S], list[Trial[S]]]:
    """The penalty, ``lam`` at first, whose search ends with k clusters or, if none does, comes nearest; and all trials.

    Penalties lie between ``bounds``; the higher, the fewer clusters. No search is begun that ``watch`` does not allow.
    """
    found: list[Trial[S]] = []
    too_low, too_high = bounds
    while True:
        found.append((lam, search(lam, found[-1][1].state if found else None)))
        n_clusters = found[-1][1].state.n_clusters
        too_low, too_high = (lam, too_high) if n_clusters > k else (too_low, lam)
        following = between(too_low, too_high)
        if n_clusters == k or following is None or len(found) == most_searches or not watch.may_go_on():
            return min(found, key=lambda one: abs(one[1].state.n_clusters - k)), found
        lam = following


def around(k: int, found: Sequence[Trial[S]]) -> list[S]:
    """The states with the largest number of clusters below k and the smallest above, where there are such."""
    by_number = sorted((one.state for _, one in found), key=lambda state: state.n_clusters)
    fewer = [state for state in by_number if state.n_clusters < k][-1:]
    return [*fewer, *[state for state in by_number if state.n_clusters > k][:1]]


def warn_of_number(estimator: str, asked: str, k: int, n_found: int, at: str) -> None:
    """Say that no penalty makes the best number that of the clusters ``asked`` for, k, or that so many were not found.

    ``at`` names the penalties of those that were found.
    """
    if n_found == k:
        warn(
            f"no penalty makes {asked} the best. These are the best {k} that {estimator} found; at {at}, fewer and "
            "more clusters cost as much or less."
        )
    else:
        warn(
            f"{estimator} found {n_found} clusters at {at}, and not {asked}: no search ended with that number. There "
            "may be too few different rows or nodes."
        )
