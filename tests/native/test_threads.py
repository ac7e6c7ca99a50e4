"""How many threads a fit takes: parameter, threadpoolctl, joblib, environment, control groups."""

import os
import re

import joblib
import numpy as np
import pytest
import threadpoolctl
from sklearn.model_selection import GridSearchCV

from kfree import DPMeans, KMeans
from kfree.native import processor
from kfree.native.processor import available_cpus, cgroup_quota
from kfree.native.threads import VARIABLES, thread_count


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("kfree", "openmp", "expected"),
    [(None, "3", 3), ("2", "3", 2), (None, "5,2", 5), ("7", None, 7), ("", " 4 , 1", 4)],
)
def test_variables(monkeypatch, kfree, openmp, expected):
    for name, value in zip(VARIABLES, (kfree, openmp), strict=True):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert thread_count() == expected
    assert thread_count(6) == 6


def test_without_variables_all_processors():
    assert thread_count() == available_cpus()


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("value", ["0", "two", "-1", "2.5", "x,4"])
def test_a_bad_variable_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}='{value}' is not a number of threads"):
        DPMeans(lam=1.0).fit(np.zeros((3, 2)))
    DPMeans(lam=1.0, n_threads=1).fit(np.zeros((3, 2)))
    threadpoolctl.threadpool_info()  # what others ask still has an answer


def control_groups(root, membership, files):
    for name, text in {"proc/self/cgroup": membership, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/a/b\n", {"sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "400000 100000\n"}, 4),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ("0::/elsewhere\n", {"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        (
            "3:cpu,cpuacct:/job\n2:memory:/x\n",
            {
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            "3:cpu,cpuacct:/job\n",
            {"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"},
            None,
        ),
        ("2:cpuset:/x\n", {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "1 1"}, None),
    ],
)
def test_control_groups(tmp_path, membership, files, expected):
    control_groups(tmp_path, membership, files)
    assert cgroup_quota(tmp_path) == expected


def test_no_control_groups(tmp_path):
    assert cgroup_quota(tmp_path) is None


@pytest.mark.parametrize(("quota", "expected"), [(None, 8), (2.5, 3), (0.1, 1), (100.0, 8)])
def test_a_quota_limits_the_affinity(monkeypatch, quota, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(processor, "_own_quota", lambda process: quota)
    assert available_cpus() == expected


def test_threadpoolctl_sees_and_limits(monkeypatch):
    monkeypatch.setenv("KFREE_NUM_THREADS", "5")
    mine = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "kfree"]
    assert [info["num_threads"] for info in mine] == [5]
    with threadpoolctl.threadpool_limits(limits=2, user_api="kfree"):
        assert thread_count() == 2
        assert thread_count(7) == 7
        with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
            assert thread_count() == 2
        assert thread_count() == 2
    assert thread_count() == 5
    monkeypatch.setenv("KFREE_NUM_THREADS", "4")
    assert thread_count() == 4  # the limit has left nothing behind


def counts(**where):
    with joblib.parallel_config(**where):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(thread_count)() for _ in range(4))


def test_worker_threads_of_joblib_take_one_thread_each(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert counts(backend="threading") == [1] * 4
    assert thread_count() == 6


def test_worker_processes_of_joblib_keep_its_limit():
    assert counts(backend="loky", inner_max_num_threads=3) == [3] * 4
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def threads_of(model, X, y=None):
    """A score: the threads that the fit used, as ``engine_`` tells."""
    return float(re.search(r"(\d+) thread", model.engine_)[1])


def test_a_grid_search_on_all_processors_has_one_thread_for_each(rng):
    """As many workers as processors, and no more threads in total; alone, the same fit takes them all."""
    X, n_cpus = rng.normal(size=(40, 2)), joblib.cpu_count()
    search = GridSearchCV(KMeans(random_state=0), {"n_clusters": [1, 2]}, scoring=threads_of, cv=2, n_jobs=-1)
    found = search.fit(X).cv_results_
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    assert found["split0_test_score"].tolist() == found["split1_test_score"].tolist() == [1.0, 1.0]
    assert threads_of(search.best_estimator_, X) == available_cpus() == n_cpus


def test_jobs_one_after_the_other_are_not_limited(monkeypatch):
    monkeypatch.setenv("KFREE_NUM_THREADS", "3")
    assert joblib.Parallel(n_jobs=1)(joblib.delayed(thread_count)() for _ in range(2)) == [3, 3]
