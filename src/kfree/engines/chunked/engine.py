"""The engine contract over parts: each runs its passes where its rows are, and the results are joined here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from kfree.core.arrays import Array
from kfree.core.cached import cached
from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.chunked.bisection import ChunkedBisection
from kfree.engines.chunked.closings import ChunkedClosings
from kfree.engines.chunked.potential import ChunkedPotential
from kfree.engines.chunked.sampling import sampled
from kfree.engines.chunked.sweep import swept
from kfree.engines.contract import Assignment, Closings, Fingerprints, Pass, Picks, SampleEngine, VisitingOrder
from kfree.engines.parts import Handle, Part, PartExchange, Partial, joined

# Maximum number of rounds of exchanges; with rounding, rows could move back and forth without end.
MOST_ROUNDS = 100

T = TypeVar("T")


class ChunkedEngine(ABC):
    """Rows in ``parts``, in order; all parts see them in ``frame``."""

    def __init__(self, name: str, parts: Sequence[Part], frame: Frame):
        self.name, self.parts, self.frame = name, parts, frame
        self.few_rows_name = name
        self.n_rows = sum(part.n_rows for part in parts)
        self.n_counting = sum(part.n_counting for part in parts)
        self.n_features = parts[0].n_features
        self._max_weight = max(part.max_weight for part in parts)

    @property
    def n_distances(self) -> int:
        return sum(part.n_distances for part in self.parts)

    @cached
    def total_weight(self) -> float:
        return float(self.nearest(Sites.of(self.first_point()[None, :])).stats.n[0])

    def first_point(self) -> Floats:
        return next(point for point in (part.first_point() for part in self.parts) if point is not None)

    def nearest(self, sites: Sites) -> Pass:
        centres = np.ascontiguousarray(sites.centres)
        done = self.each(lambda part: part.nearest(sites))
        return Pass(centres, self.assignment([one for one, _ in done], len(centres)), self.joined(p for _, p in done))

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None, room: int) -> Pass:
        sweeps = self.each(lambda part: part.sweep(sites, lam, order))
        newborn, born_at, n_refused = swept(sweeps, room, self.n_features)
        done = [sweep.end(newborn, born_at) for sweep in sweeps]
        centres = np.vstack([sites.centres, newborn]) if len(newborn) else np.ascontiguousarray(sites.centres)
        assignment = self.assignment([one for one, _ in done], len(centres))
        return Pass(centres, assignment, self.joined(partial for _, partial in done), n_refused)

    def sums(self, assignment: Assignment) -> Stats:
        return self.joined(part.sums(one, assignment.n_clusters) for part, one in self._with(assignment))

    def bisection(self, assignment: Assignment, place: Labels, n_pairs: int) -> ChunkedBisection:
        parts = [part.bisection(one, place, n_pairs) for part, one in self._with(assignment)]
        return ChunkedBisection(self, assignment, parts)

    def closings(self) -> Closings:
        return ChunkedClosings([part.closings() for part in self.parts])

    def dearest(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least: float
    ) -> Picks:
        found = [part.dearest(one, centres, stats, costs, least) for part, one in self._with(assignment)]
        return _once_per_cluster(_by_gain(found))

    def farthest(self, assignment: Assignment, centres: Floats, size: int) -> tuple[Picks, Floats]:
        found = [part.farthest(one, centres, size) for part, one in self._with(assignment)]
        picks, weight = [picks for picks, _ in found], np.concatenate([weight for _, weight in found])
        order = np.lexsort((np.concatenate([p.row for p in picks]), -np.concatenate([p.gain for p in picks])))[:size]
        return _taken(picks, order), weight[order]

    def moved(self, assignment: Assignment, rows: Index, clusters: Index) -> Assignment:
        handles = []
        for part, one in self._with(assignment):
            inside = (rows >= part.begin) & (rows < part.begin + part.n_rows)
            handles.append(part.moved(one, rows[inside], clusters[inside]) if inside.any() else one)
        return self.assignment(handles, assignment.n_clusters)

    def exchange(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least_gain: float
    ) -> Assignment | None:
        parts = [
            part.exchange(one, centres, stats, costs, least_gain, self._max_weight)
            for part, one in self._with(assignment)
        ]
        n_moved = _exchanged(parts, stats, centres)
        return self.assignment([part.end() for part in parts], assignment.n_clusters) if n_moved else None

    def potential(self) -> ChunkedPotential:
        return ChunkedPotential([part.potential() for part in self.parts])

    def sample(
        self, size: int, rng: np.random.RandomState, centre: Sites, beyond: Sites | None = None
    ) -> SampleEngine | None:
        return sampled(self, size, rng, centre, beyond)

    def labels(self, assignment: Assignment) -> Array:
        return _concatenated([part.labels(one) for part, one in self._with(assignment)])

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Array:
        return numbers.take(self.labels(self.nearest(sites).assignment))

    def sq_dists(self, assignment: Assignment, centres: Floats) -> Array:
        return _concatenated([part.sq_dists(one, centres) for part, one in self._with(assignment)])

    @property
    @abstractmethod
    def description(self) -> str: ...

    @abstractmethod
    def gaps(self, centres: Floats) -> Floats: ...

    @abstractmethod
    def generic_axis(self) -> Floats: ...

    @abstractmethod
    def copies(self, rows: Index) -> SampleEngine:
        """Some rows, by their global numbers, in the memory of this process."""

    def each(self, ask: Callable[[Any], T]) -> list[T]:
        """The results of all parts, in order. Slow parts may run in parallel."""
        return [ask(part) for part in self.parts]

    def joined(self, partials: Iterable[Partial]) -> Stats:
        """The statistics of all rows."""
        partials = list(partials)
        if len(partials) == 1:
            return partials[0].total()
        return Stats(*joined(partial.by_node() for partial in partials))

    def assignment(self, handles: Sequence[Handle], n_clusters: int) -> Assignment:
        def fingerprints() -> Fingerprints:
            pairs = zip(self.parts, handles, strict=True)
            return sum((part.fingerprints(one, n_clusters) for part, one in pairs), np.zeros(n_clusters, np.uint64))

        return Assignment(handles, n_clusters, fingerprints)

    def _with(self, assignment: Assignment) -> Iterable[tuple[Part, Handle]]:
        return zip(self.parts, assignment.handles, strict=True)


def _exchanged(parts: Sequence[PartExchange], stats: Stats, centres: Floats) -> int:
    """Rounds over all parts, in row order, until no row moves: the clusters pass from part to part."""
    n, sum_, centres, way = stats.n.copy(), stats.sum.copy(), centres.copy(), np.zeros(len(stats.n))
    n_moved = 0
    for _ in range(MOST_ROUNDS):
        n_moved_now = sum(part.round(n, sum_, centres, way) for part in parts)
        n_moved += n_moved_now
        if not n_moved_now:
            break
    return n_moved


def _by_gain(found: Sequence[Picks]) -> Picks:
    """All picks, the highest gain first, the first row on ties."""
    gain, row = (np.concatenate([getattr(picks, name) for picks in found]) for name in ("gain", "row"))
    return _taken(found, np.lexsort((row, -gain)))


def _once_per_cluster(picks: Picks) -> Picks:
    _, first = np.unique(picks.cluster, return_index=True)
    return _taken([picks], np.sort(first))


def _taken(found: Sequence[Picks], order: Index) -> Picks:
    names = ("row", "cluster", "gain", "points")
    return Picks(*(_concatenated([getattr(picks, name) for picks in found])[order] for name in names))


def _concatenated(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
