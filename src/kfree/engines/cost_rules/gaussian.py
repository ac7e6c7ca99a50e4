"""Dense rows under quadratic costs: assigned one by one, or by boxes of a kd-tree."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from kfree.core.rules import QuadraticRule
from kfree.core.stats import Floats, GaussianStats, Index, Labels, means, totals
from kfree.engines.cost_rules.labelled import LabelledRows, halves_along
from kfree.native.threads import thread_count

# Rows in a leaf of the tree: fewer make the tree larger, more leave less to save.
LEAF_SIZE = 32
# "auto" takes the tree up to so many columns, and from so many rows on.
TREE_FEATURES, TREE_ROWS = 4, 2000


class GaussianRows(LabelledRows[GaussianStats]):
    """Rows ``z`` (n, d), float64 and contiguous, with passes from ``kfree.native._core`` or the reference
    implementation; ``weight`` (n,) > 0."""

    def __init__(
        self, passes: ModuleType, z: Floats, algorithm: str, n_threads: int | None, weight: Floats | None = None
    ):
        super().__init__(z.shape, weight)
        self._passes, self._n_threads = passes, thread_count(n_threads)
        small = self.n_features > TREE_FEATURES or self.n_rows < TREE_ROWS
        self.algorithm = ("brute" if small else "kd-tree") if algorithm == "auto" else algorithm
        self._tree = passes.KdTree(z, LEAF_SIZE) if self.algorithm == "kd-tree" else None
        self.order = None if self._tree is None else np.array(self._tree.order)
        self._z = z if self.order is None else np.ascontiguousarray(z[self.order])
        self.weight = weight if weight is None or self.order is None else weight[self.order]

    def cheapest(self, rule: QuadraticRule) -> tuple[Labels, GaussianStats]:
        labels = np.empty(self.n_rows, dtype=np.int32)
        costs = rule.centre, rule.factor, rule.offset
        if self._tree is None:
            self.n_evaluations += self.n_rows * len(rule.offset)
            self._passes.cheapest(self._z, *costs, self._n_threads, labels)
            return labels, self.moments(labels, len(rule.offset))
        stats = GaussianStats.empty(len(rule.offset), self.n_features)
        out = labels, stats.n, stats.sum, stats.scatter
        self.n_evaluations += self._tree.assign(self._z, *costs, self._n_threads, *out)
        return labels, stats if self.weight is None else self.moments(labels, len(rule.offset))

    def moments(self, labels: Labels, n_clusters: int) -> GaussianStats:
        if self.weight is None:
            return self._unweighted(self._z, labels, n_clusters)
        n = totals(labels, self.weight, n_clusters)
        total = self._unweighted(self._z * self.weight[:, None], labels, n_clusters).sum
        mean = means(total, n)
        # The compiled sums are about the mean of √w·(x − mean), which is not zero.
        scaled = self._unweighted(np.sqrt(self.weight)[:, None] * (self._z - mean[labels]), labels, n_clusters)
        shift = scaled.n[:, None, None] * (scaled.mean[:, :, None] * scaled.mean[:, None, :])
        return GaussianStats(n, total, scaled.scatter + shift)

    def among(self, rows: Index) -> GaussianRows:
        weight = None if self.weight is None else self.weight[rows]
        return GaussianRows(self._passes, self._z[rows], "brute", self._n_threads, weight)

    def sides(self) -> Labels:
        together = self.moments(np.zeros(self.n_rows, dtype=np.int32), 1)
        axis = np.linalg.eigh(together.scatter[0])[1][:, -1]
        return halves_along((self._z - together.mean[0]) @ axis)

    def block(self, places: slice) -> Floats:
        return self._z[places]

    def _unweighted(self, z: Floats, labels: Labels, n_clusters: int) -> GaussianStats:
        """Statistics of rows without weights."""
        stats = GaussianStats.empty(n_clusters, self.n_features)
        self._passes.moments(z, labels, self._n_threads, stats.n, stats.sum, stats.scatter)
        return stats
