"""The moves of Bayesian k-means, one by one, against definitions."""

import numpy as np
import pytest
from common import blobs
from scipy.stats import multivariate_normal

from kfree import BayesianKMeans
from kfree.datasets import make_gaussians
from kfree.engines.cost_rules.counts import CountRows
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.models.bayesian_rows import GaussianData
from kfree.native import _core
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.mixtures import MIXTURES
from kfree.objectives.priors import informed_by_data
from kfree.search.evidence import bayesian
from kfree.search.evidence.bayesian import Split, SplitWithin, merge_clusters
from kfree.search.evidence.hard_labels import Update, clustering_by, one_cluster, updated
from kfree.search.evidence.overlap import OVERLAP, criteria, criteria_by
from kfree.search.evidence.splits import Bisections, Oversplit, divided, merged_back, penalty_of_another


@pytest.fixture(params=MIXTURES)
def problem(request, rng):
    """An engine, an objective, and the rows in the engine's order."""
    X = blobs(rng, n=400, d=2, k=4, spread=3.0)[0]
    X -= X.mean(axis=0)
    model, _ = informed_by_data(X, np.random.RandomState(0))
    return GaussianRows(_core, X, "brute", 1), FreeEnergy(model, MIXTURES[request.param](2.0)), X


def labelled(problem, labels):
    engine, objective, _ = problem
    labels = np.asarray(labels, dtype=np.int32)
    return clustering_by(engine.assignment(labels, labels.max() + 1), engine, objective)


def test_criteria_are_those_of_the_appendix(problem, rng):
    """J_split of Eq. 47, with f of Eq. 48, and J_merge of Eq. 50, with P of Eq. 51 (Kurihara & Welling 2009)."""
    engine, objective, X = problem
    state = labelled(problem, rng.integers(3, size=400))
    post, weights = objective.model.posterior(state.stats), objective.mixture.weights(state.stats.n)
    density = np.array(
        [multivariate_normal(m, B / eta).pdf(X) for m, B, eta in zip(post.m, post.B, post.eta, strict=True)]
    )
    P = weights[:, None] * density
    P /= P.sum(axis=0)
    f = P / P.sum(axis=1, keepdims=True)
    j_split, j_merge = criteria_by(*engine.responsibility_sums(objective.plug_in(state.stats), np.log(weights)))
    np.testing.assert_allclose(j_split, (f * np.log(f / density)).sum(axis=1), rtol=1e-9)
    lengths = np.linalg.norm(P, axis=1)
    np.testing.assert_allclose(j_merge, P @ P.T / np.outer(lengths, lengths), rtol=1e-9)
    for found, expected in zip(criteria(state, engine, objective), (j_split, j_merge), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_cuts_save_what_they_say(problem):
    engine, objective, _ = problem
    state = one_cluster(engine, objective)
    [(c, members, half)] = Bisections().of(state, engine, objective)
    new = divided(state, c, members, half, engine, objective)
    expected = state.cost - half.saving + penalty_of_another(state, objective)
    assert new.cost == pytest.approx(expected, rel=1e-10)
    np.testing.assert_array_equal(engine.stats_of(new.assignment).n, new.stats.n)
    np.testing.assert_allclose(engine.stats_of(new.assignment).scatter, new.stats.scatter, rtol=1e-9)


def test_the_outer_half_lies_around_the_inner_one(problem):
    """By Mahalanobis distance, which the density of one Gaussian falls with."""
    engine, objective, X = problem
    whole = one_cluster(engine, objective)
    gap = X - X.mean(axis=0)
    distance = np.einsum("ij,jk,ik->i", gap, np.linalg.inv(np.cov(gap.T)), gap)
    outer = engine.labels(engine.outer_half(objective.labelling(whole.stats))) == 1
    assert distance[outer].min() >= 0.9 * distance[~outer].max()
    assert outer.sum() == len(X) // 2


@pytest.mark.parametrize(("tau", "seed"), [(2.0, 24), (0.1, 1)])
def test_a_narrow_gaussian_within_a_wide_one_is_found(tau, seed):
    """Both are missed by cuts across the longest axis alone, and the first one if cuts stop early."""
    X, y = make_gaussians(5000, 2, 10, separation=tau, random_state=seed)
    model = BayesianKMeans(n_threads=1).fit(X)
    engine = GaussianData(X, model, model._model_.frame).open("auto", "brute", 1)
    truth = clustering_by(engine.assignment(y, 10), engine, model._model_.objective)
    assert model.free_energy_ <= Update()(truth, engine, model._model_.objective).cost + 1e-6


def test_the_first_cut_is_across_the_longest_axis(rng):
    X = rng.normal(size=(100, 2)) @ np.array([[5.0, 5.0], [0.0, 0.1]])
    X -= X.mean(axis=0)
    side = GaussianRows(_core, X, "brute", 1).sides()
    assert set(side[X.sum(axis=1) > 0.5]) != set(side[X.sum(axis=1) < -0.5])
    counts = np.repeat([[9.0, 0.0, 1.0], [0.0, 9.0, 1.0]], 10, axis=0)
    assert np.ptp(CountRows(counts, np.zeros(20)).sides()[:10]) == 0


def test_every_move_gains_or_leaves_things_as_they_are(problem, rng):
    engine, objective, _ = problem
    cuts = Bisections()
    for k in [1, 3, 9]:
        state = labelled(problem, np.append(np.arange(k), rng.integers(k, size=400 - k)))
        splits = SplitWithin(cuts), SplitWithin(Bisections(patient=True))
        for move in [Update(), *splits, merge_clusters, Oversplit(cuts)]:
            new = move(state, engine, objective)
            assert new.cost <= state.cost
            again = clustering_by(new.assignment, engine, objective)
            assert new.cost == pytest.approx(again.cost, rel=1e-9)


def test_a_step_that_costs_more_is_undone():
    """A singleton is emptied, and Eq. 23 rises because φ0 is large."""
    rng = np.random.default_rng(0)
    n_undone = 0
    for _ in range(60):
        X = rng.normal(size=(12, 1))
        engine = GaussianRows(_core, X, "brute", 1)
        objective = FreeEnergy(informed_by_data(X, np.random.RandomState(0))[0], MIXTURES["dirichlet-process"](8.0))
        labels = np.append(rng.integers(2, size=9), [0, 1, 2]).astype(np.int32)
        state = clustering_by(engine.assignment(labels, 3), engine, objective)
        n_undone += updated(state, engine, objective).cost > state.cost
        assert Update()(state, engine, objective).cost <= state.cost
    assert n_undone > 0


def test_merging_back_takes_the_best_number(problem, rng):
    engine, objective, _ = problem
    many = labelled(problem, np.append(np.arange(12), rng.integers(12, size=388)))
    best = merged_back(many, engine, objective, None)
    assert best.cost <= many.cost
    assert merged_back(many, engine, objective, 1).n_clusters == 1
    assert merged_back(many, engine, objective, 3).cost >= best.cost


@pytest.mark.filterwarnings("ignore:max_clusters=3 was reached")
@pytest.mark.parametrize("max_clusters", [None, 3])
def test_of_many_rows_a_sample_is_searched_first(max_clusters, monkeypatch):
    X = blobs(np.random.default_rng(5), n=1500, k=6, d=2)[0]
    usual = BayesianKMeans(max_clusters=max_clusters).fit(X)
    monkeypatch.setattr(bayesian, "MANY_ROWS", 1000)
    monkeypatch.setattr(bayesian, "SAMPLE", 300)
    sampled = BayesianKMeans(max_clusters=max_clusters).fit(X)
    assert sampled.n_clusters_ == usual.n_clusters_
    assert sampled.free_energy_ <= usual.free_energy_ + 1e-9 * abs(usual.free_energy_)
    assert (np.diff(sampled.free_energy_history_) <= 0).all()
    assert len(sampled.free_energy_history_) < len(usual.free_energy_history_)


def tried(move, problem, state, monkeypatch):
    """What a move follows up if no candidate is ever good enough."""
    followed = []
    monkeypatch.setattr(bayesian, "first_gain", lambda state, candidates, _: followed.extend(candidates) or state)
    assert move(state, *problem[:2]) is state
    return followed


@pytest.mark.parametrize("many", [False, True])
def test_what_costs_least_is_tried_first(many, problem, monkeypatch):
    engine, objective, _ = problem
    state = bayesian.bayesian_k_means(engine, objective, 300, None).state
    if many:
        monkeypatch.setattr(bayesian, "SAMPLE", 400)
    merged = tried(merge_clusters, problem, state, monkeypatch)
    costs = [new.cost for new in merged]
    assert costs == sorted(costs)
    n_overlapping = int((np.triu(criteria(state, engine, objective)[1], 1) > OVERLAP).sum())
    assert len(merged) == (-(-state.n_clusters // 2) if many else n_overlapping)
    assert n_overlapping > 1
    split = [new.cost for new in tried(Split(Bisections()), problem, state, monkeypatch)]
    assert split == sorted(split)
    assert len(split) > 1
