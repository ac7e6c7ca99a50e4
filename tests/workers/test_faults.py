"""Workers and clients that die, in every phase: the same bits, or a clear error and a checkpoint that goes on."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from engines.checks import check_same_bits
from files.test_recorded import journaled, searched
from workers.faults import TroubledRows
from workers.test_dask_engine import on_workers

from kfree import DPMeans
from kfree.engines.dask.cluster import Cluster, ClusterError
from kfree.engines.dask.rows import FilesOnWorkers
from kfree.engines.files.engine import streamed
from kfree.engines.files.source import ArrayRows, Reading
from kfree.native import _core
from kfree.saving.journal import Journal

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
READING = Reading("native", 1, _core.BLOCK)
ROWS = np.random.default_rng(5).normal(size=(8 * _core.BLOCK + 5, 2)) * np.array([1.0, 30.0])
SETTINGS = {"dashboard_address": ":0", "n_workers": 2, "threads_per_worker": 1, "memory_limit": "700MB"}


@pytest.fixture(scope="module")
def processes():
    # Processes start fast from a server. On a busy machine a worker may be away for more than the usual 15 seconds.
    config = {"distributed.worker.multiprocessing-method": "forkserver", "distributed.deploy.lost-worker-timeout": "2m"}
    with dask.config.set(config), distributed.LocalCluster(**SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def client(processes):
    with distributed.Client(processes) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def expected():
    return without_counts(searched(streamed(ArrayRows(ROWS), READING)))


def without_counts(found):
    """All but the number of distances, which depends on how births are found."""
    return {name: arrays for name, arrays in found.items() if name != "distances"}


@pytest.fixture
def orders(tmp_path):
    folder = tmp_path / "orders"
    folder.mkdir()
    return folder


class Ordering(Cluster):
    """A cluster in which ``what`` is ordered when the first pass with some name begins."""

    def __init__(self, client, orders, what, patience=60.0):
        super().__init__(client, patience)
        self._orders, self.left = orders, dict(what)

    def submit(self, function, *args, key, worker=None, after=None):
        for phase in [phase for phase in self.left if key[0].startswith(f"kfree-{phase}-")]:
            for number, order in enumerate(self.left.pop(phase)):
                (self._orders / f"{order}-{number}").touch()
        return super().submit(function, *args, key=key, worker=worker, after=after)


def place_of(cluster, orders):
    return on_workers(FilesOnWorkers(cluster, TroubledRows(ROWS, orders, os.getpid()), READING))


TROUBLES = {
    "a worker dies in each phase": {phase: ["die"] for phase in ("look", "sums", "far-rows", "fingerprints")},
    "all workers die": {"sums": ["die", "die"]},
    "out of memory": {"sums": ["fill"]},
    "a slow worker": {"sums": ["wait"]},
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_workers_in_trouble_change_no_bit(trouble, client, orders, expected):
    cluster = Ordering(client, orders, TROUBLES[trouble])
    check_same_bits(without_counts(searched(place_of(cluster, orders))), expected)
    assert not cluster.left
    assert not list(orders.iterdir())  # all orders were carried out


def test_a_retired_worker_changes_no_bit(orders, expected):
    class Retiring(Cluster):
        def submit(self, function, *args, key, worker=None, after=None):
            if key[0].startswith("kfree-sums") and key[1] == 1 and not retired:
                retired.append(next(iter(self.workers())))
                self.client.retire_workers(retired)
            return super().submit(function, *args, key=key, worker=worker, after=after)

    retired = []
    # Workers in this process would count its memory, which grows with the tests that ran in it, as theirs.
    settings = SETTINGS | {"processes": False, "memory_limit": None}
    with distributed.LocalCluster(**settings) as own, distributed.Client(own) as client:
        check_same_bits(without_counts(searched(place_of(Retiring(client), orders))), expected)
    assert retired


def test_workers_that_stay_paused_are_an_error_with_advice(orders):
    settings = SETTINGS | {"processes": False, "memory_limit": "10MB"}
    with (
        distributed.LocalCluster(**settings) as own,
        distributed.Client(own) as client,
        pytest.raises(ClusterError, match=r"workers .* have been paused for 0\.5 seconds.* Give memory= a smaller"),
    ):
        searched(place_of(Cluster(client, patience=0.5), orders))


def test_a_task_that_kills_every_worker_is_an_error_with_advice(client, orders, processes):
    processes.scheduler.allowed_failures = 0
    try:
        with pytest.raises(ClusterError, match="several workers died .* give memory= a smaller value"):
            searched(place_of(Ordering(client, orders, {"sums": ["die"]}), orders))
    finally:
        processes.scheduler.allowed_failures = 3


def test_workers_with_another_version_are_refused(client, monkeypatch):
    run = Cluster(client)
    assert run.results("sum", [run.submit(sum, [1, 2], key="kfree-same-version")]) == [3]
    monkeypatch.setattr("kfree.__version__", "9.9")  # in this process, not in those of the workers
    with pytest.raises(ClusterError, match=r"the worker \S+ has kfree \d\S+, and this fit runs with kfree 9\.9;"):
        run.results("sum", [run.submit(sum, [1, 2], key="kfree-other-version")])


def test_a_fit_that_lost_all_workers_goes_on_from_its_checkpoint(client, orders, expected, tmp_path):
    class Deserted(Cluster):
        def submit(self, function, *args, key, worker=None, after=None):
            future = super().submit(function, *args, key=key, worker=worker, after=after)
            if key[0].startswith("kfree-far-rows") and key[1] == 0:
                client.cluster.scale(0)
            return future

    path = tmp_path / "fit.kfree"
    lost = pytest.raises(
        ClusterError, match=r"no worker for 0\.5 seconds. Start workers and fit again\. .* checkpoint="
    )
    with lost, closing(Journal(path, {})) as journal:
        searched(journaled(place_of(Deserted(client, patience=0.5), orders), journal))
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=60)
    journal = Journal(path, {})
    check_same_bits(without_counts(searched(journaled(place_of(Cluster(client), orders), journal))), expected)
    assert journal.n_repeated > 2


DIES = """
import os, signal, sys
sys.path.insert(0, sys.argv[4])
import distributed
from workers.test_faults import *

class Last(Journal):
    def _append(self, document, arrays):
        super()._append(document, arrays)
        self.n = getattr(self, "n", 0) + 1
        if self.n == 4:
            os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    with distributed.Client(sys.argv[1]) as client:
        searched(journaled(place_of(Cluster(client), Path(sys.argv[2])), Last(sys.argv[3], {})))
"""


def test_a_killed_client_goes_on_from_its_checkpoint(client, orders, expected, tmp_path):
    path, tests = tmp_path / "fit.kfree", Path(__file__).parents[1]
    args = [client.scheduler.address, str(orders), str(path), str(tests)]
    died = subprocess.run([sys.executable, "-c", DIES, *args], capture_output=True, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    journal = Journal(path, {})
    check_same_bits(without_counts(searched(journaled(place_of(Cluster(client), orders), journal))), expected)
    assert journal.n_repeated == 4


SCHEDULER = """
import distributed
settings = {"processes": False, "protocol": "tcp", "dashboard_address": ":0", "n_workers": 1, "threads_per_worker": 1}
with distributed.LocalCluster(**settings) as cluster:
    print(cluster.scheduler_address, flush=True)
    input()
"""


def test_a_fit_that_lost_the_scheduler_goes_on_from_its_checkpoint(client, orders, expected, tmp_path):
    path, environment = tmp_path / "fit.kfree", {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment}
    process = subprocess.Popen([sys.executable, "-c", SCHEDULER], **pipes)

    class Headless(Cluster):
        def submit(self, function, *args, key, worker=None, after=None):
            future = super().submit(function, *args, key=key, worker=worker, after=after)
            if key[0].startswith("kfree-far-rows") and key[1] == 0:
                process.kill()
            return future

    lost = pytest.raises(ClusterError, match="the Dask scheduler was lost in the pass .* Start a new Client")
    with (
        process,
        distributed.Client(process.stdout.readline().decode().strip()) as other,
        lost,
        closing(Journal(path, {})) as journal,
    ):
        searched(journaled(place_of(Headless(other), orders), journal))
    journal = Journal(path, {})
    check_same_bits(without_counts(searched(journaled(place_of(Cluster(client), orders), journal))), expected)
    assert journal.n_repeated > 2


OTHER = {
    "another version": ('__version__ = "0.0.9"', r"the worker \S+ has kfree 0\.0\.9, and this fit runs with kfree \d"),
    # Not there, also where it is installed.
    "no kfree": ("raise ModuleNotFoundError(name='kfree')", r"the worker \S+ has no kfree\. Install kfree \d\S+ there"),
}


@pytest.mark.parametrize("kind", OTHER)
def test_a_fit_on_a_worker_with_another_kfree_is_refused_at_once(kind, tmp_path):
    """Modules of another version may have moved, so that a task cannot even be read there: such a worker ends."""
    content, told = OTHER[kind]
    (tmp_path / "kfree").mkdir()
    (tmp_path / "kfree" / "__init__.py").write_text(content)
    X = dask.array.from_array(ROWS, chunks=(_core.BLOCK, 2))
    settings = {"n_workers": 0, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        with subprocess.Popen(command, env=environment, cwd=tmp_path, **quiet) as worker:
            try:
                client.wait_for_workers(1, timeout=60)
                with pytest.raises(ClusterError, match=told):
                    DPMeans(lam=300.0, engine="dask", search="sweep").fit(X)
            finally:
                worker.kill()
