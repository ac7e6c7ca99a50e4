"""The published numbers, and the experiments of the papers on small data."""

import json

import numpy as np
import pytest
from common import blobs
from sklearn.metrics import normalized_mutual_info_score

from kfree.datasets import Dataset, make_gaussians
from reproduce import cells
from reproduce.kulis_jordan import limit, section6_3, three_gaussians
from reproduce.kulis_jordan import table1 as kj_table1
from reproduce.kurihara_welling import (
    bic,
    figures,
    generators,
    kd_tree_counts,
    prior,
    readings,
    table1,
    table2,
    well_separated,
)
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS, PURITY
from reproduce.odashima import figure3, grid, tables
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.table import OUT_OF_TIME


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    """Cells are made anew, and kept in a folder of the test."""
    monkeypatch.setattr(cells, "FOLDER", tmp_path / "cells")


@pytest.mark.parametrize("name", COSTS)
def test_published_costs_are_complete_and_fall_from_algorithm_to_algorithm(name):
    """The paper says that SMD is the best everywhere; costs rise with the penalty."""
    rows = COSTS[name]
    assert len(rows) == 4
    for published in rows.values():
        assert published["SMD"].cost < published["SD"].cost < min(published["BD"].cost, published["OD"].cost)
        assert published["SMD"].seconds > published["SD"].seconds
    for algorithm in ("BD", "OD", "SD", "SMD"):
        assert np.all(np.diff([rows[lam][algorithm].cost for lam in sorted(rows)]) >= 0)
    assert any(key[0] == name and key[1] in rows for key in N_CLUSTERS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_costs_are_those_of_the_rows(algorithm, rng):
    X, _ = blobs(rng, n=400, d=2)
    done = run(ALGORITHMS[algorithm], X, 5.0)
    assert 0 < done.cost - 5.0 * done.n_clusters < ((X - X.mean(axis=0)) ** 2).sum()


def test_orders_are_permutations_and_the_same_each_time():
    X = np.arange(20.0)[:, None]
    first, second = ([tables.in_order(X, seed) for seed in range(5)] for _ in range(2))
    assert len(first) == 5
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[0], X)
    assert len({tuple(rows.ravel()) for rows in first}) == 5
    assert all(sorted(rows.ravel()) == sorted(X.ravel()) for rows in first)


def test_a_cost_table_has_a_line_for_every_penalty_and_algorithm(rng, monkeypatch):
    X, _ = blobs(rng, n=200, d=3)
    monkeypatch.setattr(tables, "load", lambda name: Dataset(name, "made up", "nowhere", X))
    lines = tables.costs("usgs", quick=False).lines
    assert len(lines) == 4 * len(ALGORITHMS)
    assert tables.costs("usgs", quick=False).lines == lines  # seconds too: nothing was made again
    assert len(tables.costs("usgs", quick=True).lines) == len(ALGORITHMS)
    assert all(line.ours is not None for line in lines)
    default = [line for line in lines if DEFAULT in line.method]
    assert [line.paper for line in default] == [row["SMD"].cost for row in COSTS["usgs"].values()]


def test_what_no_time_was_left_for_is_not_run(rng, monkeypatch):
    X, _ = blobs(rng, n=200, d=3)
    for module in (tables, grid):
        monkeypatch.setattr(module, "load", lambda name: Dataset(name, "made up", "nowhere", X))
    monkeypatch.setattr(cells.CLOCK, "is_over", lambda: True)
    for lines in (
        tables.costs("usgs", quick=False).lines,
        tables.n_clusters(quick=True).lines,
        grid.result(True).lines,
    ):
        assert lines
        for line in lines:
            assert (line.ours, line.difference, line.verdict, line.note) == (None, None, "", OUT_OF_TIME)
    assert {line.note for line in table1.result(quick=False).lines} == {OUT_OF_TIME}


def test_the_grid_takes_the_best_of_all_fits_and_counts_the_time_of_its_own_twelve():
    wanted = grid.numbers_of_clusters(100)
    assert len(set(wanted)) == 12
    fits = [{"k": k, "inertia": 1e4 / k, "cpu_seconds": 2.0} for k in wanted]
    cost, k, seconds = grid.best({"fits": {"usgs": fits}}, "usgs", 1.0, 100)
    assert k == min(wanted, key=lambda k: 1e4 / k + k)
    assert (cost, seconds) == (pytest.approx(1e4 / k + k), 24.0)
    better = {"k": 101, "inertia": 1.0, "cpu_seconds": 2.0}
    assert grid.best({"fits": {"usgs": [*fits, better]}}, "usgs", 1.0, 100) == (102.0, 101, 24.0)
    assert grid.best({"fits": {"usgs": [*fits[1:], better]}}, "usgs", 1.0, 100) is None


def test_the_grid_goes_on_where_it_stopped(rng, tmp_path, monkeypatch):
    X, _ = blobs(rng, n=200, d=2)
    monkeypatch.setattr(grid, "KEPT", tmp_path / "grid.json")
    monkeypatch.setattr(grid, "load", lambda name: Dataset(name, "made up", "nowhere", X))
    monkeypatch.setattr(grid, "MIDDLE", {("usgs", 1.0): 20})
    k, *others = grid.numbers_of_clusters(20)
    kept = {"fits": {"usgs": [{"k": k, "inertia": -1.0, "cpu_seconds": 0.0, "wall_seconds": 0.0}]}}
    (tmp_path / "grid.json").write_text(json.dumps(kept))
    grid.complete()
    fits = json.loads((tmp_path / "grid.json").read_text())["fits"]["usgs"]
    assert [fit["k"] for fit in fits] == [k, *others]
    assert fits[0]["inertia"] == -1.0
    (line,) = grid.result(quick=False).lines
    assert line.paper == min(fit["inertia"] + fit["k"] for fit in fits)


def four_or_five(make, tau, n_rows, n_features, seed, **_):
    return {"clusters": 4 + seed % 2, "seconds": 1.5}


def test_table_1_has_ten_data_sets_a_line_or_says_how_many(monkeypatch):
    monkeypatch.setattr(table1, "fit", four_or_five)
    few = table1.result(quick=True).lines
    assert {line.note for line in few} == {"1 of 10 data sets"}
    lines = {(line.case, line.method): line for line in table1.result(quick=False).lines}
    assert len(few) < len(lines) == 27 * 7
    line = lines["τ=0.5, N=100, D=2", "BKM"]
    assert (line.paper, line.ours, line.seconds, line.goal, line.verdict, line.note) == (4.1, 4.5, 1.5, 10.0, "", "")
    assert (line.n, line.paper_n, line.spread_is) == (10, 10, "deviation")
    assert lines["τ=0.5, N=100, D=2", table1.BOX].paper == 4.1
    assert len(CLUSTERS_FOUND) == 27
    assert all(tuple(row) == METHODS for row in CLUSTERS_FOUND.values())
    assert set(METHODS) == set(table1.MODELS) - {table1.BOX}


@pytest.mark.parametrize("method", table1.MODELS)
def test_every_column_of_table_1_can_be_made(method):
    found = table1.fit(table1.MODELS[method], 2.0, 60, 2, seed=0)
    assert 1 <= found["clusters"] <= 60


def test_well_separated_data_are_the_same_for_every_separation_in_many_columns():
    """And not in two columns, nor when the closest pair is as far apart as the separation says."""

    def rows(d, tau, **settings):
        return make_gaussians(50, d, 10, separation=tau, random_state=0, **settings)[0]

    for d in (32, 64):
        assert np.array_equal(rows(d, 0.1), rows(d, 2.0))
        assert not np.array_equal(rows(d, 0.1, placement="closest-pair"), rows(d, 2.0, placement="closest-pair"))
    assert any(
        not np.array_equal(*(make_gaussians(50, 2, 10, separation=tau, random_state=s)[0] for tau in (0.1, 2.0)))
        for s in range(10)
    )


def test_well_separated_lines_have_thirty_data_sets(monkeypatch):
    monkeypatch.setattr(well_separated, "fit", four_or_five)
    lines = well_separated.result(quick=False).lines
    assert len(lines) == 6 * 6
    assert {(line.n, line.note) for line in lines} == {(30, "")}


def test_readings_of_the_generator_are_ranked_by_their_distance_to_the_paper(monkeypatch):
    paper = {(0.1, 100, 2): dict.fromkeys(METHODS, (4.0, 1.0)), (0.5, 100, 2): dict.fromkeys(METHODS, (8.0, 1.0))}
    monkeypatch.setattr(generators, "CLUSTERS_FOUND", paper)
    monkeypatch.setattr(generators, "fit", lambda make, reading, *case: {"clusters": 4.0, "seconds": 0.0})
    lines = generators.result(quick=False).lines
    assert len(lines) == len(generators.READINGS)
    assert all(line.ours == pytest.approx(np.log(2) / 2) for line in lines)
    rows = [generators.rows_of(reading, 0.5, 40, 8, 0) for reading in generators.READINGS]
    assert len({data.tobytes() for data in rows}) == len(rows)


def test_the_free_energy_tends_to_bic_with_a_fixed_prior_and_not_with_eq_21():
    left = {line.method: [] for line in bic.result(quick=True).lines}
    for line in bic.result(quick=True).lines:
        left[line.method].append(line.ours)
    assert abs(np.diff(left["a fixed prior"])[-1]) < 0.5
    # K·η0·D·log 10 for ten times the rows: what (η0/2)·D·log(1/d_small²) a cluster grows by in the plane.
    assert np.diff(left["Eq. 21"])[-1] == pytest.approx(3 * 2 * 2 * np.log(10), rel=0.3)


def test_boxes_of_counts_leave_the_comparisons_that_they_must(rng):
    """Two clusters that one column tells apart: few boxes; clusters that are the same: no box has an owner."""
    X = rng.integers(0, 100, size=(500, 3)).astype(float)
    slopes, offsets = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), np.array([-50.25, 50.25])
    assert kd_tree_counts.comparisons(X, slopes, offsets) < 250
    same = kd_tree_counts.comparisons(X, np.zeros((2, 3)), np.zeros(2))
    assert same > 2 * len(X)


def test_the_sampler_agrees_with_dp_means_more_and_more():
    ours = [line.ours for line in limit.result(quick=True).lines]
    assert ours[0] < 0.2 < 0.95 < ours[-1]


def test_global_penalties_by_the_rule_of_the_paper_are_those_of_the_errata():
    """On data made as in §6.3, λ_g by the rule of §6.1 is about 0.65."""
    found = [section6_3.paper_penalties(*[section6_3.data_sets(seed)[i] for i in (0, 2)]) for seed in range(4)]
    assert np.mean([one["lam_global"] for one in found]) == pytest.approx(0.65, rel=0.25)


def test_what_the_authors_may_have_used_is_held_against_their_numbers(monkeypatch):
    """Within a tenth the nearest neighbour is often in another Gaussian: d_small is larger, and clusters are fewer."""
    monkeypatch.setattr(readings, "N_SETS", 1)
    for variant in [name for name, (_, narrowest) in readings.VARIANTS.items() if narrowest not in (None, 1.0)]:
        monkeypatch.delitem(readings.VARIANTS, variant)
    monkeypatch.setattr(readings, "CASES", [(2.0, 100, 8)])
    monkeypatch.setitem(CLUSTERS_FOUND, (2.0, 100, 8), CLUSTERS_FOUND[2.0, 100, 32])
    lines = readings.result(quick=False).lines
    assert len(lines) == len(readings.VARIANTS) * len(readings.MODELS)
    X, y = make_gaussians(100, 8, 10, separation=2.0, random_state=20)
    assert readings.within_the_tenth(X) > readings.among_all(X) > 0
    found = {line.method: line.ours for line in lines}
    assert found["BKM, neighbours within the tenth"] < table1.fitted(table1.MODELS["BKM"], X)["clusters"]
    assert "free energy of the ten Gaussians at least" in lines[0].note
    alike = readings.rescaled(X, y, np.full(10, 0.2))
    for c in range(10):
        assert np.square(alike[y == c] - X[y == c].mean(axis=0)).mean() == pytest.approx(0.04)


def test_the_truth_can_cost_more_than_what_was_found():
    """Forty rows in sixteen columns: the prior of Eq. 21 splits Gaussians."""
    X, y = make_gaussians(40, 16, 4, random_state=0)
    model = prior.printed(X)
    assert model.free_energy_ < prior.free_energy_of(model, X, y)
    assert prior.free_energy_of(model, X, model.labels_) == pytest.approx(model.free_energy_)


def test_pictures_come_with_numbers(monkeypatch):
    pytest.importorskip("matplotlib")
    shown = three_gaussians.figure2a(quick=True)
    assert [line.quantity for line in shown.lines] == ["runs with three clusters", "iterations, most", "NMI"]
    assert shown.lines[0].ours == 1.0
    assert shown.lines[1].ours <= 8
    assert shown.figure is not None
    monkeypatch.setattr(three_gaussians, "QUICK_ITERATIONS", 60)
    lines = three_gaussians.figure2b(quick=True).lines
    assert len({line.method for line in lines}) == 5
    layouts = {line.case for line in three_gaussians.figure2c(quick=True).lines}
    assert layouts == set(three_gaussians.LAYOUTS)
    assert figure3.result(quick=True).lines[0].ours == 2
    assert len(figures.figure3(quick=True).lines) == 3


def test_kulis_and_jordans_table_has_a_line_for_every_set_and_method(monkeypatch, rng):
    X, y = blobs(rng, n=60, d=2, k=3, spread=9.0)
    X[0, 0] = np.nan
    monkeypatch.setattr(kj_table1, "load", lambda name: Dataset(name, "made up", "nowhere", X, y))
    assert len(kj_table1.PUBLISHED) == 8
    assert len(kj_table1.CASES) == 10
    monkeypatch.setattr(kj_table1, "QUICK_SPLITS", 2)
    monkeypatch.setattr(kj_table1, "QUICK_CHAIN", (10, 20, 1))
    lines = kj_table1.result(quick=True).lines
    assert len(lines) == kj_table1.QUICK_CASES * 3
    assert all(0 <= line.ours <= 1 for line in lines)
    assert all(line.ours > 0.8 for line in lines if line.method == "k-means")
    assert all("AMI" in line.note and "2 of 10 splits" in line.note for line in lines)


def test_the_fast_agreement_is_that_of_scikit_learn(rng):
    for k in (1, 3, 20):
        y, labels = rng.integers(3, size=60), rng.integers(k, size=60)
        expected = normalized_mutual_info_score(y, labels)
        assert three_gaussians.agreement(y, labels) == pytest.approx(expected, abs=1e-12)


def test_shuffled_classes_agree_with_many_clusters_by_chance(rng):
    """Why NMI alone says little: one cluster for every two rows."""
    y, labels = rng.integers(2, size=200), np.arange(200) // 2
    found = kj_table1.measures(y, [labels])
    assert found["shuffled"] == pytest.approx(found["NMI"], abs=0.05)
    assert found["NMI"] > 0.1 > abs(found["AMI"])
    assert found["k"] == 100


def test_table_2_holds_every_method_against_the_paper(rng, monkeypatch):
    assert all(max(row, key=row.get) == "ABC" for row in PURITY.values())
    assert PURITY.keys() == table2.CASES.keys()
    monkeypatch.setitem(table2.CASES, "MNIST", table2.Case(lambda: blobs(rng, 120, 3, spread=40), 40, "gaussian"))
    lines = {line.method: line for line in table2.lines_of("MNIST", n_subsets=2)}
    assert list(lines) == ["ABC", "ABC, prior of Eq. 22", "single", "complete", "average"]
    assert (lines["ABC"].paper, lines["single"].paper) == (0.410, 0.316)
    assert lines["ABC"].ours == pytest.approx(1.0)
    assert sum(line.note == "highest" for line in lines.values()) == 1
