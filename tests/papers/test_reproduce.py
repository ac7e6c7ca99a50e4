"""The runner of reproductions, the published numbers, and the paper's algorithms on small data."""

import csv
import json

import numpy as np
import pytest
from conftest import blobs

from kfree.datasets import Dataset
from reproduce import __main__ as runner
from reproduce.experiments import EXPERIMENTS, Experiment
from reproduce.kurihara_welling import table1, table2
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, PURITY
from reproduce.odashima import grid, tables
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.table import Line, as_text


def made_up():
    return [
        Line("a", "fast", "cost", paper=1.23, ours=1.2349, spread=0.01, seconds=2.0),
        Line("b", "slow", "cost", paper=1.23, ours=1.236, note="k=3"),
        Line("c", "slow", "cost", paper=1.23, paper_spread=0.02, ours=1.26, spread=0.01),
        Line("d", "slow", "clusters", paper=4, ours=8, goal=None),
    ]


def test_worse_means_worse_in_the_papers_digits():
    assert [line.verdict for line in made_up()] == ["", "WORSE", "worse, within ±", ""]


@pytest.mark.parametrize(
    ("goal", "verdicts"),
    [("highest", ["WORSE", "worse, within ±", "", ""]), (10.0, ["WORSE", "worse, within ±", "", "WORSE"])],
)
def test_worse_depends_on_the_goal(goal, verdicts):
    ours = [7.0, 8.5, 9.0, 13.0]
    lines = [Line("a", "fast", "found", paper=9.0, paper_spread=0.3, ours=one, spread=0.2, goal=goal) for one in ours]
    assert [line.verdict for line in lines] == verdicts


def test_a_table_shows_both_numbers_and_says_where_ours_is_worse():
    text = as_text(made_up())
    heads, _, a, b, c, d, *_ = text.splitlines()
    assert heads.split() == [
        "case",
        "method",
        "quantity",
        "paper",
        "ours",
        "difference",
        "verdict",
        "ours",
        "s",
        "note",
    ]
    assert a.split() == ["a", "fast", "cost", "1.23", "1.2349", "±", "0.01", "+0.4%", "2.00"]
    assert b.split() == ["b", "slow", "cost", "1.23", "1.236", "+0.5%", "WORSE", "k=3"]
    assert c.split()[:7] == ["c", "slow", "cost", "1.23", "±", "0.02", "1.26"]
    assert d.split() == ["d", "slow", "clusters", "4", "8", "+100.0%"]
    assert text.endswith("Worse than the paper in 2 of 4 lines.")


def test_the_runner_prints_and_keeps_all_digits(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "nobody/table9", Experiment("made up", made_up))
    runner.main(["nobody/table9", "--out", str(tmp_path)])
    assert "1.2349 ± 0.01" in capsys.readouterr().out
    with (tmp_path / "nobody-table9.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["ours"]) for row in rows] == [1.2349, 1.236, 1.26, 8]
    assert [row["verdict"] for row in rows] == ["", "WORSE", "worse, within ±", ""]


def test_without_a_name_the_runner_lists_what_there_is(capsys):
    runner.main([])
    listed = capsys.readouterr().out
    assert all(name in listed for name in EXPERIMENTS)


def test_a_paper_stands_for_all_its_experiments():
    assert runner.matching("odashima") == [name for name in EXPERIMENTS if name.startswith("odashima/")]


def test_an_unknown_experiment_is_answered_with_a_guess(capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/tabel1"])
    assert "did you mean 'odashima/table1'" in capsys.readouterr().err


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
    done = run(algorithm, X, 5.0)
    assert 0 < done.cost - 5.0 * done.n_clusters < ((X - X.mean(axis=0)) ** 2).sum()


def test_orders_are_permutations_and_the_same_each_time():
    X = np.arange(20.0)[:, None]
    first, second = list(tables.orders(X)), list(tables.orders(X))
    assert len(first) == 5
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[0], X)
    assert len({tuple(rows.ravel()) for rows in first}) == 5
    assert all(sorted(rows.ravel()) == sorted(X.ravel()) for rows in first)


def test_a_cost_table_has_a_line_for_every_penalty_and_algorithm(rng, monkeypatch):
    X, _ = blobs(rng, n=200, d=3)
    monkeypatch.setattr(tables, "load", lambda name: Dataset(name, "made up", "nowhere", X))
    lines = tables.costs("usgs")
    assert len(lines) == 4 * len(ALGORITHMS)
    default = [line for line in lines if DEFAULT in line.method]
    assert [line.paper for line in default] == [row["SMD"].cost for row in COSTS["usgs"].values()]


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
    (line,) = grid.lines()
    assert line.paper == min(fit["inertia"] + fit["k"] for fit in fits)


def test_table_1_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "KEPT", tmp_path / "table1.json")
    monkeypatch.setattr(table1, "fit", lambda *case, seed: {"clusters": 9 + seed % 2, "seconds": 1.0})
    kept = {"τ=0.5, N=100, D=2": [{"clusters": 4, "seconds": 2.0}] * 5}
    case = 0.5, 100, 2
    line = table1.line(case, table1.completed(case, kept))
    assert json.loads(table1.KEPT.read_text()) == kept
    assert (line.case, line.paper, line.ours, line.seconds) == ("τ=0.5, N=100, D=2", 4.1, 6.8, 1.5)
    assert (line.goal, line.verdict) == (10.0, "")
    assert len(CLUSTERS_FOUND) == 27


def test_table_2_holds_every_method_against_the_paper(rng, monkeypatch):
    assert all(max(row, key=row.get) == "ABC" for row in PURITY.values())
    assert PURITY.keys() == table2.CASES.keys()
    monkeypatch.setitem(table2.CASES, "MNIST", table2.Case(lambda: blobs(rng, 120, 3, spread=40), 40, "gaussian"))
    monkeypatch.setattr(table2, "N_SUBSETS", 2)
    lines = {line.method: line for line in table2.lines_of("MNIST")}
    assert list(lines) == ["ABC", "ABC, prior of Eq. 22", "single", "complete", "average"]
    assert (lines["ABC"].paper, lines["single"].paper) == (0.410, 0.316)
    assert lines["ABC"].ours == pytest.approx(1.0)
    assert sum(line.note == "highest" for line in lines.values()) == 1
