"""The two contracts of rows: ``Rows`` are anywhere and answer questions, ``MemoryRows`` have labels beside them.

Rows, weights, labels, sides and distances of rows stay where the rows are. What crosses is as large as the clusters:
statistics, centres, costs, counts, a few picked rows; labels cross once, when they are published. All places for rows
give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kfree.core.arrays import Array, namespace_of
from kfree.core.assignment import Assignment
from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.drawing import Drawing, Region
from kfree.engines.moves import Bisection, DeletionCosts, SecondNearest, Seeding, exchange_candidates
from kfree.engines.passes import RowPasses, swept
from kfree.engines.questions import (
    Copies,
    DeferredLabels,
    FingerprintsOf,
    FirstRow,
    LabelsOf,
    Question,
    Scan,
    Scanned,
    SumsOf,
    Sweep,
)

A = TypeVar("A")


@dataclass(frozen=True)
class Pass:
    """The result of one pass over the rows: ``assignment`` of the rows to ``centres`` (k, d), and statistics about
    those.

    ``n_refused`` rows would have opened a cluster but found no room.
    """

    centres: Floats
    assignment: Assignment
    stats: Stats
    n_refused: int = 0


@dataclass(frozen=True)
class Picks:
    """A few rows: their numbers, the clusters they are in, the gain for which they were picked, coordinates (m, d)."""

    row: Index
    cluster: Index
    gain: Floats
    points: Floats


class Rows(ABC):
    """Rows in some place, and passes over them; all coordinates are those of ``frame``.

    ``n_counting`` rows have a positive weight; ``n_distances`` counts the distances that searches computed.
    ``few_rows_name`` is the implementation for a few rows with coordinates that a search derives from these.
    A place writes ``ask`` and ``take``, and passes what a ``Scan`` has found to this class.
    """

    n_distances: int = 0

    def __init__(self, name: str, frame: Frame, n_rows: int, n_features: int, scanned: Scanned | None = None):
        self.name = self.few_rows_name = name
        self.frame, self.n_rows, self.n_features = frame, n_rows, n_features
        self.n_counting = n_rows if scanned is None else scanned.n_counting
        self._total_weight = None if scanned is None else scanned.total_weight
        self._sample = None if scanned is None else scanned.sample

    @abstractmethod
    def ask(self, question: Question[A]) -> A:
        """The answer about all rows."""

    @abstractmethod
    def take(self, copies: Copies) -> MemoryRows:
        """Copies of some of these rows as rows in the memory of this process, in the same frame."""

    def in_turn(self, question: Question[A], ranges: Iterable[RowPasses]) -> A:
        """The answer about consecutive ranges of rows, which are asked one after the other."""

        def answers() -> Iterator[A]:
            asked = question
            for rows in ranges:
                answer = asked.answer(rows)
                self.n_distances += rows.n_distances if question.is_search else 0
                yield answer
                asked = asked.after(answer)
                del answer  # before the next one is made

        return question.join(answers())

    def parts(self, n_bytes: int) -> list[Rows]:
        """Consecutive parts of about ``n_bytes``, whose answers can be joined; one where rows are not divided."""
        return [self]

    @property
    def description(self) -> str:
        return self.name

    @property
    def total_weight(self) -> float:
        if self._total_weight is None:
            self._total_weight = float(self.nearest(Sites.of(self.first_point()[None, :])).stats.n[0])
        return self._total_weight

    def first_point(self) -> Floats:
        """The first row of positive weight, (d,)."""
        first = self.ask(FirstRow())
        assert first is not None  # there is one
        point: Floats = self.take(Copies(first[None, :], None)).rows(np.arange(1))[0]
        return point

    def nearest(self, sites: Sites) -> Pass:
        """Every row goes to its nearest site, the oldest one on ties.

        Results of earlier passes may be cached to compute less; sites with the same uid are the same site, wherever
        they have moved.
        """
        labels = DeferredLabels.of(sites)
        return self._pass(self.ask(SumsOf(labels)).total(), labels)

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, MemoryRows | None, bool]:
        """``nearest``, the rows of a region in the order of their numbers (None without any), and if these are all."""
        found = self.ask(Drawing(sites, region))
        rows = self.take(found.rows) if len(found.rows.keys) else None
        return self._pass(found.sums.total(), DeferredLabels.of(sites)), rows, found.rows.is_all

    def sweep(self, sites: Sites, lam: float, order: Index | None, room: int) -> Pass:
        """``nearest``, as if rows came one by one in ``order`` (n,) (None: as they lie), with up to ``room`` births.

        A row for which weight·squared distance to all that exists when it comes exceeds lam opens a cluster centred
        on itself, and rows that come later may join it (Kulis & Jordan 2012, Algorithm 1). ``centres`` of the result
        has the newborn after the old ones.
        """
        if order is not None:
            raise ValueError("streamed rows are visited in the order in which they lie; give order='given'.")
        born = self.ask(Sweep(sites, lam, room, np.empty((0, self.n_features))))
        labels = DeferredLabels(np.array(sites.centres), born.points, born.at, lam)
        return self._pass(born.sums.total(), labels, born.n_refused)

    def sample(self, size: int, rng: np.random.RandomState, centre: Sites) -> MemoryRows | None:
        """``size`` rows of positive weight, all if there are fewer, in a random order, copied to memory.

        If all are taken, their order has no effect: they are shuffled after they were sorted by their distance to the
        one site ``centre``.
        """
        seed = 0 if self.n_counting <= size else int(rng.randint(2**31))
        return _shuffled(self.take(self._drawn(size, seed)), centre, rng)

    def _drawn(self, size: int, seed: int) -> Copies:
        """Rows with the smallest keys. A sample that the first pass drew is forgotten, as it takes as much memory."""
        known, self._sample = self._sample, None
        has_all = known is not None and len(known.keys) == self.n_counting
        if known is None or known.size < size or (known.seed != seed and not has_all):
            known = self.ask(Scan(size, seed)).sample
        return known.first(size).in_row_order()

    def labels(self, assignment: Assignment) -> Labels:
        """The labels, one per row, for publishing."""
        return self.ask(LabelsOf(assignment.labels))

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        """The labels of ``nearest(sites)`` alone, for publishing; ``numbers`` (k,) are those of the sites."""
        return numbers.take(self.ask(LabelsOf(DeferredLabels.of(sites))))

    def _pass(self, stats: Stats, labels: DeferredLabels, n_refused: int = 0) -> Pass:
        assignment = Assignment(labels, labels.n_clusters, lambda: self.ask(FingerprintsOf(labels)))
        return Pass(np.vstack([labels.centres, labels.newborn]), assignment, stats, n_refused)


class MemoryRows(RowPasses, Rows):
    """All rows of a fit in one place, where labels are arrays beside them: in memory or on a GPU."""

    def __init__(self, name: str, frame: Frame, n_rows: int, n_features: int, weight: Array | None):
        super().__init__(name, frame, n_rows, n_features)
        self.weight = weight
        self.n_counting = n_rows if weight is None else int((weight > 0).sum())

    def ask(self, question: Question[A]) -> A:
        return question.join([question.answer(self)])

    @abstractmethod
    def among(self, index: Index) -> MemoryRows:
        """Copies of these rows in the memory of this process, with their weights and in the same frame."""

    @abstractmethod
    def given(self) -> ArrayOrCSR:
        """All rows as they were given, not in coordinates of the frame; of a kernel, the numbers of its rows."""

    @abstractmethod
    def sq_distances(self, centres: Floats) -> Floats:
        """All squared distances, (n, k)."""

    def sq_distances_there(self, centres: Floats) -> Iterator[tuple[slice, Array]]:
        """Squared distances where the rows are, block by block."""
        yield slice(0, self.n_rows), self.sq_distances(centres)

    @abstractmethod
    def gaps(self, centres: Floats) -> Floats:
        """The squared distance of each centre to the nearest other one."""

    def generic_axis(self) -> Floats:
        """A direction (d,) that is not orthogonal to anything that the rows are likely to lie along."""
        return generic_direction(self.n_features)

    def rows(self, index: Index) -> Floats:
        """Coordinates of some rows."""
        return self.points(self.arrays.of(index))

    def row_weights(self) -> Floats:
        """One weight per row, also where all rows count once."""
        return np.ones(self.n_rows) if self.weight is None else self.arrays.to_numpy(self.weight)

    def first_point(self) -> Floats:
        point: Floats = self.points(self.counting()[:1])[0]
        return point

    def nearest(self, sites: Sites) -> Pass:
        labels, _, sums, _ = self.assign(sites, np.inf)
        return self.passed(labels, sums.total(), sites.centres)

    def expect_means(self, changed: tuple[Index, Stats] | None = None) -> None:
        """Say that the next pass will be at the means of the last one's clusters, so that a device can begin it.

        ``changed`` are clusters that have other rows since then, and their statistics.
        """

    def sweep(self, sites: Sites, lam: float, order: Index | None, room: int) -> Pass:
        visited = None if order is None else self.arrays.of(order)
        labels, _, sums, founders, n_refused = swept(self, sites, lam, visited, room)
        centres = np.vstack([sites.centres, self.points(founders)]) if len(founders) else sites.centres
        return self.passed(labels, sums.total(), centres, n_refused)

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, MemoryRows | None, bool]:
        labels, sq_dist, sums, _ = self.assign(sites, np.inf)
        found = Drawing(sites, region).drawn(self, labels, sq_dist, region.n_spare)
        rows = self.take(found) if len(found.keys) else None
        return self.passed(labels, sums.total(), sites.centres), rows, found.is_all

    def passed(self, labels: Array, stats: Stats, centres: Floats, n_refused: int = 0) -> Pass:
        """The pass that ended with these labels."""
        assignment = self.assignment(labels, len(centres))
        return Pass(np.ascontiguousarray(centres), assignment, stats, n_refused)

    def sums(self, assignment: Assignment) -> Stats:
        """Weights and sums of the clusters; sse is zero."""
        nowhere = self.arrays.full(self.n_rows, 0.0, np.float64)
        return self.sums_of(assignment.labels, nowhere, assignment.n_clusters).total()

    def sums_among(self, assignment: Assignment, clusters: Index) -> Stats:
        """Weights and sums of some clusters, by a pass over their rows alone."""
        place = np.full(assignment.n_clusters, -1, dtype=np.int32)
        place[clusters] = np.arange(len(clusters))
        rows = self.arrays.flatnonzero(self.arrays.take(place, assignment.labels) >= 0)
        return self.sums_listed(rows, self.arrays.take(place, assignment.labels[rows]), len(clusters))

    def sums_listed(self, rows: Array, numbers: Array, n_clusters: int) -> Stats:
        """Weights and sums of some rows in clusters with these ``numbers``; sse is zero."""
        n_distances = self.n_distances
        # Rows choose the first of two equal centres.
        stats = self.choose(rows, numbers, np.zeros((2 * n_clusters, self.n_features)))[1]
        self.n_distances = n_distances
        return Stats(stats.n[::2], stats.sum[::2], np.zeros(n_clusters))

    def bisection(self, assignment: Assignment, place: Labels, n_pairs: int) -> Bisection:
        """The rows of the clusters whose ``place`` (k,) is the number of a pair, not −1."""
        return Bisection(self, assignment, place, n_pairs)

    def deletion_costs(self) -> DeletionCosts:
        """What it costs to delete clusters: one object per search, which caches the second-nearest sites of rows."""
        return SecondNearest(self)

    def seeding(self) -> Seeding:
        """For seeds by k-means++ and farthest-first."""
        return Seeding(self)

    def best_departures(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least: float
    ) -> Picks:
        """For each cluster the row that saves most by leaving it, if that is more than ``least``; highest gain first.

        The only row of a cluster is never picked. The first one of rows that save the same is.
        """
        rows = self.counting()
        weight, own = self.weights(rows), assignment.labels[rows]
        sizes = self.arrays.of(costs.size(stats.n, stats.sum))[own]
        gain = costs.leaving(sizes, weight, self.distances_to_own(rows, own, centres))
        gain[~(self.arrays.of(stats.n)[own] > weight)] = 0.0  # alone already
        pays = self.arrays.flatnonzero(gain > least)
        pays = pays[self.arrays.argsort(-gain[pays])]
        best = pays[self.arrays.first_of_each(own[pays])]
        row, cluster, gain = map(self.arrays.to_numpy, (rows[best], own[best], gain[best]))
        return Picks(row, cluster.astype(np.int64), gain, self.points(rows[best]))

    def farthest(self, assignment: Assignment, centres: Floats, size: int) -> tuple[Index, Index, Floats]:
        """The ``size`` rows of positive weight that lie farthest from their centres, their clusters and weights.

        The farthest comes first; rows at their centre are left out.
        """
        rows, labels = self.counting(), assignment.labels
        sq_dist = self.distances_to_own(rows, labels[rows], centres)
        order = self.arrays.largest(sq_dist, size)
        picked = rows[order[sq_dist[order] > 0]]
        row, cluster, weight = map(self.arrays.to_numpy, (picked, labels[picked], self.weights(picked)))
        return row, cluster.astype(np.int64), weight

    def moved(self, assignment: Assignment, rows: Index, clusters: Index) -> Assignment:
        """The assignment after a few rows have gone to other clusters."""
        labels = self.arrays.copy(assignment.labels)
        labels[self.arrays.of(rows)] = self.arrays.of(clusters.astype(np.int32))
        return self.assignment(labels, assignment.n_clusters)

    def exchange(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least_gain: float
    ) -> Assignment | None:
        """Move rows one by one to where they cost least, until no candidate moves; None if none did.

        A row moves if that saves more than ``least_gain``, what leaving and joining do to both centres included; the
        centres are updated after every move (Hartigan 1975). The last row of a cluster stays. ``centres`` are those of
        ``stats``.
        """
        rows, others = exchange_candidates(self, assignment.labels, centres, stats, costs)
        labels = self.exchange_listed(rows, others, assignment.labels, centres, stats, least_gain)
        return None if labels is None else self.assignment(labels, assignment.n_clusters)

    def sample(
        self, size: int, rng: np.random.RandomState, centre: Sites, beyond: Sites | None = None
    ) -> MemoryRows | None:
        """See :meth:`Rows.sample`. With ``beyond``, only rows that lie at none of these; None if there is none."""
        seed = 0 if self.n_counting <= size and beyond is None else int(rng.randint(2**31))
        rows = self.counting()
        if beyond is not None:
            rows = rows[self.assign(beyond, np.inf)[1][rows] > 0]
        rows, _ = self.arrays.smallest_hashes(rows, 0, self.n_rows, seed, size)
        index = np.sort(self.arrays.to_numpy(rows))
        return _shuffled(self.among(index), centre, rng) if len(index) else None

    def labels(self, assignment: Assignment) -> Labels:
        return self.arrays.to_numpy(assignment.labels)

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Labels:
        return numbers.take(self.labels(self.nearest(sites).assignment))

    def sq_dists(self, assignment: Assignment, centres: Floats) -> Floats:
        """The squared distance of each row to its centre."""
        everyone = self.arrays.arange(self.n_rows)
        return self.arrays.to_numpy(self.distances_to_own(everyone, assignment.labels, centres))

    def dists_of(self, rows: Array, labels: Array, centres: Floats) -> Floats:
        """Distances of some rows to the centres that ``labels`` name; no search asks, so they do not count."""
        n_distances = self.n_distances
        sq_dist = self.distances_to_own(rows, labels, centres)
        self.n_distances = n_distances
        dist: Floats = self.arrays.to_numpy(namespace_of(sq_dist).sqrt(sq_dist))
        return dist


def _shuffled(rows: MemoryRows, centre: Sites, rng: np.random.RandomState) -> MemoryRows:
    """Rows in an order that depends on ``rng`` and their distances to a site alone."""
    sq_dist = rows.sq_dists(rows.nearest(centre).assignment, centre.centres)
    order = np.argsort(sq_dist, kind="stable")
    return rows.among(order[rng.permutation(len(order))])


def centred_frame(anchored: MemoryRows) -> Frame:
    """The frame of rows that are seen about an anchor, shifted by the weighted mean."""
    stats = anchored.sums(anchored.assignment(anchored.arrays.full(anchored.n_rows, 0, np.int32), 1))
    return Frame.centred(anchored.frame.anchor, stats.sum[0] / stats.n[0])


def generic_direction(size: int) -> Floats:
    """Numbers without any pattern that data are likely to have."""
    return np.asarray(np.cos(1.0 + np.arange(size)))
