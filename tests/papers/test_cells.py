"""Kept parts of long tables: nothing is made twice, other versions and parameters are, and time may run out."""

import pytest

import kfree
from reproduce import __main__ as runner
from reproduce import cells
from reproduce.experiments import EXPERIMENTS
from reproduce.result import Experiment, Result
from reproduce.table import Line


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Opens the same table again, as a later run would."""
    monkeypatch.setattr(cells, "FOLDER", tmp_path / "cells")
    return lambda: cells.Cells("table", ["method", "seed"], ["cost", "seconds"])


def never():
    raise AssertionError("this cell is kept")


def test_a_later_run_finds_what_was_made(table):
    first = table()
    made = first.get(lambda: {"cost": 1 / 3, "seconds": 2}, "slow, exact", 0)
    assert made == {"cost": 1 / 3, "seconds": 2.0}
    assert first.get(never, "slow, exact", 0) == made
    assert table().get(never, "slow, exact", 0) == made


def test_other_parameters_and_another_version_are_made_anew(table, monkeypatch):
    for cost, parameters in enumerate([("slow", 0), ("slow", 1), ("fast", 0)]):
        assert table().get(lambda cost=cost: {"cost": cost, "seconds": 0}, *parameters)["cost"] == cost
    monkeypatch.setattr(kfree, "__version__", "99.0")
    assert table().get(lambda: {"cost": 7, "seconds": 0}, "slow", 0)["cost"] == 7


def test_a_cell_that_fails_is_not_kept(table):
    with pytest.raises(AssertionError):
        table().get(never, "slow", 0)
    assert table().get(lambda: {"cost": 1, "seconds": 0}, "slow", 0)["cost"] == 1


def test_out_of_time_kept_cells_are_shown_and_the_table_is_called_a_part(table, tmp_path, monkeypatch, capsys):
    def run(quick):
        found, note = cells.several(
            [table().get(lambda: {"cost": 5, "seconds": 1}, "slow", seed) for seed in (0, 1)], 2
        )
        return Result([Line("a", "slow", "cost", 5.0, one["cost"], note=note) for one in found])

    monkeypatch.setitem(EXPERIMENTS, "odashima/table9", Experiment("made up", run))
    table().get(lambda: {"cost": 4, "seconds": 1}, "slow", 0)
    options = ["odashima/table9", "--out", str(tmp_path)]
    runner.main([*options, "--minutes", "1e-9"])
    assert "Out of time: 1 parts of this table are missing." in capsys.readouterr().out
    assert "4.0" in (tmp_path / "odashima-table9.part.csv").read_text()
    assert "1 of 2" in (tmp_path / "odashima-table9.part.csv").read_text()
    runner.main(options)
    assert "1 of 2" not in (tmp_path / "odashima-table9.full.csv").read_text()


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "soon"])
def test_minutes_are_a_positive_number(minutes, capsys):
    with pytest.raises(SystemExit):
        runner.main(["odashima/table5", "--minutes", minutes])
    assert "--minutes" in capsys.readouterr().err
