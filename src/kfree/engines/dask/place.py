"""Rows on workers: queries run on parts of the rows where these are read, and the answers are joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kfree.core.frame import Frame
from kfree.core.stats import Floats
from kfree.engines.dask.births import Far, Newborn, Sweep, born, far_rows
from kfree.engines.dask.cluster import Cluster, token
from kfree.engines.dask.shares import shares
from kfree.engines.dask.tasks import FIRST_ROW, NEAREST, Held, Query, Sums
from kfree.engines.dask.traffic import n_bytes
from kfree.engines.files.source import Reading, RowSource

# The client takes so many answers of each worker in a pass at most.
_ANSWERS_PER_WORKER = 8


class Workers(ABC):
    """Rows that the workers of a ``cluster`` read or hold; ``rows`` describes them."""

    def __init__(self, cluster: Cluster, rows: Any, reading: Reading):
        self.cluster, self.rows, self.reading = cluster, rows, replace(reading, listener=None)
        self._held: tuple[Frame, Any] | None = None
        self._first_row: Floats | None = None

    @abstractmethod
    def futures(self, name: str, ask: Callable[..., Any], held: Any, shared: Any) -> list[Any]:
        """Futures of ``ask(held, shared, begin, end)`` for parts that are all rows, in row order."""

    @abstractmethod
    def source(self) -> RowSource | None:
        """What workers read rows from, or None where rows are given to tasks."""

    def run(self, query: Query, frame: Frame, shared: Any) -> Any:
        """The answer about all rows."""
        sent = self.cluster.sent(f"sent-to-{query.name}", shared)
        futures = self.futures(query.name, query.ask, self.held(frame), sent)
        return query.join(self.cluster.results(query.name, self._joined(query, futures), n_bytes(shared)))

    def swept(self, frame: Frame, sweep: Sweep) -> tuple[Newborn, Sums | None]:
        """The births of a sweep, or, if there are none, the statistics about the old sites."""
        held, sent = self.held(frame), self.cluster.sent("sent-to-sweep", sweep)
        far, turn, name = self.futures("far-rows", far_rows, held, sent), Newborn.nobody(frame.shift.size), token()
        for number, one in enumerate(far):
            turn = self.cluster.submit(born, held, sent, one, turn, key=(f"kfree-births-{name}", number))
        (newborn,) = self.cluster.results("births", [turn], n_bytes(sweep))
        if len(newborn.at):
            return newborn, None
        sums = [self.cluster.submit(_sums, one, key=(f"kfree-sums-{name}", number)) for number, one in enumerate(far)]
        return newborn, NEAREST.join(self.cluster.results("sweep", self._joined(NEAREST, sums), n_bytes(sweep)))

    def first_row(self) -> Floats | None:
        """The first row of positive weight, as it was given."""
        if self._first_row is None:
            self._first_row = self.run(FIRST_ROW, Frame.plain(self.rows.n_features), None)
        return self._first_row

    def held(self, frame: Frame) -> Any:
        """A future of what tasks need besides a question; it stays on the workers from pass to pass."""
        if self._held is None or self._held[0] is not frame:
            self._held = frame, self.cluster.sent("rows", Held(self.source(), frame, self.reading))
        return self._held[1]

    def _joined(self, query: Query, futures: Sequence[Any]) -> Sequence[Any]:
        """The same answers in fewer futures, if there are many: consecutive ones are joined on workers."""
        size = -(-len(futures) // (_ANSWERS_PER_WORKER * len(self.cluster.workers())))
        if size == 1:
            return futures
        groups, name = range(0, len(futures), size), f"kfree-join-{query.name}-{token()}"
        return [
            self.cluster.submit(_join, query.join, *futures[begin : begin + size], key=(name, begin))
            for begin in groups
        ]


class FilesOnWorkers(Workers):
    """Every worker reads its own share of the rows of ``rows`` in every pass."""

    def source(self) -> RowSource:
        return self.rows

    def futures(self, name: str, ask: Callable[..., Any], held: Any, shared: Any) -> list[Any]:
        block, n_rows, workers = self.reading.passes.BLOCK, self.rows.n_rows, list(self.cluster.workers())
        key, futures = f"kfree-{name}-{token()}", []
        for number, (begin, end, worker) in enumerate(shares(-(-n_rows // block), len(workers))):
            span = begin * block, min(end * block, n_rows)
            futures.append(self.cluster.submit(ask, held, shared, *span, key=(key, number), worker=workers[worker]))
        return futures


def _join(join: Callable[[Sequence[Any]], Any], *found: Any) -> Any:
    return join(found)


def _sums(far: Far) -> Sums:
    return far.sums
