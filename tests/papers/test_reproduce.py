"""The runner of reproductions: tables, sizes, missing data, the page."""

import csv

import pytest

from reproduce import __main__ as runner
from reproduce.experiments import EXPERIMENTS
from reproduce.kurihara_welling import newsgroups
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


@pytest.mark.parametrize(("ours", "verdict"), [(0.0151, ""), (0.0149, "WORSE"), (0.03, "")])
def test_decimals_count_from_the_point(ours, verdict):
    assert Line("a", "fast", "NMI", paper=0.02, ours=ours, goal="highest", decimals=2).verdict == verdict


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
    assert "Size: quick. Worse than the paper in 1 of 2 lines that can be." in page
    assert "| a | fast | cost | 1.23 | 1.2349 ± 0.01 | +0.4% |  | 2 |  |" in page
    assert "Because." in page


def test_the_page_shows_a_full_run_rather_than_a_quick_one(tmp_path, made_up_experiments):
    for size in ("--quick", "--full"):
        run_main(tmp_path, "odashima/table9", size)
    run_main(tmp_path, "report")
    assert "Size: full. Worse than the paper in 2 of 3 lines that can be." in (tmp_path / "page.md").read_text()


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


@pytest.mark.parametrize("alone", ["list", "report"])
def test_words_that_stand_alone_are_refused_beside_names(alone, capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/table5", alone])
    assert f"{alone!r} stands alone" in capsys.readouterr().err


def test_all_includes_what_is_named_beside_it(tmp_path, made_up_experiments, capsys):
    run_main(tmp_path, "all", "odashima/table9")
    assert capsys.readouterr().out.count("odashima/table9 (quick)") == 1


def test_missing_messages_are_answered_with_where_and_how(monkeypatch, tmp_path):
    def no_network(**_):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", no_network)
    monkeypatch.setenv("KFREE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="20newsgroups_4cat.csv.gz is not in KFREE_DATA") as caught:
        newsgroups.messages()
    assert "no network" in str(caught.value)
