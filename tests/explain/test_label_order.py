"""Labels are ordered by size, largest first, ties by first row; or as the search numbered them."""

import numpy as np
import pytest

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    SpectralDPMeans,
)
from kfree.core.label_order import published_order, ranks

SIZES = [20, 35, 15, 35]
ESTIMATORS = {
    "DPMeans": DPMeans(lam=60.0),
    "sweep": DPMeans(lam=60.0, search="sweep"),
    "KMeans": KMeans(4, random_state=0),
    "KernelDPMeans": KernelDPMeans(lam=60.0, kernel="linear"),
    "HardHDP": HardHDP(lam_local=30.0, lam_global=30.0),
    "SpectralDPMeans": SpectralDPMeans(),
    "BayesianKMeans": BayesianKMeans(),
    "AgglomerativeBayes": AgglomerativeBayes(),
}


@pytest.fixture
def X(rng):
    centres = 30.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    return np.vstack([rng.normal(size=(n, 2)) + c for n, c in zip(SIZES, centres, strict=True)])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_largest_cluster_comes_first_and_ties_go_by_first_row(name, X):
    model = ESTIMATORS[name].set_params(label_order="size").fit(X)
    assert model.labels_.tolist() == np.repeat([2, 0, 3, 1], SIZES).tolist()
    assert model.n_clusters_ == 4
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
        assert (np.diff(model.weights_) <= 0).all()
        drawn, labels = model.sample(200)
        np.testing.assert_array_equal(model.predict(drawn), labels)
    if hasattr(model, "cluster_centers_") and name != "SpectralDPMeans":
        means = [X[model.labels_ == c].mean(axis=0) for c in range(4)]
        np.testing.assert_allclose(model.cluster_centers_, means, atol=0.2)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_found_is_the_same_partition_under_other_numbers(name, X):
    by_size = ESTIMATORS[name].set_params(label_order="size").fit(X).labels_
    found = ESTIMATORS[name].set_params(label_order="found").fit(X).labels_
    assert len(set(zip(by_size.tolist(), found.tolist(), strict=True))) == 4
    ESTIMATORS[name].set_params(label_order="size")


def test_ids_go_with_their_clusters(X):
    by_size, found = DPMeans(lam=60.0).fit(X), DPMeans(lam=60.0, label_order="found").fit(X)
    np.testing.assert_array_equal(by_size.cluster_ids_[by_size.labels_], found.cluster_ids_[found.labels_])
    assert (np.diff(found.cluster_ids_) > 0).all()


def test_sizes_are_weights(X):
    weight = np.repeat([9.0, 1.0, 1.0, 1.0], SIZES)
    assert DPMeans(lam=600.0).fit(X, sample_weight=weight).labels_[0] == 0


def test_the_rule_on_ties_and_rows_without_weight():
    labels = np.array([2, 0, 1, 1, 0, 2])
    assert published_order("size", labels, np.array([1.0, 3.0, 2.0])).tolist() == [1, 2, 0]
    assert published_order("size", labels, np.array([2.0, 2.0, 2.0])).tolist() == [2, 0, 1]
    assert published_order("size", labels, np.array([2.0, 2.0, 1.0]), np.array([0, 0, 1, 1, 1, 1])).tolist() == [
        1,
        0,
        2,
    ]
    assert published_order("size", labels, np.array([0.3, 0.1 + 0.2, 0.1])).tolist() == [0, 1, 2]
    assert published_order("found", labels, np.array([1.0, 2.0, 3.0])).tolist() == [0, 1, 2]
    assert ranks(np.array([2, 0, 1])).tolist() == [1, 2, 0]


def test_nodes(rng):
    A = np.zeros((9, 9))
    A[:3, :3] = A[3:, 3:] = 1.0
    assert GraphDPMeans().fit(A).labels_.tolist() == [1] * 3 + [0] * 6
    assert GraphDPMeans(label_order="found").fit(A).labels_.tolist() == [0] * 3 + [1] * 6


def test_further_groups_keep_the_order_of_clusters(X, rng):
    model = HardHDP(lam_local=30.0, lam_global=30.0).fit(X, groups=np.zeros(len(X), dtype=int))
    before = model.cluster_centers_
    fresh = rng.normal(size=(30, 2)) + np.repeat([[0.0, 30.0], [90.0, 90.0]], [20, 10], axis=0)
    model.partial_fit(fresh, groups=np.ones(30, dtype=int))
    np.testing.assert_allclose(model.cluster_centers_[:4], before, atol=1.0)
    assert model.labels_.tolist() == [3] * 20 + [4] * 10
    np.testing.assert_array_equal(model.predict(fresh, np.ones(30, dtype=int)), model.labels_)


def test_a_wrong_order_is_refused(X):
    for model in ESTIMATORS.values():
        with pytest.raises(ValueError, match="label_order='sise' is not allowed.*did you mean 'size'"):
            type(model)(**{**model.get_params(deep=False), "label_order": "sise"}).fit(X)
