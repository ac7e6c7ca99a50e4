"""Weights: repeats for the cost, zero means absent, and the one place where they are not repeats."""

import numpy as np
import pytest
from common import blobs
from oracles import centres as oracles
from scipy.spatial.distance import cdist
from sklearn.base import clone

from kfree import BayesianKMeans, DPMeans, KMeans, SpectralDPMeans, farthest_first_lambda

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


def ring_and_disc(rng):
    angle = rng.uniform(0, 2 * np.pi, size=80)
    ring = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([ring, np.zeros((60, 2))]) + 0.2 * rng.normal(size=(140, 2))


# Rows for a model of BayesianKMeans, and its prior: the default one of Gaussians looks at a sample of the rows.
GAUSSIAN_PRIOR = {"xi0": 0.1, "m0": np.ones(3), "eta0": 3.0, "B0": 2.0 * np.eye(3), "phi0": 2.0}
MODELS = {
    "gaussian": (lambda rng: blobs(rng, n=150)[0], {"prior": GAUSSIAN_PRIOR}),
    "multinomial": (lambda rng: rng.poisson(np.array([[5, 1, 1, 8], [1, 7, 2, 0.3]])[rng.integers(2, size=150)]), {}),
    "bernoulli": (lambda rng: rng.random((150, 5)) < np.array([[0.1] * 5, [0.8] * 5])[rng.integers(2, size=150)], {}),
}


@pytest.mark.parametrize("mixture", ["finite", "dirichlet-process"])
@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("kind", MODELS)
def test_bayesian_k_means_treats_weights_as_repeats(kind, engine, mixture, rng):
    make, settings = MODELS[kind]
    X, w = make(rng), rng.integers(0, 4, 150)
    for algorithm in ["brute", "kd-tree"] if kind == "gaussian" else ["brute"]:
        model = BayesianKMeans(kind, mixture=mixture, engine=engine, algorithm=algorithm, **settings)
        weighted, repeated = clone(model).fit(X, sample_weight=w), model.fit(np.repeat(X, w, axis=0))
        assert repeated.n_clusters_ > 1
        np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
        assert weighted.free_energy_ == pytest.approx(repeated.free_energy_, rel=1e-12)
        np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-9)
        np.testing.assert_allclose(weighted.weights_, repeated.weights_)
        np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)


def test_the_prior_of_bayesian_k_means_uses_weights(rng):
    X, w = blobs(rng, n=150)[0], rng.integers(1, 4, 150)
    weighted, repeated = BayesianKMeans().fit(X, sample_weight=w), BayesianKMeans().fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.prior_["m0"], repeated.prior_["m0"])
    shapes = [B0 / np.trace(B0) for B0 in (weighted.prior_["B0"], repeated.prior_["B0"])]
    np.testing.assert_allclose(*shapes)
    box = [BayesianKMeans(prior="uninformative").fit(*args) for args in ((X, None, w), (np.repeat(X, w, axis=0),))]
    np.testing.assert_array_equal(np.repeat(box[0].labels_, w), box[1].labels_)


def test_rows_of_no_weight_leave_no_trace_in_a_bayesian_search(rng):
    X, w = blobs(rng, n=120)[0], np.ones(120)
    X[::5], w[::5] = 1e8, 0.0
    model, without = BayesianKMeans().fit(X, sample_weight=w), BayesianKMeans().fit(X[w > 0])
    np.testing.assert_array_equal(model.labels_[w > 0], without.labels_)
    assert model.free_energy_ == pytest.approx(without.free_energy_, rel=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


AFFINITIES = {
    "rbf": (lambda X, Y: X, {}),
    "gamma": (lambda X, Y: X, {"gamma": 2.0}),
    "linear": (lambda X, Y: X, {"affinity": "linear", "lam": 5.0}),
    "precomputed": (lambda X, Y: np.exp(-cdist(X, Y, "sqeuclidean")), {"affinity": "precomputed", "normalize": True}),
}


@pytest.mark.parametrize("name", AFFINITIES)
def test_spectral_clusters_treat_weights_as_repeats(name, rng):
    (seen, settings), X = AFFINITIES[name], ring_and_disc(rng)
    w = rng.integers(0, 4, len(X))
    repeated_rows = np.repeat(X, w, axis=0)
    weighted = SpectralDPMeans(**settings).fit(seen(X, X), sample_weight=w)
    repeated = SpectralDPMeans(**settings).fit(seen(repeated_rows, repeated_rows))
    assert weighted.lam_ == pytest.approx(repeated.lam_, rel=1e-9)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    # Of eigenvalues that are nearly equal only the space of their vectors is defined.
    spaces = [vectors @ vectors.T for vectors in (np.repeat(weighted.eigenvectors_, w, axis=0), repeated.eigenvectors_)]
    np.testing.assert_allclose(*spaces, atol=1e-9)
    assert weighted.trace_ == pytest.approx(repeated.trace_, rel=1e-9)
    np.testing.assert_array_equal(weighted.predict(seen(X, X)), weighted.labels_)
    if name in ("rbf", "gamma"):  # clusters that are apart: any seeds of k-means lead to the same ones
        np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)


def test_weights_below_one_reach_more_neighbours(rng):
    X = rng.normal(size=(60, 2))
    halves = SpectralDPMeans(target_k=3).fit(np.repeat(X, 4, axis=0), sample_weight=np.full(240, 0.5))
    twice = SpectralDPMeans(target_k=3).fit(np.repeat(X, 2, axis=0))
    np.testing.assert_allclose(halves.eigenvalues_, twice.eigenvalues_, rtol=1e-9)


def test_neighbour_graphs_take_no_weights(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(
        ValueError, match="sample_weight=.* is not allowed; give None with affinity='nearest_neighbors'"
    ):
        SpectralDPMeans(affinity="nearest_neighbors").fit(X, sample_weight=np.ones(30))


def test_a_row_of_no_weight_may_be_infinitely_far(rng):
    X, w = np.vstack([rng.normal(size=(20, 2)), [[1e300, 0.0]]]), np.append(np.ones(20), 0.0)
    assert farthest_first_lambda(X, 3, sample_weight=w) == farthest_first_lambda(X[:20], 3)
