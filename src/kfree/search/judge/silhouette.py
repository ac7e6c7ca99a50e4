"""The simplified silhouette: how much nearer rows are to their own centre than to the next."""

from __future__ import annotations

import numpy as np

from kfree.search.judge.surrogates import Reals


def silhouette(rows: Reals, centres: Reals) -> float:
    """Mean of (d₂ − d₁) / d₂, d₁ ≤ d₂ the distances to the two nearest centres; 0 for one centre."""
    if len(centres) < 2:
        return 0.0
    sq_dist = (
        np.einsum("ij,ij->i", rows, rows)[:, None] - 2 * (rows @ centres.T) + np.einsum("ij,ij->i", centres, centres)
    )
    near, next_ = np.sqrt(np.maximum(np.partition(sq_dist, 1, axis=1)[:, :2], 0.0)).T
    return float(np.mean(np.where(next_ > 0, (next_ - near) / np.where(next_ > 0, next_, 1.0), 0.0)))
