"""Births of a sweep over rows on workers (Kulis & Jordan 2012, Algorithm 1).

Only rows that are far from all old sites can open a cluster. One pass finds them, on all workers at the same time, and
they stay where they were found. Then the newborn pass from range to range, in row order, and each adds its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Index
from kfree.engines.contract import Rows
from kfree.engines.local.rows import LocalRows
from kfree.engines.passes import RowPasses
from kfree.engines.questions import NO_SUMS, Born, Copies, Question, Sweep
from kfree.engines.sums import Sums, merged


@dataclass(frozen=True)
class FarRows:
    """The rows of a range, ``begin`` … ``end`` − 1, that are far from all old sites: numbers, and copies.

    Without copies there were too many to be kept. ``sums`` are the statistics if no cluster is born.
    """

    begin: int
    end: int
    sums: Sums
    rows: Index
    copies: Copies | None


@dataclass(frozen=True)
class FarQuestion(Question[FarRows]):
    """The rows that may open a cluster in a sweep, unless they have more than ``most_bytes``."""

    name, is_search = "far-rows", True
    sites: Sites
    lam: float
    most_bytes: float

    def answer(self, rows: RowPasses) -> FarRows:
        _, _, sums, is_far = rows.assign(self.sites, self.lam)
        far = np.empty(0, dtype=np.int64) if is_far is None else rows.arrays.to_numpy(rows.arrays.flatnonzero(is_far))
        return FarRows(rows.begin, rows.begin + rows.n_rows, sums, rows.begin + far, Copies(*rows.copied(far)))

    def join(self, answers: Iterable[FarRows]) -> FarRows:
        found, kept, n_kept = list[FarRows](), list[Copies](), 0.0

        def sums() -> Iterator[Sums]:
            nonlocal n_kept
            for one in answers:
                found.append(replace(one, sums=NO_SUMS, copies=None))
                n_kept = np.inf if one.copies is None else n_kept + one.copies.X.nbytes
                if one.copies is not None and n_kept <= self.most_bytes:
                    kept.append(one.copies)
                else:
                    kept.clear()
                yield one.sums

        joined, rows = merged(sums()), np.concatenate([one.rows for one in found])
        copies = _concatenated(kept) if n_kept <= self.most_bytes else None
        return FarRows(found[0].begin, found[-1].end, joined, rows, copies)


def _concatenated(pieces: list[Copies]) -> Copies:
    weights = [one.weight for one in pieces if one.weight is not None]
    return Copies(np.concatenate([one.X for one in pieces]), np.concatenate(weights) if weights else None)


def births_among(far: FarRows, sweep: Sweep, frame: Frame, rows: Callable[[int, int], Rows]) -> Born:
    """The clusters that far rows of a range open after the newborn of ``sweep``; ``rows`` reads a range again."""
    if far.copies is None:
        return rows(far.begin, far.end).ask(sweep)
    if not len(far.rows):
        return replace(_NOBODY, points=sweep.newborn[:0])
    born = sweep.answer(LocalRows("native", far.copies.X, far.copies.weight, frame))
    return replace(born, at=far.rows[born.at])


_NOBODY = Born(np.empty((0, 0)), np.empty(0, dtype=np.int64), 0, NO_SUMS)


class BirthsSoFar(NamedTuple):
    """All births up to the end of a range, and how many distances they took."""

    born: Born
    n_distances: int = 0

    @classmethod
    def none(cls, sweep: Sweep) -> BirthsSoFar:
        """No births, before the first range."""
        return cls(replace(_NOBODY, points=sweep.newborn[:0]))

    def followed_by(self, born: Born, n_distances: int) -> BirthsSoFar:
        """These births and those of the next range."""
        points, at = np.vstack([self.born.points, born.points]), np.concatenate([self.born.at, born.at])
        everyone = Born(points, at, self.born.n_refused + born.n_refused, NO_SUMS)
        return BirthsSoFar(everyone, self.n_distances + n_distances)
