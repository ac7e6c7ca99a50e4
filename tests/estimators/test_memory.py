"""Dense centres that do not fit into memory are refused with the number of bytes, before anything is allocated."""

import numpy as np
import pytest
import scipy.sparse as sp

from kfree import DPMeans, KMeans
from kfree.core import memory


@pytest.fixture
def little(tmp_path, monkeypatch):
    """A system with 300,000,000 bytes left, in a container without a limit."""
    info, limit = tmp_path / "meminfo", tmp_path / "limit"
    info.write_text("MemTotal:       9000000 kB\nMemAvailable:    300000 kB\n")
    limit.write_text("max\n")
    monkeypatch.setattr(memory, "_MEMORY_INFO", info)
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", limit)
    return limit


def test_what_is_available(little):
    assert memory.available_bytes() == 300_000 * 1024
    little.write_text("1000000\n")
    assert memory.available_bytes() == 1_000_000
    little.unlink()
    assert memory.available_bytes() == 300_000 * 1024


def test_systems_that_do_not_say(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_MEMORY_INFO", tmp_path / "missing")
    assert memory.available_bytes() is None
    memory.require_memory(10**9, 10**9, 1)


def test_bytes_are_counted(little):
    memory.require_memory(300, 125_000, 1)
    with pytest.raises(MemoryError, match="300 centres of 125000 columns need 600000000 bytes .* 307200000 bytes are"):
        memory.require_memory(300, 125_000, 2)


def spread_out(n, d):
    """Sparse rows, each with an entry of its own."""
    return sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) * (d // n))), shape=(n, d))


@pytest.mark.parametrize("model", [DPMeans(), KMeans(400)])
def test_fits_say_what_they_need(model, little):
    """5,000 rows are too many for their span."""
    with pytest.raises(MemoryError, match="columns need .* Reduce the columns"):
        model.fit(spread_out(5000, 100_000))
    assert not hasattr(model, "labels_")


def test_searches_that_open_more_and_more_clusters(little, monkeypatch):
    monkeypatch.setattr(memory, "_SMALL", 0)
    X = spread_out(200, 1000)
    assert DPMeans(lam=0.5).fit(X).n_clusters_ == 200
    little.write_text("1000000\n")
    with pytest.raises(MemoryError, match="centres of 1000 columns need .* 1000000 bytes are available"):
        DPMeans(lam=0.5).fit(X)
