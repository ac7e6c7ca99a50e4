"""The two samplers: their exact posteriors on six rows, and what a user sees."""

import re

import numpy as np
import pytest
from common import blobs
from oracles import samplers as oracle

from kfree.baselines import CollapsedGibbsDPMixture, GibbsDPMixture, select_by_validation

# What 10,000 sweeps over six rows reach, and what a wrong posterior does not.
NEAR = 0.04
SPHERICAL = {"alpha": 1.5, "sigma": 0.7, "rho": 4.0}
GAUSSIAN = {"xi0": 0.3, "m0": np.array([0.5, 0.0]), "eta0": 3.0, "B0": np.array([[0.5, 0.1], [0.1, 0.3]])}


@pytest.fixture
def six(rng):
    return rng.normal(size=(6, 2)) + np.array([0, 0, 0, 1.5, 1.5, 3.0])[:, None]


def samples(model, X, n_samples=10_000):
    chain = {"n_burn_in": 100, "n_samples": n_samples, "thin": 1, "keep_samples": True, "random_state": 0}
    return model.set_params(**chain).fit(X)


def distance(model, exact):
    return oracle.total_variation(oracle.frequencies(model.label_samples_), exact)


def test_partitions_are_drawn_as_often_as_the_exact_posterior_says(six):
    exact = oracle.spherical_posterior(six, **SPHERICAL)
    assert distance(samples(GibbsDPMixture(**SPHERICAL), six), exact) < NEAR
    # The measure tells models apart: another α, σ or ρ is farther off.
    for other in ({"alpha": 3.0}, {"sigma": 1.2}, {"rho": 12.0}):
        assert distance(samples(GibbsDPMixture(**{**SPHERICAL, **other}), six, 3000), exact) > 2 * NEAR


def test_alpha_and_sigma_are_drawn_from_their_posteriors(six):
    exact, alpha, sigma = oracle.spherical_posterior_with_priors(six, (2.0, 1.5), (3.0, 2.0), rho=4.0)
    model = samples(GibbsDPMixture(rho=4.0, alpha_prior=(2.0, 1.5), sigma_prior=(3.0, 2.0)), six)
    assert distance(model, exact) < NEAR
    assert model.trace_["alpha"].mean() == pytest.approx(alpha, rel=0.03)
    assert model.trace_["sigma"].mean() == pytest.approx(sigma, rel=0.05)


def test_collapsed_partitions_are_drawn_as_often_as_the_exact_posterior_says(six):
    exact = oracle.gaussian_posterior(six, 1.5, **GAUSSIAN)
    assert distance(samples(CollapsedGibbsDPMixture(1.5, prior=GAUSSIAN), six), exact) < NEAR
    assert distance(samples(CollapsedGibbsDPMixture(3.0, prior=GAUSSIAN), six, 3000), exact) > 2 * NEAR
    flatter = {**GAUSSIAN, "B0": 3 * GAUSSIAN["B0"]}
    assert distance(samples(CollapsedGibbsDPMixture(1.5, prior=flatter), six, 3000), exact) > 2 * NEAR


MODELS = [GibbsDPMixture(0.5, 1.0), GibbsDPMixture(), CollapsedGibbsDPMixture()]


@pytest.mark.parametrize("model", MODELS)
def test_engines_and_seeds_decide_nothing_but_speed_and_draws(model, rng):
    X, _ = blobs(rng, n=40, d=2)
    settings = {"n_burn_in": 5, "n_samples": 6, "thin": 3, "keep_samples": True}
    fits = [
        model.set_params(engine=engine, random_state=seed, **settings).fit(X).label_samples_.copy()
        for engine, seed in [("native", 1), ("reference", 1), ("native", 2)]
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()
    assert fits[0].shape == (6, 40)
    assert model.trace_["iteration"].tolist() == [8, 11, 14, 17, 20, 23]
    assert model.trace_["n_clusters"].tolist() == [len(np.unique(labels)) for labels in fits[2]]


@pytest.mark.parametrize("model", MODELS)
def test_the_best_sample_is_published(model, rng):
    X, _ = blobs(rng, n=60, d=2)
    model.set_params(n_burn_in=0, n_samples=40, thin=1, keep_samples=True, random_state=0).fit(X)
    best = int(np.argmax(model.trace_["log_joint"]))
    np.testing.assert_array_equal(model.labels_, model.label_samples_[best])
    assert model.cluster_centers_.shape == (model.n_clusters_, 2)
    assert set(model.predict(X)) <= set(range(model.n_clusters_))


def test_log_joint_is_that_of_the_oracle(six):
    model = samples(GibbsDPMixture(**SPHERICAL), six, n_samples=5)
    for labels, log_joint in zip(model.label_samples_, model.trace_["log_joint"], strict=True):
        expected = oracle.log_urn(labels, 1.5) + oracle.log_spherical(six, labels, 0.7, 4.0)
        assert log_joint == pytest.approx(expected)


def test_a_validation_set_chooses_sigma_and_alpha(rng):
    X, y = blobs(rng, n=80, d=2, k=3, spread=8)
    sampler = GibbsDPMixture(n_burn_in=20, n_samples=10, thin=2, keep_samples=True, random_state=0)
    chosen, score = select_by_validation(sampler, X, y, {"alpha": [0.1, 1.0], "sigma": [1e-3, 1.0, 1e3]})
    assert chosen.sigma == 1.0
    assert 0.8 < score <= 1.0
    assert not hasattr(chosen, "labels_")


def test_predict_takes_the_variance_of_the_fit():
    X = np.array([[0.0]] * 2 + [[6.0]] * 60)
    model = GibbsDPMixture(0.5, 1.0, rho=4.0, n_burn_in=20, n_samples=10, thin=2, random_state=0).fit(X)
    grid = np.linspace(-3, 9, 2001)[:, None]
    assert model.n_clusters_ > 1
    assert np.array_equal(model.predict(grid), model.set_params(rho=1e-3).predict(grid))


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (GibbsDPMixture(alpha=0.0), "alpha=0.0"),
        (GibbsDPMixture(alpha="beta"), "'gamma'"),
        (GibbsDPMixture(sigma=-1.0), "sigma=-1.0"),
        (GibbsDPMixture(rho=np.inf), "rho=inf"),
        (GibbsDPMixture(rho=1e308), "rho=1e+308"),
        (GibbsDPMixture(sigma=1e-308), "sigma=1e-308"),
        (GibbsDPMixture(sigma_prior=(1e-308, 1e308)), "sigma_prior=(1e-308, 1e+308)"),
        (CollapsedGibbsDPMixture(alpha_prior=(1.0, 1e-308)), "alpha_prior=(1.0, 1e-308)"),
        (GibbsDPMixture(prior_mean=np.nan), "prior_mean=nan"),
        (GibbsDPMixture(prior_mean=[0.0, 1.0, 2.0]), "prior_mean=[0.0, 1.0, 2.0]"),
        (GibbsDPMixture(alpha_prior=(1.0,)), "alpha_prior=(1.0,)"),
        (GibbsDPMixture(n_burn_in=-1), "n_burn_in=-1"),
        (GibbsDPMixture(thin=0), "thin=0"),
        (CollapsedGibbsDPMixture(n_samples=0), "n_samples=0"),
        (CollapsedGibbsDPMixture(prior="uninformative"), "prior='uninformative'"),
        (CollapsedGibbsDPMixture(prior={"phi0": 2.0}), "give alpha"),
    ],
)
def test_wrong_parameters_are_named_and_nothing_is_written(model, named, rng):
    with pytest.raises(ValueError, match=re.escape(named)):
        model.fit(rng.normal(size=(20, 2)))
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e99])
@pytest.mark.parametrize("least", [1e-3, 1e-49])
def test_the_most_extreme_parameters_give_finite_numbers(scale, least, rng):
    X, chain = scale * rng.normal(size=(9, 2)), {"n_burn_in": 5, "n_samples": 5, "thin": 1, "random_state": 0}
    for small, large in [(least, 1 / least), (1 / least, least), (least, least), (1.0, 1.0)]:
        # An α of small shape is often drawn as zero.
        sampled = GibbsDPMixture(rho=small**2, alpha_prior=(small, 1.0), sigma_prior=(small, large), **chain)
        given = GibbsDPMixture(alpha=small**2, sigma=large**2, rho=1 / large**2, **chain)
        for model in (sampled.fit(X), given.fit(X)):
            assert np.isfinite(model.trace_["log_joint"]).all()
            assert np.isfinite(model.cluster_centers_).all()
            assert len(model.predict(X)) == 9
