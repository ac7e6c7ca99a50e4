"""Split-merge search: every delta against the recomputed cost, all partitions of a few rows, and what it promises."""

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES
from common import blobs
from oracles import centres as oracles
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES, DPMeansObjective
from kfree.search.centres import split_merge
from kfree.search.centres.bisection import bisect
from kfree.search.centres.moves import Sweep
from kfree.search.centres.split_merge import grown_in_haste
from kfree.search.centres.state import assigned, one_cluster, state_of
from kfree.search.loop import UNWATCHED, Descent, Watch
from kfree.search.monitor import Monitor
from kfree.search.penalised import PenalisedSearch

METRICS = ["euclidean", "cosine"]


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def cluster_cost(X, w, metric):
    """Cost of one cluster about its best centre, straight from the definition."""
    if not len(X):
        return 0.0
    total = (w[:, None] * X).sum(axis=0)
    centre = total / np.linalg.norm(total) if metric == "cosine" else total / w.sum()
    return float((w * ((X - centre) ** 2).sum(axis=1)).sum())


def partition_cost(X, labels, lam, w, metric):
    clusters = np.unique(labels)
    return sum(cluster_cost(X[labels == c], w[labels == c], metric) for c in clusters) + lam * len(clusters)


def some_state(rng, metric, n=120, k=6, weighted=True):
    """Rows with a settled clustering that is not a good one."""
    X = rng.normal(size=(n, 3))
    w = rng.integers(1, 4, n).astype(float) if weighted else None
    engine = open_engine("native", unit(X) if metric == "cosine" else X, weight=w, unit=metric == "cosine")
    objective = OBJECTIVES[metric](0.7)
    sites = Sites.of(engine.rows(rng.choice(n, k, replace=False)))
    for _ in range(3):
        state = state_of(sites, engine.nearest(sites), objective)
        sites = sites.moved(objective.centres(state.stats, previous=sites.centres))
    return state_of(sites, engine.nearest(sites), objective), engine, objective


@pytest.mark.parametrize("metric", METRICS)
def test_what_joining_and_leaving_cost(metric, rng):
    penalties = OBJECTIVES[metric].row_costs
    for n in (1, 2, 9):
        X, w = rng.normal(size=(n + 1, 3)), rng.exponential(size=n + 1)
        X = unit(X) if metric == "cosine" else X
        before, after = cluster_cost(X[:n], w[:n], metric), cluster_cost(X, w, metric)

        for members, penalty in ((np.arange(n), penalties.joining), (np.arange(n + 1), penalties.leaving)):
            total, mass = (w[members, None] * X[members]).sum(axis=0, keepdims=True), np.array([w[members].sum()])
            size = penalties.size(mass, total)[0]
            sq_dist = ((X[n] - total[0] / size) ** 2).sum()
            assert penalty(size, w[n], sq_dist) == pytest.approx(after - before, rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_halves_and_what_they_gain(metric, rng):
    state, engine, objective = some_state(rng, metric)
    bisections = bisect(state, engine, objective)
    Z, labels = engine.rows(np.arange(engine.n_rows)), engine.labels(state.assignment)
    assert bisections.gain.max() > 0
    for place, cluster in enumerate(bisections.clusters):
        rows = np.flatnonzero(labels == cluster)
        newborn = np.where(np.arange(len(bisections.clusters)) == place, 6, -1).astype(np.int32)
        sides = (engine.labels(bisections.sides.divided(newborn))[rows] == 6).astype(int)
        parts = [cluster_cost(Z[rows[sides == s]], engine.weight[rows[sides == s]], metric) for s in (0, 1)]
        whole = cluster_cost(Z[rows], engine.weight[rows], metric)
        assert bisections.gain[place] == pytest.approx(whole - sum(parts), rel=1e-9)
        gaps = ((Z[rows, None] - bisections.centres[None, 2 * place : 2 * place + 2]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(gaps.argmin(axis=1), sides)
    chosen = np.array([1, 4])
    cut = bisections.cut(state, chosen, objective)
    np.testing.assert_allclose(cut.stats.sum, engine.sums(cut.assignment).sum, atol=1e-12)
    sq_dist = engine.weight * engine.sq_dists(cut.assignment, cut.sites.centres)
    sse = np.bincount(engine.labels(cut.assignment), weights=sq_dist)
    np.testing.assert_allclose(cut.stats.sse[bisections.clusters[chosen]], sse[bisections.clusters[chosen]], atol=1e-9)


def test_the_axis_of_a_long_cluster_is_found(rng):
    """Two lumps on the diagonal that is orthogonal to (1, 1), with a wide but shorter spread across it."""
    ends = np.repeat([[1.0, -1.0], [-1.0, 1.0]], 200, axis=0)
    X = 5 * ends + rng.normal(size=(400, 2)) + 3 * rng.normal(size=(400, 1))
    model = DPMeans(lam=4000.0).fit(X)
    assert model.n_clusters_ == 2
    assert len(np.unique(model.labels_[:200])) == 1


@pytest.mark.parametrize("metric", METRICS)
def test_deaths_cost_at_most_what_is_said(metric, rng):
    state, engine, _ = some_state(rng, metric)
    costs = engine.deletion_costs()
    costs.update(state.assignment, state.sites)
    said = costs.costs()
    Z, labels = engine.rows(np.arange(engine.n_rows)), engine.labels(state.assignment)
    for cluster in range(len(said)):
        rows = np.flatnonzero(labels == cluster)
        others = np.delete(np.arange(len(said)), cluster)
        gaps = ((Z[rows, None] - state.sites.centres[None]) ** 2).sum(axis=2)
        moved = labels.copy()
        moved[rows] = others[gaps[:, others].argmin(axis=1)]
        by_hand = (engine.weight[rows] * (gaps[:, others].min(axis=1) - gaps[:, cluster])).sum()
        assert said[cluster] == pytest.approx(by_hand, rel=1e-9)
        now = partition_cost(Z, labels, 0.0, engine.weight, metric)
        assert partition_cost(Z, moved, 0.0, engine.weight, metric) - now <= said[cluster] + 1e-9


def test_odashima_lemma_2():
    far, near = [np.repeat([[-1.0, 0.0], [1.0, 0.0]], n, axis=0) for n in (1000, 10)]
    many, few = DPMeans(lam=100.0).fit(far), DPMeans(lam=100.0).fit(near)
    assert (many.n_clusters_, many.cost_) == (2, 200.0)
    assert (few.n_clusters_, few.cost_) == (1, 120.0)
    assert DPMeans(lam=100.0, search="sweep").fit(far).n_clusters_ == 1


def test_against_all_partitions(rng):
    """A local search may miss the minimum; on a few rows it hardly ever does."""
    n_missed = 0
    for trial in range(60):
        n, d, lam = rng.integers(2, 9), rng.integers(1, 4), rng.choice([0.3, 1.0, 3.0])
        X = rng.normal(size=(n, d)) * rng.choice([1.0, 3.0])
        X = np.round(X) if trial % 3 == 0 else X
        w = rng.integers(1, 4, n).astype(float) if trial % 2 else None
        cost, lowest = DPMeans(lam=lam).fit(X, sample_weight=w).cost_, oracles.lowest_cost(X, lam, w)
        assert cost >= lowest - 1e-9
        n_missed += cost > lowest + 1e-9
    assert n_missed <= 2


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_no_single_move_improves_the_result(metric, weighted, rng):
    X = blobs(rng, n=70)[0] + 20.0
    Z = unit(X) if metric == "cosine" else X
    lam = {"euclidean": 12.0, "cosine": 0.004}[metric]
    w = rng.integers(1, 4, 70).astype(float) if weighted else np.ones(70)
    model = DPMeans(lam=lam, metric=metric).fit(X, sample_weight=w)
    labels, k = model.labels_, model.n_clusters_
    cost = partition_cost(Z, labels, lam, w, metric)
    assert model.converged_
    assert model.cost_ == pytest.approx(cost, rel=1e-9)
    assert 2 < k < 60
    merges = [np.where(labels == a, b, labels) for a, b in itertools.combinations(range(k), 2)]
    # To every other cluster, and to one of its own.
    transfers = [np.where(np.arange(70) == row, to, labels) for row in range(70) for to in range(k + 1)]
    assert min(partition_cost(Z, moved, lam, w, metric) for moved in merges + transfers) >= cost * (1 - 1e-9)


@pytest.mark.parametrize("case", CASES)
def test_what_a_fit_promises(case, rng):
    X, lam = CASES[case](rng)
    model = DPMeans(lam=lam).fit(X)
    assert model.converged_
    assert (np.diff(model.cost_history_) <= 0).all()
    assert model.cost_history_[-1] == model.cost_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.cost_ <= DPMeans(lam=lam, search="sweep").fit(X).cost_ * (1 + 1e-12)
    again = DPMeans(lam=lam, search="sweep", init=model.cluster_centers_).fit(X)
    assert again.cost_ == pytest.approx(model.cost_, rel=1e-9, abs=1e-30)
    for change in ({"n_threads": 1}, {"n_threads": 3}, {"engine": "reference"}):
        other = DPMeans(lam=lam, **change).fit(X)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        assert other.cost_ == model.cost_


def test_weights_are_repeats(rng):
    X, times = blobs(rng, n=150)[0], rng.integers(1, 4, 150)
    weighted = DPMeans(lam=300.0).fit(X, sample_weight=times)
    repeated = DPMeans(lam=300.0).fit(np.repeat(X, times, axis=0))
    assert weighted.cost_ == pytest.approx(repeated.cost_, rel=1e-9)


def test_sparse_and_dense_agree(rng):
    X = np.abs(rng.normal(size=(300, 8))) * (rng.random((300, 8)) < 0.4)
    dense, sparse = DPMeans(lam=5.0).fit(X), DPMeans(lam=5.0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert dense.cost_ == pytest.approx(sparse.cost_, rel=1e-9)


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_no_more_clusters_than_allowed(limit, rng):
    X, _ = blobs(rng)
    assert DPMeans(lam=10.0).fit(X).n_clusters_ > 6
    with pytest.warns(UserWarning, match=f"max_clusters={limit}"):
        model = DPMeans(lam=10.0, max_clusters=limit).fit(X)
    assert model.n_clusters_ == limit
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_search_from_given_centres(rng):
    X, _ = blobs(rng)
    best = DPMeans(lam=30.0).fit(X)
    same = DPMeans(lam=30.0, init=best.cluster_centers_).fit(X)
    assert same.cost_ == pytest.approx(best.cost_, rel=1e-12)
    poor = DPMeans(lam=30.0, init=X[:1]).fit(X)
    assert poor.cost_ <= DPMeans(lam=30.0, search="sweep", init=X[:1]).fit(X).cost_


def test_patience_pays_or_changes_nothing(rng):
    X = rng.uniform(size=(500, 2))
    plain = DPMeans(lam=0.3).fit(X)
    patient = DPMeans(lam=0.3, patience=5, random_state=0).fit(X)
    assert patient.cost_ <= plain.cost_
    np.testing.assert_array_equal(patient.labels_, DPMeans(lam=0.3, patience=5, random_state=0).fit(X).labels_)


def test_time_beyond_what_the_search_takes_goes_to_random_cuts(rng, monkeypatch):
    X = rng.uniform(size=(500, 2))
    # A clock of its own, which every look moves on: what the search does must not depend on how busy the machine is.
    looks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(looks)))
    given = DPMeans(lam=0.3, time_budget=300.0, random_state=0).fit(X)  # no warning: that is what was asked for
    assert next(looks) >= 300
    assert given.cost_ <= DPMeans(lam=0.3).fit(X).cost_


def test_too_little_time_gives_a_valid_clustering_and_says_so(rng):
    X, _ = blobs(rng, n=5000)
    with pytest.warns(ConvergenceWarning, match="time_budget=1e-06"):
        model = DPMeans(lam=10.0, time_budget=1e-6).fit(X)
    assert not model.converged_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.cost_ == pytest.approx(-model.score(X), rel=1e-12)


class Ticks(Watch):
    """Ends a search after so many questions."""

    def __init__(self, n):
        self.n_left = n

    def may_go_on(self):
        self.n_left -= 1
        return self.n_left >= 0


def whole(engine, objective):
    """The state in which all rows are one cluster."""
    sites = one_cluster(engine, objective)
    return state_of(sites, engine.nearest(sites), objective)


def test_growth_in_haste_gets_better_with_time_and_keeps_to_the_limit(rng):
    X, _ = blobs(rng, n=5000)
    engine, objective = open_engine("native", X), OBJECTIVES["euclidean"](10.0)
    start = whole(engine, objective)
    few = [grown_in_haste(start, engine, objective, 6, Ticks(n)) for n in range(30)]
    assert all(len(state.stats.n) <= 6 for state in few)
    done = grown_in_haste(start, engine, objective, None, UNWATCHED)
    assert done.cost < few[-1].cost < few[0].cost == start.cost
    assert done.cost < 1.05 * DPMeans(lam=10.0).fit(X).cost_


def test_growth_that_is_cut_short_costs_no_more_than_it_began_with(rng):
    """Cuts are made that only pay once others are undone."""
    X = rng.uniform(size=(2600, 2))
    engine, objective = open_engine("native", X), OBJECTIVES["euclidean"](2.0)
    start = whole(engine, objective)
    costs = [grown_in_haste(start, engine, objective, None, Ticks(n)).cost for n in range(40)]
    assert max(costs) == costs[0]
    assert costs[-1] < 0.5 * costs[0]


def test_a_sample_pays_its_share_of_the_price(rng, monkeypatch):
    X, weight = rng.normal(size=(4096, 2)), np.full(4096, 0.5)
    engine, objective = open_engine("native", X, weight=weight), OBJECTIVES["euclidean"](10.0)
    seen, grow = [], split_merge.grown

    def spy(state, engine, objective, *rest, **named):
        seen.append((engine.n_rows, objective.lam))
        return grow(state, engine, objective, *rest, **named)

    monkeypatch.setattr(split_merge, "grown", spy)
    grown_in_haste(whole(engine, objective), engine, objective, None, UNWATCHED)
    assert seen == [(2048, 5.0), (4096, 10.0)]


def test_a_sweep_finds_nothing_to_improve(rng):
    X, _ = blobs(rng)
    model = DPMeans(lam=5.0, label_order="found").fit(X)
    engine, objective = open_engine("native", X), OBJECTIVES["euclidean"](5.0)
    swept = Sweep().start(Sites.of(model._model_.centres), engine, objective)
    np.testing.assert_array_equal(engine.labels(swept.assignment), model.labels_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"patience": -1}, "patience=-1"),
        ({"patience": 1.5}, "patience=1.5"),
        ({"time_budget": 0}, "time_budget=0"),
        ({"order": "random"}, "order='random'"),
        ({"search": "sweep", "patience": 3}, "patience=3"),
        ({"search": "sweep", "time_budget": 1.0}, "time_budget=1.0"),
    ],
)
def test_wrong_parameters(wrong, message, rng):
    with pytest.raises(ValueError, match=message):
        DPMeans(lam=1.0, **wrong).fit(rng.normal(size=(10, 2)))


def test_rows_that_the_path_sets_aside_go_to_the_nearest_mean_of_the_others():
    """The cost of all rows was compared with that of some, so that centres stayed where they were."""
    rows = open_engine("native", np.array([[-1.0], [1.2], [9.0], [11.4], [100.0]]), frame=Frame.plain(1))
    objective = DPMeansObjective(1.0)
    state = assigned(Sites.of(np.array([[0.0], [10.0]])), rows.among(np.arange(4)), objective)
    search = PenalisedSearch("DPMeans", DPMeansObjective, "auto")
    result = search._finished(rows, 1.0, Descent.at(state, converged=True), Monitor(), searched_all=False)
    np.testing.assert_allclose(result.state.sites.centres, [[0.1], [10.2]])
    assert result.labels.tolist() == [0, 0, 1, 1, 1]
    assert result.descent.cost_history == [result.state.cost]
    assert rows.n_distances == 2 * 5  # one pass
