"""Rows in the feature space of a kernel, where a centre is a combination of rows (Kulis & Jordan 2012, §5.2).

Coordinates of a point Σ_j a_j·φ(x_j) are (a, Ka), see ``kfree.core.spaces.Dual``. The distance of a row to a centre is
d²(x_i, c) = κ_ii − 2·(Ka)_i + a·Ka, which needs no value of the kernel; sums over new clusters do. A sum involves all
rows that the kernel is between.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.masses import Masses, MassTree
from kfree.core.row_costs import MeanRowCosts
from kfree.core.sites import Sites
from kfree.core.spaces import DUAL
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Mask, Stats
from kfree.engines.by_distances import ByDistances
from kfree.engines.kernel.gram import Gram
from kfree.engines.kernel.sums import LEAST_SHARE, NOWHERE, KernelSums
from kfree.engines.moves import until_at_rest
from kfree.engines.questions import Copies
from kfree.engines.sums import Sums

# A squared distance below minus this share of the largest κ_ii is not due to rounding.
NEGATIVE = 1e-6
# Rows of a block of summation, for draws.
BLOCK = 1024
# Squared distances are differences of kernel values: they are known up to this share of the largest of those.
ROUNDING = 64 * np.finfo(np.float64).eps


class KernelRows(ByDistances):
    """Some of the rows of ``gram`` (``index``; None: all), with weights; sites are combinations of all of them."""

    def __init__(self, gram: Gram, weight: Floats | None = None, index: Index | None = None):
        self.index: Index = np.arange(gram.n_rows) if index is None else index
        n_features = 2 * gram.n_rows
        super().__init__("kernel", Frame.plain(n_features), len(self.index), n_features, weight)
        self.few_rows_name = "native"
        self.gram = gram
        self._diagonal = gram.diagonal[self.index]
        self._row_weights = np.ones(self.n_rows) if weight is None else weight
        self._sums = KernelSums(gram, self.index, self._row_weights)
        self._generic: Floats | None = None

    def gaps(self, centres: Floats) -> Floats:
        sq_gaps = DUAL.sq_gaps(centres, slice(None))
        np.fill_diagonal(sq_gaps, np.inf)
        return np.asarray(sq_gaps.min(axis=1))

    def generic_axis(self) -> Floats:
        if self._generic is None:
            everyone, weight = np.arange(self.gram.n_rows), np.zeros(self.gram.n_rows)
            weight[self.index] = self._row_weights
            a = self.gram.generic(weight)
            self._generic = np.concatenate([a, self.gram.combined(sp.csr_array(a[None, :]), everyone)[0]])
        return self._generic

    def take(self, copies: Copies) -> KernelRows:
        return KernelRows(self.gram, copies.weight, copies.X)

    def among(self, index: Index) -> KernelRows:
        return self.take(Copies(*self.copied(index)))

    def given(self) -> ArrayOrCSR:
        return self.index

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Sums, Mask | None]:
        everyone = np.arange(self.n_rows)
        labels = self._offsets(everyone, sites.centres).argmin(axis=0).astype(np.int32)
        sq_dist = self.distances_to_own(everyone, labels, sites.centres)
        is_far = None if lam == np.inf else self._row_weights * sq_dist > lam
        return labels, sq_dist, self.sums_of(labels, sq_dist, len(sites.centres)), is_far

    def sums_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Sums:
        everyone = np.arange(self.n_rows)
        dual = self._sums.of(labels, n_clusters, "passes")
        return Sums.of_all(self._stats(everyone, labels, self._row_weights, sq_dist, dual))

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        products = self._products(centres)[labels, self.index[rows]]
        return self._checked(self._diagonal[rows] - 2 * products + DUAL.sq_norms(centres)[labels])

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        sq_dist = self._all(rows, centres)
        sq_dist[labels, np.arange(len(rows))] = np.inf
        return sq_dist.argmin(axis=0).astype(np.int32), sq_dist.min(axis=0, initial=np.inf)

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        first, second = (self.distances_to_own(rows, 2 * pair + side, pairs) for side in (0, 1))
        chosen = (2 * pair + (second < first)).astype(np.int32)
        everyone = np.full(self.n_rows, NOWHERE, dtype=np.int32)
        everyone[rows] = chosen
        dual = self._sums.of(everyone, len(pairs), "halves")
        return chosen, self._stats(rows, chosen, self._row_weights[rows], np.minimum(first, second), dual)

    def scatter_product(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        first, second = (self.distances_to_own(rows, 2 * pair + side, pairs) for side in (0, 1))
        apart = second - first
        # Equal rows would have an axis of rounding errors, which its length makes as large as any.
        apart[np.abs(apart) <= ROUNDING * float(np.abs(self.gram.diagonal).max())] = 0.0
        s = self._row_weights[rows] * apart
        dual = self._sums.weighted(rows, pair, s, len(pairs) // 2)
        stats = self._stats(rows, pair, s, first, dual)
        return stats.n, stats.sum

    def exchange_listed(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> Labels | None:
        """Each move takes one row of kernel values."""
        labels, others, clusters = labels.copy(), others.copy(), _Clusters(self.gram, stats)
        weights, places, everyone = self.weights(rows), self.index[rows], np.arange(len(stats.n))
        for i in np.flatnonzero(others < 0).tolist():
            joining = MeanRowCosts.joining(clusters.n, weights[i], clusters.sq_dist(places[i], everyone))
            joining[labels[rows[i]]] = np.inf
            others[i] = joining.argmin()
        least = np.maximum(least_gain, weights * (ROUNDING * float(np.abs(self.gram.diagonal).max())))

        def exchange_round() -> int:
            n_moved = 0
            for i, row in enumerate(rows):
                here, there = labels[row], others[i]
                if weights[i] > 0 and clusters.saved(places[i], weights[i], here, there) > least[i]:
                    clusters.move(places[i], weights[i], here, there)
                    labels[row], others[i] = there, here
                    n_moved += 1
            return n_moved

        return labels if until_at_rest(exchange_round) else None

    def masses(self, mass: Floats) -> Masses:
        return MassTree.of(mass, BLOCK)

    def points(self, rows: Index) -> Floats:
        points = np.zeros((len(rows), self.n_features))
        points[np.arange(len(rows)), self.index[rows]] = 1.0
        if len(rows):
            points[:, self.gram.n_rows :] = self.gram.rows(self.index[rows])
        return points

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        return self.index[rows], None if self.weight is None else self.weight[rows]

    def sq_distances(self, centres: Floats) -> Floats:
        return self._all(np.arange(self.n_rows), centres).T

    def _stats(self, rows: Index, labels: Labels, weight: Floats, sq_dist: Floats, dual: Floats) -> Stats:
        """Statistics of listed rows, of which the second half of the sums is known."""
        stats = Stats.empty(len(dual), self.n_features)
        stats.n[:] = np.bincount(labels, weights=weight, minlength=len(dual))
        stats.sse[:] = np.bincount(labels, weights=weight * sq_dist, minlength=len(dual))
        stats.sum[labels, self.index[rows]] = weight
        stats.sum[:, self.gram.n_rows :] = dual
        return stats

    def _all(self, rows: Index, centres: Floats) -> Floats:
        """Squared distances (k, m)."""
        return self._checked(self._diagonal[rows] + self._offsets(rows, centres))

    def _offsets(self, rows: Index, centres: Floats) -> Floats:
        """Squared distances (k, m) but for κ_ii, which is the same for all centres and takes digits from them."""
        self.n_distances += len(rows) * len(centres)
        return DUAL.sq_norms(centres)[:, None] - 2 * self._products(centres)[:, self.index[rows]]

    def _products(self, centres: Floats) -> Floats:
        """Inner products of the centres with all rows, (k, n)."""
        return centres[:, self.gram.n_rows :]

    def _checked(self, sq_dist: Floats) -> Floats:
        """Squared distances, with rounding errors below zero set to zero; raises if they are clearly negative."""
        lowest = float(sq_dist.min(initial=0.0))
        if lowest < -NEGATIVE * float(np.abs(self.gram.diagonal).max()):
            raise ValueError(
                f"the kernel is not positive semi-definite: a squared distance in its feature space is {lowest:.3g}. "
                "Use another kernel, or add a constant to the diagonal of a precomputed one."
            )
        return np.maximum(sq_dist, 0.0, out=sq_dist)


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

    def saved(self, place: int, weight: float, here: int, there: int) -> float:
        """What the row would save by moving (Hartigan 1975); minus infinity if it is nearly all of its cluster."""
        if self.n[here] - weight < LEAST_SHARE * self.n[here]:
            return -np.inf
        now, then = self.sq_dist(place, [here, there])
        leaving = MeanRowCosts.leaving(self.n[here], weight, now)
        return float(leaving - MeanRowCosts.joining(self.n[there], weight, then))

    def move(self, place: int, weight: float, here: int, there: int) -> None:
        values = self._gram.rows(np.array([place]))[0]
        for cluster, change in ((here, -weight), (there, weight)):
            self._sq_norm[cluster] += 2 * change * self._products[cluster, place] + change**2 * values[place]
            self._products[cluster] += change * values
            self.n[cluster] += change
