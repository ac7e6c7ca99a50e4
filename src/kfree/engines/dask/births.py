"""Births of a sweep over rows on workers (Kulis & Jordan 2012, Algorithm 1).

Only rows that are far from all old sites can open a cluster. One pass finds them, on all workers at the same time, and
they stay where they were found. Then the newborn pass from part to part, in row order, and each part adds its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index
from kfree.engines.dask.tasks import Held, Sums
from kfree.engines.files.part import StreamSweep
from kfree.engines.files.sums import SumStack
from kfree.engines.local.part import LocalPart

# The most bytes of far rows that a part keeps. If there are more, its rows are read again when it has its turn.
MOST_BYTES = 1 << 26


class Sweep(NamedTuple):
    """The question: ``sites``, the penalty, and the most clusters that may be born."""

    sites: Sites
    lam: float
    room: int


class FarRows(NamedTuple):
    """Some rows: global numbers, data and weights as they were given, squared distances to the nearest old site."""

    rows: Index
    X: NDArray[Any]
    weight: Floats | None
    sq_dist: Floats


@dataclass(frozen=True)
class Far:
    """The rows of a part that are far from all old sites, None if they were too many to be kept.

    ``sums`` are the statistics if no cluster is born.
    """

    begin: int
    end: int
    sums: Sums
    found: FarRows | None


@dataclass(frozen=True)
class Newborn:
    """Clusters born so far: ``points`` (b, d), the rows ``at`` which they were born, and how many found no room.

    ``n_distances`` were computed to find far rows.
    """

    points: Floats
    at: Index
    n_refused: int = 0
    n_distances: int = 0

    @classmethod
    def nobody(cls, n_features: int) -> Newborn:
        return cls(np.empty((0, n_features)), np.empty(0, dtype=np.int64))


def far_rows(held: Held, sweep: Sweep, begin: int, end: int) -> Far:
    """One pass against the old sites."""
    stack, pieces, n_distances, n_bytes = SumStack(), [], 0, 0
    for chunk in held.part(begin, end).chunks():
        _, sq_dist, partial, is_far = chunk.assign(sweep.sites, sweep.lam)
        stack.push(partial.by_node())
        n_distances += chunk.n_distances
        far = np.empty(0, dtype=np.int64) if is_far is None else np.flatnonzero(is_far)
        X, weight = chunk.copied(far)
        n_bytes += X.nbytes
        if n_bytes <= MOST_BYTES:
            pieces.append(FarRows(chunk.begin + far, X, weight, sq_dist[far]))
    sums = Sums(held.fewest(stack.by_node(len(sweep.sites.uids)), begin, end), n_distances)
    return Far(begin, end, sums, _joined(pieces) if n_bytes <= MOST_BYTES else None)


def _joined(pieces: Sequence[FarRows]) -> FarRows:
    weight = [one.weight for one in pieces if one.weight is not None]
    rows, X, sq_dist = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("rows", "X", "sq_dist"))
    return FarRows(rows, X, np.concatenate(weight) if weight else None, sq_dist)


def born(held: Held, sweep: Sweep, far: Far, before: Newborn) -> Newborn:
    """The newborn after the rows of one more part had their turn."""
    room, n_distances = sweep.room - len(before.at), before.n_distances + far.sums.n_distances
    if far.found is None:
        again = StreamSweep(held.part(far.begin, far.end), sweep.sites, sweep.lam).go_on(before.points, None, room)
        points, at, n_refused = again.points, again.at, again.n_refused
    elif not len(far.found.rows):
        return replace(before, n_distances=n_distances)
    else:
        points, at, n_refused = _opened(held, sweep.lam, far.found, before.points, room)
    joined = np.vstack([before.points, points]), np.concatenate([before.at, at])
    return Newborn(*joined, before.n_refused + n_refused, n_distances)


def _opened(held: Held, lam: float, far: FarRows, newborn: Floats, room: int) -> tuple[Floats, Index, int]:
    """Clusters that the far rows of a part open, after those near to ``newborn`` have joined them."""
    part = LocalPart(held.reading.passes, far.X, far.weight, held.frame, n_threads=1)
    listed, labels, sq_dist = np.arange(len(far.rows)), np.zeros(len(far.rows), dtype=np.int32), far.sq_dist.copy()
    part.join_listed(listed, newborn, 0, labels, sq_dist)
    still_far = listed[part.weights(listed) * sq_dist > lam]
    places, n_refused = part.open_clusters(still_far, len(newborn), lam, room, labels, sq_dist)
    founders = still_far[places]
    return part.points(founders), far.rows[founders], n_refused
