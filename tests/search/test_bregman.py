"""Bregman objectives against definitions: all partitions of few rows, φ = ‖x‖² as DP-means, and ends of domains."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.bayes import partitions

from kfree.core.divergences import DIVERGENCES, require_domain
from kfree.core.stats import Stats
from kfree.objectives.bregman import BREGMAN_OBJECTIVES, BregmanObjective
from kfree.objectives.dp_means import DPMeansObjective

NAMES = list(DIVERGENCES)
OBJECTIVES = {"euclidean": BregmanObjective, **BREGMAN_OBJECTIVES}


def rows(name, rng, n=8, d=3):
    """Rows of the domain, its ends included where they belong to it."""
    if name == "euclidean":
        return rng.normal(size=(n, d))
    if name == "kl":
        return rng.poisson(2.0, size=(n, d)).astype(float)
    if name == "itakura-saito":
        return rng.gamma(1.5, size=(n, d))
    return (rng.uniform(size=(n, d)) < 0.4).astype(float)


def by_definition(name, x, mean):
    """φ(x) − φ(mean) − ⟨∇φ(mean), x − mean⟩ with a numerical gradient, inside the domain."""
    one, step = DIVERGENCES[name], 1e-6

    def phi(v):
        return float(one.phi(np.asarray(v)))

    unit = np.eye(len(mean))
    gradient = np.array([(phi(mean + step * e) - phi(mean - step * e)) / (2 * step) for e in unit])
    return phi(x) - phi(mean) - gradient @ (x - mean)


@pytest.mark.parametrize("name", NAMES)
def test_divergences_and_slopes_are_those_of_the_definition(name, rng):
    one = DIVERGENCES[name]
    for _ in range(20):
        x, mean = rng.uniform(0.05, 0.95, size=(2, 4))
        assert one.between(x, mean) == pytest.approx(by_definition(name, x, mean), abs=1e-7)
        assert one.between(x, x) == pytest.approx(0.0, abs=1e-15)
        numerical = (one.f(mean + 1e-6) - one.f(mean - 1e-6)) / 2e-6
        np.testing.assert_allclose(one.slope(mean), numerical, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_within_reach_costs_about_one(name, rng):
    """d(μ + t·reach, μ) = t² to second order."""
    one, mean = DIVERGENCES[name], rng.uniform(0.05, 0.95, size=5)
    for step in (1e-3, -1e-3):
        np.testing.assert_allclose(one.gap(mean + step * one.reach(mean), mean), step**2, rtol=0.01)


@pytest.mark.parametrize("factor", [0.6, 0.4, 1e-3, 1e-17, 1e-200])
def test_spectra_far_below_their_mean_are_finitely_far(factor):
    mean = np.array([3.0, 2e-8, 5e7])
    expected = factor - np.log(factor) - 1
    np.testing.assert_allclose(DIVERGENCES["itakura-saito"].gap(factor * mean, mean), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_is_the_best_centre(name, rng):
    X, w = rng.uniform(0.05, 0.95, size=(6, 2)), rng.uniform(0.5, 2.0, size=6)
    one, mean = DIVERGENCES[name], np.average(X, axis=0, weights=w)
    best = w @ one.between(X, mean)
    for _ in range(30):
        other = np.clip(mean + 0.1 * rng.normal(size=2), 0.01, 0.99)
        assert w @ one.between(X, other) >= best


def direct_cost(name, X, w, labels, lam):
    """J by a loop over clusters and rows."""
    total = 0.0
    for c in set(labels):
        chosen = np.flatnonzero(np.asarray(labels) == c)
        mean = np.average(X[chosen], axis=0, weights=w[chosen])
        total += sum(w[i] * float(DIVERGENCES[name].between(X[i], mean)) for i in chosen) + lam
    return total


def stats_of(name, X, w, labels):
    """Statistics about the means."""
    labels, k = np.asarray(labels), int(np.max(labels)) + 1
    n, sums = np.bincount(labels, w, k), np.zeros((k, X.shape[1]))
    np.add.at(sums, labels, w[:, None] * X)
    means = sums / np.where(n > 0, n, 1.0)[:, None]
    return Stats(n, sums, np.bincount(labels, w * DIVERGENCES[name].between(X, means[labels]), k))


@pytest.mark.parametrize("name", NAMES)
def test_costs_of_all_partitions_come_from_statistics_that_add(name, rng):
    X, w = rows(name, rng, n=7), rng.uniform(0.5, 2.0, size=7)
    objective = OBJECTIVES[name](0.7)
    costs = {}
    for labels in partitions(7):
        costs[tuple(labels)] = objective.cost(stats_of(name, X, w, labels))
        assert costs[tuple(labels)] == pytest.approx(direct_cost(name, X, w, labels, 0.7), abs=1e-9)
    assert len(costs) == 877  # Bell number
    # The merge costs lead from each partition to those with one cluster less.
    for labels in list(costs)[::7]:
        stats = stats_of(name, X, w, labels)
        merge = objective.merge_costs(stats, slice(None))
        for b in range(1, len(stats.n)):
            joined = np.unique([0 if c == b else c for c in labels], return_inverse=True)[1]
            assert costs[tuple(joined)] - costs[labels] == pytest.approx(merge[0, b] - 0.7, abs=1e-9)
            assert merge[0, b] == merge[b, 0]


@pytest.mark.parametrize("name", NAMES)
def test_the_best_of_all_partitions_is_at_rest(name, rng):
    """No row of the global minimum is nearer to another centre: assignment by scores does not raise J."""
    X, w = rows(name, rng, n=8), np.ones(8)
    objective = OBJECTIVES[name](0.5)
    best = min(partitions(8), key=lambda labels: objective.cost(stats_of(name, X, w, labels)))
    stats = stats_of(name, X, w, best)
    scores = DIVERGENCES[name].scores(X, objective.centres(stats, stats.sum))
    own = scores[np.arange(8), list(best)]
    assert (own >= scores.max(axis=1) - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_divergences_turned_round_ends_included(name, rng):
    X, centres = rows(name, rng, n=30), rows(name, rng, n=5)
    centres[3] = centres[:3].mean(axis=0)
    one = DIVERGENCES[name]
    exact = one.between(X[:, None], centres)
    scores = one.scores(X, centres)
    assert not np.isnan(scores).any()
    assert (np.isinf(scores) == np.isinf(exact)).all()
    seen = np.isfinite(exact)
    np.testing.assert_allclose((one.phi(X)[:, None] - scores)[seen], exact[seen], atol=1e-9)
    if name in ("kl", "logistic"):
        assert np.isinf(exact).any()
        sparse = one.scores(sp.csr_array(X), centres)
        np.testing.assert_allclose(sparse, scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_moves_costs_what_the_clusters_say(name, rng):
    X, w = rows(name, rng, n=8), rng.uniform(0.5, 2.0, size=8)
    objective, before = OBJECTIVES[name](0.0), [0, 0, 0, 0, 1, 1, 1, 1]
    after = [1, *before[1:]]
    n, means = (
        np.array([w[:4].sum(), w[4:].sum()]),
        np.array([np.average(X[s], axis=0, weights=w[s]) for s in (slice(4), slice(4, 8))]),
    )
    rest = np.average(X[1:4], axis=0, weights=w[1:4])
    joins = DIVERGENCES[name].joining(w[0], X[0], n[1], means[1])
    leaves = DIVERGENCES[name].joining(w[0], X[0], n[0] - w[0], rest)
    change = objective.cost(stats_of(name, X, w, after)) - objective.cost(stats_of(name, X, w, before))
    assert joins - leaves == pytest.approx(change, abs=1e-9)


def test_squared_distances_give_dp_means(rng):
    X, w, labels = rng.normal(size=(40, 3)), rng.uniform(0.5, 2.0, size=40), rng.integers(4, size=40)
    ours = stats_of("euclidean", X, w, labels)
    means = ours.sum / ours.n[:, None]
    sse = np.bincount(labels, weights=w * ((X - means[labels]) ** 2).sum(axis=1))
    theirs = Stats(ours.n, ours.sum, sse)
    bregman, euclidean = BregmanObjective(0.3), DPMeansObjective(0.3)
    assert bregman.cost(ours) == pytest.approx(euclidean.cost(theirs))
    np.testing.assert_allclose(
        bregman.merge_costs(ours, slice(None)), euclidean.merge_costs(theirs, slice(None)), atol=1e-12
    )
    np.testing.assert_allclose(bregman.centres(ours, means), euclidean.centres(theirs, means))


@pytest.mark.parametrize("name", NAMES)
def test_costs_about_other_sites_are_brought_to_the_means(name, rng):
    """Σ w·d(x, c) = Σ w·d(x, mean) + n·d(mean, c), and clusters without rows cost nothing."""
    X, w, labels = rng.uniform(0.1, 0.9, size=(9, 3)), rng.uniform(0.5, 2.0, size=9), np.arange(9) % 2
    sites, about_means = rng.uniform(0.1, 0.9, size=(3, 3)), stats_of(name, X, w, labels)
    sse = np.bincount(labels, w * DIVERGENCES[name].between(X, sites[labels]), 3)
    stats = Stats(np.append(about_means.n, 0.0), np.vstack([about_means.sum, np.zeros(3)]), sse)
    objective = OBJECTIVES[name](1.0)
    np.testing.assert_allclose(objective.least_cost(stats, sites), np.append(about_means.sse, 0.0), atol=1e-12)
    np.testing.assert_array_equal(objective.centres(stats, sites)[2], sites[2])
    np.testing.assert_array_equal(objective.merge_costs(stats, 0)[2], 0.0)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kl", -1.0, r"X\[2, 1\] = -1 \(row 2\), and metric='kl' takes finite numbers ≥ 0. Give counts or shares"),
        ("kl", np.inf, r"X\[2, 1\] = inf"),
        ("itakura-saito", 0.0, r"X\[2, 1\] = 0 \(row 2\), and metric='itakura-saito' takes finite numbers > 0"),
        ("logistic", 1.5, r"X\[2, 1\] = 1.5 \(row 2\), and metric='logistic' takes numbers from 0 to 1"),
        ("logistic", np.nan, r"X\[2, 1\] = nan"),
        ("euclidean", np.nan, r"X\[2, 1\] = nan"),
    ],
)
def test_values_outside_the_domain_are_named_by_row_and_column(name, value, said, as_sparse):
    X = np.full((4, 3), 0.5)
    require_domain(sp.csr_array(X) if as_sparse else X, DIVERGENCES[name])
    X[2, 1] = value
    with pytest.raises(ValueError, match=said):
        require_domain(sp.csr_array(X) if as_sparse else X, DIVERGENCES[name])
