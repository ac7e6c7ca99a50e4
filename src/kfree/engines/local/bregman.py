"""Rows in memory under a Bregman divergence, which takes the place of the squared distance in every pass.

Ranking is a matrix product. Divergences of rows to their own centres, and so all costs, are computed term by term.
Passes are in NumPy, whatever the engine is called; sums over clusters are those of the engine.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kfree.core.assignment import Assignment
from kfree.core.blocks import blocks
from kfree.core.divergences import Divergence
from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Mask, Stats, means, totals
from kfree.engines.by_distances import ByDistances
from kfree.engines.contract import Picks
from kfree.engines.local.rows import LocalRows
from kfree.engines.moves import until_at_rest
from kfree.engines.questions import Copies
from kfree.engines.sums import Sums


class BregmanRows(ByDistances, LocalRows):
    """Rows of the domain of ``divergence``, in their own coordinates: a shift would leave the domain."""

    def __init__(self, name: str, X: ArrayOrCSR, weight: Floats | None, divergence: Divergence, n_threads: int | None):
        LocalRows.__init__(self, name, X, weight, Frame.plain(X.shape[1]), n_threads)
        self._divergence, self._data = divergence, sp.csr_array(X) if sp.issparse(X) else X

    @property
    def description(self) -> str:
        return f"NumPy, metric={self._divergence.name!r}"

    def take(self, copies: Copies) -> BregmanRows:
        return BregmanRows(self.name, copies.X, copies.weight, self._divergence, self.n_threads)

    def among(self, index: Index) -> BregmanRows:
        return BregmanRows(self.name, *self.copied(index), self._divergence, self.n_threads)

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Sums, Mask | None]:
        labels = self._nearest(sites.centres)
        sq_dist = self.distances_to_own(np.arange(self.n_rows), labels, sites.centres)
        is_far = None
        if lam != np.inf:
            with np.errstate(invalid="ignore"):  # a row of no weight may be infinitely far
                is_far = self.row_weights() * sq_dist > lam
        return labels, sq_dist, self.sums_of(labels, sq_dist, len(sites.centres)), is_far

    nearest = ByDistances.nearest  # by ``assign``, where LocalRows has a compiled pass

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        return numbers.take(self._nearest(sites.centres))

    def sums_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Sums:
        # A row of no weight costs nothing, also where it is infinitely far.
        counted = sq_dist if self.weight is None else np.where(self.weight > 0, sq_dist, 0.0)
        return LocalRows.sums_of(self, labels, counted, n_clusters)

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        self.n_distances += len(rows)
        found = np.empty(len(rows))
        for part in blocks(len(rows), self.n_features):
            found[part] = self._divergence.to_own(self._data[rows[part]], labels[part], centres)
        return found

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        second = np.empty(len(rows), dtype=np.int32)
        for part in blocks(len(rows), self.n_features + len(centres)):
            scores = self._divergence.scores(self._data[rows[part]], centres)
            scores[np.arange(len(scores)), labels[part]] = -np.inf
            second[part] = scores.argmax(axis=1)
        self.n_distances += len(rows) * (len(centres) - 1)
        sq_dist = self.distances_to_own(rows, second, centres)
        # Where all others are infinitely far, the first of them is as good as any.
        alone = second == labels
        second[alone] = (labels[alone] + 1) % len(centres)
        sq_dist[alone] = np.inf
        return second, sq_dist

    def gaps(self, centres: Floats) -> Floats:
        """Zero: no distance between centres bounds what merging two clusters costs."""
        return np.zeros(len(centres))

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        first, second = self._to_both(rows, pair, pairs)
        chosen = (2 * pair + (second < first)).astype(np.int32)
        weight, sq_dist = self.weights(rows), np.minimum(first, second)
        return chosen, self._stats(rows, chosen, weight, np.where(weight > 0, sq_dist, 0.0), len(pairs))

    def scatter_product(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        """With divergences the axis is that of the widest spread as these measure it: Σ (x − μ)(x − μ)ᵀ·∇²φ(μ)."""
        first, second = self._to_both(rows, pair, pairs)
        stats = self._stats(rows, pair, self.weights(rows) * (second - first), first, len(pairs) // 2)
        return stats.n, stats.sum

    def sq_distances(self, centres: Floats) -> Floats:
        self.n_distances += self.n_rows * len(centres)
        found = np.empty((self.n_rows, len(centres)))
        everyone = np.arange(self.n_rows)
        for c in range(len(centres)):
            found[:, c] = self.distances_to_own(everyone, np.full(self.n_rows, c, dtype=np.int32), centres)
        return found

    def best_departures(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least: float
    ) -> Picks:
        rows, own = self.counting(), assignment.labels[self.counting()]
        gain = self._leaving(rows, own, stats)
        pays = np.flatnonzero(gain > least)
        pays = pays[np.argsort(-gain[pays], kind="stable")]
        best = pays[self.arrays.first_of_each(own[pays])]
        return Picks(rows[best], own[best].astype(np.int64), gain[best], self.points(rows[best]))

    def exchange(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least_gain: float
    ) -> Assignment | None:
        rows, labels = self.counting(), assignment.labels.copy()
        own = labels[rows]
        second, _ = self.second_nearest(rows, own, centres)
        saved = self._leaving(rows, own, stats) - self._joining(rows, second, stats)
        listed = rows[saved > least_gain]
        clusters = stats.n.copy(), stats.sum.copy()
        n_moved = until_at_rest(lambda: sum(self._moved(row, labels, *clusters, least_gain) for row in listed))
        return self.assignment(labels, assignment.n_clusters) if n_moved else None

    def _moved(self, row: int, labels: Labels, n: Floats, sums: Floats, least_gain: float) -> bool:
        """Move a row to the cluster where it costs least if that saves more; in-out labels, n and sums."""
        here, x, w = labels[row], self._dense(np.array([row]))[0], self.weights(np.array([row]))[0]
        if not n[here] > w:
            return False
        centres = self._divergence.clipped(means(sums, n))
        saved = float(self._divergence.leaving(w, x, n[here], centres[here]))
        joining = self._divergence.joining(w, x, n, centres)
        joining[(n == 0) | (np.arange(len(n)) == here)] = np.inf
        there = int(joining.argmin())
        if not saved - joining[there] > least_gain:
            return False
        for cluster, change in ((here, -w), (there, w)):
            n[cluster] += change
            sums[cluster] += change * x
        labels[row] = there
        return True

    def _leaving(self, rows: Index, own: Labels, stats: Stats) -> Floats:
        """What each row saves by leaving its cluster; nothing for one that is alone."""
        gain, w = np.zeros(len(rows)), self.weights(rows)
        for part in blocks(len(rows), self.n_features):
            n, sums = stats.n[own[part]], stats.sum[own[part]]
            centres = self._divergence.clipped(sums / n[:, None])
            gain[part] = self._divergence.leaving(w[part], self._dense(rows[part]), n, centres)
        gain[~(stats.n[own] > w)] = 0.0
        return gain

    def _joining(self, rows: Index, others: Labels, stats: Stats) -> Floats:
        cost, w = np.empty(len(rows)), self.weights(rows)
        for part in blocks(len(rows), self.n_features):
            n, sums = stats.n[others[part]], stats.sum[others[part]]
            centres = self._divergence.clipped(means(sums, n))
            cost[part] = self._divergence.joining(w[part], self._dense(rows[part]), n, centres)
        return np.where(stats.n[others] > 0, cost, np.inf)

    def _nearest(self, centres: Floats) -> Labels:
        self.n_distances += self.n_rows * len(centres)
        labels = np.empty(self.n_rows, dtype=np.int32)
        for part in blocks(self.n_rows, self.n_features + len(centres)):
            labels[part] = self._divergence.nearest(self._data[part], centres)
        return labels

    def _to_both(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        """Divergences to both sites of each row's pair, which a step along an axis may have led out of the domain."""
        middles = np.repeat((pairs[0::2] + pairs[1::2]) / 2, 2, axis=0)
        inside = self._divergence.inside(pairs, middles)
        first, second = (self.distances_to_own(rows, 2 * pair + side, inside) for side in (0, 1))
        return first, second

    def _stats(self, rows: Index, labels: Labels, weight: Floats, sq_dist: Floats, n_clusters: int) -> Stats:
        belongs = sp.csr_array((weight, (labels, np.arange(len(rows)))), shape=(n_clusters, len(rows)))
        sums = belongs @ self._data[rows]
        sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums, dtype=np.float64)
        return Stats(totals(labels, weight, n_clusters), sums, totals(labels, weight * sq_dist, n_clusters))

    def _dense(self, rows: Index) -> Floats:
        some = self._data[rows]
        return np.asarray(some.toarray() if isinstance(some, sp.csr_array) else some, dtype=np.float64)
