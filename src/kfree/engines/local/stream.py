"""Rows that come in chunks, passed to a compiled stream or to the reference implementation in coordinates that do not
depend on the chunk."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.blocks import row_blocks
from kfree.core.fields import Count, PerCoordinate
from kfree.core.frame import Frame
from kfree.core.marks import FINITE, AtLeast, Rising, Shape, Size, require
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats, Index, first_row_that_counts
from kfree.engines.local.rows import require_directions
from kfree.native import _core
from kfree.native.implementations import implementation
from kfree.native.processor import chosen_instruction_set

# Rows that must be copied, being sparse or out of order, are copied about so many values at a time.
_VALUES_AT_ONCE = 1 << 18
# When no row has joined a cluster for so many half-lives, it has lost all but a thousandth of its weight.
_HALF_LIVES_OF_A_CLUSTER = 10
# As many clusters as a stream without a limit may have.
_NO_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class StreamRecord:
    """The state of a stream of c clusters, whichever implementation runs it; boxes (b, d) only with ``split``."""

    engine: str
    n_features: Annotated[int, Size("d")]
    anchor: PerCoordinate | None
    unit: bool
    split: bool
    max_clusters: int | None
    growth_per_row: Annotated[float, FINITE]
    lifetime: float
    lam: Annotated[float, FINITE]
    growth: Annotated[float, FINITE]
    n_rows: Count
    n_counted: Count
    next_id: Count
    ids: Annotated[Index, Shape("c"), Rising(), AtLeast(0)]
    last: Annotated[Index, Shape("c"), AtLeast(0)]
    weights: Annotated[Floats, Shape("c"), AtLeast(0.0)]
    centres: Annotated[Floats, Shape("c", "d"), FINITE]
    low: Annotated[Floats, Shape("boxes", "d"), FINITE]
    high: Annotated[Floats, Shape("boxes", "d"), FINITE]

    @classmethod
    def of(cls, engine: str, anchor: Floats | None, unit: bool, state: tuple[Any, ...]) -> StreamRecord:
        """From the state of an implementation, as it is pickled."""
        (split, most, *rates), counters, *arrays, n_features = state
        limit = None if most == _NO_LIMIT else most
        return cls(engine, n_features, anchor, unit, split, limit, *rates, *counters, *arrays)

    @property
    def state(self) -> tuple[Any, ...]:
        """The state of an implementation, as it is pickled."""
        most = _NO_LIMIT if self.max_clusters is None else self.max_clusters
        settings = self.split, most, self.growth_per_row, self.lifetime
        counters = self.lam, self.growth, self.n_rows, self.n_counted, self.next_id
        arrays = self.ids, self.last, self.weights, self.centres, self.low, self.high
        return settings, counters, *arrays, self.n_features


class RowStream:
    """Online clustering of rows seen as z = x − anchor, the anchor being the first row of the stream that counts.

    So coordinates do not depend on how the rows were cut into chunks, nor on a large offset of all of them. Rows that
    are directions (``unit``) are seen as x over its length.
    """

    def __init__(
        self,
        name: str,
        n_features: int,
        lam: float,
        split: bool,
        max_clusters: int | None,
        half_life: float | None,
        unit: bool = False,
    ):
        self._name, self._n_features, self._unit = name, n_features, unit
        self._anchor: Floats | None = None
        growth_per_row = 1.0 if half_life is None else 2.0 ** (1.0 / half_life)
        lifetime = np.inf if half_life is None else _HALF_LIVES_OF_A_CLUSTER * half_life
        stream = implementation(name, "stream").Stream
        self._stream: Any = stream(n_features, lam, split, max_clusters, growth_per_row, lifetime)

    def to_record(self) -> StreamRecord:
        return StreamRecord.of(self._name, self._anchor, self._unit, self._stream.__getstate__())

    @classmethod
    def from_record(cls, record: StreamRecord) -> RowStream:
        """The same stream again; compiled code checks its state."""
        has_frame = record.unit or record.anchor is not None or record.n_counted == 0
        require(has_frame, "a stream", "has rows and no anchor")
        _core.Stream.__new__(_core.Stream).__setstate__(record.state)  # checks everything that passes rely on
        new = cls.__new__(cls)
        new._name, new._n_features = record.engine, record.n_features
        new._anchor, new._unit = record.anchor, record.unit
        stream = implementation(record.engine, "stream").Stream
        new._stream = stream.__new__(stream)
        new._stream.__setstate__(record.state)
        return new

    def copy(self) -> RowStream:
        new = copy.copy(self)
        new._stream = self._stream.copy()
        return new

    def advance(self, X: ArrayOrCSR, weight: Floats | None, order: Index | None = None) -> tuple[Index, Index]:
        """Take validated rows, in ``order`` or as they stand: the id that each joined, and events (m, 4).

        A row of no weight that comes before any cluster gets −1.
        """
        self._drop_anchor(X, weight, order)
        joined, events = np.empty(X.shape[0], dtype=np.int64), []
        for index, rows in _blocks(X, order):
            some = np.empty(rows.shape[0], dtype=np.int64)
            events.append(self._stream.advance(self._hold(rows, None if weight is None else weight[index]), some))
            joined[index] = some
        return joined, np.concatenate(events)

    def merge(self) -> Index:
        """Merge clusters while that lowers J at the current penalty; returns events."""
        events: Index = self._stream.merge()
        return events

    @property
    def frame(self) -> Frame:
        plain = Frame.plain(self._n_features, self._unit)
        return plain if self._anchor is None else Frame(self._anchor, plain.shift)

    @property
    def sites(self) -> Sites:
        """Centres in the coordinates of ``frame``, oldest first; an id beyond the last has never been used."""
        return Sites(self._stream.centres, self.ids, self._stream.next_id)

    @property
    def ids(self) -> Index:
        """Ascending, one for each cluster."""
        ids: Index = self._stream.ids
        return ids

    def cluster_ids(self, joined: Index) -> Index:
        """The ids of the clusters that ``advance`` says rows have joined: these are the clusters themselves."""
        return joined

    @property
    def weights(self) -> Floats:
        """Total weight of each cluster, less what is forgotten."""
        weights: Floats = self._stream.weights / self._stream.growth
        return weights

    @property
    def lam(self) -> float:
        return float(self._stream.lam)

    @property
    def n_rows(self) -> int:
        return int(self._stream.n_rows)

    def _drop_anchor(self, X: ArrayOrCSR, weight: Floats | None, order: Index | None) -> None:
        if self._unit or self._anchor is not None or (weight is not None and not weight.any()):
            return
        visits = np.arange(X.shape[0]) if order is None else order
        first = visits[first_row_that_counts(None if weight is None else weight[visits])]
        self._anchor = dense(X[[first]])[0].astype(np.float64)

    def _hold(self, rows: ArrayOrCSR, weight: Floats | None) -> Any:
        passes = implementation(self._name, "rows")
        isa, frame = chosen_instruction_set(passes.instruction_sets()), self.frame
        held = passes.dense_rows(rows, frame.anchor, frame.shift, frame.unit, weight, isa)
        require_directions(np.asarray(held.lengths))
        return held


def _blocks(X: ArrayOrCSR, order: Index | None) -> Iterator[tuple[Index | slice, NDArray[Any]]]:
    """Rows in order of visit, dense, and their places in X; in one piece if nothing must be copied."""
    n_rows, n_features = X.shape
    if order is None and not sp.issparse(X):
        yield slice(None), X
        return
    at_once = max(1, _VALUES_AT_ONCE // n_features)
    for block in row_blocks(n_rows, at_once):
        index = block if order is None else order[block]
        yield index, dense(X[index])
