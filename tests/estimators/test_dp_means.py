"""DPMeans against the serial loop, against all partitions, and against its own promises."""

import numpy as np
import pytest
from cases import CASES
from common import blobs
from oracles import centres as oracles
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, farthest_first_lambda
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.moves import Sweep, lloyd
from kfree.search.centres.state import assigned

ENGINES = ["native", "reference"]


@pytest.mark.parametrize("order", ["given", "random"])
@pytest.mark.parametrize("case", CASES)
def test_equals_the_serial_loop(case, order, rng):
    X, lam = CASES[case](rng)
    visits = np.random.RandomState(3).permutation(len(X)) if order == "random" else None
    labels, centres, costs = oracles.serial_dp_means(oracles.canonical(X), lam, order=visits)
    for engine in ENGINES:
        model = DPMeans(search="sweep", label_order="found", lam=lam, order=order, engine=engine, random_state=3).fit(X)
        assert model.labels_.tolist() == labels
        np.testing.assert_array_equal(model._model_.centres, np.array(centres))
        np.testing.assert_allclose(model.cost_history_, costs, rtol=1e-13)
        assert model.n_iter_ == len(costs)
        assert model.converged_


@pytest.mark.parametrize("weights", ["whole", "some zero", "any"])
@pytest.mark.parametrize("engine", ENGINES)
def test_weighted_sweep_equals_the_serial_loop(weights, engine, rng):
    X, _ = blobs(rng, n=200)
    w = {
        "whole": rng.integers(1, 4, 200),
        "some zero": rng.integers(0, 3, 200),
        "any": rng.exponential(size=200),
    }
    model = DPMeans(search="sweep", label_order="found", lam=25.0, engine=engine).fit(X, sample_weight=w[weights])
    Z = oracles.canonical(X, w[weights])
    labels, centres, costs = oracles.serial_dp_means(Z, 25.0, w[weights])
    assert model.labels_.tolist() == labels
    np.testing.assert_array_equal(model._model_.centres, np.array(centres))
    np.testing.assert_allclose(model.cost_history_, costs, rtol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_init_and_max_clusters_equal_the_serial_loop(engine, rng):
    X, _ = blobs(rng)
    init = X[:3] + 0.5
    model = DPMeans(search="sweep", label_order="found", lam=9.0, init=init, engine=engine)
    frame = model.fit(X)._model_.frame
    labels, *_ = oracles.serial_dp_means(oracles.canonical(X), 9.0, centres=frame.inward(init))
    assert model.labels_.tolist() == labels
    capped = DPMeans(search="sweep", label_order="found", lam=9.0, init=init, engine=engine, max_clusters=4)
    with pytest.warns(UserWarning, match="max_clusters=4 was reached"):
        capped.fit(X)
    labels, *_ = oracles.serial_dp_means(oracles.canonical(X), 9.0, centres=frame.inward(init), max_clusters=4)
    assert capped.labels_.tolist() == labels
    assert capped.n_clusters_ <= 4


def test_the_recursion_of_the_oracle_is_the_minimum_over_all_partitions(rng):
    for n in range(1, 7):
        X, w = rng.normal(size=(n, 2)), rng.integers(1, 4, n)
        every = [oracles.partition_cost(X, labels, 0.7, w) for labels in oracles.all_partitions(n)]
        assert oracles.lowest_cost(X, 0.7, w) == pytest.approx(min(every), rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_never_below_the_minimum_over_all_partitions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9 if seed == 0 else 2 + seed % 7, 2))
    w = rng.integers(1, 4, len(X)) if seed % 2 else None
    for lam in (0.1, 0.5, 2.0):
        model = DPMeans(search="sweep", lam=lam).fit(X, sample_weight=w)
        assert model.cost_ == pytest.approx(oracles.partition_cost(X, model.labels_, lam, w), rel=1e-12)
        assert model.cost_ >= oracles.lowest_cost(X, lam, w) * (1 - 1e-12)


def test_reaches_the_minimum_on_separated_clusters():
    X = np.array([[0, 0], [0, 1], [1, 0], [50, 50], [50, 51], [-50, 50], [-50, 51], [-51, 50]], float)
    assert DPMeans(search="sweep", lam=10.0).fit(X).cost_ == pytest.approx(oracles.lowest_cost(X, 10.0), rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("order", ["given", "random"])
def test_cost_never_rises_and_the_fit_is_consistent(metric, order, rng):
    X, _ = blobs(rng, n=2500, d=4, k=12, spread=2.0)
    lam = farthest_first_lambda(X, 12, metric=metric)
    model = DPMeans(search="sweep", lam=lam, metric=metric, order=order, random_state=0).fit(X)
    assert (np.diff(model.cost_history_) <= 0).all()
    assert model.cost_history_[-1] == model.cost_ == model.inertia_ + lam * model.n_clusters_
    assert len(model.cost_history_) == model.n_iter_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == -model.cost_
    assert model.n_clusters_ == len(np.unique(model.labels_)) == len(model.cluster_centers_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("move", [Sweep(), lloyd], ids=["sweep", "lloyd"])
def test_no_move_raises_the_cost(move, metric, rng):
    """Kulis & Jordan 2012, Theorem 3.1; asked of the moves themselves, because the loop would refuse a rise."""
    X = blobs(rng, n=2500, d=4, k=12, spread=2.0)[0]
    engine = open_engine("native", X, unit=metric == "cosine")
    objective = OBJECTIVES[metric](farthest_first_lambda(X, 12, metric=metric) if isinstance(move, Sweep) else 0.0)
    begin = move.start if isinstance(move, Sweep) else assigned
    state = begin(Sites.of(engine.rows(np.arange(6))), engine, objective)
    for _ in range(8):
        new = move(state, engine, objective)
        assert new.cost <= state.cost * (1 + 1e-12)
        state = new


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("order", ["given", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_engines_agree_over_several_blocks(metric, order, weighted, rng):
    """More rows than a block of summation holds, and births in all of them."""
    X = rng.normal(size=(3300, 3)).astype(np.float32)
    w = rng.integers(0, 3, len(X)) if weighted else None
    lam = {"euclidean": 0.7, "cosine": 0.05}[metric]
    fits = [
        DPMeans(
            search="sweep", lam=lam, metric=metric, order=order, random_state=1, engine=engine, n_threads=n_threads
        ).fit(X, sample_weight=w)
        for engine, n_threads in [("reference", 1), ("native", 1), ("native", 2), ("native", 8)]
    ]
    assert fits[0].n_clusters_ > 20
    for model in fits[1:]:
        np.testing.assert_array_equal(model.labels_, fits[0].labels_)
        np.testing.assert_array_equal(model.cluster_centers_, fits[0].cluster_centers_)
        np.testing.assert_array_equal(model.cost_history_, fits[0].cost_history_)


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_a_fit_cut_short_is_consistent_too(max_iter, rng):
    X = rng.uniform(size=(3000, 2))
    with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter}"):
        model = DPMeans(search="sweep", lam=0.01, max_iter=max_iter).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.cost_history_[-1] == model.cost_
    assert (np.diff(model.cost_history_) <= 0).all()
    assert (np.bincount(model.labels_, minlength=model.n_clusters_) > 0).all()
    assert not model.converged_


def test_a_row_at_exactly_lam_joins():
    X = [[-2.0], [2.0]]  # both 4 from the mean
    assert DPMeans(search="sweep", lam=4.0).fit(X).n_clusters_ == 1
    assert DPMeans(search="sweep", lam=np.nextafter(4.0, 0)).fit(X).n_clusters_ > 1


def test_ties_go_to_the_first_born():
    model = DPMeans(search="sweep", lam=1e3, init=[[1.0], [-1.0], [1.0]], max_iter=300).fit(
        [[0.0], [0.0], [5.0], [-5.0]]
    )
    assert model.predict([[0.0]]).tolist() == [0]
    assert model.labels_.tolist() == [0, 0, 0, 1]
    assert model.cluster_ids_.tolist() == [0, 1]


def test_ids_stay_with_clusters_and_are_not_reused(rng):
    X, _ = blobs(rng, n=600, k=8, spread=3.0)
    model = DPMeans(search="sweep", label_order="found", lam=6.0, init=np.vstack([np.full((1, 3), 1e3), X[:4]])).fit(X)
    assert 0 not in model.cluster_ids_  # the far centre never had a row
    assert (np.diff(model.cluster_ids_) > 0).all()
    assert len(model.cluster_ids_) == model.n_clusters_


def test_an_empty_cluster_is_deleted_after_the_sweep_not_within():
    # The empty centre at 100 is still there when row 1 is visited, so that row joins it instead of opening one.
    X = [[0.0], [99.0]]
    model = DPMeans(search="sweep", label_order="found", lam=50.0, init=[[0.0], [100.0], [1000.0]]).fit(X)
    assert model.cluster_ids_.tolist() == [0, 1]
    assert model.cluster_centers_.ravel().tolist() == [0.0, 99.0]


def test_random_order_is_one_permutation_of_the_rows(rng):
    X, _ = blobs(rng)
    model = DPMeans(search="sweep", label_order="found", lam=20.0, order="random", random_state=5).fit(X)
    visits = np.random.RandomState(5).permutation(len(X))
    shuffled = DPMeans(search="sweep", label_order="found", lam=20.0).fit(X[visits])
    np.testing.assert_array_equal(model.labels_[visits], shuffled.labels_)


def test_allow_new_marks_rows_that_are_far_from_all_clusters(rng):
    X, _ = blobs(rng)
    model = DPMeans(search="sweep", lam=40.0).fit(X)
    Y = np.vstack([X[:5], X[:5] + 1e3])
    np.testing.assert_array_equal(model.predict(Y)[:5], model.labels_[:5])
    assert model.predict(Y, allow_new=True)[5:].tolist() == [-1] * 5
    assert (model.predict(X, allow_new=True) == -1).mean() < 0.05


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_farthest_first_equals_the_plain_loop(k, weighted, rng):
    X, _ = blobs(rng, n=150)
    w = rng.integers(0, 4, len(X)) if weighted else None
    lam = farthest_first_lambda(X, k, sample_weight=w)
    assert lam == pytest.approx(oracles.farthest_first(X, k, w), rel=1e-12)
    model = DPMeans(lam="farthest-first", target_k=k, search="sweep")
    assert model.fit(X, sample_weight=w).lam_ == lam


def test_farthest_first_scales_with_the_weights(rng):
    X, _ = blobs(rng)
    lam = farthest_first_lambda(X, 4)
    assert farthest_first_lambda(X, 4, sample_weight=np.full(len(X), 2.5)) == pytest.approx(2.5 * lam, rel=1e-14)
    assert farthest_first_lambda(X, 4, sample_weight=2.5) == pytest.approx(2.5 * lam, rel=1e-14)
