"""Exchanges of single rows in the feature space of a kernel (Hartigan 1975)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.row_costs import MeanRowCosts
from kfree.core.spaces import DUAL
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.kernel.gram import Gram
from kfree.engines.kernel.sums import LEAST_SHARE

if TYPE_CHECKING:
    from kfree.engines.kernel.engine import KernelPart

# Squared distances are differences of kernel values: they are known up to this share of the largest of those.
ROUNDING = 64 * np.finfo(np.float64).eps


class _Clusters:
    """Weights and sums of clusters that change by a row at a time; ‖S ± wφ‖² follows in closed form."""

    def __init__(self, gram: Gram, stats: Stats):
        self._gram = gram
        self.n = stats.n.copy()
        self._products = stats.sum[:, gram.n_rows :].copy()
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


class KernelExchange:
    """See ``engines.parts.PartExchange``; each move takes one row of kernel values."""

    def __init__(self, part: KernelPart, rows: Index, others: Labels, labels: Labels, stats: Stats, least_gain: float):
        self._gram, self._clusters, self._least_gain = part.gram, _Clusters(part.gram, stats), least_gain
        self._noise = ROUNDING * float(np.abs(part.gram.diagonal).max())
        self._rows, self._weights, self._places = rows, part.weights(rows), part.index[rows]
        self._labels, self._others, everyone = labels.copy(), others.copy(), np.arange(len(stats.n))
        for i in np.flatnonzero(others < 0).tolist():
            joining = MeanRowCosts.joining(
                self._clusters.n, self._weights[i], self._clusters.sq_dist(self._places[i], everyone)
            )
            joining[labels[rows[i]]] = np.inf
            self._others[i] = joining.argmin()

    def round(self, n: Floats, sum: Floats, centres: Floats, way: Floats) -> int:
        """The clusters are kept here, because all rows are in one part."""
        clusters, n_moved = self._clusters, 0
        for i, row in enumerate(self._rows):
            here, there, w = self._labels[row], self._others[i], self._weights[i]
            if not w > 0 or clusters.n[here] - w < LEAST_SHARE * clusters.n[here]:
                continue
            now, then = clusters.sq_dist(self._places[i], [here, there])
            saved = MeanRowCosts.leaving(clusters.n[here], w, now) - MeanRowCosts.joining(clusters.n[there], w, then)
            if not saved > max(self._least_gain, w * self._noise):
                continue
            values = self._gram.rows(self._places[i : i + 1])[0]
            clusters.add(here, self._places[i], -w, values)
            clusters.add(there, self._places[i], w, values)
            self._labels[row], self._others[i] = there, here
            n_moved += 1
        return n_moved

    def end(self) -> Labels:
        return self._labels
