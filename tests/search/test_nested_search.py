"""Clusters of clusters: the objective against its equation, searches against enumeration, loops and a Gibbs sampler."""

import numpy as np
import pytest
from oracles.nested import best_cost, cheapest_nested_partition, gibbs, same_nested, serial_sweep
from scipy.optimize import minimize

from kfree.core.stats import Stats
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.objectives.nested import CosineNestedObjective, NestedObjective, sq_gaps
from kfree.search.monitor import Monitor
from kfree.search.nested.descent import nested_descent
from kfree.search.nested.judge import ENOUGH, judged
from kfree.search.nested.levels import LevelChoice
from kfree.search.nested.moves import _paying_pairs, _with_pull
from kfree.search.nested.search import NestedSearch, _plan
from kfree.search.nested.state import NestedState, assigned, recentred
from kfree.search.penalised import PenalisedSearch

TOWER = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4]), (np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1]))


def search(Z, lam, lam_group, tau, *, by_rows=False, sweep=False, metric="euclidean", weight=None):
    """The result for given penalties."""
    rows = open_engine("auto", Z, weight=weight, unit=metric == "cosine", n_threads=1)
    finest = PenalisedSearch("NestedDPMeans", OBJECTIVES[metric], float(lam))
    choice = LevelChoice(metric, by_rows, None, list(np.atleast_1d(lam_group)), list(np.atleast_1d(tau)), 4)
    nested = NestedSearch(finest, choice)
    return nested.sweep(rows, Monitor()) if sweep else nested(finest(rows, Monitor()), Monitor())


def clusters_of(Z, w, labels):
    """Weight, mean and scatter of clusters."""
    n = np.bincount(labels, w)
    mean = np.array([(w[labels == c, None] * Z[labels == c]).sum(axis=0) / n[c] for c in range(len(n))])
    return n, mean, np.bincount(labels, w * sq_gaps(Z, mean[labels]))


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("n_levels", [1, 2, 3])
def test_the_least_cost_is_that_of_solving_for_all_centres(by_rows, n_levels):
    rng = np.random.default_rng(n_levels)
    Z, w = rng.normal(size=(9, 3)), rng.uniform(0.5, 3.0, size=9)
    labels, parents = TOWER[0], TOWER[1][: n_levels - 1]
    penalties, taus = (0.3, 0.7, 1.1)[:n_levels], (0.8, 0.4)[: n_levels - 1]
    objective = NestedObjective(penalties, taus, by_rows)
    n, mean, scatter = clusters_of(Z, w, labels)
    expected = best_cost(Z, w, labels.tolist(), [p.tolist() for p in parents], penalties, taus, by_rows)
    assert objective.least_cost(scatter, n, mean, parents) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("by_rows", [False, True])
def test_cosine_centres_are_the_best_directions(by_rows):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(9, 2)) + np.array([3.0, 0.0])
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    labels, parents, w = TOWER[0], TOWER[1], np.ones(9)
    objective = CosineNestedObjective((0.3, 0.7, 1.1), (0.8, 0.4), by_rows)
    n, mean, scatter = clusters_of(Z, w, labels)

    def cost_of_angles(angles):
        unit = np.column_stack([np.cos(angles), np.sin(angles)])
        centres = tuple(np.split(unit, [5, 8]))
        return objective.cost(np.bincount(labels, w * sq_gaps(Z, centres[0][labels])), n, centres, parents)

    starts = (rng.uniform(-0.5, 0.5, size=10) for _ in range(5))
    expected = min(minimize(cost_of_angles, start, tol=1e-12).fun for start in starts)
    assert objective.least_cost(scatter, n, mean, parents) == pytest.approx(expected, rel=1e-9)


def test_a_cluster_under_cosine_adds_what_the_specification_says():
    Z = np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    n, mean, scatter = clusters_of(Z, np.ones(3), np.zeros(3, dtype=int))
    nu, tau = np.array([[0.0, 1.0]]), 0.7
    objective = CosineNestedObjective((0.0, 0.0), (tau,))
    expected = 2 * (3 + tau - np.linalg.norm(Z.sum(axis=0) + tau * nu[0]))
    assert scatter + objective.node_costs(n, mean, nu) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("family", [NestedObjective, CosineNestedObjective])
@pytest.mark.parametrize("by_rows", [False, True])
def test_merge_deltas_are_differences_of_costs_about_the_same_groups(family, by_rows):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(9, 3))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    n, mean, scatter = clusters_of(Z, np.ones(9), TOWER[0])
    nu = family((0.0,)).centres(np.ones(5), rng.normal(size=(5, 3)), ())[0]
    objective = family((0.3, 0.7), (0.8,), by_rows)
    deltas = objective.merge_deltas(n, mean, nu, 1)
    joined = np.where(TOWER[0] == 1, 3, TOWER[0])
    n_after, mean_after, scatter_after = clusters_of(Z, np.ones(9), np.unique(joined, return_inverse=True)[1])
    before = (scatter + objective.node_costs(n, mean, nu))[[1, 3]].sum()
    after = (scatter_after + objective.node_costs(n_after, mean_after, nu[[0, 2, 3, 4]]))[2]
    assert deltas[3] == pytest.approx(after - before - 0.3, rel=1e-9)


def test_a_pull_is_a_row_at_the_centre_of_the_group():
    result = search(np.random.default_rng(2).normal(size=(40, 2)) * 4, 3.0, 2.0, 1.5)
    objective, state = result.objective, result.flat.state
    held = Stats(
        state.stats.n + 1.5, state.stats.sum + 1.5 * result.tree.upper[0][result.tree.parents[0]], state.stats.sse
    )
    mean = state.stats.sum / state.stats.n[:, None]
    best = objective.centres(state.stats.n, mean, result.tree.parents)
    np.testing.assert_allclose(held.sum / held.n[:, None], best[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_cheapest_of_all_nested_partitions(seed, by_rows):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(3):
        Z = rng.normal(size=(6, 2)) * rng.choice([1.0, 3.0])
        lam, lam_group, tau = np.exp(rng.uniform(-2, 1, size=3))
        best, _ = cheapest_nested_partition(Z, [1.0] * 6, [lam, lam_group], [tau], by_rows)
        cost = search(Z, lam, lam_group, tau, by_rows=by_rows).flat.state.cost
        assert cost >= best * (1 - 1e-9)
        found.append(cost <= best * (1 + 1e-9))
    assert sum(found) >= 2


def test_three_levels_against_all_nested_partitions():
    rng = np.random.default_rng(5)
    Z = np.array([[0.0], [0.5], [3.0], [3.6], [20.0]]) + 0.1 * rng.normal(size=(5, 1))
    for penalties in ([0.05, 0.1, 0.2], [0.3, 0.3, 1.0], [1.0, 0.2, 0.1]):
        best, _ = cheapest_nested_partition(Z, [1.0] * 5, penalties, [0.5, 0.25])
        cost = search(Z, penalties[0], penalties[1:], [0.5, 0.25]).flat.state.cost
        assert cost == pytest.approx(best, rel=1e-9)


def test_seven_rows():
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(7, 2)) * 2
    best, _ = cheapest_nested_partition(Z, [1.0] * 7, [0.8, 0.6], [0.7])
    assert search(Z, 0.8, 0.6, 0.7).flat.state.cost == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_sweeps_are_those_of_a_serial_loop_and_never_raise_the_cost(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    Z = rng.normal(size=(n, 2)) * 2 + rng.choice([-6, 0, 6], size=(n, 1))
    w = rng.choice([0.5, 1.0, 2.0], size=n)
    lam, lam_group = np.exp(rng.uniform(-1, 3, size=2))
    tau = np.exp(rng.uniform(-2, 1))
    labels, groups, costs = serial_sweep(Z, w, lam, lam_group, tau)
    result = search(Z, lam, lam_group, tau, sweep=True, weight=w)
    assert same_nested(labels, groups, result.flat.labels, result.tree.parents[0])
    assert result.flat.state.cost == pytest.approx(costs[-1], rel=1e-9)
    assert (np.diff(result.flat.descent.cost_history) <= 0).all()
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_gibbs_sampler_without_variance_makes_the_sweeps(seed):
    rng = np.random.default_rng(100 + seed)
    Z = rng.normal(size=(25, 2)) * 2 + rng.choice([-6, 0, 6], size=(25, 1))
    lam, lam_group, tau = np.exp(rng.uniform(0, 2.5)), np.exp(rng.uniform(-1, 2)), np.exp(rng.uniform(-2, 1))
    labels, groups = gibbs(Z, lam, lam_group, tau, 1e-12, 30, rng)
    result = search(Z, lam, lam_group, tau, sweep=True)
    assert same_nested(labels, groups, result.flat.labels, result.tree.parents[0])


def test_a_gibbs_sampler_with_variance_does_not():
    rng = np.random.default_rng(100)
    Z = rng.normal(size=(25, 2)) * 2 + rng.choice([-6, 0, 6], size=(25, 1))
    result = search(Z, 6.0, 2.0, 0.5, sweep=True)
    draws = [gibbs(Z, 6.0, 2.0, 0.5, 3.0, 5, rng) for _ in range(5)]
    assert not any(same_nested(*draw, result.flat.labels, result.tree.parents[0]) for draw in draws)


def flat_cost(Z, lam, metric="euclidean"):
    """The cost that DPMeans finds."""
    rows = open_engine("auto", Z, unit=metric == "cosine", n_threads=1)
    return PenalisedSearch("DPMeans", OBJECTIVES[metric], lam)(rows, Monitor()).state.cost


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_without_pull_it_is_dp_means_in_one_group(metric):
    Z = np.random.default_rng(3).normal(size=(60, 3)) * [5, 2, 1]
    lam = 4.0 if metric == "euclidean" else 0.5
    result = search(Z, lam, 1.0, 1e-10, metric=metric)
    assert len(result.tree.upper[0]) == 1
    flat = flat_cost(Z, lam, metric) + 1.0  # another start may find a little less
    assert 0.99 * flat <= result.flat.state.cost <= flat * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_with_an_endless_pull_a_cluster_is_its_group(seed):
    Z = np.random.default_rng(seed).normal(size=(40, 2)) * 3
    result = search(Z, 3.0, 2.0, 1e10)
    assert len(result.tree.upper[0]) == len(result.flat.state.stats.n)
    assert result.flat.state.cost == pytest.approx(flat_cost(Z, 5.0), rel=1e-2)
    assert result.flat.state.cost >= flat_cost(Z, 5.0) * (1 - 1e-6)


def test_one_group_is_not_dp_means():
    Z = np.random.default_rng(4).normal(size=(40, 2)) * 3
    result = search(Z, 3.0, 1e9, 1.0)
    assert len(result.tree.upper[0]) == 1
    assert result.flat.state.cost > flat_cost(Z, 3.0) + 1e9


def test_no_pair_is_left_that_pays_to_merge():
    result = search(np.random.default_rng(6).normal(size=(200, 2)) * 4, 5.0, 3.0, 2.0)
    state = result.flat.state
    left = NestedState(state.sites, state.assignment, state.stats, result.tree, state.cost)
    assert not _paying_pairs(left, result.objective)
    assert _with_pull(left, recentred(left, result.objective), result.objective).n.min() > 2.0


def test_clusters_move_between_groups_and_groups_open_and_close():
    rng = np.random.default_rng(10)
    centres = np.repeat(200.0 * np.eye(3), 3, axis=0) + 15.0 * rng.normal(size=(9, 3))
    Z = np.repeat(centres, 20, axis=0) + rng.normal(size=(180, 3))
    rows = open_engine("auto", Z, n_threads=1)
    objective = NestedObjective((100.0, 500.0), (0.1,))
    found = PenalisedSearch("DPMeans", OBJECTIVES["euclidean"], 100.0)(rows, Monitor())
    truth = np.arange(180)[[np.flatnonzero(found.labels == c)[0] for c in range(9)]] // 60
    for parents in (np.zeros(9), np.arange(9), (truth + np.eye(9)[0]) % 3):
        numbered = np.unique(parents, return_inverse=True)[1].astype(np.int32)
        start = assigned(rows, objective, _plan(found, (numbered,), objective))
        ended = nested_descent(start, rows, objective, (None, None)).state
        assert ended.cost < start.cost
        assert len(np.unique(np.column_stack([ended.tree.parents[0], truth]), axis=0)) == 3


def judge(points):
    rows = open_engine("auto", points, weight=np.ones(len(points)), n_threads=1)
    return judged(rows, OBJECTIVES["euclidean"](0.0), np.random.RandomState(0))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_groups_are_judged_alike_at_every_scale(scale):
    rng = np.random.default_rng(8)
    points = np.repeat(rng.normal(size=(6, 3)) * 30, 5, axis=0) + rng.normal(size=(30, 3))
    verdict = judge(scale * points)
    assert verdict.step.k == 6
    assert verdict.is_level
    assert verdict.evidence == pytest.approx(judge(points).evidence, rel=1e-6)


def test_points_of_one_gaussian_have_no_groups():
    rng = np.random.default_rng(9)
    verdicts = [judge(rng.normal(size=(20, 2))) for _ in range(20)]
    assert sum(verdict.evidence >= ENOUGH for verdict in verdicts) <= 1
    assert judge(np.zeros((10, 2))) is None
    assert judge(rng.normal(size=(3, 2))) is None
