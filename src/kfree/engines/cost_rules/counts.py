"""Rows of counts or of zeros and ones, dense or CSR, under linear costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.rules import LinearRule
from kfree.core.stats import CountStats, Floats, Index, Labels, totals
from kfree.engines.cost_rules.contract import ROWS_AT_ONCE, halves_along, weights_in_blocks

# Steps of the power method for a principal axis: it only begins a split.
_POWER_STEPS = 20


class CountRows:
    """Rows ``counts`` (n, d), and ``log_ways`` (n,): see :class:`kfree.core.stats.CountStats`. ``weight`` (n,) > 0."""

    def __init__(self, counts: Any, log_ways: Floats, weight: Floats | None = None):
        self.n_rows, self.n_features = counts.shape
        self.n_evaluations = 0
        self._counts, self._log_ways, self._weight = counts, log_ways, weight

    def assign(self, rule: LinearRule) -> tuple[Labels, CountStats]:
        self.n_evaluations += self.n_rows * len(rule.offset)
        labels = np.concatenate([rule.costs(block).argmin(axis=1) for block in self.blocks()]).astype(np.int32)
        return labels, self.stats_of(labels, len(rule.offset))

    def stats_of(self, labels: Labels, n_clusters: int) -> CountStats:
        weight = self._weights()
        member = sp.csr_array((weight, labels, np.arange(self.n_rows + 1)), (self.n_rows, n_clusters))
        sums = member.T @ self._counts
        n, log_ways = (totals(labels, values, n_clusters) for values in (weight, weight * self._log_ways))
        return CountStats(n, sums.toarray() if sp.issparse(sums) else np.asarray(sums), log_ways)

    def among(self, rows: Index) -> CountRows:
        return CountRows(self._counts[rows], self._log_ways[rows], None if self._weight is None else self._weight[rows])

    def halved(self) -> Labels:
        weight = self._weights()
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

    def blocks(self) -> Iterator[Any]:
        for begin in range(0, self.n_rows, ROWS_AT_ONCE):
            yield self._counts[begin : begin + ROWS_AT_ONCE]

    def block_weights(self) -> Iterator[Floats | float]:
        return weights_in_blocks(self._weight, self.n_rows)

    def outward(self, labels: Labels) -> Labels:
        return labels

    def _weights(self) -> Floats:
        return np.ones(self.n_rows) if self._weight is None else self._weight

    def _projected(self, axis: Floats, mean: Floats) -> Floats:
        return np.asarray(self._counts @ axis - mean @ axis)

    def _row(self, place: int) -> Floats:
        row = self._counts[[place]]
        dense: Floats = np.asarray(row.toarray() if sp.issparse(row) else row)[0]
        return dense
