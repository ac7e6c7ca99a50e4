"""Compiled code that the lam path calls, against its twin in NumPy: the same bits."""

import math

import numpy as np
import pytest

from kfree.core.sites import Sites
from kfree.engines.registry import open_local
from kfree.native import _core
from kfree.native.reference import path as reference
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.moves import lloyd
from kfree.search.centres.state import assigned
from kfree.search.loop import descend
from kfree.search.path.cells import neighbours


@pytest.mark.parametrize("kind", ["plain", "weighted", "on a lattice"])
@pytest.mark.parametrize(("n", "k", "d"), [(30, 2, 1), (300, 6, 2), (900, 5, 4), (40, 12, 2)])
def test_dips_between_centres(rng, n, k, d, kind):
    X, training, centres = rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng.normal(size=(k, d))
    if kind == "on a lattice":  # where many rows are as near to one centre as to another
        X, training, centres = (np.round(4 * some) for some in (X, training, centres))
    ways = neighbours(((centres[:, None] - centres) ** 2).sum(axis=2), 3)
    rows = [
        part
        for some in (X, training)
        for part in (
            ((centres[:, None] - some) ** 2).sum(axis=2),
            rng.choice([1e-12, 0.5, 3.0], size=n) if kind == "weighted" else np.ones(n),
        )
    ]
    excess, sigmas, variances = *np.empty((2, 2, 2, len(ways.gap))), []
    for i, code in enumerate((_core, reference)):
        middle = code.dips_in_the_middle(*rows[:2], *ways, 0.7, 0.25, 1e-9, excess[i, 0], sigmas[i, 0])
        limits = 0.7, 0.75, 1e-9, np.linspace(-0.3, 0.3, 13), 0.125
        somewhere = code.dips_somewhere(*rows, *ways, *limits, excess[i, 1], sigmas[i, 1])
        variances.append((middle, somewhere))
    assert variances[0] == variances[1]
    np.testing.assert_array_equal(excess[0], excess[1])
    np.testing.assert_array_equal(sigmas[0], sigmas[1])
    assert np.isnan(sigmas).any() or k < 12  # some of many clusters have one row
    assert (np.nan_to_num(excess) != 0).mean() > 0.25


@pytest.mark.parametrize("m", [6, 40])
@pytest.mark.parametrize("values", ["any", "ties", "zeros", "wide"])
def test_order_statistics_of_distances(rng, values, m):
    sq_dist = {
        "any": rng.uniform(size=(40, m)),
        "ties": rng.integers(3, size=(40, m)).astype(float),
        "zeros": np.zeros((40, m)),
        "wide": 10 ** rng.uniform(-300, 300, size=(40, m)),
    }[values]
    found, expected = np.empty(40), np.empty(40)
    _core.neighbour_reach(sq_dist, 5, found)
    reference.neighbour_reach(sq_dist, 5, expected)
    np.testing.assert_array_equal(found, expected)
    for size in (1, 2, 39, sq_dist.size):
        some = sq_dist.ravel()[:size].copy()
        assert _core.median(some) == reference.median(some)


@pytest.mark.parametrize("values", ["any", "ties", "a sample misleads"])
@pytest.mark.parametrize("n", [9_000, 100_001])
def test_a_median_of_many_values_is_that_of_all(rng, values, n):
    some = rng.integers(9, size=n).astype(float) if values == "ties" else rng.exponential(size=n)
    if values == "a sample misleads":
        some[:: n // 4096 + 1] = 0.0
    assert _core.median(some) == reference.median(some)


@pytest.mark.parametrize("max_passes", [1, 3, 50])
@pytest.mark.parametrize(("k", "d"), [(1, 3), (4, 3), (30, 3), (30, 100)])  # the last one keeps bounds
def test_k_means_in_one_call_is_the_loop_of_moves(rng, k, d, max_passes):
    X, weight = rng.normal(size=(200, d)), rng.uniform(0.1, 10, size=200)
    objective, found = OBJECTIVES["euclidean"](0.0), {}
    for name in ("native", "reference"):
        rows = open_local(name, X, weight=weight)
        sites = Sites.of(rows.rows(np.arange(k)))
        start = assigned(sites, rows, objective)
        expected = descend(start, [lloyd], rows, objective, max_passes)
        done, n_passes, converged = rows.k_means(sites, 0.0, max_passes)
        assert (n_passes, converged) == (expected.n_iter, expected.converged)
        np.testing.assert_array_equal(done.centres, expected.state.sites.centres)
        np.testing.assert_array_equal(done.assignment.labels, expected.state.assignment.labels)
        for part in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(done.stats, part), getattr(expected.state.stats, part))
        found[name] = done
    np.testing.assert_array_equal(found["native"].stats.sum, found["reference"].stats.sum)


@pytest.mark.parametrize("name", ["native", "reference"])
def test_k_means_stops_where_a_cluster_loses_all_rows(name):
    rows = open_local(name, np.array([[0.0], [0.1], [10.0]]), weight=np.ones(3), frame=None)
    sites = Sites.of(rows.frame.placed(np.array([[0.0], [10.0], [90.0]])))
    done, n_passes, converged = rows.k_means(sites, 0.0, 20)
    assert (n_passes, converged) == (1, False)
    assert done.stats.n.tolist() == [2.0, 1.0, 0.0]


def test_the_cost_of_k_means_is_the_exact_sum(rng):
    for _ in range(200):
        X = rng.normal(size=(8, 1)) * 10 ** rng.uniform(-9, 9, size=(8, 1))
        rows = open_local("native", X, weight=10 ** rng.uniform(-9, 9, size=8))
        centres = rng.normal(size=(4, 1)) * 10 ** rng.uniform(-9, 9, size=(4, 1))
        out = np.empty(8, np.int32), np.empty(8), np.empty(4), np.empty((4, 1)), np.empty(4)
        cost = rows.passes.k_means(rows._rows, centres, np.arange(4), 0.0, 1, 1, rows._bounds, *out)[-1]
        assert cost == math.fsum(out[-1].tolist())
