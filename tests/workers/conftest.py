"""Clusters in this process, for all tests that do not kill workers."""

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def cluster():
    """Two workers of one thread each, as threads of this process."""
    settings = {"processes": False, "dashboard_address": ":0", "n_workers": 2, "threads_per_worker": 1}
    with distributed.LocalCluster(**settings) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client
