"""Rows on workers: queries run on parts of the rows where these are read, and the answers are joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

from kfree.core.frame import Frame
from kfree.core.stats import Floats
from kfree.engines.dask.births import Far, Newborn, Sweep, born, far_rows
from kfree.engines.dask.cluster import Cluster, token
from kfree.engines.dask.shares import Share, shares
from kfree.engines.dask.tasks import FIRST_ROW, NEAREST, TASKS_AT_ONCE, Held, Query, Sums
from kfree.engines.dask.traffic import n_bytes
from kfree.engines.files.source import Reading

# The client takes so many answers of each worker in a pass at most.
_ANSWERS_PER_WORKER = 8


class Workers(ABC):
    """Rows that the workers of a ``cluster`` read or hold; ``rows`` describes them."""

    def __init__(self, cluster: Cluster, rows: Any, reading: Reading):
        self.cluster, self.rows, self.reading = cluster, rows, replace(reading, listener=None)
        self._listener = reading.listener
        self._held: tuple[Frame, Any] | None = None
        self._first_row: Floats | None = None

    @abstractmethod
    def futures(self, name: str, ask: Callable[..., Any], held: Any, shared: Any) -> list[Any]:
        """Futures of ``ask(held, shared, begin, end)`` for parts that are all rows, in row order."""

    @abstractmethod
    def source(self) -> Any:
        """The ``RowSource`` that workers read, or None where rows are given to tasks."""

    def run(self, query: Query, frame: Frame, shared: Any) -> Any:
        """The answer about all rows."""
        sent = self.cluster.sent(f"sent-to-{query.name}", shared)
        futures = self.futures(query.name, query.ask, self.held(frame), sent)
        fewer = self._joined(query, futures)
        return query.join(self.cluster.results(query.name, fewer, n_bytes(shared), self._listener))

    def swept(self, frame: Frame, sweep: Sweep) -> tuple[Newborn, Sums | None]:
        """The births of a sweep, or, if there are none, the statistics about the old sites."""
        held, sent = self.held(frame), self.cluster.sent("sent-to-sweep", sweep)
        far, turn, name = (
            self.futures("far-rows", far_rows, held, sent),
            Turn(Newborn.nobody(frame.shift.size)),
            token(),
        )
        for number, one in enumerate(far):
            turn = self.cluster.submit(_turn, held, sent, one, turn, key=(f"kfree-births-{name}", number))
        (last,) = self.cluster.results("births", [turn], n_bytes(sweep), self._listener)
        newborn, counted = last.newborn, self.cluster.traffic[-1]
        for worker, moved in last.log:
            counted.taken[worker] += moved
        if len(newborn.at):
            return newborn, None
        sums = [self.cluster.submit(_sums, one, key=(f"kfree-sums-{name}", number)) for number, one in enumerate(far)]
        return newborn, NEAREST.join(self.cluster.results("sweep", self._joined(NEAREST, sums), 0))

    def first_row(self) -> Floats | None:
        """The first row of positive weight, as it was given."""
        if self._first_row is None:
            self._first_row = self.run(FIRST_ROW, Frame.plain(self.rows.n_features), None)
        return self._first_row

    def held(self, frame: Frame) -> Any:
        """A future of what tasks need besides a question; it stays on the workers from pass to pass."""
        if self._held is None or self._held[0] is not frame:
            self._held = frame, self.cluster.sent("rows", Held(self.source(), frame, self.reading, self.rows.n_rows))
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

    def source(self) -> Any:
        return self.rows

    def futures(self, name: str, ask: Callable[..., Any], held: Any, shared: Any) -> list[Any]:
        block, n_rows, n_threads = self.reading.passes.BLOCK, self.rows.n_rows, self.cluster.workers()
        key, futures, workers = f"kfree-{name}-{token()}", [], list(n_threads)
        of_worker: dict[str, list[Any]] = {worker: [] for worker in workers}
        for number, (begin, end, place) in enumerate(self.shares(-(-n_rows // block), len(workers))):
            span, worker = (begin * block, min(end * block, n_rows)), workers[place % len(workers)]
            mine, at_once = of_worker[worker], min(n_threads[worker], TASKS_AT_ONCE)
            after = mine[-at_once] if len(mine) >= at_once else None
            task = self.cluster.submit(ask, held, shared, *span, key=(key, number), worker=worker, after=after)
            mine.append(task)
            futures.append(task)
        return futures

    def shares(self, n_blocks: int, n_workers: int) -> Sequence[Share]:
        """Which blocks are whose."""
        return shares(n_blocks, n_workers)


class Turn(NamedTuple):
    """The newborn after some parts had their turn, and the bytes that moved to and from their workers for it."""

    newborn: Newborn
    log: tuple[tuple[str, int], ...] = ()


def _turn(held: Held, sweep: Sweep, far: Far, before: Turn) -> Turn:
    """Runs on a worker."""
    newborn, worker = born(held, sweep, far, before.newborn), import_module("distributed").get_worker().address
    return Turn(newborn, (*before.log, (worker, n_bytes(before.newborn) + n_bytes(newborn))))


def _join(join: Callable[[Sequence[Any]], Any], *found: Any) -> Any:
    return join(found)


def _sums(far: Far) -> Sums:
    return far.sums
