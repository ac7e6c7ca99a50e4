"""KMeans against scikit-learn's, which is the oracle for fixed k."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, KMeans, NestedDPMeans
from kfree.engines.registry import open_engine
from kfree.search.centres.seeding import random_rows


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


@pytest.mark.parametrize("max_iter", [1, 2, 5, 300])
@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_iterations_are_counted_as_scikit_learn_does(tol, max_iter, rng):
    X = rng.uniform(size=(500, 3))
    init = X[:7]
    theirs = SklearnKMeans(7, init=init, n_init=1, tol=tol, max_iter=max_iter).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = KMeans(7, init=init, tol=tol, max_iter=max_iter).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)


def test_a_start_at_rest_takes_one_iteration():
    X = np.array([[0.0], [2.0], [10.0], [12.0]])
    for tol in (0.0, 1e-4):
        theirs = SklearnKMeans(2, init=[[11.0], [1.0]], n_init=1, tol=tol).fit(X)
        ours = KMeans(2, init=[[11.0], [1.0]], tol=tol).fit(X)
        assert ours.n_iter_ == theirs.n_iter_ == 1
        assert ours.converged_
        assert ours.labels_.tolist() == theirs.labels_.tolist() == [1, 1, 0, 0]


def test_random_starts_are_different_rows_drawn_by_weight(rng):
    X, weight = np.arange(6.0)[:, None], np.array([1.0, 1.0, 0.0, 2.0, 0.0, 4.0])
    rows = open_engine("native", X, weight=weight)
    draws = [rows.frame.outward(random_rows(rows, 2, np.random.RandomState(s))) for s in range(2000)]
    assert all(one[0, 0] != one[1, 0] for one in draws)
    first = np.bincount([round(one[0, 0]) for one in draws], minlength=6) / len(draws)
    np.testing.assert_allclose(first, weight / weight.sum(), atol=0.04)


def test_random_starts_need_as_many_rows_that_count():
    X = np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match="n_clusters=3 different rows of positive weight, and X has 2"):
        KMeans(3, init="random").fit(X, sample_weight=[1, 0, 1, 0, 0])


def test_auto_starts_ten_times_at_random_and_once_by_k_means_plus_plus(rng):
    X, _ = blobs(rng, n=300, d=2, k=12)
    for init, n_init in (("random", 10), ("k-means++", 1)):
        auto = KMeans(12, init=init, random_state=3).fit(X)
        same = KMeans(12, init=init, n_init=n_init, random_state=3).fit(X)
        assert auto.inertia_ == same.inertia_
        assert auto.n_distances_ == same.n_distances_


@pytest.mark.parametrize("given", [np.asarray, sp.csr_array])
def test_a_function_gives_the_start_from_the_rows_as_given(given, rng):
    X, _ = blobs(rng, n=60, d=2, k=3)
    seen = []

    def first_rows(rows, k, random_state):
        seen.append((rows.shape, k, type(random_state)))
        return rows[:k].toarray() if sp.issparse(rows) else rows[:k]

    model = KMeans(3, init=first_rows, n_init=2, tol=0).fit(given(X))
    assert seen == [((60, 2), 3, np.random.RandomState)] * 2
    np.testing.assert_array_equal(model.labels_, KMeans(3, init=X[:3], tol=0).fit(given(X)).labels_)


def test_wrong_starts_are_named(rng, tmp_path):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"init='kmeans' is not allowed; give 'k-means\+\+', 'random', centres"):
        KMeans(2, init="kmeans").fit(X)
    with pytest.raises(ValueError, match="n_init='many' is not allowed; give a whole number"):
        KMeans(2, n_init="many").fit(X)
    with pytest.raises(ValueError, match="n_clusters=2 is not allowed; give the number of centres in init, 3"):
        KMeans(2, init=lambda X, k, random_state: X[:3]).fit(X)
    with pytest.raises(ValueError, match="init has 1 columns and X has 2"):
        KMeans(2, init=lambda X, k, random_state: X[:2, :1]).fit(X)
    with pytest.raises(ValueError, match="a name or centres for rows that do not fit in memory"):
        KMeans(2, init=lambda X, k, random_state: X[:2], search="summary").fit(X)


def test_given_centres_are_started_from_once_with_a_warning(rng):
    X = rng.normal(size=(50, 2))
    with pytest.warns(RuntimeWarning, match="starts once and not n_init=4 times"):
        several = KMeans(3, init=X[:3], n_init=4).fit(X)
    assert several.n_distances_ == KMeans(3, init=X[:3]).fit(X).n_distances_


def test_clusters_keep_the_order_of_given_centres_unless_asked_otherwise():
    X = np.array([[0.0], [10.0], [10.5], [20.0], [20.5], [21.0]])
    init = np.array([[0.0], [10.0], [20.0]])
    assert KMeans(3, init=init).fit(X).labels_.tolist() == [0, 1, 1, 2, 2, 2]
    assert KMeans(3, init=lambda *_, random_state: init).fit(X).labels_.tolist() == [0, 1, 1, 2, 2, 2]
    assert KMeans(3, init=init, label_order="size").fit(X).labels_.tolist() == [2, 1, 1, 0, 0, 0]
    assert KMeans(3, random_state=0).fit(X).labels_.tolist() == [2, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_centre_is_at_no_distance_from_itself(metric, rng):
    for scale in (1e-3, 1.0, 1e5):
        X = rng.normal(size=(400, 7)) + scale
        model = KMeans(20, metric=metric, random_state=0).fit(X)
        distances = model.transform(model.cluster_centers_)
        np.testing.assert_array_equal(distances.diagonal(), 0.0)
        assert (distances + np.eye(20) > 0).all()


@pytest.mark.parametrize(("name", "value"), [("metric", "eucl"), ("label_order", "sise"), ("engine", "nativ")])
def test_parameters_that_were_changed_after_the_fit_are_checked_again(name, value, rng):
    X = rng.normal(size=(30, 2))
    for model in (KMeans(2, random_state=0), DPMeans(lam=5.0), NestedDPMeans(levels=(2, 4), random_state=0)):
        model.fit(X).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name}='{value}' is not allowed"):
            model.predict(X)
