"""The workers of a Dask cluster: pure functions of rows run on them, and are repeated elsewhere when a worker dies."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import uuid4

from kfree.core.optional import optional

# Seconds without any worker after which a pass gives up, and seconds between two looks at the workers.
PATIENCE, _LOOK = 300.0, 1.0


_GOES_ON = "A fit with checkpoint= goes on from the last pass."
_NO_WORKER = "the Dask cluster has had no worker for {:g} seconds. Start workers and fit again. " + _GOES_ON
_ALL_PAUSED = (
    "all workers of the Dask cluster have been paused for {:g} seconds: Dask gives no tasks to workers whose memory is "
    "nearly full. Give memory= a smaller value, or start workers with more memory, and fit again. " + _GOES_ON
)


class ClusterError(RuntimeError):
    """A pass that the workers of a cluster could not complete."""


@dataclass(frozen=True)
class WorkerState:
    """A worker as the scheduler sees it; ``is_paused`` if it begins no tasks for want of memory."""

    n_threads: int
    is_paused: bool


def current_client() -> Any:
    """The client that was started last in this process; its workers have the same version of kfree."""
    otherwise = 'engine="dask" needs dask and distributed: pip install "kfree[dask]"'
    distributed = optional("distributed", otherwise)
    try:
        client = distributed.default_client()
    except ValueError as error:
        raise RuntimeError(
            'engine="dask" found no Dask client. Start one before fit: `from dask.distributed import Client`, then '
            '`Client()` for workers on this machine or `Client("scheduler:8786")` for a cluster.'
        ) from error
    for worker, version in client.run(_version_there(), on_error="ignore").items():
        _require_version(worker, version, _version())
    return client


class Cluster:
    """Runs passes on the workers of a ``client``. ``patience``: seconds to wait for workers when there are none."""

    def __init__(self, client: Any, patience: float = PATIENCE):
        self.client, self.patience = client, patience

    def workers(self) -> dict[str, int]:
        """The number of threads of each worker, by address, in a fixed order; waits until there is one."""
        states = self._states()

        def look() -> None:
            time.sleep(min(_LOOK, self.patience / 10))
            states.update(self._states())

        self._wait(lambda: bool(states), look)
        return {worker: state.n_threads for worker, state in sorted(states.items())}

    def sent(self, name: str, value: Any) -> Any:
        """A future of a value that many calls take; it travels once to each worker, and again if that dies."""
        with warnings.catch_warnings():  # that it is large; it is a part of the task, so that it can be made again
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(_itself, value, key=f"kfree-{name}-{token()}", pure=False)

    def submit(
        self, function: Callable[..., Any], *args: Any, key: Any, worker: str | None = None, after: Any = None
    ) -> Any:
        """A future of ``function(*args)``; another worker does it if ``worker`` is dead.

        It begins when the future ``after`` is done. Dask lets idle workers take tasks that wait in the queue of another
        one; a task that waits for ``after`` is in no queue.
        """
        chosen = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        settings = {"after": after, "version": _version(), "key": key, "pure": False}
        return self.client.submit(_checked, function, *args, **settings, **chosen)

    def results(self, name: str, futures: Sequence[Any], listener: Any = None) -> list[Any]:
        """The results of futures, when all are done; they are cancelled if that fails or is interrupted.

        ``listener`` is told how many of the futures are done, and how many there are.
        """
        distributed = import_module("distributed")
        waiting = list(futures)

        def look() -> None:
            try:
                distributed.wait(waiting, timeout=_LOOK)
                waiting.clear()
            except TimeoutError:
                if listener is not None:
                    listener(sum(future.done() for future in waiting), len(waiting))

        try:
            self._wait(lambda: not waiting, look)
            found: list[Any] = self.client.gather(futures)
            if listener is not None:
                listener(len(futures), len(futures))
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"several workers died one after the other in the same task of the pass {name!r}. If they ran out of "
                "memory, give memory= a smaller value or start workers with more memory; their logs say why. "
                + _GOES_ON
            ) from error
        except (distributed.comm.CommClosedError, CancelledError, asyncio.CancelledError) as error:
            raise ClusterError(
                f"the Dask scheduler was lost in the pass {name!r}, or it has cancelled tasks: "
                f"{' '.join(str(error).split())}. Start a new Client; kfree must be installed where the scheduler and "
                f"the workers run. {_GOES_ON}"
            ) from error
        finally:
            if self.client.status == "running":
                self.client.cancel(futures, force=True)
        return found

    def _wait(self, is_done: Callable[[], bool], look: Callable[[], None]) -> None:
        """Look until something is done, or there has been no worker for too long, or none that begins tasks."""
        last_seen = time.monotonic()
        while not is_done():
            look()
            states = self._states()
            if not all(state.is_paused for state in states.values()):
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > self.patience:
                raise ClusterError((_ALL_PAUSED if states else _NO_WORKER).format(self.patience))

    def _states(self) -> dict[str, WorkerState]:
        found: dict[str, WorkerState] = self.client.run_on_scheduler(_worker_states)
        return found


def token() -> str:
    """What makes the names of tasks unique; the dashboard does not show it."""
    return uuid4().hex


def _checked(function: Callable[..., Any], *args: Any, after: Any, version: str) -> Any:
    """Runs on a worker, when the task ``after`` is done; ``version`` is that of kfree where the fit runs."""
    _require_version(import_module("distributed").get_worker().address, _version(), version)
    return function(*args)


def _version_there() -> Callable[[], str | None]:
    """A function without a name in kfree: it travels as code, and so it runs where kfree is another or missing."""

    def version() -> str | None:
        try:
            return getattr(import_module("kfree"), "__version__", None)
        except ImportError:
            return None

    return version


def _require_version(worker: str, there: str | None, here: str) -> None:
    if there is None:
        raise ClusterError(f"the worker {worker} has no kfree. Install kfree {here} there, and restart the worker.")
    if there != here:
        raise ClusterError(
            f"the worker {worker} has kfree {there}, and this fit runs with kfree {here}; their results may differ. "
            f"Install one version everywhere, and restart the workers. {_GOES_ON}"
        )


def _version() -> str:
    version: str = import_module("kfree").__version__
    return version


def _worker_states(dask_scheduler: Any) -> dict[str, WorkerState]:
    """Runs on the scheduler."""
    workers = dask_scheduler.workers.items()
    return {address: WorkerState(worker.nthreads, worker.status.name == "paused") for address, worker in workers}


def _itself(value: Any) -> Any:
    return value
