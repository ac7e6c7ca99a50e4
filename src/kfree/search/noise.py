"""Fits that leave out a share of the rows: those with the highest outlier scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.stats import Floats, Mask
from kfree.core.warning import warn
from kfree.explain.spread import outlier_scores_of, spread_sample
from kfree.search.result import Result

# Maximum number of searches, each without the rows of the highest outlier scores in the last one.
_ROUNDS = 10
# Warn if a larger share of the rows to leave out changed in the last round; a few rows at the edge often take turns.
_FEW_CHANGES = 0.1
# Why searches end before they have found what they would.
_STOPPED = ("interrupt", "callback")

# From weights, None where all rows count once, to what a search finds.
Search = Callable[[Floats | None], Result]
# From what the first search found, and the number of rows to leave out, to the search of further rounds.
Again = Callable[[Result, int], Search]


def without_noise(
    noise: float, n_rows: int, weight: Floats | None, search: Search, again: Again | None = None
) -> tuple[Result, Mask | None]:
    """What ``search(weight)`` finds without a share of ``noise`` of the rows, and which rows those are.

    Every round leaves out the rows with the highest outlier scores under what the last one found, until these are the
    same rows twice. Rounds after the first use the search that ``again`` makes of the first result, so that the number
    of clusters stays as all rows have decided; unless that is doubtful, and without these rows it is sure. Warnings are
    those of the search whose result is returned, since others still hold rows that are left out.

    Where a round is cut short, the result is that of the last finished one, or what the first has found. Where time was
    up in the first, rows are left out of that, which takes few passes.
    """
    if noise == 0:
        return search(weight), None
    given = np.ones(n_rows) if weight is None else weight
    n_out = int(noise * np.count_nonzero(given > 0))
    first = _searched(search, weight, np.zeros(n_rows, dtype=bool))
    further = search if again is None else again(first.found, n_out)
    last, n_changed = _repeated(first, further, given, n_out)
    path, is_over = last.found.path, again is None or not n_out or _is_cut_short(last.found, last.left_out)
    if not is_over and path is not None and path.is_doubtful:
        anew = _after(last, _searched(search, np.where(last.left_out, 0.0, given), last.left_out))
        last = anew if anew.found.path is not None and anew.found.path.is_sure else last
    for warning in last.told:
        warn(str(warning.message), warning.category)
    if n_changed > _FEW_CHANGES * n_out:
        warn(
            f"noise={noise}: {n_changed} of the {n_out} rows to leave out still changed in the last of {_ROUNDS} "
            "searches, so many rows are about as far as these. The clustering is valid for the rows that it holds. "
            "Another share of noise may be clearer.",
            ConvergenceWarning,
        )
    return last.found, last.left_out


class _Round(NamedTuple):
    """What a search found, the rows that were left out of it, and its warnings."""

    found: Result
    left_out: Mask
    told: list[warnings.WarningMessage]


def _searched(search: Search, weight: Floats | None, left_out: Mask) -> _Round:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return _Round(search(weight), left_out, told)


def _repeated(last: _Round, search: Search, given: Floats, n_out: int) -> tuple[_Round, int]:
    """Rounds until the same rows are left out twice: the last one, and how many of these rows still changed in it."""
    n_changed = 0
    for _ in range(_ROUNDS if n_out and not _is_cut_short(last.found, last.left_out) else 0):
        farthest = _farthest(last.found, given, last.left_out, n_out)
        n_changed = int(np.count_nonzero(farthest & ~last.left_out))
        if not n_changed:
            break
        last = _after(last, _searched(search, np.where(farthest, 0.0, given), farthest))
        if _is_cut_short(last.found, last.left_out):
            return last, 0
    return last, n_changed


def _after(last: _Round, later: _Round) -> _Round:
    """The later round; or the last one, which is then the end of the search, if the later was cut short."""
    if not _is_cut_short(later.found, last.left_out):
        return later
    last.found.descent.stop_reason, last.found.descent.converged = later.found.descent.stop_reason, False
    return last


def _is_cut_short(found: Result, left_out: Mask) -> bool:
    """Whether a search was stopped, or time was up when an earlier one had ``left_out`` rows."""
    reason = found.descent.stop_reason
    return reason in _STOPPED or (reason == "time_budget" and bool(left_out.any()))


def _farthest(found: Result, weight: Floats, left_out: Mask, n_out: int) -> Mask:
    """The rows that count and score highest, the earlier one on ties."""
    spreads = spread_sample(found.distances(), found.labels, np.where(left_out, 0.0, weight)).spreads()
    scores = outlier_scores_of(found.distances(), spreads.limits())
    scores[weight <= 0] = -1.0
    farthest = np.zeros(len(scores), dtype=bool)
    farthest[np.argsort(-scores, kind="stable")[:n_out]] = True
    return farthest
