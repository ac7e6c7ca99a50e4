"""Rows in the memory of this process, passed to compiled passes or to the reference implementation without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame, require_differences
from kfree.core.masses import Masses
from kfree.core.memory import require_memory
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR, taken
from kfree.core.stats import Floats, Index, Labels, Mask, Stats, first_row_that_counts
from kfree.core.sum_tree import Node
from kfree.engines.contract import MemoryRows, Pass, Rows, centred_frame
from kfree.engines.moves import until_at_rest
from kfree.engines.questions import Copies
from kfree.engines.sums import Sums, lifted
from kfree.native.implementations import implementation
from kfree.native.processor import chosen_instruction_set
from kfree.native.threads import thread_count

# Sums, the centres made from them, those that compiled passes keep, and what they put together from their threads.
_COPIES = 4
# Centres of fewer numbers fit in any memory.
_FEW_VALUES = 1 << 16


class HeldRows(Protocol):
    """Rows that a module of passes holds."""

    @property
    def lengths(self) -> Floats: ...

    @property
    def nodes(self) -> Sequence[Node]: ...


class LocalRows(MemoryRows):
    """Rows under a module of passes: ``kfree.native._core`` or ``kfree.native.reference.passes``.

    ``span`` is None for all rows of a fit. A range of rows has the number of its first row, a multiple of the block
    size, and the number of rows that there are in all. It gives sums by node, so that they can be joined. ``room`` is a
    larger array that begins with X.
    """

    def __init__(
        self,
        name: str,
        X: ArrayOrCSR,
        weight: Floats | None,
        frame: Frame,
        n_threads: int | None = 1,
        span: tuple[int, int] | None = None,
        room: Floats | None = None,
    ):
        super().__init__("native" if name == "auto" else name, frame, X.shape[0], X.shape[1], weight)
        self.X, self.passes, self._room = X, implementation(name, "rows"), room
        self.begin, self._span = (0 if span is None else span[0]), span
        self.isa = chosen_instruction_set(self.passes.instruction_sets())
        self.n_threads = thread_count(n_threads)
        self._rows = self._hold()
        self._bounds = self.passes.Bounds(self.n_rows)
        require_directions(np.asarray(self._rows.lengths))

    @property
    def description(self) -> str:
        return described(self.name, self.isa, self.n_threads)

    @classmethod
    def of(cls, copies: Copies, like: Rows, n_threads: int | None) -> LocalRows:
        """Copies of some rows of ``like``."""
        return LocalRows(like.name, copies.X, copies.weight, like.frame, n_threads, room=copies.room)

    def take(self, copies: Copies) -> LocalRows:
        return LocalRows.of(copies, self, self.n_threads)

    def among(self, index: Index) -> LocalRows:
        return LocalRows(self.name, *self.copied(index), self.frame, self.n_threads)

    def beside(self, points: Floats, weight: Floats) -> LocalRows:
        """These rows and weighted ``points`` after them, in coordinates of the same frame.

        The points begin a block, so that sums over these rows are what they are without points; between them are copies
        of the first row without weight. Nothing is copied if there is room after the rows.
        """
        n_rows, block = self.n_rows, self.passes.BLOCK
        begin = -(-n_rows // block) * block
        X = self._room
        if X is None or len(X) < begin + len(points):
            X = np.empty((begin + len(points), self.n_features))
            X[:n_rows] = self.X
        X = X[: begin + len(points)]
        X[n_rows:begin], X[begin:] = X[0], self.frame.outward(points)
        weights = np.concatenate([self.row_weights(), np.zeros(begin - n_rows), weight])
        return LocalRows(self.name, X, weights, self.frame, self.n_threads)

    def given(self) -> ArrayOrCSR:
        return self.X

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Sums, Mask | None]:
        centres, uids = _contiguous(sites.centres), np.ascontiguousarray(sites.uids)
        labels, sq_dist = np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)
        is_far = None if lam == np.inf else np.empty(self.n_rows, dtype=bool)
        sums = self._room_for(len(centres))
        out = labels, sq_dist, *sums, is_far
        self.n_distances += self.passes.nearest(self._rows, centres, uids, lam, self.n_threads, self._bounds, *out)
        return labels, sq_dist, self._sums(*sums), is_far

    def nearest(self, sites: Sites) -> Pass:
        centres, uids, k = _contiguous(sites.centres), np.ascontiguousarray(sites.uids), len(sites.uids)
        labels, sq_dist, stats = np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows), self._totals(k)
        out = labels, sq_dist, stats.n, stats.sum, stats.sse, None
        self.n_distances += self.passes.nearest(self._rows, centres, uids, np.inf, self.n_threads, self._bounds, *out)
        return Pass(centres, self.assignment(labels, k), stats)

    def k_means(self, sites: Sites, penalty: float, max_passes: int) -> tuple[Pass, int, bool]:
        """Passes, each about the means of the last one, until no label changes or the cost does not fall.

        ``penalty`` is part of the cost. Returns the cheapest pass, how many there were, and whether more would find no
        lower cost; if not, there were ``max_passes``, or the last one left a cluster without weight.
        """
        centres, uids, k = np.array(sites.centres, order="C"), np.ascontiguousarray(sites.uids), len(sites.uids)
        labels, sq_dist, stats = np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows), self._totals(k)
        limits, out = (penalty, max_passes, self.n_threads), (labels, sq_dist, stats.n, stats.sum, stats.sse)
        found = self.passes.k_means(self._rows, centres, uids, *limits, self._bounds, *out)
        n_passes, n_distances, converged, _ = found
        self.n_distances += n_distances
        return Pass(centres, self.assignment(labels, k), stats), n_passes, converged

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        centres, labels = _contiguous(sites.centres), np.empty(self.n_rows, dtype=np.int32)
        self.n_distances += self.passes.nearest_labels(self._rows, centres, numbers, self.n_threads, labels)
        return labels

    def sums_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Sums:
        sums = self._room_for(n_clusters)
        self.passes.accumulate(self._rows, labels, sq_dist, self.n_threads, *sums)
        return self._sums(*sums)

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        sq_dist = np.empty(len(rows))
        if self._bounds.measured(rows, labels, centres, sq_dist):
            return sq_dist
        self.n_distances += len(rows)
        self.passes.distances_to_own(self._rows, rows, labels, centres, self.n_threads, sq_dist)
        return sq_dist

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        self.n_distances += len(rows) * (len(centres) - 1)
        return self._second_nearest_of(self._rows, rows, labels, centres)

    def gaps(self, centres: Floats) -> Floats:
        everyone, zero = np.arange(len(centres)), np.zeros(self.n_features)
        rows = self.passes.dense_rows(centres, zero, zero, False, None, self.isa)
        return self._second_nearest_of(rows, everyone, everyone.astype(np.int32), centres)[1]

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        self.n_distances += 2 * len(rows)
        chosen, stats = np.empty(len(rows), dtype=np.int32), self._totals(len(pairs))
        self.passes.choose(self._rows, rows, pair, pairs, self.n_threads, chosen, stats.n, stats.sum, stats.sse)
        return chosen, stats

    def scatter_product(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        self.n_distances += 2 * len(rows)
        stats = self._totals(len(pairs) // 2)
        self.passes.scatter_product(self._rows, rows, pair, pairs, self.n_threads, stats.n, stats.sum, stats.sse)
        return stats.n, stats.sum

    def second_costs(self, rows: Index, labels: Labels, second: Labels, centres: Floats) -> Floats:
        self.n_distances += 2 * len(rows)
        costs = np.empty(len(centres))
        self.passes.deletion_costs(self._rows, rows, labels, second, centres, self.n_threads, costs)
        return costs

    def exchange_listed(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> Labels | None:
        self.n_distances += int((others < 0).sum()) * len(centres)
        labels, clusters = labels.copy(), (stats.n.copy(), stats.sum.copy(), centres.copy(), np.zeros(len(centres)))
        exchange = self.passes.Exchange(self._rows, rows, others, least_gain, self.n_threads, labels, *clusters)
        return labels if until_at_rest(lambda: int(exchange.round(labels, *clusters))) else None

    def open_clusters(
        self, far: Index, first_label: int, lam: float, room: int, labels: Labels, sq_dist: Floats
    ) -> tuple[Index, int]:
        founders, n_refused = self.passes.open_clusters(
            self._rows, far, first_label, lam, room, self.n_threads, labels, sq_dist
        )
        return founders, n_refused

    def join_newborn(
        self, order: Index | None, newborn: Floats, born_at: Index, first_label: int, labels: Labels, sq_dist: Floats
    ) -> None:
        self.passes.join_newborn(self._rows, order, newborn, born_at, first_label, self.n_threads, labels, sq_dist)

    def approach(self, site: Floats, sq_dist: Floats) -> None:
        self.n_distances += self.n_rows
        self.passes.approach(self._rows, np.ascontiguousarray(site)[None, :], self.n_threads, sq_dist)

    def best_of(self, candidates: Floats, sq_dist: Floats) -> int:
        self.n_distances += self.n_rows * len(candidates)
        return int(self.passes.best_candidate(self._rows, candidates, sq_dist, self.n_threads))

    def masses(self, mass: Floats) -> Masses:
        found: Masses = self.passes.Masses(mass)
        return found

    def points(self, rows: Index) -> Floats:
        z = np.empty((len(rows), self.n_features))
        self.passes.copy(self._rows, np.ascontiguousarray(rows, dtype=np.int64), z)
        return z

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        return taken(self.X, rows), None if self.weight is None else self.weight[rows]

    def sq_distances(self, centres: Floats) -> Floats:
        self.n_distances += self.n_rows * len(centres)
        out = np.empty((self.n_rows, len(centres)))
        self.passes.distances(self._rows, np.ascontiguousarray(centres), self.n_threads, out)
        return out

    def _totals(self, n_clusters: int) -> Stats:
        """Memory for statistics of all rows."""
        if n_clusters * self.n_features > _FEW_VALUES:
            require_memory(n_clusters, self.n_features, _COPIES)
        return Stats(np.empty(n_clusters), np.empty((n_clusters, self.n_features)), np.empty(n_clusters))

    def _room_for(self, n_clusters: int) -> tuple[Floats, Floats, Floats]:
        """Memory for weights, sums and sse: of all rows, or by node for a range."""
        if self._span is None:
            stats = self._totals(n_clusters)
            return stats.n, stats.sum, stats.sse
        shape = len(self._rows.nodes), n_clusters
        require_memory(shape[0] * n_clusters, self.n_features, _COPIES)
        return np.empty(shape), np.empty((*shape, self.n_features)), np.empty(shape)

    def _sums(self, n: Floats, sum: Floats, sse: Floats) -> Sums:
        if self._span is None:
            return Sums.of_all(Stats(n, sum, sse))
        nodes = list(self._rows.nodes)
        if self.begin + self.n_rows == self._span[1]:
            nodes[-1] = lifted(nodes[-1])
        return Sums(nodes, n, sum, sse)

    def _second_nearest_of(self, held: HeldRows, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        second, sq_dist = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
        self.passes.second_nearest(held, rows, labels, centres, self.n_threads, second, sq_dist)
        return second, sq_dist

    def _hold(self) -> HeldRows:
        X, frame = self.X, self.frame
        if isinstance(X, np.ndarray):
            place = frame.anchor, frame.shift, frame.unit
            held: HeldRows = self.passes.dense_rows(X, *place, self.weight, self.isa, self.begin)
            return held
        arrays = X.data, X.indices, X.indptr
        held = self.passes.csr_rows(*arrays, self.n_features, frame.unit, self.weight, self.begin)
        return held


def open_rows_here(
    name: str, X: ArrayOrCSR, weight: Floats | None, unit: bool, frame: Frame | None, n_threads: int | None
) -> LocalRows:
    """Validated rows in memory; without a ``frame`` it is made from the rows."""
    if frame is None and (unit or sp.issparse(X)):
        if not unit:
            require_differences(X)
        frame = Frame.plain(X.shape[1], unit)
    frame = frame or centred_frame(LocalRows(name, X, weight, anchored_frame(X, weight), n_threads))
    return LocalRows(name, X, weight, frame, n_threads)


def anchored_frame(X: ArrayOrCSR, weight: Floats | None) -> Frame:
    """Coordinates about the first row of positive weight: rows of weight zero have no effect."""
    return Frame(X[first_row_that_counts(weight)].astype(np.float64), np.zeros(X.shape[1]))


def described(name: str, isa: str, n_threads: int) -> str:
    """An implementation, its instruction set and its threads."""
    threads = f"{n_threads} thread{'s' if n_threads > 1 else ''}"
    return f"{name} ({isa}, {threads})" if isa else name


def require_directions(lengths: Floats) -> None:
    """Raise unless all lengths, if there are any, are positive and finite."""
    if not len(lengths):
        return
    zero = np.flatnonzero(lengths == 0)
    if len(zero):
        raise ValueError(
            f"X has {len(zero)} all-zero row(s), the first is row {zero[0]}: a zero vector has no direction, so "
            "metric='cosine' cannot place it. Remove such rows or use metric='euclidean'."
        )
    if not np.isfinite(lengths).all():
        raise ValueError("the length of a row of X overflows float64. Divide X by a constant first.")


def _contiguous(centres: Floats) -> Floats:
    """The centres as the passes take them, of which there must be one."""
    if not len(centres):  # as a damaged model may have it
        raise ValueError("there is no centre to compare rows of X with. Fit the model again.")
    return np.ascontiguousarray(centres)
