"""Micro-clusters of the lam path against their rows, and the ladder of merges against enumeration."""

import numpy as np
import pytest
from common import blobs
from oracles.centres import all_partitions, partition_cost

from kfree import lambda_path
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.state import one_cluster
from kfree.search.path.best_by_k import BestByK
from kfree.search.path.micro_clusters import make_micro_clusters, sample_of


def seeded():
    return np.random.RandomState(0)


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("n_rows", [300, 900])
def test_micro_clusters_cost_what_their_rows_cost(rng, monkeypatch, metric, n_rows):
    monkeypatch.setattr("kfree.search.path.micro_clusters.SAMPLE", 500)
    X, _ = blobs(rng, n=n_rows, d=4)
    weight = rng.uniform(0.5, 2, size=n_rows)
    objective = OBJECTIVES[metric](0.0)
    engine = open_engine("auto", X, weight=weight, unit=metric == "cosine")
    micro = make_micro_clusters(engine, sample_of(engine, objective, seeded()), objective, 40, seeded())
    assert not micro.complete
    one = objective.cost(engine.nearest(one_cluster(engine, objective)).stats)
    np.testing.assert_allclose(
        micro.offset + objective.cost(micro.rows.nearest(one_cluster(micro.rows, objective)).stats), one
    )
    assert 0 < micro.offset < 0.3 * one


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_more_columns_than_micro_clusters(rng, metric):
    X, _ = blobs(rng, n=90, d=60, k=3)
    objective = OBJECTIVES[metric](0.0)
    engine = open_engine("auto", X, unit=metric == "cosine")
    micro = make_micro_clusters(engine, sample_of(engine, objective, seeded()), objective, 20, seeded())
    assert micro.rows.n_features <= micro.rows.n_rows == 20
    rows = micro.outward(micro.rows.frame.outward(micro.rows.rows(np.arange(20))))
    # No row pays more for its nearest centre than for the one of its micro-cluster.
    assert objective.cost(engine.nearest(Sites.of(rows)).stats) <= micro.offset * (1 + 1e-6)
    assert lambda_path(X, metric=metric).suggest().k == 3


def test_the_order_of_the_rows_does_not_matter(rng):
    X, _ = blobs(rng, n=150, k=6)
    again = rng.permutation(150)
    np.testing.assert_allclose(lambda_path(X[again]).cost, lambda_path(X).cost, rtol=1e-9)


def test_the_ladder_finds_the_best_clusterings_of_few_rows(rng):
    hits = []
    for _ in range(4):
        X = rng.normal(size=(7, 2))
        best = np.full(7, np.inf)
        for labels in all_partitions(7):
            best[max(labels)] = min(best[max(labels)], partition_cost(X, labels, 0.0))
        best_by_k = BestByK(open_engine("auto", X, weight=np.ones(7)), OBJECTIVES["euclidean"](0.0))
        costs = best_by_k.costs(7)
        assert (costs >= best - 1e-9).all()
        hits.append(np.isclose(costs, best, atol=1e-9).mean())
    assert np.mean(hits) > 0.8


def test_the_ladder_is_no_worse_than_greedy_merging_and_never_rises(rng):
    X, _ = blobs(rng, n=200, k=9, spread=3.0)
    best_by_k = BestByK(open_engine("auto", X, weight=np.ones(200)), OBJECTIVES["euclidean"](0.0))
    assert (best_by_k.costs(40) <= best_by_k.merges.costs_by_k()).all()
    assert (np.diff(best_by_k.costs(40)) <= 1e-9).all()


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("lattice", [False, True], ids=["anywhere", "ties"])
def test_only_near_clusters_are_compared_where_there_are_many(rng, monkeypatch, metric, lattice):
    X = rng.integers(1, 30, size=(600, 2)).astype(float) if lattice else rng.standard_cauchy(size=(600, 2))
    weight = rng.integers(1, 9, size=600).astype(float)
    found = []
    for many in (64, 10**9):
        monkeypatch.setattr("kfree.search.path.best_by_k._MANY", many)
        engine = open_engine("auto", X, weight=weight, unit=metric == "cosine")
        found.append(BestByK(engine, OBJECTIVES[metric](0.0)).costs(150))
    np.testing.assert_array_equal(*found)
