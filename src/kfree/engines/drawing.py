"""Rows of some clusters, and others near to these, drawn in the pass that assigns all rows: by the smallest keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.blocks import row_blocks
from kfree.core.hashing import hashed
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Mask
from kfree.engines.passes import RowPasses, sq_dist_to_nearest
from kfree.engines.questions import Copies, Keys, Question
from kfree.engines.sums import Sums, merged
from kfree.native.memory import give_back_free_memory

# So many standard deviations more rows of a sample than the expected number are kept until all rows have been seen.
_CERTAINTY = 8.0
# Rows whose keys are computed at a time, and rows that are moved within an array at a time.
_LOOKED_AT_ONCE, _MOVED_AT_ONCE = 1 << 16, 4096
# Keys of rows of other clusters have this bit, so that they are larger than those of the rows of a region.
_OTHERS = np.uint64(1 << 63)
# Other rows are drawn if their squared distance to the nearest wanted cluster is less than twice that to their own.
_LEAST_CLOSENESS = 0.5
# There is room after the rows of a region for this many rows, and for two of each cluster (``LocalRows.beside``).
_SPARE_ROWS = 2048


@dataclass(frozen=True)
class Region:
    """At most ``size`` rows of the ``wanted`` clusters (k,) are drawn, which have about ``expected`` rows.

    A row has a key, a hash of ``seed`` and its global number. Rows with the smallest keys are drawn, all if there are
    no more than ``size``. With ``border``, the room that they leave is for rows of other clusters, those first that
    might change over to a wanted one.
    """

    wanted: Mask
    size: int
    seed: int
    expected: float
    border: bool = False

    @property
    def highest_key(self) -> np.uint64:
        """The largest key that a row may have which is drawn, almost certainly."""
        share = (self.size + _CERTAINTY * np.sqrt(self.size) + 1) / max(self.expected, 1.0)
        return np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(share * 2.0**63)

    @property
    def n_spare(self) -> int:
        return _SPARE_ROWS + 2 * len(self.wanted)

    def keys(self, rows: Index, begin: int, end: int) -> Keys:
        """Keys of some rows of the wanted clusters, counted from ``begin``; ``end`` − 1 is the last row there is."""
        return hashed(begin, end, self.seed)[rows] >> np.uint64(1)

    def keys_of_others(
        self, rows: Index, begin: int, end: int, sq_dist: Floats, to_wanted: Floats
    ) -> tuple[Index, Keys]:
        """Those of some other rows that may be drawn, and their keys: the smaller, the more easily a row changes over.

        ``sq_dist`` and ``to_wanted`` are squared distances to their own clusters and to the nearest wanted ones.
        """
        with np.errstate(invalid="ignore"):
            closeness = np.where(to_wanted > 0, sq_dist / np.where(to_wanted > 0, to_wanted, 1.0), 1.0)
        close = np.flatnonzero(closeness > _LEAST_CLOSENESS)
        apart = ((1.0 - closeness[close]) * 2.0**31).astype(np.uint64)
        # Rows that are as near as each other, because they are equal, are still drawn at random.
        return rows[close], _OTHERS | apart << np.uint64(32) | self.keys(rows[close], begin, end) >> np.uint64(31)


@dataclass(frozen=True)
class RegionRows(Copies):
    """Rows that were drawn, in the order of their numbers. ``is_all``: no row of a wanted cluster is left out."""

    keys: Keys
    is_all: bool

    @property
    def room(self) -> Floats | None:
        # An array that has travelled, or comes from a checkpoint, has no room after it.
        whole = self.X.base if isinstance(self.X, np.ndarray) else None
        if not isinstance(whole, np.ndarray) or not whole.flags.writeable:
            return None
        return whole if whole.dtype == np.float64 and whole.shape[1:] == self.X.shape[1:] else None


@dataclass(frozen=True)
class NearestAndRegion:
    """Sums of the clusters, and rows of a region."""

    sums: Sums
    rows: RegionRows


@dataclass(frozen=True)
class Drawing(Question[NearestAndRegion]):
    """Sums of the clusters when every row goes to its nearest site, and copies of the rows of a region."""

    name, is_search = "nearest-drawing", True
    sites: Sites
    region: Region

    def answer(self, rows: RowPasses) -> NearestAndRegion:
        labels, sq_dist, sums, _ = rows.assign(self.sites, np.inf)
        return NearestAndRegion(sums, self.drawn(rows, labels, sq_dist, n_spare=0))

    def drawn(self, rows: RowPasses, labels: Array, sq_dist: Array, n_spare: int) -> RegionRows:
        """The rows of the region, given the labels and squared distances of all, and room for ``n_spare`` more."""
        found = [self._drawable(rows, block, labels, sq_dist) for block in row_blocks(rows.n_rows, _LOOKED_AT_ONCE)]
        index, keys = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        kept = np.flatnonzero(keys <= self.region.highest_key)
        kept = kept[_smallest(keys[kept], self.region.size)]
        copies = _with_room(rows, index[kept], n_spare)
        return RegionRows(*copies, keys[kept], _has_all_wanted(keys, keys[kept]))

    def join(self, answers: Iterable[NearestAndRegion]) -> NearestAndRegion:
        collected = _Collected(self.region)

        def sums() -> Iterator[Sums]:
            for one in answers:
                collected.add(one.rows)
                found = one.sums
                del one  # rows of two chunks are never there at the same time
                yield found
                give_back_free_memory()  # arrays of the next chunk have other sizes: these would not be used again

        joined = merged(sums())
        return NearestAndRegion(joined, collected.end())

    def _drawable(self, rows: RowPasses, block: slice, labels: Array, sq_dist: Array) -> tuple[Index, Keys]:
        """Rows of positive weight in a block that may be drawn, and their keys."""
        arrays, region, begin = rows.arrays, self.region, block.start
        span = rows.begin + begin, rows.begin + block.stop
        counts = None if rows.weight is None else rows.weight[block] > 0
        is_inside = arrays.of(region.wanted)[labels[block]]
        inside = arrays.to_numpy(arrays.flatnonzero(is_inside if counts is None else is_inside & counts))
        keys = region.keys(inside, *span)
        if region.border and region.wanted.any():
            others = arrays.flatnonzero(~is_inside if counts is None else ~is_inside & counts)
            to_wanted = sq_dist_to_nearest(rows, begin + others, self.sites.centres[region.wanted])
            own, to_wanted = arrays.to_numpy(sq_dist[begin + others]), arrays.to_numpy(to_wanted)
            near, more = region.keys_of_others(arrays.to_numpy(others), *span, own, to_wanted)
            inside, keys = np.concatenate([inside, near]), np.concatenate([keys, more])
            order = np.argsort(inside)
            inside, keys = inside[order], keys[order]
        return begin + inside, keys


def _with_room(rows: RowPasses, index: Index, n_spare: int) -> tuple[ArrayOrCSR, Floats | None]:
    """Copies of some rows at the beginning of a larger array, and their weights."""
    like, _ = rows.copied(index[:0])
    if sp.issparse(like):
        return rows.copied(index)
    X = _array(len(index) + n_spare, like)[: len(index)]
    for block in row_blocks(len(index), _LOOKED_AT_ONCE):
        X[block] = rows.copied(index[block])[0]
    return X, None if rows.weight is None else rows.arrays.to_numpy(rows.weights(rows.arrays.of(index)))


def _array(n_rows: int, like: NDArray[Any]) -> NDArray[Any]:
    """Room for rows; coordinates are float64, so that means can follow them."""
    return np.empty((n_rows, *like.shape[1:]), np.float64 if like.dtype.kind == "f" else like.dtype)


def _smallest(keys: Keys, size: int) -> Index:
    """Places of the ``size`` smallest keys, or of all, in order."""
    return np.arange(len(keys)) if len(keys) <= size else np.sort(np.argpartition(keys, size)[:size])


def _has_all_wanted(keys: Keys, kept: Keys) -> bool:
    """Whether all ``keys`` of rows of wanted clusters were kept."""
    return bool(np.count_nonzero(keys < _OTHERS) == np.count_nonzero(kept < _OTHERS))


def room_for(size: int) -> int:
    """Rows that are kept until all rows have been seen, of which ``size`` will be left."""
    return size + int(2 * _CERTAINTY * math.sqrt(size)) + 2


def size_within(room: int) -> int:
    """The largest size that needs at most this room: s + 2·c·√s + 2 ≤ room, solved for s."""
    return max(0, int((math.sqrt(_CERTAINTY**2 + max(room - 2, 0)) - _CERTAINTY) ** 2))


class _Collected:
    """Rows of a region from several ranges, in arrays that are made once and stay in row order."""

    def __init__(self, region: Region):
        self._region, self._room, self._n = region, room_for(region.size), 0
        self._is_all, self._highest = True, region.highest_key
        self._only: RegionRows | None = None
        self._keys: Keys = np.empty(0, np.uint64)
        self._X: NDArray[Any] | None = None
        self._weight: Floats | None = None

    def add(self, new: RegionRows) -> None:
        """The rows of one more range."""
        if self._X is None and (self._only is None or not len(self._only.keys)):
            self._is_all &= self._only is None or self._only.is_all
            self._only = new  # which need not be copied if nothing follows
            return
        if self._only is not None:
            self._make_room(self._only)
            self._append(self._only)
            self._only = None
        self._append(new)

    def _make_room(self, first: RegionRows) -> None:
        self._keys = np.empty(self._room, np.uint64)
        self._X = _array(self._room + self._region.n_spare, first.X)
        self._weight = None if first.weight is None else np.empty(self._room)

    def _append(self, new: RegionRows) -> None:
        assert self._X is not None
        self._is_all &= new.is_all
        X, weight, keys = new.X, new.weight, new.keys
        if self._n + len(keys) > self._room or self._highest < np.uint64(2**64 - 1):
            self._lower(keys)
            low = np.flatnonzero(keys <= self._highest)
            if len(low) < len(keys):
                self._is_all &= _has_all_wanted(keys, keys[low])
                X, weight, keys = X[low], None if weight is None else weight[low], keys[low]
        places = slice(self._n, self._n + len(keys))
        self._keys[places], self._X[places] = keys, X
        if weight is not None and self._weight is not None:
            self._weight[places] = weight
        self._n += len(keys)

    def end(self) -> RegionRows:
        """The rows with the smallest keys of all."""
        if self._only is not None:
            return RegionRows(self._only.X, self._only.weight, self._only.keys, self._only.is_all and self._is_all)
        assert self._X is not None  # there is a range of rows
        if self._n > self._region.size:
            self._keep(_smallest(self._keys[: self._n], self._region.size))
        weight = None if self._weight is None else self._weight[: self._n]
        return RegionRows(self._X[: self._n], weight, self._keys[: self._n], self._is_all)

    def _lower(self, keys: Keys) -> None:
        """Make room: drop rows whose keys are too large for the sample, if these and the new ones are too many."""
        both = np.concatenate([self._keys[: self._n], keys[keys <= self._highest]])
        if len(both) > self._room:
            self._highest = np.partition(both, self._region.size - 1)[self._region.size - 1]
            self._keep(np.flatnonzero(self._keys[: self._n] <= self._highest))

    def _keep(self, kept: Index) -> None:
        """Drop all other rows, in place."""
        self._is_all &= _has_all_wanted(self._keys[: self._n], self._keys[kept])
        for block in row_blocks(len(kept), _MOVED_AT_ONCE):  # forwards, so that no row is overwritten before it moves
            for array in (self._keys, self._X, self._weight):
                if array is not None:
                    array[block] = array[kept[block]]
        self._n = len(kept)
