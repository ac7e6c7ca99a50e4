"""Penalties for a number of clusters that was asked for."""

import warnings

import numpy as np
import pytest
from common import blobs

from kfree import DPMeans, GraphDPMeans, HardHDP, farthest_first_lambda, lambda_path
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.path.lam_path import staircase_to


def test_penalty_for_a_wished_number(rng):
    X, _ = blobs(rng, n=400, k=5, spread=9.0)
    engine, objective = open_engine("auto", X), OBJECTIVES["euclidean"](0.0)
    step = lambda_path(X).at(k=5)
    assert step.lam_low < staircase_to(engine, objective, np.random.RandomState(0), 5).at(k=5).lam < step.lam_high
    with pytest.raises(ValueError, match="k=401 is more than the 400 distinct rows"):
        staircase_to(engine, objective, np.random.RandomState(0), 401).at(k=401)


@pytest.mark.parametrize("k", [2, 7, 20])
def test_a_wished_number_is_met(k, rng):
    X = rng.normal(size=(600, 3)) + rng.choice([-8.0, 0.0, 8.0], size=(600, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DPMeans(target_k=k).fit(X)
    assert model.n_clusters_ == k
    assert model.cost_ == pytest.approx(model.inertia_ + k * model.lam_)
    is_best = not any("no penalty makes" in str(one.message) for one in caught)
    again = DPMeans(lam=model.lam_, init=model.cluster_centers_).fit(X)
    assert again.cost_ <= model.cost_ * (1 + 1e-9)
    assert again.n_clusters_ == k or not is_best


def test_a_wished_number_that_no_penalty_has():
    X = np.repeat([[0.0], [1.0], [100.0], [101.0]], 5, axis=0)  # the third and the fourth cluster are worth the same
    with pytest.warns(UserWarning, match=r"no penalty makes target_k=3 clusters the best. These are the best 3 that"):
        model = DPMeans(target_k=3).fit(X)
    assert (model.n_clusters_, model.inertia_) == (3, 2.5)
    assert model.lam_ == 2.5  # where two and four clusters cost the same
    assert model.cost_ == 2.5 + 3 * 2.5


def partitions(n_rows):
    """All partitions of so many rows, as labels."""
    grown = [[0]]
    for _ in range(n_rows - 1):
        grown = [[*labels, c] for labels in grown for c in range(max(labels) + 2)]
    return [np.array(labels) for labels in grown]


def test_the_best_of_a_number_that_no_penalty_has():
    """Three clusters of these eight rows are best at no penalty, and an exhaustive search finds the same three."""
    X = np.random.default_rng(122).normal(size=(8, 2))
    with pytest.warns(UserWarning, match="no penalty makes target_k=3 clusters the best"):
        model = DPMeans(target_k=3).fit(X)
    lowest = np.full(9, np.inf)
    for labels in partitions(8):
        parts = [X[labels == c] for c in range(labels.max() + 1)]
        lowest[len(parts)] = min(lowest[len(parts)], sum(((part - part.mean(0)) ** 2).sum() for part in parts))
    assert model.inertia_ == pytest.approx(lowest[3])
    assert model.lam_ == pytest.approx((lowest[2] - lowest[4]) / 2)
    assert model.cost_ > (lowest + model.lam_ * np.arange(9))[[2, 4]].max()


def cut_of(A, labels):
    """The normalised cut: the share of its links that each cluster sends out, summed."""
    degree = A.sum(axis=1)
    shares = [A[labels == c][:, labels == c].sum() / degree[labels == c].sum() for c in range(labels.max() + 1)]
    return len(shares) - sum(shares)


def test_a_number_that_no_penalty_has_of_a_graph():
    """Two pairs of pairs of nodes: two and four clusters are best at some penalty, and three at none."""
    inside, between, far = 10.0, 1.0, 0.01
    A = np.full((8, 8), far)
    A[:4, :4] = A[4:, 4:] = between
    for j in range(0, 8, 2):
        A[j, j + 1] = A[j + 1, j] = inside
    np.fill_diagonal(A, 0.0)
    with pytest.warns(UserWarning, match=r"no penalty makes target_k=3 clusters the best. These are the best 3 that"):
        model = GraphDPMeans(target_k=3).fit(A)
    lowest = np.full(9, np.inf)
    for labels in partitions(8):
        lowest[labels.max() + 1] = min(lowest[labels.max() + 1], cut_of(A, labels))
    assert model.n_clusters_ == 3
    assert cut_of(A, model.labels_) == pytest.approx(lowest[3])
    assert model.lam_ == pytest.approx((lowest[2] - lowest[4]) / 2)
    assert model.cost_ == pytest.approx(lowest[3] + 3 * model.lam_)
    assert model.cost_ > (lowest + model.lam_ * np.arange(9))[[2, 4]].max()


@pytest.mark.parametrize("k", [2, 3, 5, 6, 8])
def test_a_number_of_shared_clusters_is_met(k, rng):
    X, _ = blobs(rng, n=240, k=5, spread=9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HardHDP(target_k=k, random_state=0).fit(X, groups=np.arange(240) % 4)
    assert model.n_clusters_ == k
    used = len({(int(g), int(c)) for g, c in zip(np.arange(240) % 4, model.labels_, strict=True)})
    assert model.cost_ == pytest.approx(model.inertia_ + model.lam_local_ * used + model.lam_global_ * k)


def test_a_number_of_shared_clusters_that_no_penalties_have():
    X = np.repeat([[0.0], [1.0], [100.0], [101.0]], 10, axis=0)  # the third and the fourth cluster are worth the same
    with pytest.warns(UserWarning, match="no penalty makes target_k=3 global clusters the best"):
        model = HardHDP(target_k=3).fit(X, groups=np.arange(40) % 2)
    assert (model.n_clusters_, model.inertia_) == (3, 5.0)
    # Two and four clusters cost the same: 10 more inertia, or two global and four local clusters more.
    assert 2 * model.lam_global_ + 4 * model.lam_local_ == pytest.approx(10.0)


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")  # nine rows
def test_penalties_of_a_sweep_are_penalties_of_rows(rng):
    centres = [[0, 0], [9, 0], [0, 9], [9, 9], [20, 20]]
    X = np.repeat(centres, 100, axis=0) + rng.normal(size=(500, 2))
    for options in ({}, {"target_k": 5}):
        model = DPMeans(search="sweep", **options).fit(X)
        assert model.lam_ == farthest_first_lambda(X, 5)
    assert DPMeans(search="sweep").fit(np.ones((9, 2))).n_clusters_ == 1


@pytest.mark.parametrize("n_rare", [0, 3])
def test_few_distinct_rows_of_many(n_rare, rng):
    """More rows than the path looks at, and values so rare that its sample has none of them."""
    X = np.concatenate([np.repeat(np.arange(12.0), 2000), 100.0 + np.arange(n_rare)])[:, None]
    path = lambda_path(rng.permutation(X))
    assert path.complete
    assert len(path) == 12 + n_rare
    assert path.cost[-1] == 0.0
    assert DPMeans(target_k=12 + n_rare).fit(X).n_clusters_ == 12 + n_rare
    with pytest.raises(
        ValueError, match=f"target_k=99 is more than the {12 + n_rare} distinct rows of X; give at most"
    ):
        DPMeans(target_k=99).fit(X)


def test_an_overflow_is_not_blamed_on_the_wished_number(rng):
    with pytest.raises(ValueError, match="^the cost overflows float64"):
        DPMeans(target_k=2).fit(1e200 * rng.normal(size=(30, 2)))
