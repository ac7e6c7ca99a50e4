"""The engine contract in the feature space of a kernel, where a centre is a combination of rows (Kulis & Jordan, §5.2).

Coordinates of a point Σ_j a_j·φ(x_j) are (a, Ka), see ``kfree.core.spaces.Dual``. The distance of a row to a centre is
d²(x_i, c) = κ_ii − 2·(Ka)_i + a·Ka, which needs no value of the kernel; sums over new clusters do.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.spaces import DUAL
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import Pass
from kfree.engines.kernel.exchange import exchanged
from kfree.engines.kernel.gram import Gram
from kfree.engines.kernel.sums import NOWHERE, KernelSums

# A squared distance below minus this share of the largest κ_ii is not due to rounding.
NEGATIVE = 1e-6


class KernelEngine:
    """Some of the rows that ``gram`` knows (None: all), with weights; sites are combinations of all of them."""

    # What opens engines for points that have coordinates.
    name = "native"

    def __init__(self, gram: Gram, weight: Floats | None = None, index: Index | None = None):
        self.weight = weight
        self.gram = gram
        self.n_rows = gram.n_rows if index is None else len(index)
        self.n_features = 2 * gram.n_rows
        self.n_distances = 0
        self.description = "kernel values in blocks"
        self.frame = Frame.plain(self.n_features)
        self._index = np.arange(gram.n_rows) if index is None else index
        self._diagonal = gram.diagonal[self._index]
        self._row_weights = np.ones(self.n_rows) if weight is None else weight
        self._sums = KernelSums(gram, self._index, self._row_weights)
        self._generic: Floats | None = None

    def nearest(self, sites: Sites) -> Pass:
        labels, sq_dist = self._nearest(sites.centres)
        return Pass(sites.centres, labels, sq_dist, self.stats_of(labels, sq_dist, len(sites.centres)))

    def sweep(self, sites: Sites, lam: float, order: Index | None, room: int) -> Pass:
        labels, sq_dist = self._nearest(sites.centres)
        visited = np.arange(self.n_rows) if order is None else order
        founders: list[int] = []
        begin = 0
        while True:
            is_far = self._row_weights[visited[begin:]] * sq_dist[visited[begin:]] > lam
            if not is_far.any() or len(founders) == room:
                break
            begin += int(np.argmax(is_far)) + 1
            founder = int(visited[begin - 1])
            labels[founder], sq_dist[founder] = len(sites.centres) + len(founders), 0.0
            self._join_newborn(founder, visited[begin:], labels, sq_dist)
            founders.append(founder)
        centres = np.vstack([sites.centres, self.rows(np.array(founders, dtype=np.int64))])
        stats = self.stats_of(labels, sq_dist, len(centres))
        return Pass(centres, labels, sq_dist, stats, n_refused=int(np.count_nonzero(is_far)))

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Stats:
        everyone = np.arange(self.n_rows)
        dual = self._sums.of(labels, n_clusters, "passes")
        return self._stats(everyone, labels, self._row_weights, sq_dist, dual)

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        products = self._products(centres)[labels, self._index[rows]]
        return self._checked(self._diagonal[rows] - 2 * products + DUAL.sq_norms(centres)[labels])

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        sq_dist = self._all(rows, centres)
        sq_dist[labels, np.arange(len(rows))] = np.inf
        return sq_dist.argmin(axis=0).astype(np.int32), sq_dist.min(axis=0, initial=np.inf)

    def gaps(self, centres: Floats) -> Floats:
        sq_gaps = DUAL.sq_gaps(centres, slice(None))
        np.fill_diagonal(sq_gaps, np.inf)
        return np.asarray(sq_gaps.min(axis=1))

    def choose(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        first, second = (self.distances_to_own(rows, 2 * labels + side, pairs) for side in (0, 1))
        chosen = (2 * labels + (second < first)).astype(np.int32)
        everyone = np.full(self.n_rows, NOWHERE, dtype=np.int32)
        everyone[rows] = chosen
        dual = self._sums.of(everyone, len(pairs), "halves")
        return chosen, self._stats(rows, chosen, self._row_weights[rows], np.minimum(first, second), dual)

    def scatter_product(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        first, second = (self.distances_to_own(rows, 2 * labels + side, pairs) for side in (0, 1))
        s = self._row_weights[rows] * (second - first)
        dual = self._sums.weighted(rows, labels, s, len(pairs) // 2)
        stats = self._stats(rows, labels, s, first, dual)
        return stats.n, stats.sum

    def exchange(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> Labels:
        return exchanged(self, rows, others, labels, stats, least_gain)

    def rows(self, index: Index) -> Floats:
        points = np.zeros((len(index), self.n_features))
        points[np.arange(len(index)), self._index[index]] = 1.0
        if len(index):
            points[:, self.gram.n_rows :] = self.gram.rows(self._index[index])
        return points

    def places(self, index: Index) -> Index:
        """Where these rows are among those that ``gram`` knows."""
        return self._index[index]

    def generic_axis(self) -> Floats:
        if self._generic is None:
            everyone, weight = np.arange(self.gram.n_rows), np.zeros(self.gram.n_rows)
            weight[self._index] = self._row_weights
            a = self.gram.generic(weight)
            self._generic = np.concatenate([a, self.gram.combined(sp.csr_array(a[None, :]), everyone)[0]])
        return self._generic

    def among(self, index: Index) -> KernelEngine:
        weight = None if self.weight is None else self.weight[index]
        return KernelEngine(self.gram, weight, self._index[index])

    def approach(self, site: Floats, sq_dist: Floats) -> None:
        np.minimum(sq_dist, self.sq_distances(site[None, :])[:, 0], out=sq_dist)

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        nearer = np.minimum(sq_dist[:, None], self.sq_distances(candidates))
        return int((self._row_weights @ nearer).argmin())

    def sq_distances(self, centres: Floats) -> Floats:
        return self._all(np.arange(self.n_rows), centres).T

    def _nearest(self, centres: Floats) -> tuple[Labels, Floats]:
        sq_dist = self._all(np.arange(self.n_rows), centres)
        return sq_dist.argmin(axis=0).astype(np.int32), sq_dist.min(axis=0)

    def _join_newborn(self, founder: int, rows: Index, labels: Labels, sq_dist: Floats) -> None:
        """Those of ``rows`` that are nearer to the founder of the youngest cluster than to their own join it."""
        products = self.gram.rows(self._index[founder : founder + 1])[0, self._index[rows]]
        gaps = self._checked(self._diagonal[rows] - 2 * products + self._diagonal[founder])
        nearer = rows[gaps < sq_dist[rows]]
        labels[nearer], sq_dist[nearer] = labels[founder], gaps[gaps < sq_dist[rows]]

    def _stats(self, rows: Index, labels: Labels, weight: Floats, sq_dist: Floats, dual: Floats) -> Stats:
        """Statistics of listed rows, of which the second half of the sums is known."""
        stats = Stats.empty(len(dual), self.n_features)
        stats.n[:] = np.bincount(labels, weights=weight, minlength=len(dual))
        stats.sse[:] = np.bincount(labels, weights=weight * sq_dist, minlength=len(dual))
        stats.sum[labels, self._index[rows]] = weight
        stats.sum[:, self.gram.n_rows :] = dual
        return stats

    def _all(self, rows: Index, centres: Floats) -> Floats:
        """Squared distances (k, m)."""
        self.n_distances += len(rows) * len(centres)
        products = self._products(centres)[:, self._index[rows]]
        return self._checked(self._diagonal[rows] - 2 * products + DUAL.sq_norms(centres)[:, None])

    def _products(self, centres: Floats) -> Floats:
        """Inner products of the centres with all rows, (k, n)."""
        return centres[:, self.gram.n_rows :]

    def _checked(self, sq_dist: Floats) -> Floats:
        """Squared distances without the noise below zero; an error where they are below zero in earnest."""
        lowest = float(sq_dist.min(initial=0.0))
        if lowest < -NEGATIVE * float(np.abs(self.gram.diagonal).max()):
            raise ValueError(
                f"the kernel is not positive semi-definite: a squared distance in its feature space is {lowest:.3g}. "
                "Use another kernel, or add a constant to the diagonal of a precomputed one."
            )
        return np.maximum(sq_dist, 0.0, out=sq_dist)
