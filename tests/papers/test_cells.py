"""Kept parts of long tables: nothing is made twice, what is of other code is, and time may run out."""

import csv
from datetime import date
from functools import partial
from types import SimpleNamespace

import pytest

from reproduce import __main__ as runner
from reproduce import cells
from reproduce.code import code_of
from reproduce.experiments import EXPERIMENTS
from reproduce.result import Experiment, Result
from reproduce.table import Line


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Opens the same table again, as a later run would."""
    monkeypatch.setattr(cells, "FOLDER", tmp_path / "cells")
    return lambda: cells.Cells("table", ["method", "seed"], ["cost", "seconds"])


def never(*_):
    raise AssertionError("this cell is kept")


def made(cost, seconds):
    return {"cost": cost, "seconds": seconds}


@pytest.fixture
def code(monkeypatch):
    """The hash of the code, which a test may change."""
    present = {"hash": "aaa"}
    monkeypatch.setattr(cells, "_code", lambda *_: present["hash"])
    return present


def test_a_later_run_finds_what_was_made(table, code):
    first = table()
    one = first.get(partial(made, 1 / 3, 2), "slow, exact", 0)
    assert one == {"cost": 1 / 3, "seconds": 2.0, "stale": None}
    assert first.get(partial(never), "slow, exact", 0) == one
    assert table().get(partial(never), "slow, exact", 0) == one


def test_other_parameters_and_other_code_are_made_anew(table, code):
    for cost, parameters in enumerate([("slow", 0), ("slow", 1), ("fast", 0)]):
        assert table().get(partial(made, cost, 0), *parameters)["cost"] == cost
    code["hash"] = "bbb"
    assert table().get(partial(made, 7, 0), "slow", 0)["cost"] == 7
    code["hash"] = "aaa"
    assert table().get(partial(never), "slow", 0)["cost"] == 0


def test_a_cell_says_by_what_when_and_where_it_was_made(table, tmp_path):
    table().get(partial(made, 1, 0), "slow", 0)
    with (tmp_path / "cells" / "table.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["code"] == code_of(made)
    assert row["date"] == date.today().isoformat()
    assert row["commit"]
    assert "cores" in row["machine"]


def test_a_cell_that_fails_is_not_kept(table, code):
    with pytest.raises(AssertionError):
        table().get(partial(never), "slow", 0)
    assert table().get(partial(made, 1, 0), "slow", 0)["cost"] == 1


def test_out_of_time_the_latest_cell_of_other_code_is_shown_and_said_to_be_stale(table, code, monkeypatch):
    for place, present in enumerate(("aaa", "bbb", "ccc")):
        code["hash"] = present
        table().get(partial(made, place, 0), "slow", 0)
    code["hash"] = "ddd"
    monkeypatch.setattr(cells.CLOCK, "is_over", lambda: True)
    stale, missing = (table().get(partial(never), "slow", seed) for seed in (0, 1))
    assert stale == {"cost": 2.0, "seconds": 0.0, "stale": "ccc"}
    assert missing is None
    assert cells.age_of(stale) == ", by earlier code"
    assert cells.several([stale, missing], 2, "fits") == ([stale], "1 of 2 fits, 1 by earlier code")


def test_a_share_of_the_stale_cells_is_made_again_and_all_that_are_missing(table, code, monkeypatch):
    monkeypatch.setattr(cells, "provenance", SimpleNamespace(provenance=dict))  # which asks git
    opened = table()
    for seed in range(200):
        opened.get(partial(made, 1, 0), "slow", seed)
    code["hash"] = "bbb"
    for again, least, most in ((0.0, 0, 0), (0.25, 30, 70)):
        cells.CLOCK.start(again=again)
        found = [opened.get(partial(made, 1, 0), "slow", seed)["stale"] for seed in range(201)]
        assert found[-1] is None
        assert least <= found[:-1].count(None) <= most
        assert found.count("aaa") == cells.CLOCK.n_left_out
    cells.CLOCK.start()


def test_versions_of_a_cell_are_compared_but_for_their_times(table, code):
    cells.CLOCK.start()
    for cost, seconds, seed in ((float("nan"), 1, 0), (2.0, 1, 1), (3.0, 1, 2)):
        table().get(partial(made, cost, seconds), "slow", seed)
    assert (cells.CLOCK.n_again, cells.CLOCK.n_same) == (0, 0)
    code["hash"] = "bbb"
    for cost, seconds, seed in ((float("nan"), 5, 0), (2.0 + 1e-8, 1, 1), (3.0 + 1e-14, 2, 2)):
        table().get(partial(made, cost, seconds), "slow", seed)
    assert (cells.CLOCK.n_again, cells.CLOCK.n_same) == (3, 2)


def test_out_of_time_kept_cells_are_shown_and_the_table_is_called_a_part(table, tmp_path, monkeypatch, capsys):
    def run(quick):
        found, note = cells.several([table().get(partial(made, 5, 1), "slow", seed) for seed in (0, 1)], 2, "fits")
        return Result([Line("a", "slow", "cost", 5.0, one["cost"], note=note) for one in found])

    monkeypatch.setitem(EXPERIMENTS, "odashima/table9", Experiment("made up", run))
    table().get(partial(made, 5, 1), "slow", 0)
    options = ["odashima/table9", "--out", str(tmp_path)]
    runner.main([*options, "--minutes", "1e-9"])
    assert "Not made in this run: 1 parts of this table." in capsys.readouterr().out
    assert "5.0" in (tmp_path / "odashima-table9.part.csv").read_text()
    assert "1 of 2" in (tmp_path / "odashima-table9.part.csv").read_text()
    runner.main(options)
    assert "1 of 2" not in (tmp_path / "odashima-table9.full.csv").read_text()


@pytest.mark.parametrize("share", ["-0.1", "1.5", "nan", "half"])
def test_a_share_lies_between_0_and_1(share, capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/table5", "--again", share])
    assert "--again" in capsys.readouterr().err


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "soon"])
def test_minutes_are_a_positive_number(minutes, capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/table5", "--minutes", minutes])
    assert "--minutes" in capsys.readouterr().err
