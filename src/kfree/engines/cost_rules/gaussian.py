"""Dense rows under quadratic costs: assigned one by one, or by boxes of a kd-tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kfree.core.rules import QuadraticRule
from kfree.core.stats import Floats, GaussianStats, Index, Labels, totals
from kfree.engines.cost_rules.contract import ROWS_AT_ONCE, halves_along, weights_in_blocks
from kfree.native.threads import thread_count

# Rows in a leaf of the tree: fewer make the tree larger, more leave less to save.
LEAF_SIZE = 32
# "auto" takes the tree up to so many columns, and from so many rows on.
TREE_FEATURES, TREE_ROWS = 4, 2000


class GaussianRows:
    """Rows ``z`` (n, d), float64 and contiguous, with passes from ``kfree.native._core`` or the reference
    implementation; ``weight`` (n,) > 0."""

    def __init__(self, passes: Any, z: Floats, algorithm: str, n_threads: int | None, weight: Floats | None = None):
        self.n_rows, self.n_features = z.shape
        self.n_evaluations = 0
        self._passes, self._n_threads = passes, thread_count(n_threads)
        small = self.n_features > TREE_FEATURES or self.n_rows < TREE_ROWS
        self.algorithm = ("brute" if small else "kd-tree") if algorithm == "auto" else algorithm
        self._tree = passes.KdTree(z, LEAF_SIZE) if self.algorithm == "kd-tree" else None
        self._order = None if self._tree is None else np.array(self._tree.order)
        self._z = z if self._order is None else np.ascontiguousarray(z[self._order])
        self._weight = weight if weight is None or self._order is None else weight[self._order]

    def assign(self, rule: QuadraticRule) -> tuple[Labels, GaussianStats]:
        labels = np.empty(self.n_rows, dtype=np.int32)
        costs = rule.centre, rule.factor, rule.offset
        if self._tree is None:
            self.n_evaluations += self.n_rows * len(rule.offset)
            self._passes.cheapest(self._z, *costs, self._n_threads, labels)
            return labels, self.stats_of(labels, len(rule.offset))
        stats = GaussianStats.empty(len(rule.offset), self.n_features)
        out = labels, stats.n, stats.sum, stats.scatter
        self.n_evaluations += self._tree.assign(self._z, *costs, self._n_threads, *out)
        return labels, stats if self._weight is None else self.stats_of(labels, len(rule.offset))

    def stats_of(self, labels: Labels, n_clusters: int) -> GaussianStats:
        if self._weight is None:
            return self._moments(self._z, labels, n_clusters)
        n = totals(labels, self._weight, n_clusters)
        total = self._moments(self._z * self._weight[:, None], labels, n_clusters).sum
        mean = total / np.where(n > 0, n, 1.0)[:, None]
        # The compiled sums are about the mean of √w·(x − mean), which is not zero.
        scaled = self._moments(np.sqrt(self._weight)[:, None] * (self._z - mean[labels]), labels, n_clusters)
        shift = scaled.n[:, None, None] * (scaled.mean[:, :, None] * scaled.mean[:, None, :])
        return GaussianStats(n, total, scaled.scatter + shift)

    def among(self, rows: Index) -> GaussianRows:
        weight = None if self._weight is None else self._weight[rows]
        return GaussianRows(self._passes, self._z[rows], "brute", self._n_threads, weight)

    def halved(self) -> Labels:
        together = self.stats_of(np.zeros(self.n_rows, dtype=np.int32), 1)
        axis = np.linalg.eigh(together.scatter[0])[1][:, -1]
        return halves_along((self._z - together.mean[0]) @ axis)

    def blocks(self) -> Iterator[Floats]:
        for begin in range(0, self.n_rows, ROWS_AT_ONCE):
            yield self._z[begin : begin + ROWS_AT_ONCE]

    def block_weights(self) -> Iterator[Floats | float]:
        return weights_in_blocks(self._weight, self.n_rows)

    def outward(self, labels: Labels) -> Labels:
        if self._order is None:
            return labels
        outward = np.empty_like(labels)
        outward[self._order] = labels
        return outward

    def _moments(self, z: Floats, labels: Labels, n_clusters: int) -> GaussianStats:
        """Of rows without weights."""
        stats = GaussianStats.empty(n_clusters, self.n_features)
        self._passes.moments(z, labels, self._n_threads, stats.n, stats.sum, stats.scatter)
        return stats
