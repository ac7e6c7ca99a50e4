"""Rows that change hands one by one in the feature space of a kernel (Hartigan 1975)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.row_costs import MeanRowCosts
from kfree.core.spaces import DUAL
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import row_weights
from kfree.engines.kernel.sums import LEAST_SHARE

if TYPE_CHECKING:
    from kfree.engines.kernel.engine import KernelEngine


# Rounds of exchanges; rounding could make rows go back and forth for ever.
MOST_ROUNDS = 100
# Squared distances are differences of kernel values: they are known up to this share of the largest of those.
ROUNDING = 64 * np.finfo(np.float64).eps


class _Clusters:
    """Weights and sums of clusters that change by a row at a time; ‖S ± wφ‖² follows in closed form."""

    def __init__(self, engine: KernelEngine, stats: Stats):
        self._gram = engine.gram
        self.n = stats.n.copy()
        self._products = stats.sum[:, engine.gram.n_rows :].copy()
        self._sq_norm = DUAL.sq_norms(stats.sum)

    def sq_dist(self, place: int, clusters: Index | list[int]) -> Floats:
        """Squared distance of the row at ``place`` of the gram to the means of ``clusters``."""
        n = self.n[clusters]
        n = np.where(n > 0, n, 1.0)
        gaps = self._gram.diagonal[place] - 2 * self._products[clusters, place] / n + self._sq_norm[clusters] / n**2
        return np.asarray(np.maximum(gaps, 0.0))

    def add(self, cluster: int, place: int, weight: float, values: Floats) -> None:
        """The row joins with ``weight``, or leaves if that is negative; ``values`` are its kernel values."""
        self._sq_norm[cluster] += 2 * weight * self._products[cluster, place] + weight**2 * values[place]
        self._products[cluster] += weight * values
        self.n[cluster] += weight


def exchanged(
    engine: KernelEngine, rows: Index, others: Labels, labels: Labels, stats: Stats, least_gain: float
) -> Labels:
    """What ``Engine.exchange`` promises; each move takes one row of kernel values."""
    clusters, weights, places = _Clusters(engine, stats), row_weights(engine)[rows], engine.places(rows)
    labels, others, everyone = labels.copy(), others.copy(), np.arange(len(stats.n))
    noise = ROUNDING * float(np.abs(engine.gram.diagonal).max())
    for i in np.flatnonzero(others < 0).tolist():
        joining = MeanRowCosts.joining(clusters.n, weights[i], clusters.sq_dist(places[i], everyone))
        joining[labels[rows[i]]] = np.inf
        others[i] = joining.argmin()
    for _ in range(MOST_ROUNDS):
        n_moved = 0
        for i, row in enumerate(rows):
            here, there, w = labels[row], others[i], weights[i]
            if not w > 0 or clusters.n[here] - w < LEAST_SHARE * clusters.n[here]:
                continue
            now, then = clusters.sq_dist(places[i], [here, there])
            saved = MeanRowCosts.leaving(clusters.n[here], w, now) - MeanRowCosts.joining(clusters.n[there], w, then)
            if not saved > max(least_gain, w * noise):
                continue
            values = engine.gram.rows(places[i : i + 1])[0]
            clusters.add(here, places[i], -w, values)
            clusters.add(there, places[i], w, values)
            labels[row], others[i] = there, here
            n_moved += 1
        if not n_moved:
            break
    return labels
