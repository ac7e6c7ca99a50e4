"""The runner of reproductions: tables, sizes, missing data, the page."""

import csv
import json

import pytest
from scipy import stats

from reproduce import __main__ as runner
from reproduce.experiments import EXPERIMENTS
from reproduce.kurihara_welling import newsgroups
from reproduce.result import Experiment, Result
from reproduce.table import UNTESTED, WITHIN_CHANCE, WORSE, Line, as_text, half_width


def made_up():
    return [
        Line("a", "fast", "cost", paper=1.23, ours=1.2349, spread=0.01, seconds=2.0),
        Line("b", "slow", "cost", paper=1.23, ours=1.236, note="k=3"),
        Line("c", "slow", "cost", paper=1.23, paper_spread=0.05, paper_n=5, ours=1.26, spread=0.01, n=5),
        Line("d", "slow", "clusters", paper=4, ours=8, goal=None),
    ]


def test_worse_means_worse_in_the_papers_digits():
    assert [line.verdict for line in made_up()] == ["", WORSE, WITHIN_CHANCE, ""]


@pytest.mark.parametrize(("ours", "verdict"), [(0.0151, ""), (0.0149, "WORSE"), (0.03, "")])
def test_decimals_count_from_the_point(ours, verdict):
    assert Line("a", "fast", "NMI", paper=0.02, ours=ours, goal="highest", decimals=2).verdict == verdict


@pytest.mark.parametrize(
    ("goal", "verdicts"),
    [("highest", [WORSE, WITHIN_CHANCE, "", ""]), (10.0, [WORSE, WITHIN_CHANCE, "", WORSE])],
)
def test_worse_depends_on_the_goal(goal, verdicts):
    ours = [7.0, 8.5, 9.0, 13.0]
    spread = {"paper_spread": 0.9, "paper_n": 10, "spread": 0.3, "n": 10}
    lines = [Line("a", "fast", "found", paper=9.0, ours=one, goal=goal, **spread) for one in ours]
    assert [line.verdict for line in lines] == verdicts


@pytest.mark.parametrize(("paper_n", "n"), [(10, 10), (5, 20), (None, 12)])
@pytest.mark.parametrize("kind", ["interval", "deviation"])
def test_chance_is_judged_by_the_t_test_of_the_values(kind, paper_n, n, rng):
    """Against SciPy, from the values themselves; a printed number without repetitions is a hypothesis about a mean."""
    ours = rng.normal(1.0, 0.3, n)
    theirs = None if paper_n is None else rng.normal(1.2, 0.5, paper_n)
    spread_of = half_width if kind == "interval" else lambda values: values.std(ddof=1)
    paper = {"paper": 1.2} if theirs is None else {"paper": theirs.mean(), "paper_spread": spread_of(theirs)}
    line = Line("a", "b", "c", ours=ours.mean(), spread=spread_of(ours), n=n, paper_n=paper_n, spread_is=kind, **paper)
    test = stats.ttest_1samp(ours, 1.2) if theirs is None else stats.ttest_ind(ours, theirs, equal_var=False)
    assert line.p_value == pytest.approx(test.pvalue)


def test_one_repetition_of_several_is_not_tested():
    assert Line("a", "b", "NMI", paper=0.9, ours=0.8, n=1, goal="highest").verdict == UNTESTED
    assert Line("a", "b", "NMI", paper=0.9, ours=0.8, goal="highest").verdict == WORSE


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
    assert c.split()[:7] == ["c", "slow", "cost", "1.23", "±", "0.05", "1.26"]
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
    assert [row["verdict"] for row in rows] == ["", WORSE, WITHIN_CHANCE, ""]


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
    assert "Size: quick. Worse than the paper in 1 of 2 lines that can be compared, by more than chance in 1." in page
    assert "| a | fast | cost | 1.23 | 1.2349 ± 0.01 | +0.4% |  | 2 |  |" in page
    assert "Because." in page


def test_the_page_shows_a_full_run_rather_than_a_quick_one(tmp_path, made_up_experiments):
    for size in ("--quick", "--full"):
        run_main(tmp_path, "odashima/table9", size)
    run_main(tmp_path, "report")
    page = (tmp_path / "page.md").read_text()
    assert "Size: full. Worse than the paper in 2 of 3 lines that can be compared, by more than chance in 1." in page
    assert "± is half the width of the 95 % confidence interval of a mean. Made on " in page


def test_the_page_says_by_which_code_a_table_was_made_and_whether_that_changed(tmp_path, made_up_experiments):
    def page():
        run_main(tmp_path, "report")
        return (tmp_path / "page.md").read_text()

    run_main(tmp_path, "odashima/table9")
    assert "which had not changed when this page was written." in page()
    path = tmp_path / "odashima-table9.full.json"
    made = json.loads(path.read_text())
    assert made.keys() == {"code", "commit", "date", "machine"}
    path.write_text(json.dumps(made | {"code": "0" * 12}))
    assert "by code 000000000000, which has changed since." in page()
    path.unlink()
    assert "Made on a machine that was not noted, before numbers carried a hash of their code." in page()


def test_the_page_says_when_and_where_cells_were_made(tmp_path, monkeypatch, made_up_experiments):
    monkeypatch.setattr("reproduce.cells.FOLDER", tmp_path)
    kept = ["code,commit,date,machine,seed", "abc,c1,2026-01-02,A,0", "unknown,c0,2026-01-01,unknown,1"]
    (tmp_path / "table.csv").write_text("\n".join(kept))
    made_up = Experiment("made up", lambda quick: Result([Line("a", "fast", "cost", 1.0, 1.0)]), cells="table")
    monkeypatch.setitem(EXPERIMENTS, "odashima/table9", made_up)
    run_main(tmp_path, "odashima/table9")
    run_main(tmp_path, "report")
    said = "from cells of table.csv, which keeps 2, made from 2026-01-01 to 2026-01-02, at commits c0, c1, on A, or on "
    said += "a machine that was not noted; 1 of them carry no hash of their code."
    assert said in (tmp_path / "page.md").read_text()
    path = tmp_path / "odashima-table9.full.json"
    for same, what in ((1234, "all"), (1233, "1,233")):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"made_again": 1234, "same": same}))
        run_main(tmp_path, "report")
        said = "1,234 cells of this table were made by more than one version of the code, "
        assert f"{said}{what} with the same numbers to nine digits." in (tmp_path / "page.md").read_text()


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


@pytest.mark.parametrize("alone", ["list", "data", "map", "report"])
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


def test_the_page_counts_lines_that_are_missing_or_stale(tmp_path, monkeypatch, made_up_experiments):
    def run(quick):
        lines = [Line("a", "fast", "cost", 1.0, 1.0), Line("b", "fast", "cost", 1.0, None, note="no time was left")]
        lines += [Line("c", "fast", "cost", 1.0, 1.0, note="3 of 10 data sets, 1 by earlier code")]
        return Result(lines)

    monkeypatch.setitem(EXPERIMENTS, "odashima/table9", Experiment("made up", run, stand_in=", rows made up"))
    run_main(tmp_path, "odashima/table9")
    run_main(tmp_path, "report")
    said = "1 have no number yet, 1 have only part of their repetitions, 1 have cells of earlier code."
    assert f"Size: full, rows made up. 3 lines, of which {said}" in (tmp_path / "page.md").read_text()
