"""AutoCluster: what it publishes, the same for any number of threads, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from kfree import AutoCluster
from kfree.exceptions import DataAdvice


def blobs(n=240, d=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + 9 * np.eye(k, d)[y], y


@pytest.fixture(scope="module")
def model():
    return AutoCluster().fit(blobs()[0])


def test_published_attributes(model):
    X, y = blobs()
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert (model.n_clusters_, model.model_name_, model.k_interval_, model.is_sure_) == (3, "round", (3, 3), True)
    assert model.labels_.dtype == np.int32
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    assert model.stability_.shape == (3,)
    assert model.stability_.min() > 0.9
    assert model.reason_.startswith("3 clusters (round)")
    assert next(one["model"] for one in model.candidates_) == "round"
    assert all(one["why_not"] for one in model.candidates_[1:])
    assert np.array_equal(model.predict(X), model.labels_)
    assert (model.n_judged_, model.n_features_in_) == (240, 3)


def test_the_result_does_not_depend_on_threads_or_on_scales(model):
    X, _ = blobs()
    again = AutoCluster(n_threads=2).fit(X * [1.0, 1000.0, 0.01] + 5.0)
    assert np.array_equal(again.labels_, model.labels_)
    assert again.candidates_[0]["score"] == pytest.approx(model.candidates_[0]["score"])


def test_clusters_of_any_shape_predict_by_their_neighbours():
    X, y = make_moons(300, noise=0.05, random_state=0)
    model = AutoCluster().fit(X)
    assert (model.n_clusters_, model.model_name_) == (2, "any shape")
    assert adjusted_rand_score(y, model.labels_) == 1.0
    new, truth = make_moons(100, noise=0.05, random_state=1)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.9


def test_of_many_rows_a_sample_is_judged_and_all_get_labels():
    X, y = blobs(n=2500)
    model = AutoCluster().fit(X)
    assert model.n_judged_ == 1000
    assert "1,000 of 2,500 rows" in model.reason_
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_unit_rows_are_recognised():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=300)
    X = rng.normal(size=(6, 40))[y] + 0.5 * rng.normal(size=(300, 40))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = AutoCluster().fit(unit)
    assert model.n_clusters_ == 6
    assert model.model_.metric == "cosine"
    assert np.array_equal(AutoCluster(metric="cosine").fit(X).labels_, model.labels_)


def test_rows_without_clusters_are_one():
    model = AutoCluster().fit(np.random.default_rng(0).normal(size=(300, 4)))
    assert (model.n_clusters_, model.model_name_, model.k_interval_) == (1, "one cluster", (1, 1))
    assert model.reason_.startswith("One cluster: the best partition scores 0.0")
    assert not model.predict(np.zeros((2, 4))).any()


def test_equal_rows_and_constant_columns():
    with pytest.warns(DataAdvice, match="X has 1, so"):
        equal = AutoCluster().fit(np.ones((50, 3)))
    assert equal.n_clusters_ == 1
    assert equal.reason_ == "1 cluster: there are fewer than 24 distinct rows. Judged on 1 of 50 rows."
    X, y = blobs()
    model = AutoCluster().fit(np.column_stack([X, np.full(len(X), 7.0)]))
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_weights_of_zero_leave_rows_out_of_the_judgement(model):
    X, y = blobs()
    far = np.vstack([X, np.full((5, 3), 1e6)])
    weighted = AutoCluster().fit(far, sample_weight=np.append(np.ones(len(X)), np.zeros(5)))
    assert adjusted_rand_score(y, weighted.labels_[: len(X)]) == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "manhattan"}, "metric='manhattan' is not allowed; give"),
        ({"time_budget": -1}, "time_budget=-1 is not allowed; give seconds > 0"),
        ({"time_budget": 1e-3}, "give at least 0.06 seconds"),
        ({"n_threads": 0}, "n_threads=0 is not allowed"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoCluster(**parameters).fit(blobs()[0])


def test_bad_rows():
    X = blobs()[0]
    with pytest.warns(DataAdvice, match="at least 24 distinct rows, and X has 20, so all rows are one cluster"):
        assert AutoCluster().fit(X[:20]).n_clusters_ == 1
    with pytest.raises(TypeError, match="X is sparse, and AutoCluster takes dense rows only"):
        AutoCluster().fit(sp.csr_matrix(X))
    with pytest.raises(ValueError, match="weight"):
        AutoCluster().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        AutoCluster().fit(np.where(np.arange(3) == 1, np.nan, X))
    with pytest.raises(NotFittedError):
        AutoCluster().predict(X)


def test_a_short_budget_judges_fewer_rows():
    X, y = blobs(n=600)
    model = AutoCluster(time_budget=0.5).fit(X)
    assert 100 < model.n_judged_ < 300
    assert adjusted_rand_score(y, model.labels_) == 1.0
