"""Dense centres that do not fit into memory are refused with the number of bytes, before anything is allocated."""

import numpy as np
import pytest
import scipy.sparse as sp

from kfree import DPMeans, KMeans
from kfree.core import memory


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def little(tmp_path, monkeypatch):
    """A system with 300,000,000 bytes left, in a container without a limit."""
    info = "MemTotal:       9000000 kB\nMemAvailable:    300000 kB\n"
    write(tmp_path, {"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"})
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    return tmp_path / "sys/fs/cgroup/memory.max"


def test_what_is_available(little):
    assert memory.available_bytes() == 300_000 * 1024
    little.write_text("1000000\n")
    assert memory.available_bytes() == 1_000_000
    little.unlink()
    assert memory.available_bytes() == 300_000 * 1024


def group(folder, limit, used, of_files, version=2):
    """Files of a control group."""
    names = ("max", "current", "") if version == 2 else ("limit_in_bytes", "usage_in_bytes", "total_")
    statistics = f"anon 5\ninactive_file 1\n{names[2]}inactive_file {of_files}\nunevictable 0\n"
    texts = {f"memory.{names[0]}": f"{limit}\n", f"memory.{names[1]}": f"{used}\n", "memory.stat": statistics}
    return {f"sys/fs/cgroup/{folder}{name}": text for name, text in texts.items()}


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", group("", 1_000_000, 600_000, 250_000), 650_000),
        ("0::/a/b\n", group("a/b/", 1_000_000, 600_000, 0), 400_000),
        ("0::/a/b\n", group("a/", 900_000, 700_000, 0) | group("a/b/", "max", 600_000, 0), 200_000),
        ("0::/elsewhere\n", group("", 1_000_000, 300_000, 0), 700_000),
        ("0::/\n", group("", 1_000, 2_000, 100), 0),
        ("4:memory:/a\n1:cpu:/b\n0::/\n", group("memory/a/", 1_000_000, 600_000, 250_000, version=1), 650_000),
        ("4:memory:/a\n", group("memory/", 1_000_000, 600_000, 0, version=1), 400_000),
        ("4:memory:/a\n", group("memory/a/", 9223372036854771712, 600_000, 0, version=1), 300_000 * 1024),
        ("1:cpu:/a\n", group("memory/a/", 1_000_000, 600_000, 0, version=1), 300_000 * 1024),
    ],
)
def test_what_a_container_has_left(membership, files, expected, little, tmp_path):
    """Its limit less what it uses already; files that it has read are given up for others."""
    write(tmp_path, {"proc/self/cgroup": membership, **files})
    assert memory.available_bytes() == expected


def test_systems_that_do_not_say(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
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
