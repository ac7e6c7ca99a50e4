"""Fits that leave out a share of the rows: those with the highest outlier scores."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.warning import warn
from kfree.estimators._explained import spreads_by
from kfree.explain.spread import outlier_scores_of
from kfree.validation.parameters import is_positive_number, require

# Maximum number of searches, each without the rows of the highest outlier scores in the last one.
_ROUNDS = 10
# Warn if a larger share of the rows to leave out changed in the last round; a few rows at the edge often take turns.
_FEW_CHANGES = 0.1


def require_noise(noise):
    """Raise unless ``noise`` is a share of the rows that leaves some."""
    is_none = isinstance(noise, (int, float)) and noise == 0
    ok = is_none or (is_positive_number(noise) and noise < 1)
    require(ok, "noise", noise, "the share of rows to leave out, at least 0 and below 1")


def without_noise(noise, rows, weight, search, distances):
    """What ``search(rows, weight)`` finds without a share of ``noise`` of the rows, and which rows those are.

    Every round leaves out the rows with the highest outlier scores under what the last one found, until these are the
    same rows twice. ``distances(found)`` are those of all rows, in blocks. Warnings are those of the last search, since
    the others still hold rows that are left out.
    """
    if noise == 0:
        return search(rows, weight), None
    given = np.ones(rows.shape[0]) if weight is None else weight
    left_out = np.zeros(rows.shape[0], dtype=bool)
    n_out = int(noise * np.count_nonzero(given > 0))
    found, told = _searched(search, rows, weight)
    n_changed = 0
    for _ in range(_ROUNDS if n_out else 0):
        farthest = _farthest(found, distances, given, left_out, n_out)
        n_changed = int(np.count_nonzero(farthest & ~left_out))
        if not n_changed:
            break
        left_out = farthest
        found, told = _searched(search, rows, np.where(left_out, 0.0, given))
    for warning in told:
        warn(warning.message, warning.category)
    if n_changed > _FEW_CHANGES * n_out:
        warn(
            f"noise={noise}: {n_changed} of the {n_out} rows to leave out still changed in the last of {_ROUNDS} "
            "searches, so many rows are about as far as these. The clustering is valid for the rows that it holds. "
            "Another share of noise may be clearer.",
            ConvergenceWarning,
        )
    return found, left_out


def _searched(search, rows, weight):
    """What a search finds, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return search(rows, weight), told


def _farthest(found, distances, weight, left_out, n_out):
    """The rows that count and score highest, the earlier one on ties."""
    spreads = spreads_by(distances(found), found.labels, np.where(left_out, 0.0, weight))
    scores = outlier_scores_of(distances(found), spreads.limits())
    scores[weight <= 0] = -1.0
    farthest = np.zeros(len(scores), dtype=bool)
    farthest[np.argsort(-scores, kind="stable")[:n_out]] = True
    return farthest
