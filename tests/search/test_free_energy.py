"""Free energies against probabilities of one row after the other, in any order."""

import itertools
from math import lgamma

import numpy as np
import pytest
from oracles.bayes import (
    bernoulli_predictive,
    gaussian_predictive,
    multinomial_predictive,
    partitions,
    sequential_free_energy,
)
from scipy.special import digamma, logsumexp
from scipy.stats import wishart

from kfree.core.stats import CountStats, GaussianStats
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES
from kfree.objectives.multinomial import MultinomialModel, log_orders
from kfree.objectives.priors import for_merging, informed_by_data, over_box, smallest_distance
from kfree.search.agglomerate import agglomerate


def stats_of(kind, rows, labels):
    """Statistics by definition."""
    groups = [rows[labels == c] for c in range(labels.max() + 1)]
    n, sums = np.array([float(len(g)) for g in groups]), np.array([g.sum(axis=0) for g in groups], dtype=float)
    if kind == "gaussian":
        return GaussianStats(n, sums, np.array([(g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups]))
    ways = [log_orders(g).sum() if kind == "multinomial" else 0.0 for g in groups]
    return CountStats(n, sums, np.array(ways))


def gaussian_case(rng, n, d):
    half = rng.normal(size=(d, d + 2))
    prior = 0.3, rng.normal(size=d), d + 0.7, half @ half.T
    return GaussianModel.conjugate(*prior), gaussian_predictive(*prior), rng.normal(size=(n, d)) * 3


def multinomial_case(rng, n, d):
    rows = rng.poisson(1.5, size=(n, d)).astype(float)
    rows[0] = 0.0  # a document without words
    return MultinomialModel(0.1, d), multinomial_predictive(0.1), rows


def bernoulli_case(rng, n, d):
    rows = (rng.random((n, d)) < 0.3).astype(float)
    return BernoulliModel(0.1, d), bernoulli_predictive(0.1), rows


CASES = {"gaussian": gaussian_case, "multinomial": multinomial_case, "bernoulli": bernoulli_case}


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_free_energy_is_the_probability_of_one_row_after_the_other(rng, kind, mixture, d):
    model, log_predictive, rows = CASES[kind](rng, 24, d)
    labels = np.append(np.arange(4), rng.integers(4, size=20))
    objective = FreeEnergy(model, MIXTURES[mixture](1.7))
    ours = objective.free_energy(stats_of(kind, rows, labels))
    for _ in range(3):
        order = rng.permutation(24)
        oracle = sequential_free_energy(rows[order], labels[order], mixture, 1.7, log_predictive)
        assert ours == pytest.approx(oracle, rel=1e-10)


@pytest.mark.parametrize("kind", CASES)
def test_predictive_is_the_ratio_of_evidences(rng, kind):
    model, log_predictive, rows = CASES[kind](rng, 12, 3)
    stats = stats_of(kind, rows[:10], np.array([0] * 4 + [1] * 6))
    ours = model.log_predictive(stats, rows[10:])
    for i, before in enumerate([rows[:4], rows[4:10]]):
        np.testing.assert_allclose(ours[:, i], [log_predictive(row, before) for row in rows[10:]], rtol=1e-10)


def test_sizes_have_a_distribution():
    """The probabilities of all partitions, or of all labellings, add up to one."""
    process, finite = MIXTURES["dirichlet-process"](0.8), MIXTURES["finite"](0.8)
    sizes = [np.bincount(z).astype(float) for z in partitions(5)]
    assert logsumexp([process.log_share(n).sum() - process.log_total(5.0, len(n)) for n in sizes]) == pytest.approx(0)
    sizes = [np.bincount(z, minlength=3).astype(float) for z in itertools.product(range(3), repeat=5)]
    assert logsumexp([finite.log_share(n).sum() - finite.log_total(5.0, 3) for n in sizes]) == pytest.approx(0)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("kind", CASES)
def test_merge_costs_are_differences_of_the_free_energy(rng, kind, mixture):
    model, _, rows = CASES[kind](rng, 30, 3)
    labels = np.append(np.arange(6), rng.integers(6, size=24))
    objective, stats = FreeEnergy(model, MIXTURES[mixture](2.0)), stats_of(kind, rows, labels)
    costs = objective.merge_costs(stats, slice(None))
    assert np.array_equal(costs, costs.T)
    np.testing.assert_array_equal(costs[2], objective.merge_costs(stats, 2))
    for a, b in [(0, 1), (2, 5), (3, 4)]:
        merged = np.where(labels == b, a, labels)
        after = objective.free_energy(stats_of(kind, rows, np.unique(merged, return_inverse=True)[1]))
        shared = objective.shared_term(30.0, 5) - objective.shared_term(30.0, 6)
        assert costs[a, b] + shared == pytest.approx(after - objective.free_energy(stats), rel=1e-9)


@pytest.mark.parametrize("kind", CASES)
def test_merge_costs_of_large_statistics_are_those_of_small_ones(rng, kind, monkeypatch):
    """One cluster after the other, each pair once; the fourth cluster has no rows."""
    model, _, rows = CASES[kind](rng, 30, 3)
    stats = stats_of(kind, rows, np.append(np.arange(6), rng.integers(6, size=24)))
    stats.absorb(1, 3, 0.0)
    objective, places = FreeEnergy(model, MIXTURES["finite"](2.0)), [slice(None), slice(2, 5), slice(0)]
    at_once = [objective.merge_costs(stats, some) for some in places]
    monkeypatch.setattr("kfree.objectives.free_energy._WIDE", -1)
    for expected, some in zip(at_once, places, strict=True):
        found = objective.merge_costs(stats, some)
        # What a cluster costs with itself means nothing, nor what one without rows does.
        asked = (np.arange(6) != np.arange(6)[some, None]) & (stats.n[some, None] > 0)
        np.testing.assert_array_equal(found[asked], expected[asked])


@pytest.mark.parametrize("kind", CASES)
def test_greedy_merging_adds_up(rng, kind):
    model, _, rows = CASES[kind](rng, 15, 2)
    objective, stats = FreeEnergy(model, MIXTURES["finite"](2.0)), stats_of(kind, rows, np.arange(15))
    merges = agglomerate(stats, objective)
    for k in [1, 3, 7]:
        after = stats_of(kind, rows, merges.labels(k))
        expected = objective.cluster_terms(stats).sum() + merges.costs[: 15 - k].sum()
        assert objective.cluster_terms(after).sum() == pytest.approx(expected, rel=1e-9)


def test_labelling_of_many_columns_is_that_of_few(rng, monkeypatch):
    """Large matrices are inverted in another way, which changes no cost beyond rounding."""
    rows, labels = rng.normal(size=(40, 6)), np.arange(40) % 3
    model, stats = GaussianModel.conjugate(0.5, np.zeros(6), 9.0, 2.0 * np.eye(6)), stats_of("gaussian", rows, labels)
    few = model.labelling(stats)
    monkeypatch.setattr("kfree.objectives.gaussian._LARGE", 2)
    many = model.labelling(stats)
    np.testing.assert_allclose(many.factor, few.factor, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(many.costs(rows).argmin(axis=1), few.costs(rows).argmin(axis=1))


def test_gaussian_labelling_is_the_expected_log_likelihood(rng):
    """Eq. 20 by drawing the parameters."""
    model, _, rows = gaussian_case(rng, 20, 2)
    stats = stats_of("gaussian", rows, np.zeros(20, dtype=int))
    post, drawn = model.posterior(stats), []
    precisions = wishart(post.eta[0], np.linalg.inv(post.B[0])).rvs(4_000, random_state=3)
    for precision in precisions:
        mean = post.m[0] + np.linalg.cholesky(np.linalg.inv(post.xi[0] * precision)) @ rng.normal(size=2)
        gap = rows[:4] - mean
        drawn.append(np.einsum("nd,de,ne->n", gap, precision, gap) / 2 - np.linalg.slogdet(precision)[1] / 2)
    ours = model.labelling(stats).costs(rows[:4])[:, 0] - np.log(2)  # D/2·(log 2π − log π), D = 2
    np.testing.assert_allclose(ours, np.mean(drawn, axis=0), rtol=0.04)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_labelling_of_counts_is_the_expected_log_likelihood(rng, kind):
    model, _, rows = CASES[kind](rng, 20, 3)
    stats = stats_of(kind, rows, np.zeros(20, dtype=int))
    if kind == "multinomial":
        drawn = -np.log(rng.dirichlet(model.psi0 + stats.sum[0], size=50_000)) @ rows[:4].T
    else:
        p = rng.beta(model.omega0 + stats.sum[0], model.omega0 + 20 - stats.sum[0], size=(50_000, 3))
        drawn = -(np.log(p) @ rows[:4].T + np.log1p(-p) @ (1 - rows[:4]).T)
    np.testing.assert_allclose(model.labelling(stats).costs(rows[:4])[:, 0], drawn.mean(axis=0), rtol=0.02)


def test_uninformative_free_energy_is_the_corrected_formula(rng):
    rows = rng.normal(size=(40, 3)) * [1, 5, 0.1]
    labels = np.repeat([0, 1], 20)
    stats = stats_of("gaussian", rows, labels)
    model, mixture = over_box(rows), MIXTURES["finite"](1.0)
    n, d = 20, 3
    expected = 0.0
    for c in range(2):
        log_gamma = d * (d - 1) / 4 * np.log(np.pi) + sum(lgamma((n - 1) / 2 + (1 - i) / 2) for i in range(1, d + 1))
        expected += d * (n - 1) / 2 * np.log(np.pi) + d / 2 * np.log(n)
        expected += (n - 1) / 2 * np.linalg.slogdet(stats.scatter[c])[1] - log_gamma
        expected += np.log(np.ptp(rows, axis=0)).sum() - lgamma(n + 1)
    expected += lgamma(42) - lgamma(2)
    assert FreeEnergy(model, mixture).free_energy(stats) == pytest.approx(expected, rel=1e-12)
    x, mean, cov = rows[:1], rows[:20].mean(axis=0), stats.scatter[0] / n
    maha = (x - mean) @ np.linalg.inv(cov) @ (x - mean).T
    cost = (n - 1) / (2 * n) * maha[0, 0] + np.linalg.slogdet(n * cov)[1] / 2 + d / (2 * n)
    cost -= sum(digamma((n - i) / 2) for i in range(1, d + 1)) / 2
    assert model.labelling(stats).costs(x)[0, 0] == pytest.approx(cost, rel=1e-10)


def test_uninformative_prior_refuses_flat_and_small_clusters(rng):
    rows = rng.normal(size=(12, 3))
    rows[4:8, 2] = 1.0  # in a plane
    stats = stats_of("gaussian", rows, np.repeat([0, 1, 2], [3, 5, 4]))
    evidence = over_box(rows).log_evidence(stats)
    assert np.isneginf(evidence[0])
    assert np.isfinite(evidence[1:]).all()
    assert np.isneginf(over_box(rows).log_evidence(stats_of("gaussian", rows[4:8], np.zeros(4, dtype=int)))[0])


def test_priors_from_data(rng):
    rows = rng.normal(size=(30, 2)) * [1, 4] + 100
    model, regularised = informed_by_data(rows, np.random.RandomState(0))
    S = np.cov(rows.T, bias=True)
    d_small = smallest_distance(rows, np.random.RandomState(0))
    np.testing.assert_allclose(model.B0, d_small**2 * 2 * S / np.trace(S))
    assert not regularised
    assert (model.xi0, model.eta0) == (0.1, 2.0)
    np.testing.assert_allclose(for_merging(rows, np.random.RandomState(0))[0].B0, 0.01 * d_small**2 * np.eye(2))


def test_smallest_distance_is_between_different_rows():
    line = np.repeat(np.array([[0.0], [1.0], [3.0], [6.0]]), 5, axis=0)
    assert smallest_distance(line, np.random.RandomState(0)) == pytest.approx((1 + 1 + 2) / 3)
    assert smallest_distance(np.ones((4, 2)), np.random.RandomState(0)) == 1.0
