"""Output: in row order, in every format, as the input was written; and whole or not at all."""

import json
import resource
import subprocess
import sys

import numpy as np
import pytest

from tests.cli.conftest import outcome, rows_of


@pytest.fixture
def labelled(blobs_csv, capsys):
    outcome(["cluster", "data.csv", "--lam", "60", "--quiet", "-o", "expected.csv"], capsys)
    return [row["cluster"] for row in rows_of("expected.csv")]


def test_formats_hold_the_same_labels(labelled, here, capsys):
    import pyarrow.parquet

    for name in ("out.jsonl", "out.parquet"):
        assert outcome(["cluster", "data.csv", "--lam", "60", "--quiet", "-o", name], capsys)[0] == 0
    lines = [json.loads(line) for line in (here / "out.jsonl").read_text().splitlines()]
    assert [str(line["cluster"]) for line in lines] == labelled
    assert list(lines[0]) == ["a", "b", "c", "shop", "cluster"]
    table = pyarrow.parquet.read_table("out.parquet")
    assert [str(label) for label in table["cluster"].to_pylist()] == labelled
    assert table["a"].to_pylist() == [float(row["a"]) for row in rows_of("data.csv")]


def test_other_inputs_give_csv(labelled, here, capsys):
    import pyarrow
    import pyarrow.feather

    rows = rows_of("data.csv")
    X = np.array([[float(row[name]) for name in "abc"] for row in rows])
    np.save("array.npy", X)
    assert outcome(["cluster", "array.npy", "--lam", "60", "--quiet"], capsys)[0] == 0
    written = rows_of("array.clusters.csv")
    assert [row["cluster"] for row in written] == labelled
    assert [row["row"] for row in written] == [str(i) for i in range(1, 91)]
    pyarrow.feather.write_feather(pyarrow.table({name: X[:, j] for j, name in enumerate("abc")}), "t.arrow")
    assert outcome(["cluster", "t.arrow", "--lam", "60", "--quiet", "--format", "csv"], capsys)[0] == 0
    assert [row["cluster"] for row in rows_of("t.clusters.csv")] == labelled


def test_records_stay_as_they_were_written(here, capsys):
    text = 'a;note;b\r\n01,50;"x; ""y""\nz";2\r\n\r\n1,5;;7,25\r\n'
    (here / "t.csv").write_bytes(text.encode("cp1252"))
    assert outcome(["cluster", "t.csv", "--no-encode", "--lam", "1", "--quiet"], capsys)[0] == 0
    found = (here / "t.clusters.csv").read_bytes().decode("cp1252")
    assert found == 'a;note;b;cluster\r\n01,50;"x; ""y""\nz";2;0\r\n1,5;;7,25;1\r\n'


def test_an_input_without_names_gets_none(here, capsys):
    (here / "t.tsv").write_text("1\t2\n30\t40\n")
    assert outcome(["cluster", "t.tsv", "--no-encode", "--lam", "1", "--quiet"], capsys)[0] == 0
    assert (here / "t.clusters.tsv").read_text() == "1\t2\t0\n30\t40\t1\n"


def test_rows_that_were_left_out_have_no_label(here, capsys):
    (here / "t.csv").write_text("a,b\n1,2\n,5\n30,40\n")
    status, _, err = outcome(["cluster", "t.csv", "--no-encode", "--lam", "1", "--missing", "drop"], capsys)
    assert status == 0
    assert "left out 1 of 3 rows" in err
    assert [row["cluster"] for row in rows_of("t.clusters.csv")] == ["0", "", "1"]
    outcome(["cluster", "t.csv", "--no-encode", "--lam", "1", "--missing", "drop", "-o", "t.jsonl"], capsys)
    assert [json.loads(line)["cluster"] for line in (here / "t.jsonl").read_text().splitlines()] == [0, None, 1]


def test_a_column_named_cluster_is_kept(here, capsys):
    (here / "t.csv").write_text("a,cluster\n1,2\n30,40\n")
    assert outcome(["cluster", "t.csv", "--lam", "1", "--quiet", "--columns", "a"], capsys)[0] == 0
    assert list(rows_of("t.clusters.csv")[0]) == ["a", "cluster", "kfree_cluster"]


def test_a_directory_that_is_not_there_is_an_error(blobs_csv, capsys):
    for option in ("--output", "--save", "--report", "--plot"):
        status, _, err = outcome(["cluster", "data.csv", "--lam", "60", option, "no/such/file.png"], capsys)
        assert status == 1
        assert "no/such/file.png could not be written: No such file or directory. Nothing was written." in err


@pytest.mark.parametrize("option", ["--output", "--save", "--report"])
def test_a_full_disk_keeps_the_old_file(option, blobs_csv, here, capsys, monkeypatch):
    """No file may grow beyond a thousand bytes, which the system reports like a full disk."""
    (here / "out").write_text("old")
    command = ["cluster", "data.csv", "--lam", "60", option, "out"]
    command += [] if option == "--output" else ["--output", "-"]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep the half of a module that it could write
    _, most = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        status, _, err = outcome(command, capsys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert status == 1
    assert "out could not be written: File too large. The older file is kept." in err
    assert (here / "out").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "out"]


def test_a_reader_that_goes_away_is_no_crash(blobs_csv):
    command = f"{sys.executable} -m kfree.cli cluster data.csv --lam 60 -o - --quiet | head -c 20"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("a,b,c,shop")
    assert "Traceback" not in done.stderr
