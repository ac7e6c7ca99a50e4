"""Mixtures under the split-and-merge strategy, and G-means, against definitions and peers."""

import math

import numpy as np
import pytest
from common import blobs
from oracles.bayes import gaussian_predictive, sequential_free_energy
from scipy.special import logsumexp
from scipy.stats import anderson, multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from kfree import BayesianKMeans, KMeans
from kfree.baselines import GaussianMixtureBIC, GMeans, KMeansBIC, VariationalMixture, g_means, information
from kfree.baselines.g_means import anderson_darling
from kfree.baselines.variational import VariationalFamily
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES

BY_CRITERION = [KMeansBIC(), GaussianMixtureBIC(), VariationalMixture()]
PRIOR = {"xi0": 0.3, "m0": np.array([0.5, 0.0]), "eta0": 3.0, "B0": np.array([[0.5, 0.1], [0.1, 0.3]])}


@pytest.mark.parametrize("model", [*BY_CRITERION, GMeans()])
def test_clear_clusters_are_found_and_predicted(model, rng):
    X, y = blobs(rng, n=300, d=2, k=3, spread=30.0)
    model = clone(model).fit(X + 1e3)
    assert model.n_clusters_ == 3
    assert len(set(zip(model.labels_.tolist(), y.tolist(), strict=True))) == 3
    np.testing.assert_array_equal(model.predict(X + 1e3), model.labels_)
    nearest = np.abs(model.cluster_centers_[model.labels_] - X - 1e3).max()
    assert nearest < 6


@pytest.mark.parametrize("model", [*BY_CRITERION, GMeans()])
def test_clusters_that_overlap_are_predicted_as_they_were_labelled(model, rng):
    """Rows between a large cluster and a small one, whose weights differ."""
    X = np.vstack([rng.normal(size=(800, 1)), rng.normal(size=(200, 1)) + 5])
    model = clone(model).fit(X)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if isinstance(model, KMeansBIC):
        np.testing.assert_array_equal(model.labels_, np.abs(X - model.cluster_centers_.T).argmin(axis=1))
        assert (model.predict_proba(X).argmax(axis=1) != model.labels_).any()


@pytest.mark.parametrize("model", BY_CRITERION)
def test_the_criterion_never_rises_and_a_limit_holds(model, rng):
    X, _ = blobs(rng, n=200, d=2, k=4, spread=8.0)
    model = clone(model).fit(X)
    assert (np.diff(model.cost_history_) <= 0).all()
    assert model.cost_history_[-1] == model.cost_
    assert model.converged_
    with pytest.warns(UserWarning, match="max_clusters=2 was reached; more clusters may lower the criterion"):
        assert clone(model).set_params(max_clusters=2).fit(X).n_clusters_ == 2
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("model", BY_CRITERION)
def test_merges_undo_what_was_split_too_often(model, rng):
    """From one Gaussian in two halves, the merge must come back to one."""
    from kfree.search.evidence.soft_labels import merge_overlapping

    X = rng.normal(size=(300, 2))
    X -= X.mean(axis=0)
    family = model._family(type("Data", (), {"rows": X, "model": lambda self, *_: (_model(X), 2.0)})())
    halves = family.fitted(X, np.eye(2)[(X[:, 0] > 0).astype(int)], np.inf)
    assert halves.n_clusters == 2
    assert merge_overlapping(halves, X, family).n_clusters == 1


def _model(X):
    return GaussianModel.conjugate(0.1, X.mean(axis=0), 2.0, 0.01 * np.eye(2))


def test_bic_of_k_means_is_that_of_spherical_gaussians(rng):
    X, _ = blobs(rng, n=120, d=2, k=3, spread=10.0)
    model = KMeansBIC().fit(X)
    k, (n, d) = model.n_clusters_, X.shape
    variance = KMeans(k, init=model.cluster_centers_).fit(X).inertia_ / X.size
    centres = model.cluster_centers_[model.labels_]
    log_likelihood = multivariate_normal(np.zeros(d), variance * np.eye(d)).logpdf(X - centres).sum()
    log_likelihood += np.log(np.bincount(model.labels_) / n)[model.labels_].sum()
    assert model.cost_ == pytest.approx(-log_likelihood + (k * d + k) / 2 * math.log(n))


def test_bic_of_a_mixture_is_that_of_scikit_learn(rng):
    X, _ = blobs(rng, n=200, d=2, k=3, spread=10.0)
    model = GaussianMixtureBIC().fit(X)
    peer = GaussianMixture(model.n_clusters_, means_init=model.cluster_centers_, tol=1e-6).fit(X)
    assert model.cost_ == pytest.approx(peer.bic(X) / 2, rel=1e-4)
    assert model.cost_ <= min(GaussianMixture(k, random_state=0).fit(X).bic(X) / 2 for k in (1, 2, 4)) + 1e-6


def test_the_variational_bound_lies_between_the_evidence_and_hard_labels(rng):
    """−log p(X | K) by enumeration of all labels, and F of the best of them, on seven rows."""
    X = rng.normal(size=(7, 2)) + np.array([0, 0, 0, 0, 3, 3, 3])[:, None]
    log_predictive = gaussian_predictive(**PRIOR)
    labels = [[*np.unravel_index(code, (2,) * 7)] for code in range(2**7)]
    hard = [sequential_free_energy(X, z, "finite", 2.0, log_predictive) for z in labels if len(set(z)) == 2]
    empty = [_one_of_two(X, log_predictive) for z in labels if len(set(z)) == 1]
    objective = FreeEnergy(GaussianModel.conjugate(**PRIOR), MIXTURES["finite"](2.0))
    family = VariationalFamily(objective, 1e-12)
    bound = min(family.fitted(X, np.eye(2)[z], np.inf).cost for z in labels if 2 <= sum(z) <= 5)
    assert -logsumexp(-np.array(hard + empty)) < bound < min(hard)


def _one_of_two(X, log_predictive):
    """F of all rows in one of two clusters."""
    alone = sequential_free_energy(X, np.zeros(7), "finite", 2.0, log_predictive)
    i = np.arange(7)
    return alone + np.log((4.0 + i) / (2.0 + i)).sum()


def test_variational_posteriors_are_those_of_scikit_learn(rng):
    X, _ = blobs(rng, n=150, d=2, k=3, spread=9.0)
    model = VariationalMixture(prior={**PRIOR, "phi0": 2.0}, tol=1e-12).fit(X)
    peer = BayesianGaussianMixture(
        n_components=model.n_clusters_,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=2.0,
        mean_precision_prior=PRIOR["xi0"],
        mean_prior=PRIOR["m0"],
        degrees_of_freedom_prior=PRIOR["eta0"],
        covariance_prior=PRIOR["B0"],
        reg_covar=0.0,
        tol=1e-10,
        max_iter=1000,
        random_state=0,
    ).fit(X)
    order, theirs = np.argsort(model.cluster_centers_[:, 0]), np.argsort(peer.means_[:, 0])
    np.testing.assert_allclose(model.cluster_centers_[order], peer.means_[theirs], atol=1e-5)
    np.testing.assert_allclose(model.covariances_[order], peer.covariances_[theirs], atol=1e-5)
    np.testing.assert_allclose(model.weights_[order], peer.weights_[theirs], atol=1e-6)


def test_soft_labels_cost_less_than_hard_ones(rng):
    X, _ = blobs(rng, n=200, d=2, k=3, spread=3.0)
    assert VariationalMixture().fit(X).cost_ < BayesianKMeans().fit(X).free_energy_ + 1e-6


@pytest.mark.parametrize(
    ("model", "place", "limit", "message"),
    [
        (KMeansBIC(), information, "MOST_ITERATIONS", "the last fit of KMeansBIC"),
        (GaussianMixtureBIC(), information, "MOST_ITERATIONS", "the last fit of GaussianMixtureBIC"),
        (GMeans(), g_means, "_MOST_ITERATIONS", "the last k-means of GMeans"),
    ],
)
def test_a_limit_of_iterations_is_said(model, place, limit, message, rng, monkeypatch):
    X = blobs(rng, n=200, d=2, k=4, spread=5.0)[0]
    model.fit(X)  # warnings are errors
    monkeypatch.setattr(place, limit, 1)
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X)


def test_g_means_tests_for_normality_as_scipy_does(rng):
    values = rng.exponential(size=200)
    expected = anderson(values, method="interpolate").statistic if _new_scipy() else anderson(values).statistic
    assert anderson_darling(values) == pytest.approx(expected * (1 + 4 / 200 - 25 / 200**2))
    assert anderson_darling(np.ones(20)) == -math.inf


def _new_scipy():
    import inspect

    return "method" in inspect.signature(anderson).parameters


def test_g_means_takes_one_gaussian_as_one_and_a_ring_as_many(rng):
    X = rng.normal(size=(400, 2))
    assert GMeans().fit(X).n_clusters_ == 1
    ring = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert GMeans().fit(ring).n_clusters_ > 4
    with pytest.warns(UserWarning, match="max_clusters=3 was reached; more clusters may lower the inertia"):
        assert GMeans(max_clusters=3).fit(ring).n_clusters_ == 3


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (GMeans(0.2), "significance=0.2"),
        (GMeans(max_clusters=0), "max_clusters=0"),
        (KMeansBIC(max_iter=0), "max_iter=0"),
        (GaussianMixtureBIC(reg_covar=0.0), "reg_covar=0.0"),
        (VariationalMixture(mixture="infinite"), "mixture='infinite'"),
        (VariationalMixture(tol=-1.0), "tol=-1.0"),
    ],
)
def test_wrong_parameters_are_named_and_nothing_is_written(model, named, rng):
    with pytest.raises(ValueError, match=named):
        model.fit(rng.normal(size=(20, 2)))
    assert not hasattr(model, "labels_")
