"""choose_k: each criterion against its definition, choices on clear data, and bad input."""

import numpy as np
import pytest
from common import blobs
from scipy.stats import multivariate_normal
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

import kfree
from kfree import KMeans, choose_k, plot
from kfree.estimators.choose_k import below_the_line, first_within
from kfree.objectives.information import SphericalClusters


@pytest.fixture
def choice():
    rng = np.random.default_rng(0)
    X, _ = blobs(rng, n=200, d=2, k=3, spread=12.0)
    return X, choose_k(X, range(1, 6), n_references=4)


def test_criteria_agree_on_clear_clusters(choice):
    _, found = choice
    for name in ("BIC", "silhouette", "gap", "lam path"):  # the elbow sees two of them
        assert found.chosen[name] == 3
    assert found.chosen.keys() - {"lam path"} == found.criteria.keys() - {"inertia"}


def test_criteria_are_what_they_are_called(choice):
    X, found = choice
    fit = KMeans(3, n_init=5, random_state=1).fit(X)
    place = found.k.tolist().index(3)
    assert found.criteria["inertia"][place] == pytest.approx(fit.inertia_)
    assert found.criteria["silhouette"][place] == pytest.approx(silhouette_score(X, fit.labels_))
    variance = fit.inertia_ / X.size
    log_likelihood = multivariate_normal(np.zeros(2), variance * np.eye(2)).logpdf(
        X - fit.cluster_centers_[fit.labels_]
    )
    total = log_likelihood.sum() + np.log(np.bincount(fit.labels_) / len(X))[fit.labels_].sum()
    assert found.criteria["AIC"][place] == pytest.approx(2 * 9 - 2 * total)
    assert found.criteria["BIC"][place] == pytest.approx(9 * np.log(len(X)) - 2 * total)
    assert np.isnan(found.criteria["silhouette"][0])


def test_held_out_rows_are_scored_by_the_mixture(choice):
    """With one cluster this is the density of one Gaussian, within what folds differ by."""
    X, found = choice
    one = SphericalClusters(np.array([200.0]), 2, ((X - X.mean(axis=0)) ** 2).sum(), 0.0)
    assert found.criteria["cross-validation"][0] == pytest.approx(one.log_likelihood / 200, abs=0.05)
    assert np.argmax(found.criteria["cross-validation"]) >= 2


def test_the_elbow_is_measured_from_the_line_between_the_ends():
    np.testing.assert_allclose(below_the_line(np.array([10.0, 2.0, 1.0, 0.0])), [0, 2 / 3 - 0.2, 1 / 3 - 0.1, 0])
    assert not below_the_line(np.ones(3)).any()


def test_gap_takes_the_first_k_that_the_next_does_not_beat():
    assert first_within(np.array([0.1, 0.5, 0.52, 0.9]), np.full(4, 0.05)) == 1
    assert first_within(np.array([0.1, 0.5, 0.9]), np.full(3, 0.01)) == 2


def test_table_and_picture_show_every_criterion(choice):
    pytest.importorskip("matplotlib")
    _, found = choice
    text = repr(found)
    assert all(name in text for name in found.criteria)
    assert "chosen" in text
    assert text.endswith("lam path: k=3")
    figure = plot.axes().figure
    figure.clear()
    titles = [ax.get_title() for ax in found.plot(figure).axes]
    assert set(titles) == {f"{name}: k = {k}" for name, k in found.chosen.items()} | {"inertia"}


@pytest.mark.parametrize("k_range", [3, [1], [0, 1], [1, 3], ["a", "b"], range(1, 27)])
def test_wrong_ranges_are_named(k_range, rng):
    with pytest.raises(ValueError, match="k_range"):
        kfree.choose_k(rng.normal(size=(30, 2)), k_range)


@pytest.mark.parametrize("n_distinct", [1, 2])
def test_few_distinct_rows_are_warned_of_once_and_chosen_where_a_criterion_can(n_distinct):
    X = np.repeat(np.arange(n_distinct, dtype=float)[:, None] * np.ones(2), 20, axis=0)
    with pytest.warns(UserWarning, match=f"{n_distinct} distinct rows") as caught:
        found = choose_k(X, range(1, 5), n_references=2)
    assert len(caught) == 1
    assert ("silhouette" in found.chosen) == (n_distinct > 1)
    assert found.chosen["BIC"] == n_distinct
    assert "lam path: k=" in repr(found)
    assert len(found.plot().axes) == 8


def test_mixtures_have_criteria_of_their_own(rng):
    """Three long clusters: full covariances find them, spherical ones cut them."""
    X = rng.normal(size=(300, 2)) * [3.0, 0.5] + np.outer(np.arange(300) % 3, [0.0, 6.0])
    choice = choose_k(X, range(1, 7), mixtures=["spherical", "full"], n_init=10, n_references=2, n_folds=2)
    assert choice.chosen["BIC, full"] == 3
    assert choice.chosen["BIC, spherical"] > 3
    for kind in ("spherical", "full"):
        fit = GaussianMixture(3, covariance_type=kind, n_init=10, random_state=0).fit(X)
        assert choice.criteria[f"AIC, {kind}"][2] == pytest.approx(fit.aic(X), rel=0.02)
        assert choice.criteria[f"BIC, {kind}"][2] == pytest.approx(fit.bic(X), rel=0.02)
    pytest.importorskip("matplotlib")
    assert len(choice.plot().axes) >= len(choice.criteria) + 1


@pytest.mark.parametrize("bad", ["full", ["tied"], [None]])
def test_unknown_mixtures_are_named(bad, rng):
    with pytest.raises(ValueError, match="mixtures="):
        choose_k(rng.normal(size=(30, 2)), range(1, 3), mixtures=bad)
