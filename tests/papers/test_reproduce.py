"""The runner of reproductions, the published numbers, and the paper's algorithms on small data."""

import csv
import json

import numpy as np
import pytest
from conftest import blobs

from kfree.datasets import Dataset, make_gaussians
from reproduce import __main__ as runner
from reproduce.experiments import EXPERIMENTS
from reproduce.kulis_jordan import table1 as kj_table1
from reproduce.kulis_jordan import three_gaussians
from reproduce.kurihara_welling import figures, newsgroups, prior, table1, table2
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS, PURITY
from reproduce.odashima import figure3, grid, tables
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.result import Experiment, Result
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


@pytest.fixture
def made_up_experiments(monkeypatch):
    """Two experiments in place of all others: one that runs, and one whose data are nowhere."""

    def missing(quick):
        raise FileNotFoundError("The data set 'moon' was not found: KFREE_DATA is not set. Fetch it.")

    found = {
        "odashima/table8": Experiment("needs the moon", missing),
        "odashima/table9": Experiment("made up", lambda quick: Result(made_up()[: 2 if quick else None]), "Because."),
    }
    for name in list(EXPERIMENTS):
        monkeypatch.delitem(EXPERIMENTS, name)
    for name, experiment in found.items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)


def run_main(tmp_path, *arguments):
    return runner.main([*arguments, "--out", str(tmp_path), "--report", str(tmp_path / "page.md")])


def test_the_runner_prints_and_keeps_all_digits(tmp_path, capsys, made_up_experiments):
    assert run_main(tmp_path, "odashima/table9") == 0
    assert "1.2349 ± 0.01" in capsys.readouterr().out
    with (tmp_path / "odashima-table9.full.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["ours"]) for row in rows] == [1.2349, 1.236, 1.26, 8]
    assert [row["verdict"] for row in rows] == ["", "WORSE", "worse, within ±", ""]


def test_all_goes_on_where_data_are_missing_and_lists_what_was_not_run(tmp_path, capsys, made_up_experiments):
    assert run_main(tmp_path, "all", "--quick") == 1
    said = capsys.readouterr()
    assert said.err.splitlines()[-2:] == [
        "Not run:",
        "  odashima/table8: The data set 'moon' was not found: KFREE_DATA is not set. Fetch it.",
    ]
    with (tmp_path / "odashima-table9.quick.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2
    page = (tmp_path / "page.md").read_text()
    assert "Not run yet: `python -m reproduce odashima/table8`" in page
    assert "Size: quick. Worse than the paper in 1 of 2 lines." in page
    assert "| a | fast | cost | 1.23 | 1.2349 ± 0.01 | +0.4% |  | 2 |  |" in page
    assert "Because." in page


def test_the_page_shows_a_full_run_rather_than_a_quick_one(tmp_path, made_up_experiments):
    for size in ("--quick", "--full"):
        run_main(tmp_path, "odashima/table9", size)
    run_main(tmp_path, "report")
    assert "Size: full. Worse than the paper in 2 of 4 lines." in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_runner_lists_what_there_is(arguments, capsys):
    runner.main(arguments)
    listed = capsys.readouterr().out
    assert all(name in listed for name in EXPERIMENTS)


def test_a_paper_stands_for_all_its_experiments():
    assert runner.matching("odashima") == [name for name in EXPERIMENTS if name.startswith("odashima/")]
    assert runner.matching("kulis_jordan/table1") == ["kulis-jordan/table1"]


def test_an_unknown_experiment_is_answered_with_a_guess(capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/tabel1"])
    assert "did you mean 'odashima/table1'" in capsys.readouterr().err


def test_missing_messages_are_answered_with_where_and_how(monkeypatch, tmp_path):
    def no_network(**_):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", no_network)
    monkeypatch.setenv("KFREE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="20newsgroups_4cat.csv.gz is not in KFREE_DATA") as caught:
        newsgroups.messages()
    assert "no network" in str(caught.value)


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
    lines = tables.costs("usgs", quick=False).lines
    assert len(lines) == 4 * len(ALGORITHMS)
    assert len(tables.costs("usgs", quick=True).lines) == 2 * len(ALGORITHMS)
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
    (line,) = grid.result(quick=False).lines
    assert line.paper == min(fit["inertia"] + fit["k"] for fit in fits)


def test_table_1_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "KEPT", tmp_path / "table1.json")
    monkeypatch.setattr(table1, "fit", lambda *case, seed: {"clusters": 9 + seed % 2, "seconds": 1.0})
    kept = {"BKM": {"τ=0.5, N=100, D=2": [{"clusters": 4, "seconds": 2.0}] * 5}}
    case = 0.5, 100, 2
    line = table1.line("BKM", case, table1.completed("BKM", case, kept, 10))
    assert json.loads(table1.KEPT.read_text()) == kept
    assert (line.case, line.paper, line.ours, line.seconds) == ("τ=0.5, N=100, D=2", 4.1, 6.8, 1.5)
    assert (line.goal, line.verdict, line.note) == (10.0, "", "")
    assert table1.line("VBMG", case, kept["BKM"][line.case][:3]).note == "3 of 10 data sets"
    assert len(CLUSTERS_FOUND) == 27
    assert all(tuple(row) == METHODS == tuple(table1.MODELS) for row in CLUSTERS_FOUND.values())


@pytest.mark.parametrize("method", METHODS)
def test_every_column_of_table_1_can_be_made(method):
    found = table1.fit(method, 2.0, 60, 2, seed=0)
    assert 1 <= found["clusters"] <= 60


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
    assert {line.method for line in lines} == {"α by a Gamma prior", "α by validation"}
    assert figure3.result(quick=True).lines[0].ours == 2
    assert len(figures.figure3(quick=True).lines) == 3


def test_kulis_and_jordans_table_has_a_line_for_every_set_and_method(monkeypatch, rng):
    X, y = blobs(rng, n=60, d=2, k=3, spread=9.0)
    X[0, 0] = np.nan
    monkeypatch.setattr(kj_table1, "load", lambda name: Dataset(name, "made up", "nowhere", X, y))
    assert len(kj_table1.PUBLISHED) == 8
    monkeypatch.setattr(kj_table1, "PUBLISHED", dict.fromkeys(("wine", "iris"), (0.4, 0.4, 0.4)))
    monkeypatch.setattr(kj_table1, "QUICK_SPLITS", 2)
    monkeypatch.setattr(kj_table1, "QUICK_CHAIN", (10, 5, 1))
    monkeypatch.setattr(kj_table1, "VALIDATION_CHAIN", (5, 3, 1))
    lines = kj_table1.result(quick=True).lines
    assert len(lines) == 2 * 3
    assert all(0 <= line.ours <= 1 for line in lines)
    assert all(line.ours > 0.8 for line in lines if line.method == "k-means")


def test_table_2_holds_every_method_against_the_paper(rng, monkeypatch):
    assert all(max(row, key=row.get) == "ABC" for row in PURITY.values())
    assert PURITY.keys() == table2.CASES.keys()
    monkeypatch.setitem(table2.CASES, "MNIST", table2.Case(lambda: blobs(rng, 120, 3, spread=40), 40, "gaussian"))
    lines = {line.method: line for line in table2.lines_of("MNIST", n_subsets=2)}
    assert list(lines) == ["ABC", "ABC, prior of Eq. 22", "single", "complete", "average"]
    assert (lines["ABC"].paper, lines["single"].paper) == (0.410, 0.316)
    assert lines["ABC"].ours == pytest.approx(1.0)
    assert sum(line.note == "highest" for line in lines.values()) == 1
