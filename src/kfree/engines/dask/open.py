"""The place of rows on the workers of the current Dask client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kfree.core.frame import Frame
from kfree.engines.dask.cluster import Cluster, current_client, token
from kfree.engines.dask.collections import CollectionOnWorkers, CollectionRows
from kfree.engines.dask.part import OnWorkers
from kfree.engines.dask.place import FilesOnWorkers
from kfree.engines.dask.traffic import n_bytes
from kfree.engines.files.engine import StreamEngine
from kfree.engines.files.facts import Facts
from kfree.engines.files.source import Reading


def dask_place(source: Any, reading: Reading) -> OnWorkers:
    """The place of files, which workers read, or of the chunks of a Dask collection."""
    kind = CollectionOnWorkers if isinstance(source, CollectionRows) else FilesOnWorkers
    return OnWorkers(kind(Cluster(current_client()), source, reading))


def open_dask_in(source: Any, reading: Reading, frame: Frame) -> StreamEngine:
    """An engine over rows in given coordinates, without a pass; every row counts."""
    place = dask_place(source, reading)
    return StreamEngine(place.name, place.parts(frame, [Facts.unknown(source.n_rows)]))


def run_on_workers(name: str, function: Callable[..., Any], shared: Any, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """``function(shared, *args)`` for the arguments of all calls, on workers."""
    cluster = Cluster(current_client())
    sent, key = cluster.sent(f"sent-to-{name}", shared), f"kfree-{name}-{token()}"
    futures = [cluster.submit(function, sent, *args, key=(key, number)) for number, args in enumerate(calls)]
    return cluster.results(name, futures, n_bytes(shared))
