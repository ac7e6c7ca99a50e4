"""Merge costs against recomputed costs, and greedy merging against a loop that tries every pair."""

import itertools

import numpy as np
import pytest
from common import blobs

from kfree.core.stats import Stats
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.agglomerate import agglomerate


def stats_of(X, labels, weight):
    """Statistics of a partition around its means, from the definition."""
    k = labels.max() + 1
    n = np.bincount(labels, weight, minlength=k)
    total = np.array([(weight[:, None] * X)[labels == j].sum(axis=0) for j in range(k)])
    sse = [(weight * ((X - total[j] / n[j]) ** 2).sum(axis=1))[labels == j].sum() for j in range(k)]
    return Stats(n, total, np.array(sse))


def distances_within(X, weight, metric):
    """Weighted squared distances of rows to the best centre of them all."""
    centre = weight @ X
    centre = centre / weight.sum() if metric == "euclidean" else centre / np.linalg.norm(centre)
    return weight @ ((X - centre) ** 2).sum(axis=1)


def every_pair(stats, objective, below):
    """Merge the cheapest pair by trying all of them; ``objective.merge_costs`` one pair at a time."""
    stats, alive, pairs, costs = stats.copy(), list(range(len(stats.n))), [], []
    while len(alive) > 1:
        cost, a, b = min((objective.merge_costs(stats, a)[b], a, b) for a, b in itertools.combinations(alive, 2))
        if cost >= below:
            break
        stats.absorb(a, b, cost)
        alive.remove(b)
        pairs.append((a, b))
        costs.append(cost)
    return np.array(pairs, dtype=int).reshape(-1, 2), np.array(costs)


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_merge_cost_is_the_rise_of_the_recomputed_cost(rng, metric):
    X, labels = blobs(rng, n=60, d=3, k=6)
    weight = rng.uniform(0.1, 3, size=60)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    stats, objective = stats_of(X, labels, weight), OBJECTIVES[metric](0.0)
    for a, b in itertools.combinations(range(6), 2):
        apart = sum(distances_within(X[labels == j], weight[labels == j], metric) for j in (a, b))
        together = np.isin(labels, (a, b))
        rise = distances_within(X[together], weight[together], metric) - apart
        np.testing.assert_allclose(objective.merge_costs(stats, a)[b], rise, rtol=1e-9)
        assert objective.merge_costs(stats, a)[b] == objective.merge_costs(stats, b)[a]


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_merge_costs_of_several_clusters_at_once(rng, monkeypatch, metric):
    stats, objective = Stats(np.ones(7), rng.normal(size=(7, 5)), np.zeros(7)), OBJECTIVES[metric](0.0)
    one_by_one = np.array([objective.merge_costs(stats, j) for j in range(7)])
    np.testing.assert_array_equal(objective.merge_costs(stats, slice(2, 6)), one_by_one[2:6])
    monkeypatch.setattr("kfree.core.spaces._WIDE", 10)
    np.testing.assert_array_equal(objective.merge_costs(stats, slice(2, 6)), one_by_one[2:6])


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_clusters_stand_for_their_rows(rng, metric):
    X, labels = blobs(rng, n=60, d=3, k=6, spread=2.0)
    weight = rng.uniform(0.1, 3, size=60)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    rows, mass = OBJECTIVES[metric](0.0).as_rows(stats_of(X, labels, weight))
    constant = []
    for side in (np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 0]), np.zeros(6, dtype=int)):
        groups = [(side[labels] == j, side == j) for j in np.unique(side)]
        true = sum(distances_within(X[inside], weight[inside], metric) for inside, _ in groups)
        constant.append(true - sum(distances_within(rows[group], mass[group], metric) for _, group in groups))
    np.testing.assert_allclose(constant, constant[0])


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_merge_cost_of_near_twins_keeps_its_digits(metric):
    total = np.array([[3.0, 0.0], [3.0, 3e-7]])
    stats = Stats(np.array([3.0, 3.0]), total, np.zeros(2))
    cost = OBJECTIVES[metric](0.0).merge_costs(stats, 0)[1]
    np.testing.assert_allclose(cost, 1.5 * 1e-14, rtol=1e-9)


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_clusters_without_weight_merge_for_nothing(metric):
    stats = Stats(np.array([0.0, 2.0, 0.0]), np.array([[0.0, 0], [1.0, 1], [0, 0]]), np.zeros(3))
    assert OBJECTIVES[metric](0.0).merge_costs(stats, 0).tolist() == [0, 0, 0]


KINDS = {
    "scattered": lambda rng: rng.normal(size=(25, 3)),
    "ties": lambda rng: rng.integers(3, size=(20, 2)).astype(float),
    "one column": lambda rng: rng.normal(size=(25, 1)),
    "all equal": lambda rng: np.ones((12, 2)),
    "a pair": lambda rng: rng.normal(size=(2, 2)),
    "one": lambda rng: rng.normal(size=(1, 2)),
}


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("below", [np.inf, 1.0, 0.0])
def test_merges_are_those_of_trying_every_pair(rng, kind, metric, below):
    for _ in range(8):
        X = KINDS[kind](rng)
        mass = rng.integers(1, 4, size=len(X)).astype(float)
        stats, objective = Stats(mass, mass[:, None] * X, np.zeros(len(X))), OBJECTIVES[metric](0.0)
        before = stats.copy()
        merges = agglomerate(stats, objective, below)
        pairs, costs = every_pair(stats, objective, below)
        np.testing.assert_array_equal(merges.pairs, pairs)
        np.testing.assert_array_equal(merges.costs, costs)
        assert merges.n_start == len(X)
        np.testing.assert_array_equal(stats.sum, before.sum)


def test_costs_of_merging_add_up_to_the_spread(rng):
    X = rng.normal(size=(40, 2)) + 5
    merges = agglomerate(Stats(np.ones(40), X, np.zeros(40)), OBJECTIVES["euclidean"](0.0))
    np.testing.assert_allclose(merges.costs.sum(), ((X - X.mean(axis=0)) ** 2).sum())
    assert (np.diff(merges.costs) >= -1e-12).all()


def test_labels_after_merging():
    X = np.array([[0.0], [9.0], [0.1], [5.0], [9.2], [5.4]])
    merges = agglomerate(Stats(np.ones(6), X, np.zeros(6)), OBJECTIVES["euclidean"](0.0))
    assert merges.labels(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert merges.labels(3).tolist() == [0, 1, 0, 2, 1, 2]
    assert merges.labels(2).tolist() == [0, 1, 0, 1, 1, 1]
    assert merges.labels(1).tolist() == [0, 0, 0, 0, 0, 0]
