"""Rows of some clusters, and others near to these, drawn in the pass that assigns all rows: by the smallest keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kfree.core.hashing import hashed
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index
from kfree.engines.contract import Engine, Pass, SampleEngine

Keys = NDArray[np.uint64]

# Of a random sample so many standard deviations more than the expected number are kept until all rows have been seen.
_CERTAINTY = 8.0
# Rows that are moved within an array at a time.
_MOVED_AT_ONCE = 4096
# Keys of rows of other clusters have this bit, so that they are larger than those of the rows of a region.
_OTHERS = np.uint64(1 << 63)
# Other rows are drawn if their squared distance to the nearest wanted cluster is less than twice that to their own.
_LEAST_CLOSENESS = 0.5


@dataclass(frozen=True)
class Region:
    """Of the rows of the ``wanted`` clusters (k,), at most ``size`` are drawn, of ``expected`` rows that there are.

    A row has a key, a hash of ``seed`` and its global number. Rows with the smallest keys are drawn, all if there are
    no more than ``size``. With ``border``, the room that they leave is for rows of other clusters, those first that
    might change over to a wanted one.
    """

    wanted: NDArray[np.bool_]
    size: int
    seed: int
    expected: float
    border: bool = False

    @property
    def highest_key(self) -> np.uint64:
        """The largest key that a row may have which is drawn, almost certainly."""
        share = (self.size + _CERTAINTY * np.sqrt(self.size) + 1) / max(self.expected, 1.0)
        return np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(share * 2.0**63)

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


class DrawingEngine(Engine, Protocol):
    """An engine that may copy rows to memory in the pass that assigns them."""

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, SampleEngine | None, bool]:
        """``nearest``, the rows of a region in the order of their numbers (None without any), and if these are all."""


@dataclass(frozen=True)
class RegionRows:
    """Rows that were drawn, in the order of their numbers, as they were given. ``is_all``: no row of a wanted cluster
    is left out."""

    keys: Keys
    X: ArrayOrCSR
    weight: Floats | None
    is_all: bool

    def trimmed(self, size: int) -> RegionRows:
        """The ``size`` rows with the smallest keys."""
        if len(self.keys) <= size:
            return self
        kept = smallest(self.keys, size)
        weight = None if self.weight is None else self.weight[kept]
        is_all = self.is_all and has_all_wanted(self.keys, self.keys[kept])
        return RegionRows(self.keys[kept], self.X[kept], weight, is_all)


def smallest(keys: Keys, size: int) -> Index:
    """Places of the ``size`` smallest keys, or of all, in order."""
    return np.arange(len(keys)) if len(keys) <= size else np.sort(np.argpartition(keys, size)[:size])


def has_all_wanted(keys: Keys, kept: Keys) -> bool:
    """Whether all ``keys`` of rows of wanted clusters were kept."""
    return bool(np.count_nonzero(keys < _OTHERS) == np.count_nonzero(kept < _OTHERS))


def joined_rows(found: Sequence[RegionRows], size: int) -> RegionRows:
    """The rows that are drawn of all parts, given in row order."""
    if len(found) == 1:
        return found[0].trimmed(size)
    some = [one for one in found if len(one.keys)] or [found[0]]
    weight = None if some[0].weight is None else np.concatenate([one.weight for one in some])
    keys, X = np.concatenate([one.keys for one in some]), np.concatenate([one.X for one in some])
    return RegionRows(keys, X, weight, all(one.is_all for one in found)).trimmed(size)


def room_for(size: int) -> int:
    """Rows that are kept until all rows have been seen, of which ``size`` will be left."""
    return size + int(2 * _CERTAINTY * math.sqrt(size)) + 2


def size_within(room: int) -> int:
    """The largest size that needs at most this room: s + 2·c·√s + 2 ≤ room, solved for s."""
    return max(0, int((math.sqrt(_CERTAINTY**2 + max(room - 2, 0)) - _CERTAINTY) ** 2))


class Drawing:
    """Collects the rows of a region in arrays that are made once and stay in row order."""

    def __init__(self, region: Region, n_features: int):
        self._region, self._n_features, self._n, self._is_all = region, n_features, 0, True
        self._room = room_for(region.size)
        self._highest = region.highest_key
        self._keys = np.empty(self._room, np.uint64)
        self._X: NDArray[Any] | None = None
        self._weight: Floats | None = None

    def add(self, X: NDArray[Any], weight: Floats | None, rows: Index, keys: Keys) -> None:
        """Some ``rows`` of ``X`` that may be drawn, with their keys."""
        if self._n + len(rows) > self._room or self._highest < np.uint64(2**64 - 1):
            self._lower(keys)
            low = keys <= self._highest
            self._is_all &= has_all_wanted(keys, keys[low])
            rows, keys = rows[low], keys[low]
        if self._X is None:
            self._X = np.empty((self._room, self._n_features), X.dtype)
            self._weight = None if weight is None else np.empty(self._room)
        new = slice(self._n, self._n + len(rows))
        self._keys[new], self._X[new] = keys, X[rows]
        if weight is not None and self._weight is not None:
            self._weight[new] = weight[rows]
        self._n += len(rows)

    def end(self) -> RegionRows:
        """What was collected."""
        X = np.empty((0, self._n_features)) if self._X is None else self._X[: self._n]
        weight = None if self._weight is None else self._weight[: self._n]
        return RegionRows(self._keys[: self._n], X, weight, self._is_all)

    def _lower(self, keys: Keys) -> None:
        """Make room: drop rows whose keys are too large for the sample, if these and the new ones are too many."""
        both = np.concatenate([self._keys[: self._n], keys[keys <= self._highest]])
        if len(both) <= self._room:
            return
        self._highest = np.partition(both, self._region.size - 1)[self._region.size - 1]
        kept = np.flatnonzero(self._keys[: self._n] <= self._highest)
        self._is_all &= has_all_wanted(self._keys[: self._n], self._keys[kept])
        for first in range(0, len(kept), _MOVED_AT_ONCE):  # forwards, so that no row is overwritten before it moves
            source = kept[first : first + _MOVED_AT_ONCE]
            target = slice(first, first + len(source))
            for array in (self._keys, self._X, self._weight):
                if array is not None:
                    array[target] = array[source]
        self._n = len(kept)
