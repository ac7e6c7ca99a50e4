"""Questions about rows that may be anywhere: answered for a range of rows in memory, and joined in row order.

An answer is a pure function of the question and the rows of a range, so that it may be computed in chunks, on workers,
or be read from a checkpoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.hashing import Fingerprints, hashed
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.passes import RowPasses, swept
from kfree.engines.sums import Sums, merged
from kfree.native.memory import give_back_free_memory

A = TypeVar("A")
Keys = NDArray[np.uint64]


class Question(ABC, Generic[A]):
    """Asked about all rows. ``name`` identifies its kind; distances count as those of a search if ``is_search``."""

    name: ClassVar[str]
    is_search: ClassVar[bool] = False

    @property
    def answer_type(self) -> Any:
        """The type of answers, A, as the class of the question states it."""
        (stated,) = (base for base in vars(type(self))["__orig_bases__"] if get_origin(base) is Question)
        return get_args(stated)[0]

    @abstractmethod
    def answer(self, rows: RowPasses) -> A:
        """The answer about a range of rows."""

    @abstractmethod
    def join(self, answers: Iterable[A]) -> A:
        """The answer about several ranges, from those about each, which come one by one in row order.

        Once it takes no more of them, no more rows are asked.
        """

    def after(self, answer: A) -> Self:
        """What to ask the rows that follow those of ``answer``, unless all are asked at the same time."""
        return self


@dataclass(frozen=True)
class Copies:
    """Copies of some rows and their weights, as they were given."""

    X: ArrayOrCSR
    weight: Floats | None

    @property
    def room(self) -> Floats | None:
        """An array that begins with X and may be written to after it, or None."""
        return None


@dataclass(frozen=True)
class FirstRow(Question[Floats | None]):
    """The first row of positive weight as it was given, (d,); None if there is none."""

    name = "first-row"

    def answer(self, rows: RowPasses) -> Floats | None:
        counting = rows.arrays.to_numpy(rows.counting()[:1])
        return np.array(rows.copied(counting)[0][0], dtype=np.float64) if len(counting) else None

    def join(self, answers: Iterable[Floats | None]) -> Floats | None:
        return next((one for one in answers if one is not None), None)


@dataclass(frozen=True)
class Sample(Copies):
    """Rows of positive weight with the smallest keys, ``size`` of them if there are as many.

    A key is a hash of ``seed`` and the row's global number. ``keys`` are ascending; ``rows`` are global numbers.
    """

    keys: Keys
    rows: Index
    size: int
    seed: int

    def first(self, size: int) -> Sample:
        """The sample of another ``size``, at most the own one."""
        weight = None if self.weight is None else self.weight[:size]
        return Sample(self.X[:size], weight, self.keys[:size], self.rows[:size], size, self.seed)

    def in_row_order(self) -> Copies:
        order = np.argsort(self.rows)
        return Copies(self.X[order], None if self.weight is None else self.weight[order])

    def with_others(self, others: Iterable[Sample]) -> Sample:
        """The rows with the smallest keys of all."""
        some = [one for one in (self, *others) if len(one.keys)]
        if not some:
            return self
        keys, rows = (np.concatenate([getattr(one, name) for one in some]) for name in ("keys", "rows"))
        order = np.argsort(keys, kind="stable")[: self.size]
        X, begin = np.empty((len(order), *some[0].X.shape[1:]), some[0].X.dtype), 0
        for one in some:  # without a copy of all of them
            here = np.flatnonzero((order >= begin) & (order < begin + len(one.keys)))
            X[here] = one.X[order[here] - begin]
            begin += len(one.keys)
        weight = None if some[0].weight is None else np.concatenate([one.weight for one in some])[order]
        return Sample(X, weight, keys[order], rows[order], self.size, self.seed)


@dataclass(frozen=True)
class Scanned:
    """How many rows have a positive weight, their sums in the frame that they were scanned in, and a sample."""

    n_counting: int
    sums: Sums
    sample: Sample

    @property
    def total_weight(self) -> float:
        return float(self.sums.total().n[0])

    def centred(self, anchor: Floats) -> Frame:
        """The frame about the weighted mean, of rows that were scanned about the anchor."""
        stats = self.sums.total()
        return Frame.centred(anchor, stats.sum[0] / stats.n[0])


@dataclass(frozen=True)
class Scan(Question[Scanned]):
    """What is asked before any search: how many rows count, their mean, and a random sample of ``size`` rows.

    Rows with keys above ``highest_key`` are left out of the sample; ``known`` are the smallest keys of earlier rows.
    """

    name = "look"
    size: int = 0
    seed: int = 0
    highest_key: float = 2.0**64
    known: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    def answer(self, rows: RowPasses) -> Scanned:
        sums = rows.assign(Sites.of(np.zeros((1, rows.n_features))), np.inf)[2]
        counting = rows.arrays.to_numpy(rows.counting())
        return Scanned(len(counting), sums, self._drawn(rows, counting))

    def _drawn(self, rows: RowPasses, counting: Index) -> Sample:
        keys = hashed(rows.begin, rows.begin + rows.n_rows, self.seed)[counting]
        fits = keys <= self.highest_key
        if len(self.known) == self.size:
            fits &= keys < self.known.max() if self.size else False
        chosen, keys = counting[fits], keys[fits]
        order = np.argsort(keys, kind="stable")[: self.size]
        copies = rows.copied(chosen[order])
        return Sample(*copies, keys[order], rows.begin + chosen[order], self.size, self.seed)

    def after(self, answer: Scanned) -> Scan:
        known = np.concatenate([self.known, answer.sample.keys])
        return replace(self, known=known if len(known) <= self.size else np.partition(known, self.size)[: self.size])

    def join(self, answers: Iterable[Scanned]) -> Scanned:
        n_counting, fresh = 0, list[Sample]()

        def sums() -> Iterator[Sums]:
            nonlocal n_counting, fresh
            for one in answers:
                n_counting, found = n_counting + one.n_counting, one.sums
                fresh.append(one.sample)
                del one  # rows that are in no sample any more take no memory
                if sum(len(sample.keys) for sample in fresh) > 1.5 * self.size:  # now and then: it copies the sample
                    fresh = [fresh[0].with_others(fresh[1:])]
                    give_back_free_memory()  # samples of chunks have other sizes than what follows
                yield found

        joined = merged(sums())
        return Scanned(n_counting, joined, fresh[0].with_others(fresh[1:]))


@dataclass(frozen=True)
class Born:
    """Clusters that a sweep opened: ``points`` (b, d), the rows ``at`` which they were born, how many found no room.

    ``sums`` are those after the sweep.
    """

    points: Floats
    at: Index
    n_refused: int
    sums: Sums


@dataclass(frozen=True)
class Sweep(Question[Born]):
    """The births of a sweep with the penalty ``lam``, at most ``room``, over rows in the order in which they lie.

    ``newborn`` (b, d) were born among earlier rows, whose births are no part of the answer.
    """

    name, is_search = "sweep", True
    sites: Sites
    lam: float
    room: int
    newborn: Floats

    def answer(self, rows: RowPasses) -> Born:
        sites = Sites.of(np.vstack([self.sites.centres, self.newborn]))
        _, _, sums, founders, n_refused = swept(rows, sites, self.lam, None, self.room - len(self.newborn))
        at: Index = rows.arrays.to_numpy(founders)
        return Born(rows.points(founders), rows.begin + at, n_refused, sums)

    def after(self, answer: Born) -> Sweep:
        return replace(self, newborn=np.vstack([self.newborn, answer.points])) if len(answer.at) else self

    def join(self, answers: Iterable[Born]) -> Born:
        found = list[Born]()

        def sums() -> Iterator[Sums]:
            for one in answers:
                found.append(replace(one, sums=NO_SUMS))
                yield one.sums
                give_back_free_memory()  # arrays of the next chunk have other sizes where clusters are born

        joined = merged(sums())
        points, at = np.vstack([one.points for one in found]), np.concatenate([one.at for one in found])
        return Born(points, at, sum(one.n_refused for one in found), joined)


NO_SUMS = Sums([], *(np.empty((0,) * n) for n in (2, 3, 2)))


@dataclass(frozen=True)
class DeferredLabels:
    """What the labels of rows can be computed from again, where they are not kept.

    Rows go to the nearest of ``centres`` (k, d), or of the ``newborn`` that were born before them, ``born_at`` (b,),
    in a sweep with the penalty ``lam``.
    """

    centres: Floats
    newborn: Floats
    born_at: Index
    lam: float = np.inf

    @classmethod
    def of(cls, sites: Sites) -> DeferredLabels:
        """Every row goes to its nearest site, the oldest one on ties."""
        centres = np.array(sites.centres)
        return cls(centres, np.empty((0, centres.shape[1])), np.empty(0, dtype=np.int64))

    @property
    def n_clusters(self) -> int:
        return len(self.centres) + len(self.newborn)

    def computed(self, rows: RowPasses) -> tuple[Array, Array, Sums]:
        """Labels, squared distances and sums of a range of rows."""
        before = int(np.searchsorted(self.born_at, rows.begin))
        within = int(np.searchsorted(self.born_at, rows.begin + rows.n_rows)) - before
        known = Sites.of(np.vstack([self.centres, self.newborn[:before]]))
        return swept(rows, known, self.lam, None, room=within)[:3]


@dataclass(frozen=True)
class SumsOf(Question[Sums]):
    """Sums of the clusters that rows are in."""

    name, is_search = "sums", True
    labels: DeferredLabels

    def answer(self, rows: RowPasses) -> Sums:
        return self.labels.computed(rows)[2]

    def join(self, answers: Iterable[Sums]) -> Sums:
        return merged(answers)


@dataclass(frozen=True)
class FingerprintsOf(Question[Fingerprints]):
    """Per cluster the sum of a hash of its rows' numbers."""

    name = "fingerprints"
    labels: DeferredLabels

    def answer(self, rows: RowPasses) -> Fingerprints:
        return rows.fingerprints_of(self.labels.computed(rows)[0], self.labels.n_clusters)

    def join(self, answers: Iterable[Fingerprints]) -> Fingerprints:
        return sum(answers, np.zeros(self.labels.n_clusters, np.uint64))


@dataclass(frozen=True)
class LabelsOf(Question[Labels]):
    """One label per row, for publishing."""

    name = "labels"
    labels: DeferredLabels

    def answer(self, rows: RowPasses) -> Labels:
        return rows.arrays.to_numpy(self.labels.computed(rows)[0])

    def join(self, answers: Iterable[Labels]) -> Labels:
        return np.concatenate(list(answers))
