"""Rows in the memory of this process, passed to compiled passes or to the reference implementation without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kfree.core.frame import Frame
from kfree.core.masses import Masses
from kfree.core.memory import require_memory
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.core.sum_tree import Node
from kfree.core.taking import taken
from kfree.engines.contract import Fingerprints
from kfree.engines.in_memory.part import InMemoryPart
from kfree.engines.parts import NodeSums, PartExchange, Partial, Piece, Whole
from kfree.native.processor import chosen_instruction_set
from kfree.native.threads import thread_count

# Sums, the centres made from them, and what compiled passes put together from their threads.
_COPIES = 3


class HeldRows(Protocol):
    """Rows that a module of passes holds."""

    @property
    def lengths(self) -> Floats: ...

    @property
    def nodes(self) -> Sequence[Node]: ...


class Rounds(Protocol):
    """Exchanges of a module of passes."""

    def round(self, labels: Labels, n: Floats, sum: Floats, centres: Floats, way: Floats) -> int: ...


class LocalPart(InMemoryPart):
    """The part contract over a module of passes: ``kfree.native._core`` or ``kfree.native.reference.passes``."""

    def __init__(
        self,
        passes: ModuleType,
        X: ArrayOrCSR,
        weight: Floats | None,
        frame: Frame,
        n_threads: int | None,
        begin: int = 0,
        alone: bool = True,
    ):
        """``alone`` says that there is no other part: sums are then totals, which need not be joined."""
        super().__init__(X.shape[0], X.shape[1], weight, begin)
        self._alone = alone
        self.X, self.frame, self.passes = X, frame, passes
        self.isa = chosen_instruction_set(passes.instruction_sets())
        self.n_threads = thread_count(n_threads)
        self._rows = self._hold()
        self._bounds = passes.Bounds(self.n_rows)
        require_directions(np.asarray(self._rows.lengths))

    def with_others(self) -> LocalPart:
        """The same rows and bounds in an engine of several parts."""
        part = copy(self)
        part._alone = False
        return part

    def assign(self, sites: Sites, lam: float) -> tuple[Labels, Floats, Partial, NDArray[np.bool_] | None]:
        centres, uids = _contiguous(sites.centres), np.ascontiguousarray(sites.uids)
        labels, sq_dist = np.empty(self.n_rows, dtype=np.int32), np.empty(self.n_rows)
        is_far = None if lam == np.inf else np.empty(self.n_rows, dtype=bool)
        sums = self._room_for(len(centres))
        out = labels, sq_dist, *sums, is_far
        self.n_distances += self.passes.nearest(self._rows, centres, uids, lam, self.n_threads, self._bounds, *out)
        return labels, sq_dist, self._partial(sums), is_far

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        centres, labels = _contiguous(sites.centres), np.empty(self.n_rows, dtype=np.int32)
        self.n_distances += self.passes.nearest_labels(self._rows, centres, numbers, self.n_threads, labels)
        return labels

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Partial:
        sums = self._room_for(n_clusters)
        self.passes.accumulate(self._rows, labels, sq_dist, self.n_threads, *sums)
        return self._partial(sums)

    def fingerprints(self, labels: Labels, n_clusters: int) -> Fingerprints:
        found = np.empty(n_clusters, dtype=np.uint64)
        self.passes.fingerprints(self._rows, labels, self.n_threads, found)
        return found

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        self.n_distances += len(rows)
        sq_dist = np.empty(len(rows))
        self.passes.distances_to_own(self._rows, rows, labels, centres, self.n_threads, sq_dist)
        return sq_dist

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        self.n_distances += len(rows) * (len(centres) - 1)
        return self._second_nearest_of(self._rows, rows, labels, centres)

    def gaps(self, centres: Floats) -> Floats:
        """The squared distance of each centre to the nearest other one."""
        everyone, zero = np.arange(len(centres)), np.zeros(self.n_features)
        rows = self.passes.dense_rows(centres, zero, zero, False, None, self.isa)
        return self._second_nearest_of(rows, everyone, everyone.astype(np.int32), centres)[1]

    def choose(self, rows: Index, pair: Labels, pairs: Floats) -> tuple[Labels, Partial]:
        self.n_distances += 2 * len(rows)
        chosen, sums = np.empty(len(rows), dtype=np.int32), self._room_for(len(pairs))
        self.passes.choose(self._rows, rows, pair, pairs, self.n_threads, chosen, *sums)
        return chosen, self._partial(sums)

    def scatter_product(self, rows: Index, pair: Labels, pairs: Floats) -> Partial:
        self.n_distances += 2 * len(rows)
        sums = self._room_for(len(pairs) // 2)
        self.passes.scatter_product(self._rows, rows, pair, pairs, self.n_threads, *sums)
        return self._partial(sums)

    def closing_costs(self, rows: Index, labels: Labels, second: Labels, centres: Floats) -> NodeSums:
        self.n_distances += 2 * len(rows)
        costs = np.empty((len(self._rows.nodes), len(centres)))
        self.passes.closing_costs(self._rows, rows, labels, second, centres, self.n_threads, costs)
        return NodeSums(self._rows.nodes, (costs,))

    def exchange_of(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> PartExchange:
        self.n_distances += int((others < 0).sum()) * len(centres)
        labels, clusters = labels.copy(), (stats.n, stats.sum, centres, np.zeros(len(centres)))
        exchange = self.passes.Exchange(self._rows, rows, others, least_gain, self.n_threads, labels, *clusters)
        return LocalExchange(exchange, labels)

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

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        self.n_distances += self.n_rows * len(candidates)
        return int(self.passes.best_candidate(self._rows, candidates, sq_dist, self.n_threads))

    def potentials(self, candidates: Floats, sq_dist: Floats) -> NodeSums:
        self.n_distances += self.n_rows * len(candidates)
        potentials = np.empty((len(self._rows.nodes), len(candidates)))
        self.passes.potentials(self._rows, candidates, sq_dist, self.n_threads, potentials)
        return NodeSums(self._rows.nodes, (potentials,))

    def masses(self, mass: Floats) -> Masses:
        return Masses.of(mass, self.begin // self.passes.BLOCK, self.passes.BLOCK)

    def points(self, rows: Index) -> Floats:
        z = np.empty((len(rows), self.n_features))
        self.passes.copy(self._rows, np.ascontiguousarray(rows, dtype=np.int64), z)
        return z

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        return taken(self.X, rows), None if self.weight is None else self.weight[rows]

    def sq_distances(self, centres: Floats) -> Floats:
        """All squared distances, (n, k)."""
        self.n_distances += self.n_rows * len(centres)
        out = np.empty((self.n_rows, len(centres)))
        self.passes.distances(self._rows, np.ascontiguousarray(centres), self.n_threads, out)
        return out

    def _room_for(self, n_clusters: int) -> tuple[Floats, Floats, Floats]:
        """Arrays for weights, sums and sse: of all rows, or of every node if there are other parts."""
        n_nodes = 1 if self._alone else len(self._rows.nodes)
        require_memory(n_nodes * n_clusters, self.n_features, _COPIES)
        shape = (n_clusters,) if self._alone else (n_nodes, n_clusters)
        return np.empty(shape), np.empty((*shape, self.n_features)), np.empty(shape)

    def _partial(self, sums: tuple[Floats, Floats, Floats]) -> Partial:
        return Whole(Stats(*sums)) if self._alone else Piece(NodeSums(self._rows.nodes, sums))

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


class LocalExchange:
    """See ``engines.parts.PartExchange``."""

    def __init__(self, exchange: Rounds, labels: Labels):
        self._exchange, self._labels = exchange, labels

    def round(self, n: Floats, sum: Floats, centres: Floats, way: Floats) -> int:
        return int(self._exchange.round(self._labels, n, sum, centres, way))

    def end(self) -> Labels:
        return self._labels


def require_directions(lengths: Floats) -> None:
    """Raise unless all lengths, if there are any, are positive and finite."""
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
