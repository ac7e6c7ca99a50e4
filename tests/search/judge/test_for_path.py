"""The judge's word on the steps of a lam path."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans, lambda_path, load
from kfree.search.judge.for_path import JudgedSteps, judged_steps


def test_the_suggested_number_stays_if_it_is_about_as_good():
    steps = JudgedSteps({2: 0.1, 10: 0.5, 20: 0.52})
    assert (steps.best(), steps.choose(10), steps.choose(9), steps.choose(3), steps.choose(1)) == (20, 10, 9, 20, 20)
    assert (JudgedSteps({}).best(), JudgedSteps({}).choose(4), JudgedSteps({1: 0.02}).choose(4)) == (1, 4, 1)


def test_many_topics_are_counted_and_none_are_not():
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=500)
    rows = rng.normal(size=(30, 50))[y] + 0.7 * rng.normal(size=(500, 50))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert 26 <= judged_steps(rows, True, rng).best() <= 34
    alone = rng.normal(size=(300, 50))
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    assert judged_steps(alone, False, rng).best() == 1
    assert judged_steps(alone[:10], False, rng).score == {}


def test_a_number_between_two_tested_ones_has_the_better_score():
    assert JudgedSteps({35: 0.5, 41: 0.0}).near(38) == 0.5
    assert JudgedSteps({35: 0.5, 41: 0.0}).choose(38) == 38


def topics(k, n, d, noise, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] + noise * rng.normal(size=(n, d)), y


def test_many_topics_of_few_rows_each_are_seen_by_dp_means():
    X, y = topics(k=40, n=400, d=60, noise=1.2)
    model = DPMeans(metric="cosine").fit(X)
    assert 33 <= model.n_clusters_ <= 46
    assert adjusted_rand_score(y, model.labels_) > 0.8
    path = lambda_path(X, metric="cosine")
    assert path.judged_k == path.suggest().k
    assert 0 < path.judged_score < 1
    assert f"against surrogate rows without clusters: k={path.judged_k}" in repr(path)
    assert path.summary()["judged_k"] == path.judged_k
    assert not path.is_doubtful


def test_the_number_is_not_larger_than_the_path():
    X, _ = topics(k=40, n=400, d=60, noise=1.2)
    assert lambda_path(X, metric="cosine", max_k=25).suggest().k <= 25


def test_a_judged_path_is_saved(tmp_path):
    X, _ = topics(k=8, n=200, d=40, noise=0.7)
    model = DPMeans(metric="cosine").fit(X).save(tmp_path / "model")
    path = load(tmp_path / "model").path_
    assert (path.judged_k, path.judged_score) == (model.path_.judged_k, model.path_.judged_score)
    assert path.suggest() == model.path_.suggest()


@pytest.mark.parametrize(("metric", "d"), [("euclidean", 40), ("cosine", 8)])
def test_tables_and_few_columns_are_not_judged(metric, d):
    X, _ = topics(k=4, n=200, d=d, noise=0.5)
    path = lambda_path(X, metric=metric)
    assert not hasattr(path, "judged_k")
    assert path.summary()["judged_k"] is None


def test_directions_without_clusters_are_one():
    X = np.random.default_rng(0).normal(size=(300, 40)) / np.sqrt(np.arange(1, 41))
    assert DPMeans(metric="cosine").fit(X).n_clusters_ == 1


def test_skewed_factors_are_no_topics():
    rng = np.random.default_rng(0)
    rows = rng.lognormal(size=(1000, 20)) @ rng.normal(size=(20, 64)) + 0.1 * rng.normal(size=(1000, 64))
    path = lambda_path(rows, metric="cosine")
    assert np.nanmax(path.evidence) > 3.5  # density dips alone would see clusters
    assert path.suggest().k == path.judged_k == 1
