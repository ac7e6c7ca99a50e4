"""Rows of some clusters, drawn at random in the pass that assigns all rows: those with the smallest keys."""

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

# Of a random sample so many standard deviations more than the expected number are kept until all rows have been seen.
_CERTAINTY = 8.0
# Rows that are moved within an array at a time.
_MOVED_AT_ONCE = 4096


@dataclass(frozen=True)
class Region:
    """Of the rows of the ``wanted`` clusters (k,), at most ``size`` are drawn, of ``expected`` rows that there are.

    A row has a key, the hash of ``seed`` and its global number. Rows with the smallest keys are drawn, all if there are
    no more than ``size``.
    """

    wanted: NDArray[np.bool_]
    size: int
    seed: int
    expected: float

    @property
    def highest_key(self) -> np.uint64:
        """The largest key that a row may have which is drawn, almost certainly."""
        share = (self.size + _CERTAINTY * np.sqrt(self.size) + 1) / max(self.expected, 1.0)
        return np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(share * 2.0**64)


class DrawingEngine(Engine, Protocol):
    """An engine that may copy rows to memory in the pass that assigns them."""

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, SampleEngine | None, bool]:
        """``nearest``, the rows of a region in the order of their numbers (None without any), and if these are all."""


@dataclass(frozen=True)
class RegionRows:
    """Rows that were drawn, in the order of their numbers, as they were given. ``is_all``: no row is left out."""

    keys: NDArray[np.uint64]
    X: ArrayOrCSR
    weight: Floats | None
    is_all: bool

    def trimmed(self, size: int) -> RegionRows:
        """The ``size`` rows with the smallest keys."""
        if len(self.keys) <= size:
            return self
        kept = np.sort(np.argpartition(self.keys, size)[:size])
        weight = None if self.weight is None else self.weight[kept]
        return RegionRows(self.keys[kept], self.X[kept], weight, is_all=False)


def joined_rows(found: Sequence[RegionRows], size: int) -> RegionRows:
    """The rows that are drawn of all parts, given in row order."""
    if len(found) == 1:
        return found[0].trimmed(size)
    some = [one for one in found if len(one.keys)] or [found[0]]
    weight = None if some[0].weight is None else np.concatenate([one.weight for one in some])
    keys, X = np.concatenate([one.keys for one in some]), np.concatenate([one.X for one in some])
    return RegionRows(keys, X, weight, all(one.is_all for one in found)).trimmed(size)


def chosen_rows(region: Region, rows: Index, begin: int, end: int) -> tuple[Index, NDArray[np.uint64]]:
    """Of ``rows``, counted from ``begin``, those that may be drawn, and their keys."""
    keys = hashed(begin, end, region.seed)[rows]
    low = keys <= region.highest_key
    return (rows, keys) if low.all() else (rows[low], keys[low])


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

    def add(self, begin: int, X: NDArray[Any], weight: Floats | None, rows: Index) -> None:
        """Rows of the region among ``X``, whose rows are numbered from ``begin``."""
        keys = hashed(begin, begin + len(X), self._region.seed)[rows]
        if self._n + len(rows) > self._room or self._highest < np.uint64(2**64 - 1):
            self._lower(keys)
            low = keys <= self._highest
            self._is_all &= bool(low.all())
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

    def _lower(self, keys: NDArray[np.uint64]) -> None:
        """Make room: drop rows whose keys are too large for the sample, if these and the new ones are too many."""
        both = np.concatenate([self._keys[: self._n], keys[keys <= self._highest]])
        if len(both) <= self._room:
            return
        self._highest = np.partition(both, self._region.size - 1)[self._region.size - 1]
        kept, self._is_all = np.flatnonzero(self._keys[: self._n] <= self._highest), False
        for first in range(0, len(kept), _MOVED_AT_ONCE):  # forwards, so that no row is overwritten before it moves
            source = kept[first : first + _MOVED_AT_ONCE]
            target = slice(first, first + len(source))
            for array in (self._keys, self._X, self._weight):
                if array is not None:
                    array[target] = array[source]
        self._n = len(kept)
