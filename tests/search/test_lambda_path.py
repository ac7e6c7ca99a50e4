"""The lam path: exact k on data with clusters, one cluster on data without, whatever the units, weights and rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kfree import DPMeans, lambda_path
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES


def test_a_small_table_has_the_same_number_however_its_rows_are_halved():
    """With 178 rows, the evidence of a single pair of halves for three wines is 2.6 to 4.0."""
    X = StandardScaler().fit_transform(load_wine().data)
    assert [lambda_path(X, random_state=seed).suggest().k for seed in range(8)] == [3] * 8


@pytest.mark.parametrize(
    ("k", "d", "n", "spread"),
    [
        (2, 1, 200, 6),
        (3, 2, 150, 9),
        (5, 16, 400, 3),
        (8, 2, 600, 12),
        (12, 3, 900, 9),
        (20, 8, 1000, 4),
        (4, 64, 200, 2),
    ],
)
def test_exact_k_on_separated_clusters(k, d, n, spread):
    rng = np.random.default_rng([k, d, n])
    centres = rng.normal(size=(1, d)) * spread
    while len(centres) < k:  # at least six sigma apart
        new = rng.normal(size=d) * spread
        if np.linalg.norm(centres - new, axis=1).min() > 6:
            centres = np.vstack([centres, new])
    X = centres[np.arange(n) % k] + rng.normal(size=(n, d))
    assert lambda_path(X).suggest().k == k


def test_clusters_of_unlike_size_and_spread(rng):
    sizes, sigmas = [300, 100, 40, 150], [1.0, 0.5, 1.5, 0.8]
    centres = np.array([[0.0, 0], [7, 0], [0, 9], [8, 8]])
    rows = [c + s * rng.normal(size=(n, 2)) for c, s, n in zip(centres, sigmas, sizes, strict=True)]
    assert lambda_path(np.vstack(rows)).suggest().k == 4


NO_CLUSTERS = {
    "round": lambda rng, n, d: rng.normal(size=(n, d)),
    "long": lambda rng, n, d: rng.normal(size=(n, d)) * np.append(10.0, np.ones(d - 1)),
    "decaying": lambda rng, n, d: rng.normal(size=(n, d)) / np.arange(1.0, d + 1),
    "cube": lambda rng, n, d: rng.uniform(size=(n, d)),
}


@pytest.mark.parametrize("family", NO_CLUSTERS)
@pytest.mark.parametrize(("n", "d"), [(100, 1), (100, 64), (200, 2)])
def test_data_without_clusters_are_one_cluster(family, n, d):
    found = [lambda_path(NO_CLUSTERS[family](np.random.default_rng([n, d, s]), n, d)).suggest().k for s in range(2)]
    assert found == [1, 1]


def test_the_suggested_penalty_is_inside_its_step(rng):
    X, _ = blobs(rng, n=300, k=4, spread=9.0)
    step = lambda_path(X).suggest()
    assert step.lam_low < step.lam < step.lam_high
    assert lambda_path(X).at(lam=step.lam) == step


@pytest.mark.parametrize("change", ["shifted", "scaled", "threads", "reference", "float32", "columns"])
def test_the_answer_does_not_depend_on_what_it_should_not(rng, change):
    X, _ = blobs(rng, n=200, k=4)
    X = X.astype(np.float32).astype(np.float64)
    path = lambda_path(X)
    other = {
        "shifted": lambda: lambda_path(X + 1024.0),
        "scaled": lambda: lambda_path(X * 4.0),
        "threads": lambda: lambda_path(X, n_threads=3),
        "reference": lambda: lambda_path(X, engine="reference"),
        "float32": lambda: lambda_path(X.astype(np.float32)),
        "columns": lambda: lambda_path(X[:, ::-1]),
    }[change]()
    scale = 16.0 if change == "scaled" else 1.0
    np.testing.assert_allclose(other.cost, scale * path.cost, rtol=1e-9, atol=1e-9)
    assert other.suggest().k == path.suggest().k


def test_rows_of_weight_zero_change_nothing(rng):
    X, _ = blobs(rng, n=200, k=4)
    weight = (rng.uniform(size=200) < 0.8).astype(float)
    np.testing.assert_allclose(lambda_path(X, weight).cost, lambda_path(X[weight > 0]).cost, rtol=1e-9)


def test_weights_are_repeats_where_every_row_is_a_micro_cluster(rng):
    X, _ = blobs(rng, n=60, k=4)
    times = rng.integers(1, 4, size=60)
    weighted, repeated = lambda_path(X, times), lambda_path(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cost[:6], repeated.cost[:6], rtol=1e-9)
    assert weighted.complete
    assert len(weighted) == len(repeated) == 60


def test_sparse_rows_and_directions(rng):
    X = np.abs(blobs(rng, n=150, d=6, k=3, spread=9.0)[0])
    X[X < 2] = 0.0
    X[:, 0] += 1.0
    for metric in OBJECTIVES:
        dense, sparse = lambda_path(X, metric=metric), lambda_path(sp.csr_array(X), metric=metric)
        np.testing.assert_allclose(sparse.cost[:5], dense.cost[:5], rtol=1e-6)
    directions = np.repeat(np.eye(3), 50, axis=0) * rng.uniform(1, 9, size=(150, 1)) + 0.1 * rng.uniform(size=(150, 3))
    assert lambda_path(directions, metric="cosine").suggest().k == 3


@pytest.mark.parametrize(
    ("X", "k", "n_distinct"),
    [
        (np.ones((50, 2)), 1, 1),
        (np.ones((1, 2)), 1, 1),
        (np.array([[0.0], [1.0]]), 1, 2),
        (np.repeat([[-1.0, 0.0], [1.0, 0.0]], 100, axis=0), 2, 2),
        (np.arange(12.0)[:, None], 1, 12),
    ],
)
def test_few_distinct_rows(X, k, n_distinct):
    path = lambda_path(X)
    assert (path.suggest().k, len(path)) == (k, n_distinct)
    assert path.suggest().lam > 0
    with pytest.raises(ValueError, match=f"k={n_distinct + 1} is more than the {n_distinct} distinct rows"):
        path.at(k=n_distinct + 1)


def test_a_longer_path_for_more_clusters():
    rng = np.random.default_rng(5)
    X = 10.0 * np.stack(np.meshgrid(range(12), range(12)), axis=-1).reshape(-1, 2)
    X = np.repeat(X, 12, axis=0) + rng.normal(size=(12 * 144, 2))
    path = lambda_path(X)
    assert path.suggest().k == 144
    assert len(path) > 144


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_clusters_of_very_unlike_sizes(seed):
    """Noise cuts the largest in ways that make wider steps than the true one."""
    rng = np.random.default_rng(seed)
    sizes = [5000, 500, 50]
    X = np.repeat([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], sizes, axis=0) + rng.normal(size=(sum(sizes), 2))
    assert lambda_path(X).suggest().k == 3


@pytest.mark.parametrize("exponent", [-90, -60, 60, 90])
def test_units_do_not_matter(exponent, rng):
    X, _ = blobs(rng, n=120, d=3, k=3, spread=9.0)
    plain, scaled = DPMeans().fit(X), DPMeans().fit(X * 10.0**exponent)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)


@pytest.mark.parametrize(("max_k", "expected"), [(2, 2), (4, 4), (12, 12), (40, 12), (None, 12)])
def test_a_path_of_few_rows_ends_where_it_is_told_to(max_k, expected, rng):
    assert len(lambda_path(rng.normal(size=(12, 2)), max_k=max_k)) == expected


def test_rare_values_that_are_too_many_to_list(rng):
    X = np.concatenate([np.repeat(np.arange(12.0), 4000), 100.0 + rng.uniform(size=3000)])[:, None]
    path = lambda_path(X, max_k=30)
    assert not path.complete
    assert len(path) == 30


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"max_k": 0}, "max_k=0 is not allowed"),
        ({"metric": "cosin"}, "did you mean 'cosine'"),
        ({"engine": "cuda"}, "engine='cuda' is not allowed"),
        ({"n_threads": 0}, "n_threads=0 is not allowed"),
        ({"sample_weight": [1.0, -1.0]}, "negative"),
    ],
)
def test_bad_parameters(bad, message):
    with pytest.raises(ValueError, match=message):
        lambda_path([[0.0], [1.0]], **bad)


def test_an_engine_of_some_rows(rng):
    X, _ = blobs(rng, n=50)
    weight = rng.uniform(size=50)
    for rows in (X, sp.csr_array(X)):
        engine = open_engine("auto", rows, weight=weight)
        some = engine.among(np.array([7, 3, 44]))
        np.testing.assert_array_equal(some.rows(np.arange(3)), engine.rows(np.array([7, 3, 44])))
        np.testing.assert_array_equal(some.weight, weight[[7, 3, 44]])
        one = engine.rows(np.array([7]))
        assert some.sq_dists(some.nearest(Sites.of(one)).assignment, one)[0] == 0
