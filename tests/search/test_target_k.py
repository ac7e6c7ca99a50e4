"""Penalties for a number of clusters that was asked for."""

import warnings

import numpy as np
import pytest
from common import blobs

from kfree import DPMeans, farthest_first_lambda, lambda_path
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
def test_a_wished_number_is_reached_or_missed_with_a_warning(k, rng):
    X = rng.normal(size=(600, 3)) + rng.choice([-8.0, 0.0, 8.0], size=(600, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DPMeans(target_k=k).fit(X)
    assert (model.n_clusters_ == k) is not any("found no penalty" in str(one.message) for one in caught)
    assert abs(model.n_clusters_ - k) <= 1
    assert DPMeans(lam=model.lam_, init=model.cluster_centers_).fit(X).cost_ <= model.cost_ * (1 + 1e-9)


def test_a_wished_number_that_no_penalty_has():
    X = np.repeat([[0.0], [1.0], [100.0], [101.0]], 5, axis=0)  # the third and the fourth cluster are worth the same
    with pytest.warns(
        UserWarning, match=r"found no penalty at which target_k=3 clusters are best; lam_=.* gives (2|4)"
    ):
        DPMeans(target_k=3).fit(X)


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
