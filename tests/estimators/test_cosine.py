"""The cosine metric: unit vectors, mean directions, and the closed form of its cost."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import centres as oracles
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans, KMeans, farthest_first_lambda


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 5)) + np.repeat(rng.normal(size=(4, 5)) * 3, 100, axis=0)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_equals_the_serial_loop_on_unit_vectors(as_input, X):
    model = DPMeans(search="sweep", lam=0.5, metric="cosine", label_order="found").fit(as_input(X))
    data = as_input(X).toarray() if sp.issparse(as_input(X)) else as_input(X).astype(np.float64)
    labels, centres, costs = oracles.serial_dp_means(unit(data), 0.5, mean=oracles.mean_direction)
    assert model.labels_.tolist() == labels
    np.testing.assert_allclose(model.cluster_centers_, np.array(centres), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.cost_history_, costs, rtol=1e-12)


def test_cost_has_the_closed_form(X, rng):
    w = rng.integers(1, 4, len(X))
    model = DPMeans(search="sweep", lam=2.0, metric="cosine").fit(X, sample_weight=w)
    sums = [(w[model.labels_ == j, None] * unit(X)[model.labels_ == j]).sum(axis=0) for j in range(model.n_clusters_)]
    mass = [w[model.labels_ == j].sum() for j in range(model.n_clusters_)]
    closed = sum(2 * (W - np.linalg.norm(S)) for W, S in zip(mass, sums, strict=True)) + 2.0 * model.n_clusters_
    assert model.cost_ == pytest.approx(closed, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-14)
    assert (np.diff(model.cost_history_) <= 0).all()


def test_lengths_of_rows_do_not_matter(X, rng):
    powers = 2.0 ** rng.integers(-300, 300, size=(len(X), 1))  # exact scaling
    plain = DPMeans(search="sweep", lam=0.5, metric="cosine").fit(X)
    scaled = DPMeans(search="sweep", lam=0.5, metric="cosine").fit(X * powers)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    assert plain.cost_ == scaled.cost_


def test_rows_that_cancel_out_keep_the_old_centre():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    model = KMeans(1, init=[[3.0, 0.0]], metric="cosine").fit(X)
    assert model.cluster_centers_.tolist() == [[1.0, 0.0]]
    lonely = DPMeans(search="sweep", lam=10.0, metric="cosine").fit(X)  # no mean direction: starts at the first row
    assert lonely.cluster_centers_.tolist() == [[1.0, 0.0]]
    assert lonely.cost_ == pytest.approx(8 + 10)


def test_transform_and_farthest_first(X):
    model = DPMeans(search="sweep", lam=0.5, metric="cosine").fit(X)
    cos = unit(X) @ model.cluster_centers_.T
    np.testing.assert_allclose(model.transform(X) ** 2, 2 - 2 * cos, atol=1e-12)
    direction = oracles.mean_direction(unit(X), np.ones(len(X)), range(len(X)))
    assert farthest_first_lambda(X, 1, metric="cosine") == pytest.approx((2 - 2 * unit(X) @ direction).max())


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_an_all_zero_row_is_an_error(as_input, X):
    X[[7, 11]] = 0
    with pytest.raises(ValueError, match=r"2 all-zero row\(s\), the first is row 7"):
        DPMeans(search="sweep", lam=1.0, metric="cosine").fit(as_input(X))
    with pytest.raises(ValueError, match=r"init=.* is not allowed; give centres that are not zero"):
        KMeans(2, metric="cosine", init=[[0.0] * 5, [1.0] * 5]).fit(X[:5])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_directions_all_around_are_found(as_input, seed):
    """Their mean is short, so that rows lie on one side of its direction."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(9, 20)), 30, axis=0) + 0.1 * rng.normal(size=(270, 20))
    model = DPMeans(lam=3.0, metric="cosine").fit(as_input(X))
    assert adjusted_rand_score(np.repeat(np.arange(9), 30), model.labels_) == 1.0
