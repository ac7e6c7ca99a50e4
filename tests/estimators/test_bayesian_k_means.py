"""BayesianKMeans against probabilities of one row after the other, enumeration, and itself by other ways."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from oracles.bayes import (
    bernoulli_predictive,
    gaussian_predictive,
    multinomial_predictive,
    partitions,
    sequential_free_energy,
)
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score

from kfree import BayesianKMeans
from kfree.objectives.mixtures import MIXTURES


def gaussians(rng, n=300, d=2, k=4):
    """Clusters of unequal shape."""
    y = rng.integers(k, size=n)
    shapes = rng.normal(size=(k, d, d))
    return rng.normal(size=(k, d))[y] * 8 + np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(n, d))), y


def documents(rng, n=200, d=12, k=3):
    y = rng.integers(k, size=n)
    topics = rng.dirichlet(np.full(d, 0.3), size=k)
    counts = np.array([rng.multinomial(length, topics[c]) for length, c in zip(rng.poisson(20, n), y, strict=True)])
    counts[5] = 0  # a document without words
    return counts.astype(float), y


def answers(rng, n=300, d=12, k=3):
    y = rng.integers(k, size=n)
    return (rng.random((n, d)) < rng.beta(0.3, 0.3, size=(k, d))[y]).astype(float), y


DATA = {"gaussian": gaussians, "multinomial": documents, "bernoulli": answers}
PREDICTIVE = {"gaussian": gaussian_predictive, "multinomial": multinomial_predictive, "bernoulli": bernoulli_predictive}


def log_predictive_of(model):
    """The oracle's distribution with the hyper-parameters that a fit used."""
    prior = {key: value for key, value in model.prior_.items() if key != "phi0"}
    return PREDICTIVE[model.model](*prior.values())


def oracle_free_energy(model, X, labels):
    return sequential_free_energy(X, labels, model.mixture, model.prior_["phi0"], log_predictive_of(model))


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("kind", DATA)
def test_free_energy_is_the_probability_of_one_row_after_the_other(rng, kind, mixture):
    X, _ = DATA[kind](rng, n=60)
    model = BayesianKMeans(kind, mixture=mixture).fit(X)
    order = rng.permutation(60)
    assert model.free_energy_ == pytest.approx(oracle_free_energy(model, X[order], model.labels_[order]), rel=1e-10)
    assert model.n_clusters_ == len(np.unique(model.labels_)) == len(model.cluster_centers_)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("kind", DATA)
def test_finds_the_clusters(rng, kind, mixture):
    X, y = DATA[kind](rng, n=1000)
    model = BayesianKMeans(kind, mixture=mixture).fit(X)
    assert normalized_mutual_info_score(y, model.labels_) > 0.8
    assert model.converged_
    assert model.free_energy_history_[-1] == model.free_energy_
    assert (np.diff(model.free_energy_history_) <= 0).all()
    assert model.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kind", DATA)
def test_no_merge_is_cheaper(rng, kind):
    X, _ = DATA[kind](rng, n=50)
    model = BayesianKMeans(kind).fit(X)
    for a in range(model.n_clusters_):
        for b in range(a):
            merged = np.unique(np.where(model.labels_ == a, b, model.labels_), return_inverse=True)[1]
            assert oracle_free_energy(model, X, merged) >= model.free_energy_ - 1e-9


@pytest.mark.parametrize(
    ("kind", "prior"), [("gaussian", {"B0": 0.05 * np.eye(2), "eta0": 4.0}), ("bernoulli", "data")]
)
def test_enumeration_of_all_partitions(rng, kind, prior):
    """Where clusters lie apart, no partition of the rows has a lower free energy."""
    X = np.concatenate([rng.normal(size=(3, 2)) * 0.1, rng.normal(size=(3, 2)) * 0.1 + 9])
    X = X if kind == "gaussian" else (X > 4).astype(float)
    model = BayesianKMeans(kind, mixture="dirichlet-process", prior=prior).fit(X)
    assert model.free_energy_ == pytest.approx(min(oracle_free_energy(model, X, z) for z in partitions(6)), rel=1e-10)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("prior", ["data", "uninformative", {"phi0": 30.0}])
def test_never_rises(rng, mixture, prior):
    """Small clusters, many of them emptied on the way, which can raise Eq. 23; such steps are undone."""
    for _ in range(5):
        X = rng.normal(size=(40, 2)) * [1, 3] + rng.integers(4, size=(40, 1)) * 4
        history = BayesianKMeans(mixture=mixture, prior=prior).fit(X).free_energy_history_
        assert np.isfinite(history).all()
        assert (np.diff(history) <= 0).all()


@pytest.mark.parametrize("mixture", MIXTURES)
def test_other_ways_give_the_same_labels(rng, mixture):
    X, _ = gaussians(rng, n=800, d=3, k=6)
    model = BayesianKMeans(mixture=mixture, algorithm="brute", n_threads=1).fit(X)
    ways = [{"algorithm": "kd-tree"}, {"algorithm": "auto"}, {"n_threads": 3}, {"engine": "reference"}]
    for way in [*ways, {"engine": "reference", "algorithm": "kd-tree"}]:
        other = clone(model).set_params(**way).fit(X)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        assert other.free_energy_ == pytest.approx(model.free_energy_, rel=1e-12)


def test_offset_and_type_do_not_matter(rng):
    X = np.round(gaussians(rng)[0] * 64) / 64
    labels = BayesianKMeans().fit(X).labels_
    np.testing.assert_array_equal(BayesianKMeans().fit(X + 2.0**20).labels_, labels)
    np.testing.assert_array_equal(BayesianKMeans().fit(X.astype(np.float32)).labels_, labels)
    np.testing.assert_array_equal(BayesianKMeans().fit(np.asfortranarray(X)).labels_, labels)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_sparse_is_dense(rng, kind):
    X, _ = DATA[kind](rng)
    dense, sparse = BayesianKMeans(kind).fit(X), BayesianKMeans(kind).fit(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.free_energy_ == pytest.approx(dense.free_energy_, rel=1e-12)
    np.testing.assert_allclose(sparse.score_samples(sp.csr_array(X[:9])), dense.score_samples(X[:9]), rtol=1e-10)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.labels_)


@pytest.mark.parametrize("kind", DATA)
def test_probabilities_are_those_of_the_predictive_distribution(rng, kind):
    X, _ = DATA[kind](rng, n=100)
    model = BayesianKMeans(kind).fit(X)
    log_predictive = log_predictive_of(model)
    oracle = np.array(
        [[log_predictive(row, X[model.labels_ == c]) for c in range(model.n_clusters_)] for row in X[:10]]
    ) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X[:10]), logsumexp(oracle, axis=1), rtol=1e-9)
    expected = np.exp(oracle - logsumexp(oracle, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X[:10]), expected, rtol=1e-8, atol=1e-12)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


@pytest.mark.parametrize("kind", DATA)
def test_samples_look_like_the_data(rng, kind):
    X, _ = DATA[kind](rng, n=500)
    model = BayesianKMeans(kind, random_state=0).fit(X)
    rows, labels = model.sample(4000, n_events=20)
    assert rows.shape == (4000, X.shape[1])
    largest = int(np.argmax(model.weights_))
    expected = model.cluster_centers_[largest] * (20 if kind == "multinomial" else 1)
    own = rows[labels == largest]
    tolerance = 5 * own.std(axis=0) / np.sqrt(len(own)) + 1e-3
    assert (np.abs(own.mean(axis=0) - expected) < tolerance + 0.02 * np.abs(expected)).all()
    assert BayesianKMeans(kind).fit(X).set_params(random_state=1).sample(3)[0].shape == (3, X.shape[1])


def test_covariances_have_the_shape_of_the_clusters(rng):
    X, _ = blobs(rng, n=3000, d=2, k=3, spread=40.0)
    X = X @ np.array([[2.0, 1.0], [0.0, 0.5]])
    model = BayesianKMeans().fit(X)
    assert model.n_clusters_ == 3
    expected = np.array([[4.0, 2.0], [2.0, 1.25]])
    for covariance in model.covariances_:
        np.testing.assert_allclose(covariance, expected, rtol=0.2, atol=0.1)


def test_explicit_priors_are_used(rng):
    X, _ = gaussians(rng)
    prior = {"xi0": 0.5, "m0": X.mean(axis=0), "eta0": 4.0, "B0": np.eye(2), "phi0": 1.5}
    model = BayesianKMeans(prior=prior).fit(X)
    for key, value in prior.items():
        np.testing.assert_allclose(model.prior_[key], value)
    part = BayesianKMeans(prior={"xi0": 0.5}).fit(X).prior_
    assert (part["xi0"], part["eta0"], part["phi0"]) == (0.5, 2.0, 2.0)


def test_at_most_so_many_clusters(rng):
    X, _ = gaussians(rng, n=400, k=6)
    for most in (1, 3):
        with pytest.warns(UserWarning, match=f"max_clusters={most} was reached; more clusters may lower"):
            assert BayesianKMeans(max_clusters=most).fit(X).n_clusters_ == most
