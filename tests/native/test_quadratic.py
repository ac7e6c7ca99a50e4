"""Quadratic costs and the kd-tree: compiled code, NumPy twins and plain formulas."""

import subprocess
import sys

import numpy as np
import pytest

from kfree.core.stats import GaussianStats
from kfree.native import _core
from kfree.native.reference import quadratic as reference_quadratic

MODULES = {"native": _core, "reference": reference_quadratic}


def random_costs(rng, k, d, like):
    """Clusters at rows of ``like``, with quite unequal covariances."""
    factor = np.tril(rng.normal(size=(k, d, d))) * np.exp(rng.normal(size=(k, 1, 1)))
    factor[:, range(d), range(d)] = np.exp(rng.normal(size=(k, d)) * 1.5)
    centre = like[rng.integers(len(like), size=k)] + 0.1 * rng.normal(size=(k, d))
    return centre, factor, rng.normal(size=k) * 3


def random_rows(rng, n, d):
    rows = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.integers(3, size=(n, 1)) * rng.normal(size=d) * 5
    rows[n // 2 : n // 2 + n // 10] = rows[0]  # duplicates in plenty
    return rows


def cheapest_by(module, rows, costs, n_threads=1):
    label = np.empty(len(rows), dtype=np.int32)
    module.cheapest(rows, *costs, n_threads, label)
    return label


def moments_by(module, rows, label, k, n_threads=1):
    stats = GaussianStats.empty(k, rows.shape[1])
    module.moments(rows, label, n_threads, stats.n, stats.sum, stats.scatter)
    return stats


def assigned_by(module, rows, costs, leaf_size=10, n_threads=1):
    """Labels in the order of the rows, moments and the number of evaluations, by way of a kd-tree."""
    tree, label = module.KdTree(rows, leaf_size), np.empty(len(rows), dtype=np.int32)
    order = np.array(tree.order)
    stats = GaussianStats.empty(*costs[0].shape)
    out = label, stats.n, stats.sum, stats.scatter
    n_evaluations = tree.assign(np.ascontiguousarray(rows[order]), *costs, n_threads, *out)
    unordered = np.empty_like(label)
    unordered[order] = label
    return unordered, stats, n_evaluations


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("d", [1, 3, 8, 13])
def test_cheapest_is_the_plain_formula(rng, module, d):
    rows = random_rows(rng, 200, d)
    costs = centre, factor, offset = random_costs(rng, 6, d, rows)
    plain = np.einsum("kij,nkj->nki", factor, rows[:, None] - centre)
    expected = ((plain**2).sum(axis=2) + offset).argmin(axis=1)
    np.testing.assert_array_equal(cheapest_by(MODULES[module], rows, costs), expected)


def test_equal_costs_go_to_the_first(rng):
    rows = random_rows(rng, 50, 5)
    once = random_costs(rng, 3, 5, rows)
    twice = [np.concatenate([part, part]) for part in once]
    for module in MODULES.values():
        np.testing.assert_array_equal(cheapest_by(module, rows, twice), cheapest_by(module, rows, once))
        np.testing.assert_array_equal(assigned_by(module, rows, twice)[0], cheapest_by(module, rows, once))


@pytest.mark.parametrize("d", range(1, 13))
def test_kd_tree_finds_what_brute_force_finds(rng, d):
    """300 cases with unequal covariances, below and above the 8 columns up to which KW look at corners."""
    for _ in range(25):
        k, n = int(rng.integers(1, 9)), int(rng.integers(1, 400))
        rows = random_rows(rng, n, d)
        costs = random_costs(rng, k, d, rows)
        label, stats, _ = assigned_by(_core, rows, costs, leaf_size=int(rng.integers(1, 40)))
        np.testing.assert_array_equal(label, cheapest_by(_core, rows, costs))
        brute = moments_by(_core, rows, label, k)
        np.testing.assert_array_equal(stats.n, brute.n)
        np.testing.assert_allclose(stats.sum, brute.sum, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(stats.scatter, brute.scatter, rtol=1e-9, atol=1e-9 * (rows**2).sum())


def test_the_printed_lower_bound_is_not_one():
    """In the box [−1, 1] × [0, 1], A owns (0, 1), and the bound of KW §9.1 as printed strikes it off."""
    rows = np.array([[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    costs = np.array([[0.0, 1.1], [0.0, 0.5]]), np.array([np.eye(2) * np.sqrt(10.0), np.eye(2)]), np.array([0.0, 1.0])
    for module in MODULES.values():
        np.testing.assert_array_equal(assigned_by(module, rows, costs, leaf_size=5)[0], [1, 1, 1, 1, 0])


@pytest.mark.parametrize("d", [2, 9])
def test_twins_agree(rng, d):
    rows = random_rows(rng, 3000, d)
    costs = random_costs(rng, 7, d, rows)
    label = cheapest_by(_core, rows, costs)
    np.testing.assert_array_equal(label, cheapest_by(reference_quadratic, rows, costs))
    np.testing.assert_array_equal(label, assigned_by(reference_quadratic, rows, costs, 50)[0])
    ours, twin = (moments_by(module, rows, label, 7) for module in MODULES.values())
    for part in ["n", "sum", "scatter"]:
        np.testing.assert_allclose(getattr(ours, part), getattr(twin, part), rtol=1e-10, atol=1e-8)


def test_threads_do_not_matter(rng):
    rows = random_rows(rng, 5000, 4)
    costs = random_costs(rng, 5, 4, rows)
    one, three = (assigned_by(_core, rows, costs, 20, n_threads) for n_threads in [1, 3])
    brute = [moments_by(_core, rows, one[0], 5, n_threads) for n_threads in [1, 3]]
    for a, b in [(one[1], three[1]), brute]:
        for part in ["n", "sum", "scatter"]:
            assert getattr(a, part).tobytes() == getattr(b, part).tobytes()
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(cheapest_by(_core, rows, costs, 3), one[0])


COUNT_THREADS = """
import os
import numpy as np
from kfree.native import _core
rows, label = np.zeros((500, 40)), np.empty(500, dtype=np.int32)
n_before = len(os.listdir("/proc/self/task"))
_core.cheapest(rows, np.zeros((9, 40)), np.zeros((9, 40, 40)), np.zeros(9), 2, label)
print(len(os.listdir("/proc/self/task")) - n_before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lists the threads of a process")
def test_few_rows_are_work_for_all_threads():
    """A process of its own: threads that were started stay."""
    assert subprocess.check_output([sys.executable, "-c", COUNT_THREADS], text=True) == "1\n"


def test_a_tree_saves_evaluations(rng):
    centre = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    rows = np.concatenate([c + rng.normal(size=(1000, 2)) for c in centre])
    costs = centre, np.array([np.eye(2)] * 3), np.zeros(3)
    for module in MODULES.values():
        assert assigned_by(module, rows, costs, 50)[2] < 0.1 * len(rows) * 3
