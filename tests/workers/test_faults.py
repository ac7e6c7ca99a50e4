"""Workers and clients that die, in every phase: the same bits, or a clear error and a checkpoint that goes on."""

import os

import numpy as np
import pytest
from files.test_recorded import searched
from files.test_stream import check_same
from workers.faults import TroubledRows

from kfree.engines.dask.cluster import Cluster
from kfree.engines.dask.part import OnWorkers
from kfree.engines.dask.place import FilesOnWorkers
from kfree.engines.files.engine import Here
from kfree.engines.files.source import ArrayRows, Reading
from kfree.native import _core

distributed = pytest.importorskip("distributed")
READING = Reading("native", 1, _core.BLOCK)
ROWS = np.random.default_rng(5).normal(size=(8 * _core.BLOCK + 5, 2)) * np.array([1.0, 30.0])
SETTINGS = {"dashboard_address": None, "n_workers": 2, "threads_per_worker": 1, "memory_limit": "700MB"}


@pytest.fixture(scope="module")
def processes():
    with distributed.LocalCluster(**SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def client(processes):
    with distributed.Client(processes) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def expected():
    return without_counts(searched(Here(ArrayRows(ROWS), READING)))


def without_counts(found):
    """All but the number of distances, which depends on how births are found."""
    return {name: arrays for name, arrays in found.items() if name != "distances"}


@pytest.fixture
def orders(tmp_path):
    folder = tmp_path / "orders"
    folder.mkdir()
    return folder


class Ordering(Cluster):
    """A cluster in which orders are given before the passes with some name begin."""

    def __init__(self, client, orders, when, what, patience=60.0):
        super().__init__(client, patience)
        self.given = 0
        self._orders, self._when, self._what = orders, when, what

    def submit(self, function, *args, key, worker=None):
        if key[0].startswith(f"kfree-{self._when}-") and key[1] == 0 and not self.given:
            self.given = len(self._what)
            for number, what in enumerate(self._what):
                (self._orders / f"{what}-{number}").touch()
        return super().submit(function, *args, key=key, worker=worker)


def place_of(cluster, orders):
    return OnWorkers(FilesOnWorkers(cluster, TroubledRows(ROWS, orders, os.getpid()), READING))


@pytest.mark.parametrize(
    ("when", "what"),
    [
        *((phase, ["die"]) for phase in ("look", "nearest", "far-rows", "restate", "fingerprints")),
        ("nearest", ["die", "die"]),
        ("nearest", ["fill"]),
        ("nearest", ["wait"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " and ".join(value),
)
def test_workers_in_trouble_change_no_bit(when, what, client, orders, expected):
    cluster = Ordering(client, orders, when, what)
    check_same(searched(place_of(cluster, orders)), expected)
    assert cluster.given == len(what)
    assert not list(orders.iterdir())  # all orders were carried out
