"""The log of a stream: births, splits, merges and deaths of clusters, by their ids, and increases of the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.fields import Count
from kfree.core.marks import Shape, require
from kfree.core.stats import Index, Labels

KINDS = np.array(["birth", "split", "merge", "death", "penalty"])
_MERGE = KINDS.tolist().index("merge")
EVENT = np.dtype([("row", np.int64), ("kind", KINDS.dtype), ("id", np.int64), ("other", np.int64)])
# Maximum number of events that are kept, so that the log of a long stream stays bounded.
KEPT = 100_000


@dataclass(frozen=True)
class Events:
    """The newest events (m, 4) as engines report them, and the number of all events."""

    n_events: Count
    newest: Annotated[NDArray[np.int64], Shape("events", 4)]

    def _restored(self) -> None:
        kinds = self.newest[:, 1]
        ok = bool(((kinds >= 0) & (kinds < len(KINDS))).all()) and len(self.newest) <= self.n_events
        require(ok, "log", "holds events that there are none of")


class EventLog:
    """The newest events, and the number of all events."""

    def __init__(self) -> None:
        self.n_events = 0
        self._parts: list[NDArray[np.int64]] = []
        self._n_held = 0

    def to_record(self) -> Events:
        return Events(self.n_events, self._newest())

    @classmethod
    def from_record(cls, record: Events) -> EventLog:
        log = cls()
        log.n_events, log._parts, log._n_held = record.n_events, [record.newest], len(record.newest)
        return log

    def add(self, events: NDArray[np.int64]) -> None:
        """Append events (m, 4) as engines report them: row, kind, id, other."""
        if not len(events):
            return
        self._parts.append(events)
        self.n_events += len(events)
        self._n_held += len(events)
        if self._n_held > 2 * KEPT:
            self._parts = [self._newest()]
            self._n_held = KEPT

    def as_array(self) -> NDArray[Any]:
        """A structured array, oldest first."""
        newest = self._newest()
        events = np.empty(len(newest), dtype=EVENT)
        events["row"], events["kind"] = newest[:, 0], KINDS[newest[:, 1]]
        events["id"], events["other"] = newest[:, 2], newest[:, 3]
        return events

    def _newest(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty((0, 4), dtype=np.int64), *self._parts])[-KEPT:]


def followed(ids: Index, events: NDArray[np.int64]) -> Index:
    """The ids of clusters after the merges among ``events``."""
    successor: dict[int, int] = {}
    for _, kind, stays, goes in events[::-1].tolist():
        if kind == _MERGE:
            successor[goes] = successor.get(stays, stays)
    if not successor:
        return ids
    distinct, places = np.unique(ids, return_inverse=True)
    return np.array([successor.get(i, i) for i in distinct.tolist()], dtype=np.int64)[places]


def places_of(ids: Index, living: Index) -> Labels:
    """Where each of ``ids`` is among the ``living``, ascending; −1 if it is not."""
    places = np.searchsorted(living, ids).astype(np.int32)
    no_id = -2  # follows the last id, where larger ids are placed; −1 is the id of no cluster
    places[np.append(living, no_id)[places] != ids] = -1
    return places
