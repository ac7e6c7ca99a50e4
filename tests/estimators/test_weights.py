"""Weights: repeats for the cost, zero means absent, and the one place where they are not repeats."""

import numpy as np
import pytest
from common import blobs
from oracles import centres as oracles

from kfree import DPMeans, KMeans, farthest_first_lambda

FITS = {
    "DPMeans": lambda init: DPMeans(lam=30.0, init=init),
    "DPMeans cosine": lambda init: DPMeans(lam=0.2, init=init, metric="cosine"),
    "KMeans": lambda init: KMeans(3, init=init, tol=0),
    "KMeans cosine": lambda init: KMeans(3, init=init, tol=0, metric="cosine"),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_zero_weight_equals_a_removed_row(name, engine, rng):
    X, _ = blobs(rng, n=240)
    X[::7] *= 1e8  # rows that would spoil everything, if they counted
    w = rng.integers(1, 4, len(X)).astype(float)
    w[::7] = 0
    init = X[w > 0][[0, 50, 100]]
    model = FITS[name](init).set_params(engine=engine).fit(X, sample_weight=w)
    without = FITS[name](init).set_params(engine=engine).fit(X[w > 0], sample_weight=w[w > 0])
    np.testing.assert_array_equal(model.labels_[w > 0], without.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, without.cluster_centers_)
    assert model.cost_ == without.cost_
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_zero_weight_seeds_nothing(rng):
    X, _ = blobs(rng, n=200)
    X[:100] += 1e6
    w = np.r_[np.zeros(100), np.ones(100)]
    model = KMeans(5, random_state=0).fit(X, sample_weight=w)
    assert np.abs(model.cluster_centers_).max() < 1e3
    assert farthest_first_lambda(X, 3, w) == farthest_first_lambda(X[100:], 3)


def test_the_cost_of_a_partition_treats_weights_as_repeats(rng):
    X, _ = blobs(rng, n=90)
    w = rng.integers(0, 4, len(X))
    model = DPMeans(lam=20.0).fit(X, sample_weight=w)
    repeated = np.repeat(X, w, axis=0)
    assert model.cost_ == pytest.approx(oracles.partition_cost(repeated, np.repeat(model.labels_, w), 20.0), rel=1e-12)
    assert model.score(X, sample_weight=w) == pytest.approx(model.score(repeated), rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_k_means_from_given_centres_treats_weights_as_repeats(metric, rng):
    X, _ = blobs(rng, n=120)
    w = rng.integers(0, 4, len(X))
    init = X[:4]
    weighted = KMeans(4, init=init, tol=0, metric=metric).fit(X, sample_weight=w)
    repeated = KMeans(4, init=init, tol=0, metric=metric).fit(np.repeat(X, w, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-12)
    assert weighted.cost_ == pytest.approx(repeated.cost_, rel=1e-12)


def test_one_heavy_row_opens_where_three_light_ones_do_not():
    X, lam = [[-1.0], [1.0]], 2.0
    sweep = DPMeans(lam=lam, search="sweep")
    assert sweep.fit(X, sample_weight=[3, 3]).n_clusters_ == 2
    assert sweep.fit(np.repeat(X, 3, axis=0)).n_clusters_ == 1


def test_rows_of_a_weightless_cluster_join_the_nearest():
    X = [[0.0], [1.0], [50.0], [51.0]]
    model = DPMeans(lam=1e4, init=[[0.0], [50.0]]).fit(X, sample_weight=[1, 1, 0, 0])
    assert model.n_clusters_ == 1
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert model.cluster_centers_.tolist() == [[0.5]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_of_no_weight_leave_no_trace_in_a_search(metric, rng):
    for _ in range(12):
        X = rng.normal(size=(rng.integers(20, 300), rng.integers(2, 5)))
        X += rng.choice([0.0, 6.0], size=(len(X), 1))
        w = rng.integers(0, 5, size=len(X))
        lam = 0.3 if metric == "cosine" else 27.5
        all_rows = DPMeans(lam=lam, metric=metric).fit(X, sample_weight=w)
        some_rows = DPMeans(lam=lam, metric=metric).fit(X[w > 0], sample_weight=w[w > 0])
        assert all_rows.cost_ == pytest.approx(some_rows.cost_, rel=1e-12)
        np.testing.assert_array_equal(all_rows.labels_[w > 0], some_rows.labels_)


@pytest.mark.parametrize("weight", [1e101, 1e-150])
def test_weights_that_cannot_be_multiplied_are_refused(weight):
    with pytest.raises(
        ValueError, match=r"1 value\(s\) such as 1e(\+101|-150); give zero or numbers between 1e-100 and"
    ):
        DPMeans(lam=1.0).fit([[0.0], [1.0], [2.0]], sample_weight=[1.0, weight, 0.0])
