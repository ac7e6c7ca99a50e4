"""Rows in the memory of this process, handed to compiled passes or to their NumPy twins without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import Pass, first_row_that_counts, generic_direction
from kfree.native.processor import chosen_instruction_set
from kfree.native.threads import thread_count


class LocalEngine:
    """The engine contract over a module of passes: ``kfree.native._core`` or ``kfree.native.reference.passes``."""

    def __init__(
        self,
        name: str,
        passes: Any,
        X: Any,
        weight: Floats | None,
        unit: bool,
        frame: Frame | None,
        n_threads: int | None,
    ):
        self.weight = weight
        self.n_rows, self.n_features = X.shape
        self.n_distances = 0
        self._passes = passes
        self._X = X
        self._isa = chosen_instruction_set(passes.instruction_sets())
        self._n_threads = thread_count(n_threads)
        self.name = name
        self.description = f"{name} ({self._isa}, {self._n_threads} threads)" if self._isa else name
        if frame is None and (unit or sp.issparse(X)):
            frame = Frame.plain(self.n_features, unit)
        self.frame = self._centred_frame(X) if frame is None else frame
        self._rows = self._hold(X, self.frame)
        self._bounds = passes.Bounds(self.n_rows)
        _require_directions(np.asarray(self._rows.lengths))

    def nearest(self, sites: Sites) -> Pass:
        return self._pass(sites)

    def sweep(self, sites: Sites, lam: float, order: Index | None, room: int) -> Pass:
        is_far = np.empty(self.n_rows, dtype=bool)
        done = self._pass(sites, lam, is_far)
        if not is_far.any():
            return done
        far = np.flatnonzero(is_far) if order is None else order[is_far[order]]
        labels, sq_dist, k = done.labels, done.sq_dist, len(done.centres)
        founders, n_refused = self._passes.open_clusters(
            self._rows, far, k, lam, room, self._n_threads, labels, sq_dist
        )
        far = far[founders]
        newborn = self.rows(far)
        if len(far):
            places = far if order is None else np.flatnonzero(self._among(far)[order])
            self._passes.join_newborn(self._rows, order, newborn, places, k, self._n_threads, labels, sq_dist)
        centres = np.vstack([done.centres, newborn])
        return Pass(centres, labels, sq_dist, self.stats_of(labels, sq_dist, len(centres)), n_refused)

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Stats:
        stats = Stats.empty(n_clusters, self.n_features)
        self._passes.accumulate(self._rows, labels, sq_dist, self._n_threads, stats.n, stats.sum, stats.sse)
        return stats

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        self.n_distances += len(rows)
        sq_dist = np.empty(len(rows))
        self._passes.distances_to_own(self._rows, rows, labels, centres, self._n_threads, sq_dist)
        return sq_dist

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        self.n_distances += len(rows) * (len(centres) - 1)
        return self._rivals_of(self._rows, rows, labels, centres)

    def gaps(self, centres: Floats) -> Floats:
        everyone, zero = np.arange(len(centres)), np.zeros(self.n_features)
        rows = self._passes.dense_rows(centres, zero, zero, False, None, self._isa)
        return self._rivals_of(rows, everyone, everyone.astype(np.int32), centres)[1]

    def choose(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        self.n_distances += 2 * len(rows)
        chosen, stats = np.empty(len(rows), dtype=np.int32), Stats.empty(*pairs.shape)
        out = chosen, stats.n, stats.sum, stats.sse
        self._passes.choose(self._rows, rows, labels, pairs, self._n_threads, *out)
        return chosen, stats

    def scatter_product(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        self.n_distances += 2 * len(rows)
        sums = Stats.empty(len(pairs) // 2, self.n_features)
        self._passes.scatter_product(self._rows, rows, labels, pairs, self._n_threads, sums.n, sums.sum, sums.sse)
        return sums.n, sums.sum

    def exchange(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> Labels:
        self.n_distances += int((others < 0).sum()) * len(centres)
        labels, stats = labels.copy(), stats.copy()
        out = labels, stats.n, stats.sum, stats.sse
        self._passes.exchange(self._rows, rows, others, centres, least_gain, self._n_threads, *out)
        return labels

    def rows(self, index: Index) -> Floats:
        z = np.empty((len(index), self.n_features))
        self._passes.copy(self._rows, np.ascontiguousarray(index, dtype=np.int64), z)
        return z

    def generic_axis(self) -> Floats:
        return generic_direction(self.n_features)

    def among(self, index: Index) -> LocalEngine:
        weight = None if self.weight is None else self.weight[index]
        return LocalEngine(
            self.name, self._passes, self._X[index], weight, self.frame.unit, self.frame, self._n_threads
        )

    def approach(self, site: Floats, sq_dist: Floats) -> None:
        self.n_distances += self.n_rows
        self._passes.approach(self._rows, np.ascontiguousarray(site)[None, :], self._n_threads, sq_dist)

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        self.n_distances += self.n_rows * len(candidates)
        return int(self._passes.best_candidate(self._rows, candidates, sq_dist, self._n_threads))

    def sq_distances(self, centres: Floats) -> Floats:
        self.n_distances += self.n_rows * len(centres)
        out = np.empty((self.n_rows, len(centres)))
        self._passes.distances(self._rows, np.ascontiguousarray(centres), self._n_threads, out)
        return out

    def _pass(self, sites: Sites, lam: float = np.inf, is_far: NDArray[np.bool_] | None = None) -> Pass:
        """Every row to its nearest site; fills ``is_far`` with whether weight·squared distance exceeds lam."""
        centres, uids = np.ascontiguousarray(sites.centres), np.ascontiguousarray(sites.uids)
        labels, sq_dist = np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)
        stats = Stats.empty(*centres.shape)
        out = labels, sq_dist, stats.n, stats.sum, stats.sse, is_far
        self.n_distances += self._passes.nearest(self._rows, centres, uids, lam, self._n_threads, self._bounds, *out)
        return Pass(centres, labels, sq_dist, stats)

    def _rivals_of(self, held: Any, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        rival, sq_dist = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
        self._passes.second_nearest(held, rows, labels, centres, self._n_threads, rival, sq_dist)
        return rival, sq_dist

    def _among(self, rows: Index) -> NDArray[np.bool_]:
        """A mask of these rows."""
        mask = np.zeros(self.n_rows, dtype=bool)
        mask[rows] = True
        return mask

    def _hold(self, X: Any, frame: Frame) -> Any:
        if sp.issparse(X):
            return self._passes.csr_rows(X.data, X.indices, X.indptr, self.n_features, frame.unit, self.weight)
        return self._passes.dense_rows(X, frame.anchor, frame.shift, frame.unit, self.weight, self._isa)

    def _centred_frame(self, X: Any) -> Frame:
        """Anchor at the first row that counts, shift by the weighted mean: rows of weight zero leave no trace."""
        first = first_row_that_counts(self.weight)
        anchored = Frame(X[first].astype(np.float64), np.zeros(self.n_features))
        self._rows, self._bounds = self._hold(X, anchored), self._passes.Bounds(self.n_rows)
        stats = self._pass(Sites.of(np.zeros((1, self.n_features)))).stats
        return Frame(anchored.anchor, stats.sum[0] / stats.n[0])


def _require_directions(lengths: Floats) -> None:
    zero = np.flatnonzero(lengths == 0)
    if len(zero):
        raise ValueError(
            f"X has {len(zero)} all-zero row(s), the first is row {zero[0]}: a zero vector has no direction, so "
            "metric='cosine' cannot place it. Remove such rows or use metric='euclidean'."
        )
    if not np.isfinite(lengths).all():
        raise ValueError("the length of a row of X overflows float64. Divide X by a constant first.")
