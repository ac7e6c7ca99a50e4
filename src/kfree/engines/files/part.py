"""A part whose rows are read again in every pass: it keeps the sites of an assignment, not labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.contract import Fingerprints, VisitingOrder
from kfree.engines.drawing import Drawing, Region, RegionRows
from kfree.engines.files.facts import Drawn, chunks_of, opened_chunk
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.files.sums import SumStack
from kfree.engines.in_memory.part import InMemoryPart
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import Births, Partial, Piece
from kfree.files.chunks import Chunk
from kfree.native.memory import give_back_free_memory
from kfree.native.processor import chosen_instruction_set


@dataclass(frozen=True)
class Recipe:
    """The handle of an assignment: what its labels can be computed from again.

    Rows go to the nearest of ``centres`` (k, d), or of the ``newborn`` that were born before them, ``born_at`` (b,),
    in a sweep with the penalty ``lam``.
    """

    centres: Floats
    newborn: Floats
    born_at: Index
    lam: float = np.inf

    @classmethod
    def of(cls, sites: Sites) -> Recipe:
        """Every row goes to its nearest site."""
        centres = np.array(sites.centres)
        return cls(centres, np.empty((0, centres.shape[1])), np.empty(0, dtype=np.int64))


class StreamPart:
    """Rows ``begin`` … ``begin + n_rows`` − 1 of ``source``; see ``engines.parts.Part`` for the passes that it has."""

    def __init__(
        self,
        source: RowSource,
        begin: int,
        end: int,
        frame: Frame,
        reading: Reading,
        n_counting: int,
        max_weight: float = 1.0,
        drawn: Drawn | None = None,
    ):
        """``drawn`` is a sample of these rows that an earlier pass took."""
        self.source, self.begin, self.n_rows, self.n_features = source, begin, end - begin, source.n_features
        self.frame, self.reading, self.passes = frame, reading, reading.passes
        self.n_counting, self.max_weight, self.n_distances, self.n_passes = n_counting, max_weight, 0, 0
        self.isa = chosen_instruction_set(self.passes.instruction_sets())
        self.n_threads = reading.n_threads_used
        self._drawn = drawn

    def first_point(self) -> Floats | None:
        for part in self.chunks():
            point = part.first_point()
            if point is not None:
                return point
        return None

    def nearest(self, sites: Sites) -> tuple[Recipe, Partial]:
        stack = SumStack()
        for part in self.chunks():
            stack.push(part.nearest(sites)[1].by_node())
            self.n_distances += part.n_distances
        return Recipe.of(sites), Piece(stack.by_node(len(sites.uids)))

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Recipe, Partial, RegionRows]:
        stack, drawing = SumStack(), Drawing(region, self.n_features)
        for chunk in self.raw_chunks():
            part = opened_chunk(chunk, self.frame, self.reading)
            _, partial, rows, keys = part.nearest_drawable(sites, region)
            stack.push(partial.by_node())
            self.n_distances += part.n_distances
            drawing.add(chunk.X, chunk.weight, rows, keys)
            give_back_free_memory()  # arrays of the next chunk have other sizes, so that these would not be used again
        return Recipe.of(sites), Piece(stack.by_node(len(sites.uids))), drawing.end()

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> StreamSweep:
        if order is not None:
            raise ValueError("streamed rows are visited in the order in which they lie; give order='given'.")
        return StreamSweep(self, sites, lam)

    def sums(self, handle: Recipe, n_clusters: int) -> Partial:
        stack = SumStack()
        for part, labels, _ in self.labelled(handle):
            stack.push(part.sums(labels, n_clusters).by_node())
        return Piece(stack.by_node(n_clusters))

    def fingerprints(self, handle: Recipe, n_clusters: int) -> Fingerprints:
        found = (part.fingerprints(labels, n_clusters) for part, labels, _ in self.labelled(handle))
        return sum(found, np.zeros(n_clusters, np.uint64))

    def sampled(self, size: int, seed: int, beyond: Sites | None) -> tuple[NDArray[np.uint64], Index]:
        if beyond is not None:
            raise ValueError("a sample of streamed rows beyond given sites is not available")
        known = self._drawn
        has_all = known is not None and len(known.keys) == self.n_counting
        if known is None or known.size < size or (known.seed != seed and not has_all):
            known = self._drawn = self.draw(size, seed)
        return known.keys[:size], known.rows[:size]

    def draw(self, size: int, seed: int) -> Drawn:
        """A sample, by one pass over the rows."""
        drawn = Drawn.nothing(size, seed)
        for chunk in self.raw_chunks():
            drawn = drawn.with_chunk(chunk)
        return drawn

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        """Some rows of the sample, which is forgotten: it takes as much memory as these do."""
        drawn, self._drawn = self._drawn, None
        assert drawn is not None  # rows are chosen by ``sampled``
        order = np.argsort(drawn.rows)
        places = order[np.searchsorted(drawn.rows[order], self.begin + rows)]
        return drawn.X[places], None if drawn.weight is None else drawn.weight[places]

    def labels(self, handle: Recipe) -> Labels:
        return np.concatenate([part.labels(labels) for part, labels, _ in self.labelled(handle)])

    def sq_dists(self, handle: Recipe, centres: Floats) -> Floats:
        return np.concatenate([part.sq_dists(labels, centres) for part, labels, _ in self.labelled(handle)])

    def gaps(self, centres: Floats) -> Floats:
        """See ``engines.local.part.LocalPart.gaps``."""
        empty = np.zeros((1, self.n_features))
        return LocalPart(self.passes, empty, None, self.frame, 1).gaps(centres)

    def raw_chunks(self) -> Iterator[Chunk]:
        """One pass over the rows, a chunk at a time."""
        self.n_passes += 1
        return chunks_of(self.source, self.begin, self.begin + self.n_rows, self.reading)

    def chunks(self) -> Iterator[InMemoryPart]:
        """The same, with passes over the rows of a chunk."""
        return (opened_chunk(chunk, self.frame, self.reading) for chunk in self.raw_chunks())

    def labelled(self, handle: Recipe) -> Iterator[tuple[InMemoryPart, Array, Array]]:
        """One pass over the rows with labels and squared distances, a chunk at a time."""
        for part in self.chunks():
            before = int(np.searchsorted(handle.born_at, part.begin))
            within = int(np.searchsorted(handle.born_at, part.begin + part.n_rows)) - before
            known = Sites.of(np.vstack([handle.centres, handle.newborn[:before]]))
            labels, sq_dist, _, _, _ = swept_chunk(part, known, handle.lam, room=within)
            yield part, labels, sq_dist


def swept_chunk(part: InMemoryPart, known: Sites, lam: float, room: int) -> tuple[Array, Array, Partial, Index, int]:
    """A chunk's turn in a sweep: labels, squared distances, statistics, founders, and how many rows were refused.

    ``known`` are all clusters that exist when its first row comes, so every row may join them.
    """
    labels, sq_dist, partial, is_far = part.assign(known, lam)
    far = part.arrays.arange(0) if is_far is None else part.arrays.flatnonzero(is_far)
    if not len(far):
        return labels, sq_dist, partial, far, 0
    k = len(known.uids)
    places, n_refused = part.open_clusters(far, k, lam, room, labels, sq_dist)
    founders = far[places]
    at: Index = part.arrays.to_numpy(founders)
    if len(founders):
        part.join_newborn(None, part.points(founders), at, k, labels, sq_dist)
        partial = part.stats_of(labels, sq_dist, k + len(founders))
    return labels, sq_dist, partial, at, n_refused


class StreamSweep:
    """See ``engines.parts.PartSweep``: one pass does all, because rows are visited in the order in which they lie."""

    def __init__(self, part: StreamPart, sites: Sites, lam: float):
        self._part, self._sites, self._lam = part, sites, lam
        self._stack, self._is_done = SumStack(), False

    def upcoming(self) -> int | None:
        return None if self._is_done else self._part.begin

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        centres, n_old, n_refused = np.vstack([self._sites.centres, newborn]), len(self._sites.uids) + len(newborn), 0
        at = [np.empty(0, dtype=np.int64)]
        for chunk in self._part.chunks():
            left = room - (len(centres) - n_old)
            _, _, partial, founders, n = swept_chunk(chunk, Sites.of(centres), self._lam, left)
            self._stack.push(partial.by_node())
            self._part.n_distances += chunk.n_distances
            n_refused += n
            if len(founders):
                at.append(chunk.begin + founders)
                centres = np.vstack([centres, chunk.points(chunk.arrays.of(founders))])
            give_back_free_memory()  # the same holds where clusters are born
        self._is_done = True
        return Births(centres[n_old:], np.concatenate(at), n_refused, None)

    def end(self, newborn: Floats, born_at: Index) -> tuple[Recipe, Partial]:
        sums = self._stack.by_node(len(self._sites.uids) + len(newborn))
        return Recipe(np.array(self._sites.centres), newborn, born_at, self._lam), Piece(sums)
