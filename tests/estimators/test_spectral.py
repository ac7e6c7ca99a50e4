"""SpectralDPMeans: Theorem 5.2 against all clusterings, no eigenvalue missed, shapes found without k, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from oracles import centres as oracles
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from kfree import SpectralDPMeans
from kfree.engines.kernel import gram
from kfree.spectral import affinity, matrices
from kfree.spectral.affinity import Computed, Neighbours
from kfree.spectral.counts import by_dense_inertia, by_lanczos_bound, by_sparse_inertia
from kfree.spectral.spectrum import above, widest_fall, widest_step


def spirals(n, noise, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, n))
    X = turn[:, None] * np.column_stack([np.cos(turn + np.pi * y), np.sin(turn + np.pi * y)])
    return X / 3 + rng.normal(size=(n, 2)) * noise, y


SHAPES = {
    "moons": lambda n, seed: make_moons(n, noise=0.06, random_state=seed),
    "circles": lambda n, seed: make_circles(n, noise=0.04, factor=0.5, random_state=seed),
    "spirals": lambda n, seed: spirals(n, 0.1, seed),
}


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_found_without_k(shape, seed, affinity):
    X, y = SHAPES[shape](700, seed)
    model = SpectralDPMeans(affinity=affinity).fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.certificate_.n_above == 2
    assert model.certificate_.risk == 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    again, truth = SHAPES[shape](300, seed + 10)
    assert adjusted_rand_score(truth, model.predict(again)) > 0.95


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_one_cluster_is_an_answer(affinity, rng):
    for X in (rng.normal(size=(700, 2)), rng.uniform(size=(700, 2)), rng.normal(size=(700, 8))):
        model = SpectralDPMeans(affinity=affinity).fit(X)
        assert model.n_clusters_ == 1
        assert not model.labels_.any()
        assert not model.predict(X[:5]).any()


def test_many_rows_are_clustered_by_neighbours_unless_these_will_not_do(rng):
    few, many = (make_moons(n, noise=0.06, random_state=0)[0] for n in (1000, 1001))
    assert SpectralDPMeans().fit(few).affinity_ == "rbf"
    chosen, asked = SpectralDPMeans().fit(many), SpectralDPMeans(affinity="nearest_neighbors").fit(many)
    assert chosen.affinity_ == "nearest_neighbors"
    assert (chosen.lam_, chosen.n_clusters_) == (asked.lam_, 2)
    np.testing.assert_array_equal(chosen.labels_, asked.labels_)
    assert SpectralDPMeans(gamma=20.0).fit(many).affinity_ == "rbf"
    assert SpectralDPMeans().fit(many, sample_weight=np.ones(1001)).affinity_ == "rbf"
    assert SpectralDPMeans(affinity="rbf").fit(many).affinity_ == "rbf"


@pytest.mark.parametrize("affinity", ["linear", "precomputed"])
def test_the_affinity_that_was_given_is_the_one_used(affinity, rng):
    X = rng.normal(size=(20, 3))
    assert SpectralDPMeans(affinity=affinity, lam=1.0).fit(X @ X.T).affinity_ == affinity


def test_clusters_with_and_without_links_between_them(rng):
    """Three pairs of blobs: no link between pairs, some within."""
    corners = np.array([[0, 0], [6, 0], [60, 0], [66, 0], [0, 60], [6, 60]])
    y = np.repeat(np.arange(6), 120)
    model = SpectralDPMeans(affinity="nearest_neighbors").fit(corners[y] + rng.normal(size=(720, 2)))
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_theorem_5_2_against_all_clusterings(rng):
    for trial in range(12):
        n = int(rng.integers(2, 8))
        X = rng.normal(size=(n, 2)) * rng.choice([0.5, 2.0])
        K = X @ X.T if trial % 2 else rbf_kernel(X)
        lam = float(rng.choice([0.1, 0.5]) * np.linalg.eigvalsh(K)[-1])
        model = SpectralDPMeans(lam=lam, affinity="linear" if trial % 2 else "precomputed").fit(X if trial % 2 else K)
        values = np.linalg.eigvalsh(K)[::-1]
        np.testing.assert_allclose(model.eigenvalues_, values[values > lam])
        np.testing.assert_allclose(K @ model.eigenvectors_, model.eigenvectors_ * model.eigenvalues_, atol=1e-9)
        gains = [gain(K, np.array(labels), lam) for labels in oracles.all_partitions(n)]
        assert max(gains) <= model.relaxed_bound_ + 1e-9
        if trial % 2:
            assert model.trace_ - model.relaxed_bound_ <= oracles.lowest_cost(X, lam) + 1e-9


def gain(K, labels, lam):
    """tr(YᵀKY) − lam·k of a clustering."""
    Y = (labels[:, None] == np.unique(labels)) / np.sqrt(np.bincount(labels))
    return float(np.trace(Y.T @ K @ Y)) - lam * Y.shape[1]


def symmetric(rng, n, sparse):
    K = rng.normal(size=(n, n))
    if sparse:
        K *= rng.uniform(size=(n, n)) < 8 / n
    return (K + K.T) / 2


@pytest.mark.parametrize("sparse", [False, True])
def test_counts_are_those_of_the_spectrum(sparse, rng):
    for n in (1, 2, 7, 60):
        K = symmetric(rng, n, sparse)
        values = np.linalg.eigvalsh(K)
        for lam in np.quantile(values, [0.05, 0.5, 0.9]) + 1e-3:
            counted = by_sparse_inertia(sp.csc_array(K), lam) if sparse else by_dense_inertia(K, lam)
            assert counted.n_above == (values > lam).sum()


def test_the_bound_notices_a_missing_eigenvalue(rng):
    K = symmetric(rng, 300, False) / 30
    values, vectors = np.linalg.eigh(K)
    lam, lowest = (values[-4] + values[-3]) / 2, values[0] - 0.1
    complete = by_lanczos_bound(lambda v: K @ v, values[-3:], vectors[:, -3:], lam, lowest, np.random.RandomState(0))
    assert complete.n_above == 3
    missing = [-3, -1]
    found = by_lanczos_bound(
        lambda v: K @ v, values[missing], vectors[:, missing], lam, lowest, np.random.RandomState(0)
    )
    assert found.n_above == 3
    gap = by_lanczos_bound(lambda v: K @ v, values[-3:], vectors[:, -3:], 3 * lam, lowest, np.random.RandomState(0))
    assert gap.risk < 1e-12


def test_repeated_eigenvalues_are_all_found(rng):
    """Blocks of ones: an eigenvalue of 60 seven times over, among rows in random order."""
    block = np.repeat(np.arange(7), 60)[rng.permutation(420)]
    K = (block[:, None] == block).astype(float)
    for given in (K, sp.csr_array(K)):
        model = SpectralDPMeans(lam=30.0, affinity="precomputed").fit(given)
        np.testing.assert_allclose(model.eigenvalues_, 60.0)
        assert model.certificate_.n_above == 7
        assert adjusted_rand_score(block, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(given), model.labels_)


def test_linear_without_the_matrix(rng):
    tall, wide = blobs(rng, n=200, d=3)[0], rng.normal(size=(30, 80))
    for X in (tall, wide, sp.csr_array(tall)):
        model = SpectralDPMeans(affinity="linear").fit(X)
        K = (X @ X.T).toarray() if sp.issparse(X) else X @ X.T
        values = np.linalg.eigvalsh(K)[::-1]
        np.testing.assert_allclose(model.eigenvalues_, values[values > model.lam_])
        assert model.certificate_.method == "whole spectrum"
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_rows_computed_when_needed_give_the_same(monkeypatch):
    X, _ = make_moons(240, noise=0.05, random_state=0)
    stored = SpectralDPMeans().fit(X)
    monkeypatch.setattr(gram, "KEPT_BYTES", 0)
    computed = SpectralDPMeans().fit(X)
    assert isinstance(affinity.LocalGaussian.of(X).among(), Computed)
    np.testing.assert_array_equal(computed.labels_, stored.labels_)
    assert computed.trace_ == pytest.approx(stored.trace_)
    assert computed.certificate_.method == "Lanczos from a random start"
    assert computed.certificate_.n_above == 2


def test_rows_computed_when_needed_give_the_same_without_normalisation(monkeypatch, rng):
    X, weight = rng.normal(size=(240, 2)), rng.uniform(0.5, 2, size=240)
    graph = affinity.Gaussian(X, 0.5)
    stored, _ = graph.matrix(False, np.random.RandomState(0), weight)
    monkeypatch.setattr(gram, "KEPT_BYTES", 0)
    computed, _ = graph.matrix(False, np.random.RandomState(0), weight)
    assert isinstance(computed._values, Computed)
    assert computed._lowest == pytest.approx(stored._lowest)
    np.testing.assert_allclose(computed.leading(4)[0], stored.leading(4)[0])
    assert SpectralDPMeans(lam=40.0, normalize=False, gamma=0.5).fit(X).n_clusters_ > 0


def test_affinities_of_many_rows_are_kept_where_memory_allows(monkeypatch, rng):
    graph = affinity.LocalGaussian.of(rng.normal(size=(240, 2)))
    at_once = graph.among()
    monkeypatch.setattr(gram, "FEW_BYTES", 0)
    monkeypatch.setattr("kfree.core.blocks.BLOCK_BYTES", 8 * 240 * 7)
    n_bytes = 8 * 240**2
    monkeypatch.setattr(gram, "available_bytes", lambda: 2 * n_bytes)
    np.testing.assert_allclose(graph.among(), at_once, rtol=1e-12)
    monkeypatch.setattr(gram, "available_bytes", lambda: 2 * n_bytes - 1)
    assert isinstance(graph.among(), Computed)


def test_eigenvalues_that_are_not_found_within_the_limit_are_an_error(monkeypatch, rng):
    monkeypatch.setattr(gram, "KEPT_BYTES", 0)
    monkeypatch.setattr(matrices, "_RESTARTS", 1)
    with pytest.raises(ValueError, match="not found within the limit of restarts.*Lower gamma"):
        SpectralDPMeans(gamma=50.0).fit(rng.normal(size=(450, 3)))


def test_a_sparse_matrix_that_fills_up_is_not_factorised(rng, monkeypatch):
    monkeypatch.setattr(matrices, "_MOST_FILL", 10)
    monkeypatch.setattr(matrices, "FACTORISED", 20)
    X, y = blobs(rng, n=600, d=4, spread=12.0)
    model = SpectralDPMeans(affinity="nearest_neighbors").fit(X)
    assert model.certificate_.method == "Lanczos from a random start"
    assert model.certificate_.risk < 1e-6
    assert adjusted_rand_score(y, model.labels_) == 1


def test_above_looks_again_for_what_a_solver_missed():
    """A solver that misses the second pair at its first trial."""
    whole, _ = Neighbours.of(make_moons(500, noise=0.1, random_state=0)[0], 10).matrix(True, np.random.RandomState(0))
    everything = whole.leading(30)

    class Forgetful(type(whole)):
        def leading(self, m, seed=0):
            kept = np.arange(30) != (1 if seed == 0 else -1)
            return everything[0][kept][:m], everything[1][:, kept][:, :m]

    whole.__class__ = Forgetful
    lam = float(everything[0][2:4].mean())
    np.testing.assert_allclose(above(whole, lam).values, everything[0][:3])


def test_steps():
    line = 1 - 1e-3 * np.arange(20) ** 2
    assert widest_step(line) == 1
    assert widest_step(np.sort(np.concatenate([line, line, line]))[::-1][:20]) == 3
    assert widest_fall(np.array([9.0, 8.0, 1.0, 0.9, 0.0])) == 2
    assert widest_step(np.array([1.0])) == widest_fall(np.array([1.0])) == 1


def test_lam_above_every_eigenvalue(rng):
    X = rng.normal(size=(40, 2))
    with pytest.warns(
        UserWarning, match="lam=2 is not below the largest eigenvalue, 1, so that all rows are one cluster"
    ):
        model = SpectralDPMeans(lam=2.0).fit(X)
    assert (model.n_clusters_, model.relaxed_bound_, model.embedding_.shape) == (1, 0.0, (40, 0))
    assert not model.predict(X).any()


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"affinity": "rbv"}, np.eye(4), "did you mean 'rbf'"),
        ({"lam": -1.0}, np.eye(4), "lam=-1.0 is not allowed; give a finite number > 0, or 'auto'"),
        ({"gamma": 0}, np.eye(4), "gamma=0"),
        ({"gamma": 1.0, "affinity": "linear"}, np.eye(4), "gamma=1.0 is not allowed; give None with affinity='linear'"),
        ({"n_neighbors": 0}, np.eye(4), "n_neighbors=0"),
        ({"normalize": "yes"}, np.eye(4), "give True, False or None"),
        ({"affinity": "precomputed"}, np.ones((4, 3)), "square matrix .* 4 rows and 3 columns"),
        ({"affinity": "precomputed"}, np.triu(np.ones((4, 4))), "not symmetric"),
        ({"affinity": "precomputed", "normalize": True}, np.diag([1.0, 0, 1]), "1 row.s. have a sum .* row 1"),
    ],
)
def test_bad_input(options, X, message):
    with pytest.raises(ValueError, match=message):
        SpectralDPMeans(**options).fit(X)


def test_rows_of_the_linear_embedding_keep_their_length(rng):
    """The relaxation of DP-means itself has no such step (Kulis & Jordan 2012, §5.1); that of graphs does."""
    X = blobs(rng, n=120, d=3, k=3)[0]
    linear, rbf = SpectralDPMeans(affinity="linear", target_k=2).fit(X), SpectralDPMeans(target_k=2).fit(X)
    np.testing.assert_array_equal(linear.embedding_, linear.eigenvectors_)
    assert np.ptp(np.linalg.norm(linear.embedding_, axis=1)) > 0.01
    np.testing.assert_allclose(np.linalg.norm(rbf.embedding_, axis=1), 1.0)
    np.testing.assert_array_equal(linear.predict(X), linear.labels_)


def test_equal_rows_are_one_cluster_of_a_neighbour_graph():
    model = SpectralDPMeans(affinity="nearest_neighbors", n_neighbors=3).fit(np.full((19, 2), 1e9))
    assert model.n_clusters_ == 1
    assert model.lam_ >= 0
