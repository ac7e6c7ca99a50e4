"""KMeans against scikit-learn's, which is the oracle for fixed k."""

import numpy as np
import pytest
from common import blobs
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning

from kfree import KMeans


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_equals_scikit_learn_from_the_same_centres(k, dtype, rng):
    X = blobs(rng, n=1500, d=6, k=9, spread=2.0)[0].astype(dtype)
    init = X[rng.choice(len(X), k, replace=False)]
    ours = KMeans(k, init=init, tol=0, label_order="found").fit(X)
    theirs = SklearnKMeans(k, init=init, n_init=1, tol=0, algorithm="lloyd").fit(X.astype(np.float64))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.cost_ == ours.inertia_ == ours.cost_history_[-1]
    assert (np.diff(ours.cost_history_) <= 0).all()


def test_an_empty_cluster_is_relocated_as_in_scikit_learn(rng):
    X, _ = blobs(rng, n=200, d=2)
    init = np.vstack([X[:3], [[1e4, 1e4], [2e4, 2e4]]])
    ours = KMeans(5, init=init, tol=0, label_order="found").fit(X)
    theirs = SklearnKMeans(5, init=init, n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert len(np.unique(ours.labels_)) == 5
    assert (np.diff(ours.cost_history_) <= 0).all()


def test_too_few_distinct_rows_leave_clusters_empty_and_say_so():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 clusters with rows, not n_clusters=3"):
        model = KMeans(3, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert len(model.cluster_centers_) == 3


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_seeding_is_as_good_as_scikit_learns(metric, rng):
    X, _ = blobs(rng, n=600, d=4, k=25, spread=15.0)
    if metric == "cosine":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    ours = [KMeans(25, random_state=s, metric=metric).fit(X).inertia_ for s in range(10)]
    theirs = [SklearnKMeans(25, random_state=s, n_init=1).fit(X).inertia_ for s in range(10)]
    assert np.median(ours) <= np.median(theirs) * 1.1


def test_n_init_keeps_the_best_and_random_state_decides(rng):
    X, _ = blobs(rng, n=400, d=2, k=12)
    one = KMeans(12, random_state=1).fit(X)
    ten = KMeans(12, n_init=10, random_state=1).fit(X)
    assert ten.inertia_ <= one.inertia_
    np.testing.assert_array_equal(one.labels_, KMeans(12, random_state=1).fit(X).labels_)


def test_tol_stops_early_and_stays_consistent(rng):
    X = rng.uniform(size=(4000, 2))
    loose = KMeans(30, tol=1e-2, random_state=0).fit(X)
    tight = KMeans(30, tol=0, random_state=0).fit(X)
    assert loose.n_iter_ < tight.n_iter_
    assert loose.converged_
    np.testing.assert_array_equal(loose.predict(X), loose.labels_)
    assert loose.score(X) == -loose.inertia_


def test_max_iter_warns(rng):
    X = rng.uniform(size=(4000, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = KMeans(30, tol=0, max_iter=2, random_state=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_every_row_its_own_cluster(rng):
    X = rng.normal(size=(20, 2))
    model = KMeans(20, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert sorted(model.labels_) == list(range(20))


def test_the_model_says_what_ran(rng):
    X = rng.normal(size=(50, 2))
    assert KMeans(2, random_state=0, n_threads=3).fit(X).engine_.endswith(", 3 threads)")
    assert KMeans(2, random_state=0, engine="reference").fit(X).engine_ == "reference"
