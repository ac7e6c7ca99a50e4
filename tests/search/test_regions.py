"""Regions: clusters divided by weight, samples that have the statistics of all rows, and searches on them."""

from functools import partial

import numpy as np
import pytest

from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import recentred, state_of
from kfree.search.summary.plan import Plan
from kfree.search.summary.regions import Proposal, _left, _matched, divided, searched_by_regions


def blobs(rng, n_rows=4000, n_blobs=30):
    return 6.0 * rng.normal(size=(n_blobs, 3))[rng.integers(n_blobs, size=n_rows)] + rng.normal(size=(n_rows, 3))


def plan(region_rows, region_sample):
    """A plan of which regions look at their own rows alone."""
    return Plan(0, 0, 0, 0, 0, region_rows, region_sample)


def search(rows, objective, sites, divisible, max_clusters=None):
    return split_merge(rows, objective, sites, 300, max_clusters, Budget(np.random.RandomState(0)), divisible).state


@pytest.mark.parametrize("n_regions", [1, 2, 3, 7, 50])
def test_regions_have_every_cluster_once_and_about_the_same_weight(n_regions, rng):
    weight = rng.random(200) + 0.5
    proposal = Proposal(Sites.of(rng.normal(size=(200, 4))), weight)
    regions = divided(proposal, n_regions, np.random.RandomState(0))
    assert len(regions) == n_regions
    np.testing.assert_array_equal(np.sort(np.concatenate(regions)), np.arange(200))
    loads = [weight[places].sum() for places in regions]
    assert max(loads) - min(loads) <= 2 * np.log2(2 * n_regions)


def test_a_matched_sample_has_the_weights_and_means_of_all_rows(rng):
    X = blobs(rng)
    engine = open_engine("native", X, n_threads=2)
    sites = Sites.of(engine.among(np.arange(12)).rows(np.arange(12)))
    state = state_of(sites, engine.nearest(sites), DPMeansObjective(1.0))
    labels = engine.labels(state.assignment)
    inside = np.arange(12) % 2 == 0
    # Every seventh row of the even clusters, and none of cluster 4.
    rows = np.flatnonzero(inside[labels] & (labels != 4) & (np.arange(len(X)) % 7 == 0))
    found = _matched(engine.among(rows), state, state.stats.n > 0, inside)
    own = np.concatenate([labels[rows], [4]])
    assert (found.n_rows, found.n_threads) == (len(rows) + 1, 2)
    for cluster in np.flatnonzero(inside):
        mine = own == cluster
        weight = found.weight[mine]
        assert weight.sum() == pytest.approx(state.stats.n[cluster])
        mean = weight @ found.rows(np.flatnonzero(mine)) / weight.sum()
        np.testing.assert_allclose(mean, state.stats.sum[cluster] / state.stats.n[cluster], atol=1e-12)


def test_clusters_outside_a_region_count_with_all_their_rows(rng):
    X = blobs(rng)
    engine, objective = open_engine("native", X, n_threads=1), DPMeansObjective(1.0)
    sites = Sites.of(engine.among(np.arange(12)).rows(np.arange(12)))
    state = state_of(sites, engine.nearest(sites), objective)
    means = recentred(state, objective)
    inside = np.arange(12) % 3 == 0
    rows = engine.among(np.flatnonzero(inside[engine.labels(state.assignment)]))
    both = rows.beside(*objective.as_rows(state.stats.take(np.flatnonzero(~inside))))
    assert both.n_counting == rows.n_rows + 8
    assert both.total_weight == pytest.approx(len(X))
    # Rows may change sides, and the bound is below the cost of those that stay.
    found, exact = (one.nearest(means).stats for one in (both, engine))
    within = (state.stats.sse - state.stats.n * ((means.centres - sites.centres) ** 2).sum(axis=1))[~inside].sum()
    assert exact.sse.sum() <= found.sse.sum() + within <= state.stats.sse.sum()
    np.testing.assert_allclose(found.sum.sum(axis=0), exact.sum.sum(axis=0), atol=1e-8)


def test_regions_lower_the_cost_to_that_of_a_search_on_all_rows(rng):
    X = blobs(rng, 6000, 80)
    engine, objective = open_engine("native", X, n_threads=1), DPMeansObjective(60.0)
    full = search(engine, objective, None, None)
    start = Proposal(Sites.of(engine.among(np.arange(20)).rows(np.arange(20))), np.full(20, 300.0))
    found = searched_by_regions(engine, start, objective, search, plan(2000, 500), 22, 0)
    assert found.n_iter <= 22
    assert found.state.cost <= 1.003 * full.cost
    assert (np.diff(found.cost_history) < 0).all()
    assert (np.diff(found.state.sites.uids) > 0).all()


def test_clusters_at_the_border_of_a_region_are_found():
    # In eight columns nearly all of some 60 clusters lie at the border of their regions.
    X = np.random.default_rng(2).normal(size=(4000, 8))
    engine, objective = open_engine("native", X, n_threads=1), DPMeansObjective(60.0)
    full = search(engine, objective, None, None)
    start = Proposal(Sites.of(engine.among(np.arange(20)).rows(np.arange(20))), np.full(20, 200.0))
    found = searched_by_regions(engine, start, objective, search, plan(1200, 600), 22, 0)
    assert found.state.cost <= 1.003 * full.cost
    assert len(found.state.sites.uids) >= 0.95 * len(full.sites.uids)


def test_rows_that_were_not_taken_are_left(rng):
    X = blobs(rng)
    weight = rng.random(len(X)) + 0.5
    engine = open_engine("native", X, weight=weight, n_threads=1)
    sites = Sites.of(engine.among(np.arange(12)).rows(np.arange(12)))
    done = engine.nearest(sites)
    labels, is_taken = engine.labels(done.assignment), rng.random(len(X)) < 0.3
    is_taken[labels == 4] = True
    left = _left(done.stats, engine.among(np.flatnonzero(is_taken)).nearest(sites).stats)
    points = engine.among(np.arange(len(X))).rows(np.arange(len(X)))
    for place, cluster in enumerate(np.delete(np.arange(12), 4)):
        mine = np.flatnonzero((labels == cluster) & ~is_taken)
        assert left.n[place] == pytest.approx(weight[mine].sum())
        np.testing.assert_allclose(left.sum[place], weight[mine] @ points[mine], atol=1e-9)
    assert len(left.n) == 11


def test_no_more_clusters_than_allowed(rng):
    engine, objective = open_engine("native", blobs(rng), n_threads=1), DPMeansObjective(60.0)
    start = Proposal(Sites.of(engine.among(np.arange(5)).rows(np.arange(5))), np.full(5, 800.0))
    found = searched_by_regions(engine, start, objective, partial(search, max_clusters=9), plan(1500, 400), 22, 0)
    assert len(found.state.sites.uids) <= 9


def test_a_proposal_that_costs_more_is_refused(rng):
    engine, objective = open_engine("native", blobs(rng), n_threads=1), DPMeansObjective(60.0)
    start = Proposal(Sites.of(engine.among(np.arange(30)).rows(np.arange(30))), np.full(30, 130.0))

    def ruined(rows, objective, sites, divisible):
        state = state_of(sites, rows.nearest(sites), objective)
        state.stats.sum[:] += 100.0 * state.stats.n[:, None]
        return state

    first = state_of(start.sites, engine.nearest(start.sites), objective)
    found = searched_by_regions(engine, start, objective, ruined, plan(4000, 2000), 9, 0)
    assert found.n_iter > 1
    assert (found.state.cost, found.cost_history) == (first.cost, [first.cost])
