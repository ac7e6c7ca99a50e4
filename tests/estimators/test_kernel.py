"""KernelDPMeans: the linear kernel is DPMeans, every distance is the formula's, and what is said about bad kernels."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from oracles import centres as oracles
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from kfree import DPMeans, KernelDPMeans
from kfree.core.row_costs import MeanRowCosts
from kfree.core.sites import Sites
from kfree.core.spaces import DUAL, EUCLIDEAN
from kfree.engines.kernel import gram
from kfree.engines.kernel.engine import KernelRows
from kfree.engines.kernel.gram import Gram, Kernel
from kfree.engines.kernel.sums import KernelSums
from kfree.engines.registry import open_engine


def kernel_cost(K, labels, lam, w):
    """J from kernel values alone: Σ_i w_i κ_ii − Σ_c Σ_ij w_i w_j κ_ij / W_c + lam·k."""
    inside = 0.0
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        inside += w[rows] @ K[np.ix_(rows, rows)] @ w[rows] / w[rows].sum()
    return float(w @ K.diagonal() - inside + lam * len(np.unique(labels)))


def rows_and_weights(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 150)), int(rng.integers(1, 5))
    X = rng.normal(size=(6, d))[rng.integers(6, size=n)] * 4 + rng.normal(size=(n, d))
    return X, rng.integers(0, 4, n).astype(float) if seed % 2 else None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("search", ["sweep", "split-merge"])
def test_the_linear_kernel_is_dp_means(search, seed):
    X, w = rows_and_weights(seed)
    plain = DPMeans(lam=20.0, search=search).fit(X, sample_weight=w)
    kernel = KernelDPMeans(lam=20.0, search=search, kernel="linear").fit(X, sample_weight=w)
    np.testing.assert_array_equal(kernel.labels_, plain.labels_)
    np.testing.assert_array_equal(kernel.cluster_ids_, plain.cluster_ids_)
    assert kernel.cost_ == pytest.approx(plain.cost_, rel=1e-9)
    np.testing.assert_allclose(kernel.cost_history_, plain.cost_history_, rtol=1e-9)


@pytest.mark.parametrize("options", [{"order": "random", "max_clusters": 4}, {"lam": "farthest-first", "target_k": 5}])
def test_the_linear_kernel_is_dp_means_with_options(options, rng):
    X, _ = blobs(rng, n=80)
    options = {"lam": 3.0, "search": "sweep", "random_state": 1} | options
    with pytest.warns(UserWarning, match="max_clusters") if "max_clusters" in options else nullcontext():
        plain = DPMeans(**options).fit(X)
    with pytest.warns(UserWarning, match="max_clusters") if "max_clusters" in options else nullcontext():
        kernel = KernelDPMeans(**options, kernel="linear").fit(X)
    np.testing.assert_array_equal(kernel.labels_, plain.labels_)


def test_the_linear_path_is_that_of_dp_means(rng):
    X, y = blobs(rng, n=200, spread=9.0)
    plain, kernel = DPMeans().fit(X), KernelDPMeans(kernel="linear").fit(X)
    assert kernel.n_clusters_ == plain.n_clusters_ == len(np.unique(y))
    assert kernel.path_.suggest().k == plain.path_.suggest().k


@pytest.mark.parametrize("search", ["sweep", "split-merge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cost_is_that_of_the_kernel_matrix(search, weighted, rng):
    X, _ = blobs(rng, n=90)
    w = rng.integers(0, 4, 90).astype(float) if weighted else np.ones(90)
    K = rbf_kernel(X, gamma=0.02)
    lam = 0.4 if search == "sweep" else 1.5
    model = KernelDPMeans(lam=lam, gamma=0.02, search=search).fit(X, sample_weight=w)
    assert 1 < model.n_clusters_ < 30
    assert model.cost_ == pytest.approx(kernel_cost(K, model.labels_, lam, w), rel=1e-9)
    assert model.cost_history_[-1] == model.cost_
    assert (np.diff(model.cost_history_) <= 0).all()
    given = KernelDPMeans(lam=lam, kernel="precomputed", search=search).fit(K, sample_weight=w)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    called = KernelDPMeans(lam=lam, kernel=lambda x, y: np.exp(-0.02 * ((x - y) ** 2).sum()), search=search)
    np.testing.assert_array_equal(called.fit(X, sample_weight=w).labels_, model.labels_)


def test_against_all_partitions(rng):
    """On a few rows the search hardly ever misses the minimum."""
    n_missed = 0
    for trial in range(12):
        n = rng.integers(2, 8)
        K = rbf_kernel(rng.normal(size=(n, 2)), gamma=rng.choice([0.3, 1.0]))
        w, lam = (rng.integers(1, 4, n) if trial % 2 else np.ones(n)).astype(float), rng.choice([0.2, 0.6, 1.5])
        cost = KernelDPMeans(lam=lam, kernel="precomputed").fit(K, sample_weight=w).cost_
        lowest = min(kernel_cost(K, np.array(labels), lam, w) for labels in oracles.all_partitions(n))
        assert cost >= lowest - 1e-9
        n_missed += cost > lowest + 1e-9
    assert n_missed <= 1


def some_engines(rng, kept, monkeypatch):
    """The same rows with and without a kernel, linear."""
    if not kept:
        monkeypatch.setattr(gram, "KEPT_BYTES", 0)
        monkeypatch.setattr("kfree.core.blocks.BLOCK_BYTES", 8 * 60 * 7)
    X, w = rng.normal(size=(60, 3)), rng.integers(0, 4, 60).astype(float)
    plain = open_engine("reference", X, weight=w)
    return plain, KernelRows(Gram(plain.rows(np.arange(60)), Kernel("linear")), w)


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "in blocks"])
def test_every_pass_against_rows_with_coordinates(kept, rng, monkeypatch):
    plain, kernel = some_engines(rng, kept, monkeypatch)
    index, rows, labels = np.array([3, 8, 20, 33]), np.arange(5, 60), rng.integers(2, size=55).astype(np.int32)
    centres, dual = plain.rows(index), kernel.rows(index)
    assert_close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)  # noqa: E731
    for one, other in zip(passes(plain, centres, rows, labels), passes(kernel, dual, rows, labels), strict=True):
        assert_close(other, one)
    for space, points, engine in ((EUCLIDEAN, centres, plain), (DUAL, dual, kernel)):
        assert_close(space.sq_gaps(points, slice(1, 3)), EUCLIDEAN.sq_gaps(centres, slice(1, 3)))
        assert_close(space.gram(points), centres @ centres.T)
        moment = engine.scatter_product(rows, labels, points)[1]
        expected = plain.scatter_product(rows, labels, centres)[1]
        assert_close(space.gram(moment), EUCLIDEAN.gram(expected))
    part, same = plain.among(np.arange(10, 30)), kernel.among(np.arange(10, 30))
    assert_close(same.sq_distances(dual), part.sq_distances(centres))
    assert_close(same.nearest(Sites.of(dual)).stats.sse, part.nearest(Sites.of(centres)).stats.sse)


def passes(engine, centres, rows, labels):
    """What an engine says about rows and centres, in numbers that do not depend on coordinates."""
    near = engine.nearest(Sites.of(centres))
    swept = engine.sweep(Sites.of(centres[:1]), 4.0, np.random.RandomState(5).permutation(60), 5)
    chosen, halves = engine.choose(rows, labels, centres)
    sq_dist = np.full(60, np.inf)
    engine.approach(centres[1], sq_dist)
    stats = engine.sums(near.assignment)
    means = stats.sum / stats.n[:, None]
    exchanged = engine.exchange(near.assignment, means, stats, MeanRowCosts, 1e-9)
    return [
        *(engine.labels(near.assignment), engine.sq_dists(near.assignment, centres), near.stats.n, near.stats.sse),
        *(engine.labels(swept.assignment), swept.stats.sse, swept.n_refused),
        *(chosen, halves.n, halves.sse, sq_dist, engine.best_of(centres, sq_dist)),
        engine.distances_to_own(rows, labels, centres),
        *engine.second_nearest(rows, labels, centres),
        engine.gaps(centres),
        engine.scatter_product(rows, labels, centres)[0],
        engine.sq_distances(centres),
        engine.labels(exchanged),
    ]


def test_sums_are_updated_right(rng):
    """Splits, merges, deaths and rows that belong nowhere: always the sums of the labels at hand."""
    X, w = rng.normal(size=(80, 2)), rng.exponential(size=80)
    source = Gram(X, Kernel("rbf", {"gamma": 0.5}))
    sums = KernelSums(source, np.arange(80), w)
    labels = rng.integers(5, size=80).astype(np.int32)
    for k in (5, 5, 4, 7, 7, 3, 3, 3):
        moved = np.where(rng.uniform(size=80) < 0.2, rng.integers(k, size=80), labels % k).astype(np.int32)
        labels = np.where(rng.uniform(size=80) < 0.1, -1, moved).astype(np.int32)
        expected = [source.rows(np.flatnonzero(labels == c)).T @ w[labels == c] for c in range(k)]
        np.testing.assert_allclose(sums.of(labels, k, "passes"), expected, atol=1e-12)
        labels = moved


def test_a_merge_takes_no_kernel_value(rng, monkeypatch):
    monkeypatch.setattr(gram, "KEPT_BYTES", 0)
    source = Gram(rng.normal(size=(50, 2)), Kernel("rbf"))
    sums, labels = KernelSums(source, np.arange(50), np.ones(50)), rng.integers(4, size=50).astype(np.int32)
    sums.of(labels, 4, "passes")
    before = source.n_values
    sums.of(np.minimum(labels, 2), 3, "passes")
    assert source.n_values == before


def test_predict(rng):
    X, _ = blobs(rng, n=120)
    model = KernelDPMeans(lam=2.0, gamma=0.02).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.labels_)
    given = KernelDPMeans(lam=2.0, kernel="precomputed").fit(rbf_kernel(X, gamma=0.02))
    new = X[:30] + rng.normal(size=(30, 3))
    K = rbf_kernel(np.vstack([new, X]), gamma=0.02)
    distances = np.empty((30, model.n_clusters_))
    for c in range(model.n_clusters_):
        rows = 30 + np.flatnonzero(model.labels_ == c)
        distances[:, c] = 1 - 2 * K[:30, rows].mean(axis=1) + K[np.ix_(rows, rows)].mean()
    np.testing.assert_array_equal(model.predict(new), distances.argmin(axis=1))
    np.testing.assert_array_equal(given.predict(K[:30, 30:]), distances.argmin(axis=1))


def test_weightless_rows_leave_no_trace(rng):
    X, _ = blobs(rng, n=100)
    w = np.append(np.ones(100), np.zeros(5))
    model = KernelDPMeans(lam=2.0).fit(np.vstack([X, 50 + X[:5]]), sample_weight=w)
    alone = KernelDPMeans(lam=2.0).fit(X)
    np.testing.assert_array_equal(model.labels_[:100], alone.labels_)
    assert model.cost_ == pytest.approx(alone.cost_, rel=1e-9)


def test_bad_matrices(rng):
    X = rng.normal(size=(500, 3))
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="square matrix .* X has 500 rows and 3 columns"):
        KernelDPMeans(lam=1.0, kernel="precomputed").fit(X)
    skewed = K.copy()
    skewed[3, 4] += 0.5
    with pytest.raises(ValueError, match="not symmetric: X differs from its transpose by up to 0.5"):
        KernelDPMeans(lam=1.0, kernel="precomputed").fit(skewed)
    for n in (50, 500):
        with pytest.raises(ValueError, match=r"not positive semi-definite: it has an eigenvalue of -0\.(3|29)"):
            KernelDPMeans(lam=1.0, kernel="precomputed").fit(K[:n, :n] - 0.3 * np.eye(n))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelDPMeans(lam=1.0, kernel=lambda x, y: -((x - y) ** 2).sum()).fit(X[:40])
    with pytest.raises(ValueError, match="not positive semi-definite: it has an eigenvalue of -1 "):
        KernelDPMeans(lam=1.0, kernel="precomputed").fit([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("kernel", ["chi2", "laplacian", "poly"])
def test_without_gamma_kernels_have_the_one_of_scikit_learn(kernel, rng):
    X = rng.gamma(2.0, size=(40, 3))
    K = pairwise_kernels(X, metric=kernel)
    model = KernelDPMeans(lam=0.3, kernel=kernel).fit(X)
    assert model.cost_ == pytest.approx(KernelDPMeans(lam=0.3, kernel="precomputed").fit(K).cost_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbv"}, "did you mean 'rbf'"),
        ({"gamma": -1.0}, "gamma=-1.0 is not allowed; give a finite number > 0 or None"),
        ({"gamma": -5.0, "kernel": np.dot}, "gamma=-5.0 is not allowed"),
        (
            {"gamma": 5.0, "kernel": "linear"},
            "gamma=5.0 is not allowed; give None with kernel='linear', which takes no",
        ),
        (
            {"kernel_params": {"gamma": 2.0}},
            "kernel_params={'gamma': 2.0} is not allowed; give .* if kernel is a function",
        ),
        ({"kernel_params": 3, "kernel": np.dot}, "kernel_params=3 is not allowed; give a dict"),
        ({"degree": 0, "kernel": "poly"}, "degree=0 is not allowed; give a finite number > 0"),
        ({"coef0": "1", "kernel": "poly"}, "coef0='1' is not allowed; give a finite number"),
        ({"lam": 0.0}, "lam=0.0 is not allowed"),
        ({"search": "swep"}, "did you mean 'sweep'"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_bad_parameters(options, message, rng):
    with pytest.raises(ValueError, match=message):
        KernelDPMeans(**options).fit(rng.normal(size=(20, 2)))


@pytest.mark.parametrize("seed", [17, 21, 33])
def test_equal_rows_have_no_axis_of_rounding_errors(seed):
    """Scaled to the width of the cluster, such an axis led to squared distances of −1e-6, and to an error."""
    X = np.random.default_rng(seed).integers(0, 2, size=(100, 1)).astype(float)
    assert KernelDPMeans(lam=1e-3).fit(X).n_clusters_ == 2
