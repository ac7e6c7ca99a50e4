"""Fits that leave out a share of the rows: those with the highest outlier scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable

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
    """
    if noise == 0:
        return search(weight), None
    given = np.ones(n_rows) if weight is None else weight
    left_out = np.zeros(n_rows, dtype=bool)
    n_out = int(noise * np.count_nonzero(given > 0))
    found, told = _searched(search, weight)
    further = search if again is None else again(found, n_out)
    n_changed = 0
    for _ in range(_ROUNDS if n_out else 0):
        farthest = _farthest(found, given, left_out, n_out)
        n_changed = int(np.count_nonzero(farthest & ~left_out))
        if not n_changed:
            break
        left_out = farthest
        found, told = _searched(further, np.where(left_out, 0.0, given))
    if again is not None and n_out and found.path is not None and found.path.is_doubtful:
        anew, told_anew = _searched(search, np.where(left_out, 0.0, given))
        if anew.path is not None and anew.path.is_sure:
            found, told = anew, told_anew
    for warning in told:
        warn(str(warning.message), warning.category)
    if n_changed > _FEW_CHANGES * n_out:
        warn(
            f"noise={noise}: {n_changed} of the {n_out} rows to leave out still changed in the last of {_ROUNDS} "
            "searches, so many rows are about as far as these. The clustering is valid for the rows that it holds. "
            "Another share of noise may be clearer.",
            ConvergenceWarning,
        )
    return found, left_out


def _searched(search: Search, weight: Floats | None) -> tuple[Result, list[warnings.WarningMessage]]:
    """What a search finds, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return search(weight), told


def _farthest(found: Result, weight: Floats, left_out: Mask, n_out: int) -> Mask:
    """The rows that count and score highest, the earlier one on ties."""
    spreads = spread_sample(found.distances(), found.labels, np.where(left_out, 0.0, weight)).spreads()
    scores = outlier_scores_of(found.distances(), spreads.limits())
    scores[weight <= 0] = -1.0
    farthest = np.zeros(len(scores), dtype=bool)
    farthest[np.argsort(-scores, kind="stable")[:n_out]] = True
    return farthest
