"""Rows of counts or of zeros and ones, dense or CSR, under linear costs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kfree.core.blocks import row_blocks
from kfree.core.rules import LinearRule
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import CountStats, Floats, Index, Labels, totals
from kfree.engines.cost_rules.labelled import ROWS_AT_ONCE, LabelledRows, halves_along

# Steps of the power method for a principal axis: it only begins a split.
_POWER_STEPS = 20


class CountRows(LabelledRows[CountStats]):
    """Rows ``counts`` (n, d), and ``log_ways`` (n,): see :class:`kfree.core.stats.CountStats`. ``weight`` (n,) > 0."""

    def __init__(self, counts: ArrayOrCSR, log_ways: Floats, weight: Floats | None = None):
        super().__init__(counts.shape, weight)
        self._counts, self._log_ways = counts, log_ways

    def cheapest(self, rule: LinearRule) -> tuple[Labels, CountStats]:
        self.n_evaluations += self.n_rows * len(rule.offset)
        blocks = row_blocks(self.n_rows, ROWS_AT_ONCE)
        labels = np.concatenate([rule.costs(self.block(places)).argmin(axis=1) for places in blocks]).astype(np.int32)
        return labels, self.moments(labels, len(rule.offset))

    def moments(self, labels: Labels, n_clusters: int) -> CountStats:
        weight = self.weights()
        member = sp.csr_array((weight, labels, np.arange(self.n_rows + 1)), (self.n_rows, n_clusters))
        sums = member.T @ self._counts
        n, log_ways = (totals(labels, values, n_clusters) for values in (weight, weight * self._log_ways))
        return CountStats(n, sums.toarray() if sp.issparse(sums) else np.asarray(sums), log_ways)

    def among(self, rows: Index) -> CountRows:
        return CountRows(self._counts[rows], self._log_ways[rows], None if self.weight is None else self.weight[rows])

    def sides(self) -> Labels:
        weight = self.weights()
        mean = self._counts.T @ weight / weight.sum()
        # From the row that lies farthest out, so that no draw is needed; rows equal to the mean have no axis.
        sq_length = np.asarray((self._counts * self._counts).sum(axis=1)).ravel()
        farthest = int(np.argmax(sq_length - 2 * (self._counts @ mean)))
        axis = self._row(farthest) - mean
        for _ in range(_POWER_STEPS):
            projected = weight * self._projected(axis, mean)
            axis = self._counts.T @ projected - mean * projected.sum()
            length = np.linalg.norm(axis)
            if not length > 0:
                break
            axis = axis / length
        return halves_along(self._projected(axis, mean))

    def block(self, places: slice) -> ArrayOrCSR:
        return self._counts[places]

    def _projected(self, axis: Floats, mean: Floats) -> Floats:
        return np.asarray(self._counts @ axis - mean @ axis)

    def _row(self, place: int) -> Floats:
        row: Floats = dense(self._counts[[place]])[0]
        return row
