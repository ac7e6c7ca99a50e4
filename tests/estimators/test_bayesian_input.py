"""BayesianKMeans and input that is wrong, or merely odd."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kfree import BayesianKMeans

REFUSED = {
    "model": ({"model": "gausian"}, "did you mean 'gaussian'"),
    "mixture": ({"mixture": "infinite"}, "one of 'finite', 'dirichlet-process'"),
    "prior": ({"prior": "flat"}, "'data', 'uninformative' or a dict"),
    "prior key": ({"prior": {"xi": 1.0}}, "some of the keys xi0, m0, eta0, B0, phi0"),
    "prior not positive definite": ({"prior": {"B0": [[1.0, 2.0], [2.0, 1.0]]}}, "smallest eigenvalue is -1"),
    "prior not symmetric": ({"prior": {"B0": [[1.0, 0.5], [0.0, 1.0]]}}, "a symmetric matrix"),
    "prior of wrong shape": ({"prior": {"m0": [0.0]}}, "finite numbers of shape \\(2,\\)"),
    "prior without freedom": ({"prior": {"eta0": 1.0}}, "a number > 1"),
    "negative xi0": ({"prior": {"xi0": -1.0}}, "a finite number > 0"),
    "zero phi0": ({"prior": {"phi0": 0.0}}, "a finite number > 0"),
    "algorithm": ({"algorithm": "ball-tree"}, "'auto', 'kd-tree', 'brute'"),
    "max_iter": ({"max_iter": 0}, "a whole number ≥ 1"),
    "tree of counts": ({"model": "multinomial", "algorithm": "kd-tree"}, "unless model='gaussian'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_parameters(case):
    parameters, message = REFUSED[case]
    model = BayesianKMeans(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(20.0).reshape(10, 2) ** 2)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("as_given", [np.array, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        ("multinomial", -1.0, "whole numbers ≥ 0; X holds 1 other value\\(s\\), the first is -1 in row 2, column 1"),
        ("multinomial", 0.5, "the first is 0.5 in row 2, column 1"),
        ("bernoulli", 2.0, "takes zeros and ones; .* 2 in row 2, column 1"),
    ],
)
def test_wrong_values(model, value, message, as_given):
    X = np.eye(4)
    X[2, 1] = value
    with pytest.raises(ValueError, match=message):
        BayesianKMeans(model).fit(as_given(X))


def test_gaussians_are_dense():
    with pytest.raises(TypeError, match="sparse"):
        BayesianKMeans().fit(sp.csr_array(np.eye(4)))


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_extreme_scales_are_refused(factor, rng):
    with pytest.raises(ValueError, match="Multiply X by a constant"):
        BayesianKMeans().fit(rng.normal(size=(10, 2)) * factor)


@pytest.mark.filterwarnings("ignore:the covariance of X is singular")
@pytest.mark.parametrize("mixture", ["finite", "dirichlet-process"])
@pytest.mark.parametrize(
    "odd",
    {
        "a single row": np.ones((1, 3)),
        "two rows": np.eye(2),
        "equal rows": np.ones((20, 2)),
        "no more rows than columns": np.random.default_rng(0).normal(size=(6, 9)),
        "a constant column": np.c_[np.random.default_rng(1).normal(size=(60, 2)), np.ones(60)],
        "columns that determine each other": np.random.default_rng(2).normal(size=(60, 1)) @ [[1.0, 2.0, -3.0]],
        "duplicates in plenty": np.repeat(np.random.default_rng(3).normal(size=(5, 2)), 40, axis=0),
        "nearly duplicates": np.repeat(np.eye(3), 30, axis=0) + 1e-9 * np.random.default_rng(4).normal(size=(90, 3)),
        "unlike units": np.random.default_rng(5).normal(size=(80, 2)) * [1e9, 1e-9],
    }.items(),
    ids=lambda odd: odd[0].replace(" ", "-"),
)
def test_odd_data_work(odd, mixture):
    X = odd[1]
    model = BayesianKMeans(mixture=mixture).fit(X)
    assert np.isfinite(model.free_energy_)
    assert np.isfinite(model.covariances_).all()
    assert np.isfinite(model.score_samples(X)).all()
    assert (np.diff(model.free_energy_history_) <= 0).all()


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_rows_without_anything_work(kind):
    X = np.zeros((6, 3))
    X[:3, 0] = 1
    for rows in [X, np.zeros((5, 2)), np.zeros((1, 1)), sp.csr_array(X), sp.csr_array((4, 3))]:
        model = BayesianKMeans(kind).fit(rows)
        assert np.isfinite(model.free_energy_)
        assert np.isfinite(model.score_samples(rows)).all()


def test_a_singular_covariance_is_said(rng):
    with pytest.warns(UserWarning, match="covariance of X is singular"):
        BayesianKMeans().fit(np.c_[rng.normal(size=(30, 2)), np.ones(30)])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(6.0).reshape(2, 3), "2 rows and 3 columns"),
        (np.c_[np.arange(9.0), np.ones(9)], "column 1 is constant"),
        (np.c_[np.arange(9.0), np.arange(9.0)], "do not determine each other"),
    ],
)
def test_what_an_uninformative_prior_cannot_do(X, message):
    with pytest.raises(ValueError, match=message):
        BayesianKMeans(prior="uninformative").fit(X)


def test_a_search_that_was_cut_short_says_so(rng):
    X = rng.normal(size=(200, 2)) + 9 * rng.integers(4, size=(200, 1))
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = BayesianKMeans(max_iter=3).fit(X)
    assert not model.converged_
