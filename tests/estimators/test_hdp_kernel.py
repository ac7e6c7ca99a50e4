"""HardHDP in the feature space of a kernel: the linear kernel is HardHDP itself."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from test_hdp import grouped

from kfree import HardHDP

PENALTIES = {"lam_local": 2.0, "lam_global": 5.0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("search", ["sweep", "split-merge"])
def test_the_linear_kernel_is_hard_hdp(search, weighted, rng):
    X, group, weight = grouped(rng, weighted=weighted)
    Y, known_and_new = rng.normal(size=(30, 2)) * 3, np.repeat([1, 99, 100], 10)
    plain, kernel = (HardHDP(**PENALTIES, search=search, kernel=kernel) for kernel in (None, "linear"))
    plain.fit(X, groups=group, sample_weight=weight)
    kernel.fit(X, groups=group, sample_weight=weight)
    assert kernel.cost_ == pytest.approx(plain.cost_, rel=1e-12)
    assert adjusted_rand_score(kernel.labels_, plain.labels_) == 1
    np.testing.assert_array_equal(np.sort(kernel.n_local_clusters_), np.sort(plain.n_local_clusters_))
    np.testing.assert_array_equal(kernel.predict(X, groups=group), kernel.labels_)
    labels = [model.predict(Y, groups=known_and_new) for model in (plain, kernel)]
    assert adjusted_rand_score(*labels) == 1
    scores = [model.score(Y, groups=known_and_new) for model in (plain, kernel)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    distances = [np.sort(model.transform(Y), axis=1) for model in (plain, kernel)]
    np.testing.assert_allclose(*distances, rtol=1e-7)


def test_values_may_be_precomputed(rng):
    X, group, _ = grouped(rng)
    Y, new = rng.normal(size=(20, 2)), np.full(20, 7)
    by_name = HardHDP(lam_local=0.5, lam_global=0.5, kernel="rbf", gamma=0.3).fit(X, groups=group)
    given = HardHDP(lam_local=0.5, lam_global=0.5, kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), groups=group)
    np.testing.assert_array_equal(given.labels_, by_name.labels_)
    values = rbf_kernel(Y, X, gamma=0.3)
    np.testing.assert_array_equal(given.predict(values, groups=new), by_name.predict(Y, groups=new))
    with pytest.raises(ValueError, match="score needs κ"):
        given.score(values, groups=new)


def test_distances_of_new_rows_are_those_of_the_feature_space(rng):
    X, group, _ = grouped(rng)
    Y = rng.normal(size=(10, 2)) * 3
    model = HardHDP(lam_local=0.5, lam_global=0.5, kernel="rbf", gamma=0.3).fit(X, groups=group)
    inside, across = rbf_kernel(X, gamma=0.3), rbf_kernel(Y, X, gamma=0.3)
    for cluster in range(model.n_global_clusters_):
        own = model.labels_ == cluster
        sq_dist = 1.0 - 2 * across[:, own].mean(axis=1) + inside[np.ix_(own, own)].mean()
        np.testing.assert_allclose(model.transform(Y)[:, cluster] ** 2, sq_dist, rtol=1e-9)


def test_penalty_are_found_in_feature_space_too(rng):
    X, group, _ = grouped(rng, n_groups=10, n_rows=30, k=4, spread=8.0)
    truth = HardHDP().fit(X, groups=group)
    model = HardHDP(kernel="linear").fit(X, groups=group)
    assert adjusted_rand_score(model.labels_, truth.labels_) == 1


@pytest.mark.parametrize(
    ("settings", "matrix", "message"),
    [
        ({"kernel": "no such"}, np.eye(4), "kernel='no such' is not allowed"),
        ({"kernel": "precomputed"}, np.ones((4, 3)), "square matrix"),
        ({"kernel": "precomputed"}, np.diag([1.0, 1.0, 1.0, -2.0]), "not positive semi-definite: .* -2"),
    ],
)
def test_bad_kernels(settings, matrix, message):
    with pytest.raises(ValueError, match=message):
        HardHDP(**PENALTIES, **settings).fit(matrix, groups=[0, 0, 1, 1])


def test_further_groups_need_rows_as_they_are(rng):
    X, group, _ = grouped(rng)
    model = HardHDP(**PENALTIES, kernel="rbf").fit(X, groups=group)
    with pytest.raises(ValueError, match="partial_fit cannot go on with kernel='rbf'; call fit"):
        model.partial_fit(X, groups=group + 10)
