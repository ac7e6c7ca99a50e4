"""Rows whitened within clusters that nobody knows yet: in this view, long clusters of a common shape are round.

Neighbours mostly are of one cluster. So the covariance within clusters shows in the differences between neighbours,
and more clearly among neighbours in a view that is whitened by it (Art, Gnanadesikan & Kettenring 1982).
"""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats
from kfree.search.judge.links import neighbours
from kfree.search.judge.rows import Whitening

# Passes, after which the view hardly changes.
_PASSES = 12
# How much longer than another a direction may become, the same as the ridge of whitened rows allows.
_MOST_STRETCHED = 10.0
# Variances along links below this share of the largest are rounding errors.
_NO_VARIANCE = 1e-10


def whitening_within(rows: Floats, m: int, rng: np.random.Generator) -> tuple[Whitening, float]:
    """The view in which links to the m nearest rows are about as long in every direction, and how much it is stretched.

    It begins with whitened rows. Each pass links rows anew, and multiplies them by the inverse of the covariance of
    their differences along links. The stretch is the length of the longest direction, in units of the shortest.
    """
    whole = Whitening.of(rows)
    white = whole(rows)
    turn, stretch = np.eye(white.shape[1]), 1.0
    for _ in range(_PASSES):
        view = white @ turn
        along = (view[neighbours(view, m, rng)] - view[:, None]).reshape(-1, view.shape[1])
        variance, axes = np.linalg.eigh(along.T @ along)
        axes, length, _ = np.linalg.svd(turn @ (axes / np.maximum(variance, _NO_VARIANCE * variance.max())))
        length = np.minimum(length / length.min(), _MOST_STRETCHED)
        turn, stretch = axes * length, float(length.max())
    return Whitening(whole.mean, whole.axes @ turn), stretch
