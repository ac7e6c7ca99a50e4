"""Rows on workers: a question is answered for ranges of rows where these are read, and the answers are joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kfree.core.frame import Frame
from kfree.engines.contract import Rows
from kfree.engines.dask.births import BirthsSoFar, FarQuestion, births_among
from kfree.engines.dask.cluster import Cluster, current_client, token
from kfree.engines.dask.shares import Share, shares
from kfree.engines.files.engine import StreamedRows
from kfree.engines.files.repeats import Digests, Repeats
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.local.rows import LocalRows
from kfree.engines.questions import Born, Copies, DeferredLabels, Question, Scan, Scanned, SumsOf, Sweep

# A worker may run so many tasks of a pass at the same time, if it has the threads.
TASKS_AT_ONCE = 2
# The client takes so many answers of each worker in a pass at most.
_ANSWERS_PER_WORKER = 8
# Workers send so many standard deviations more keys of a sample than the expected number.
_CERTAINTY = 8.0

A = TypeVar("A")


@dataclass(frozen=True)
class TaskContext:
    """What all tasks need besides the question: where rows are, how they are streamed, the frame, and their number."""

    source: RowSource | None
    reading: Reading
    frame: Frame
    n_rows: int
    most_far_bytes: float

    def rows(self, begin: int, end: int) -> StreamedRows:
        """Some rows, on the threads of the worker that this runs on."""
        assert self.source is not None  # blocks of a collection are put in its place by their tasks
        reading = replace(self.reading, n_threads=self.reading.n_threads or threads_per_task())
        return StreamedRows(self.source, reading, self.frame, span=(begin, end, self.n_rows))


class Answered(NamedTuple):
    """The answer about a range of rows, how many distances of a search it took, and digests of the rows."""

    answer: Any
    n_distances: int
    digests: Digests


def threads_per_task() -> int:
    """The threads of a worker, divided among the tasks that it may run at the same time."""
    try:
        n_threads = import_module("distributed").get_worker().state.nthreads
    except ValueError:  # not on a worker
        return 1
    return max(1, -(-int(n_threads) // TASKS_AT_ONCE))


class Workers(ABC):
    """Rows that the workers of a ``cluster`` read or hold; ``source`` describes them."""

    # The most bytes of far rows that a worker keeps of a range. If there are more, its rows are read again in a sweep.
    most_far_bytes: float

    def __init__(self, cluster: Cluster, source: Any, reading: Reading):
        self.cluster, self.source = cluster, source
        self.reading, self.listener = replace(reading, listener=None), reading.listener
        self.repeats = Repeats()
        self._context: tuple[Frame, Any] | None = None

    @abstractmethod
    def futures(self, name: str, task: Callable[..., Any], context: Any, asked: Any) -> list[Any]:
        """Futures of ``task(context, asked, begin, end)`` for ranges that are all rows, in row order."""

    @abstractmethod
    def readable(self) -> RowSource | None:
        """What workers read, or None where rows are given to tasks."""

    def context(self, frame: Frame) -> Any:
        """A future of the TaskContext, which stays on the workers from pass to pass."""
        if self._context is None or self._context[0] is not frame:
            context = TaskContext(self.readable(), self.reading, frame, self.source.n_rows, self.most_far_bytes)
            self._context = frame, self.cluster.sent("rows", context)
        return self._context[1]


class DaskRows(Rows):
    """The rows of ``workers``; see ``Rows``."""

    def __init__(self, workers: Workers, frame: Frame, scanned: Scanned | None = None):
        name, source = workers.reading.name, workers.source
        super().__init__("native" if name == "auto" else name, frame, source.n_rows, source.n_features, scanned)
        self._workers, self.cluster = workers, workers.cluster

    @property
    def description(self) -> str:
        return f"{self.name}, streamed"  # instruction sets of workers may differ, with the same result

    def ask(self, question: Question[A]) -> A:
        special: dict[type, Callable[[Any], Any]] = {Scan: self._scanned, Sweep: self._swept}
        answer: A = special.get(type(question), self._asked)(question)
        return answer

    def take(self, copies: Copies) -> LocalRows:
        return LocalRows.of(copies, self, self._workers.reading.n_threads)

    def _asked(self, question: Question[A]) -> A:
        """All ranges are asked at the same time."""
        sent = self.cluster.sent(f"sent-to-{question.name}", question)
        futures = self._workers.futures(question.name, _answered, self._workers.context(self.frame), sent)
        return self._joined(question, question.name, futures)

    def _joined(self, question: Question[A], name: str, futures: Sequence[Any]) -> A:
        """Answers in many futures are first joined on workers, consecutive ones to one."""
        size = -(-len(futures) // (_ANSWERS_PER_WORKER * len(self.cluster.workers())))
        if size > 1:
            key = f"kfree-join-{name}-{token()}"
            groups = range(0, len(futures), size)
            futures = [self.cluster.submit(_join, question, *futures[g : g + size], key=(key, g)) for g in groups]
        found = _join(question, *self.cluster.results(name, futures, self._workers.listener))
        self._workers.repeats.compare(found.digests)
        self.n_distances += found.n_distances
        joined: A = found.answer
        return joined

    def _scanned(self, scan: Scan) -> Scanned:
        """A worker sends rows of its sample with small keys only, as many as one may expect to be needed of it."""
        expected = (scan.size + _CERTAINTY * np.sqrt(scan.size) + 1) / self.n_rows
        found = self._asked(replace(scan, highest_key=min(expected, 1.0) * 2.0**64))
        return found if len(found.sample.keys) == min(scan.size, found.n_counting) else self._asked(scan)

    def _swept(self, sweep: Sweep) -> Born:
        """Far rows are found on all workers at the same time; then the newborn pass from range to range."""
        context, sent = self._workers.context(self.frame), self.cluster.sent("sent-to-sweep", sweep)
        far = self._workers.futures("far-rows", _far_rows, context, sent)
        births, key = BirthsSoFar.none(sweep), token()
        for number, one in enumerate(far):
            births = self.cluster.submit(_births, context, sent, one, births, key=(f"kfree-births-{key}", number))
        (last,) = self.cluster.results("births", [births], self._workers.listener)
        born: Born = last.born
        if len(born.at):
            self.n_distances += last.n_distances
            labels = DeferredLabels(np.array(sweep.sites.centres), born.points, born.at, sweep.lam)
            return replace(born, sums=self._asked(SumsOf(labels)))
        sums = [self.cluster.submit(_sums, one, key=(f"kfree-sums-{key}", number)) for number, one in enumerate(far)]
        return replace(born, sums=self._joined(SumsOf(DeferredLabels.of(sweep.sites)), "sums", sums))


class FilesOnWorkers(Workers):
    """Every worker reads its own share of the rows of ``source`` for every question."""

    most_far_bytes = 1 << 26

    def readable(self) -> RowSource:
        source: RowSource = self.source
        return source

    def futures(self, name: str, task: Callable[..., Any], context: Any, asked: Any) -> list[Any]:
        block, n_rows, n_threads = self.reading.passes.BLOCK, self.source.n_rows, self.cluster.workers()
        key, futures, workers = f"kfree-{name}-{token()}", [], list(n_threads)
        of_worker: dict[str, list[Any]] = {worker: [] for worker in workers}
        for number, (begin, end, place) in enumerate(self.shares(-(-n_rows // block), len(workers))):
            span, worker = (begin * block, min(end * block, n_rows)), workers[place % len(workers)]
            mine, at_once = of_worker[worker], min(n_threads[worker], TASKS_AT_ONCE)
            after = mine[-at_once] if len(mine) >= at_once else None
            future = self.cluster.submit(task, context, asked, *span, key=(key, number), worker=worker, after=after)
            mine.append(future)
            futures.append(future)
        return futures

    def shares(self, n_blocks: int, n_workers: int) -> Sequence[Share]:
        """Which blocks are whose."""
        return shares(n_blocks, n_workers)


def labels_on_workers(function: Callable[..., Any], shared: Any, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """``function(shared, *args)``, which labels rows, for the arguments of all calls, on workers."""
    cluster = Cluster(current_client())
    sent, key = cluster.sent("sent-to-labels", shared), f"kfree-labels-{token()}"
    futures = [cluster.submit(function, sent, *args, key=(key, number)) for number, args in enumerate(calls)]
    return cluster.results("labels", futures)


# What runs on workers.


def _answered(context: TaskContext, question: Question[Any], begin: int, end: int) -> Answered:
    rows = context.rows(begin, end)
    return Answered(rows.ask(question), rows.n_distances, rows.repeats.digests)


def _far_rows(context: TaskContext, sweep: Sweep, begin: int, end: int) -> Answered:
    return _answered(context, FarQuestion(sweep.sites, sweep.lam, context.most_far_bytes), begin, end)


def _join(question: Question[Any], *found: Answered) -> Answered:
    digests = {place: value for one in found for place, value in one.digests.items()}
    return Answered(question.join(one.answer for one in found), sum(one.n_distances for one in found), digests)


def _births(context: TaskContext, sweep: Sweep, far: Answered, before: BirthsSoFar) -> BirthsSoFar:
    sweep = replace(sweep, newborn=before.born.points)
    born = births_among(far.answer, sweep, context.frame, context.rows)
    return before.followed_by(born, far.n_distances)


def _sums(far: Answered) -> Answered:
    return far._replace(answer=far.answer.sums)
