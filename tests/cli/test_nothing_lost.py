"""Rows in are rows out, each with its own label; and no file is replaced that was not meant."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import kfree
from kfree.cli import output
from tests.cli.conftest import outcome, rows_of


@pytest.fixture
def pipes(here):
    """pipes.csv: 1,000 rows of two clusters, of which one has an inch mark in a cell that is not quoted."""
    lines = [f"pipe {i},{(i % 2) * 100 + i / 1000}" for i in range(1000)]
    lines[10] = '5" pipe,0.01'
    (here / "pipes.csv").write_text("\n".join(["name,x", *lines]) + "\n")
    return lines


@pytest.mark.parametrize(
    "command",
    ["cluster pipes.csv --no-encode --lam 50", "tree pipes.csv --no-encode --k 2", "predict m.kfree pipes.csv"],
)
def test_a_quote_in_an_unquoted_cell_is_a_character(command, pipes, capsys, here):
    if command.startswith("predict"):
        outcome(
            ["cluster", "pipes.csv", "--no-encode", "--lam", "50", "--save", "m.kfree", "-o", "other.csv", "--quiet"],
            capsys,
        )
    if command.startswith("tree"):
        (here / "pipes.csv").write_text("\n".join(["name,x", *pipes[:60]]) + "\n")
    status, _, err = outcome([*command.split(), "-o", "out.csv", "--quiet"], capsys)
    assert status == 0, err
    written = (here / "out.csv").read_text().splitlines()
    read = (here / "pipes.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in written] == read
    labels = [line.rpartition(",")[2] for line in written[1:]]
    assert labels[0] != labels[1]
    assert labels == [labels[i % 2] for i in range(len(labels))]


def test_labels_that_are_too_few_or_too_many_are_never_written(blobs_csv, here, capsys, monkeypatch):
    written = output.write_beside
    for change in (lambda labels: labels[:-1], lambda labels: np.append(labels, 0)):
        changed = lambda table, new, *rest, change=change: written(  # noqa: E731
            table, {name: change(values) for name, values in new.items()}, *rest
        )
        monkeypatch.setattr("kfree.cli.work.write_beside", changed)
        for name in ("out.csv", "out.parquet", "out.jsonl"):
            status, _, err = outcome(["cluster", "data.csv", "--lam", "60", "-o", name, "--quiet"], capsys)
            assert status == 1
            assert "has 90 rows" in err
            assert not (here / name).exists()


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_two_columns_of_one_name_are_refused(ending, here, capsys):
    table = pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([3.0, 9.0])], ["a", "a"])
    write = {".parquet": pa.parquet.write_table, ".arrow": pa.feather.write_feather, ".csv": pa.csv.write_csv}[ending]
    write(table, f"t{ending}")
    with pytest.raises(ValueError, match=rf"t\{ending} has two columns named 'a', number 1 and 2; rename one\.$"):
        kfree.open_rows(f"t{ending}")
    with pytest.raises(ValueError, match="two columns named 'a'"):
        kfree.open_rows(f"t{ending}", columns=["a"])
    status, _, err = outcome(["cluster", f"t{ending}"], capsys)
    assert status == 1
    assert "two columns named 'a'" in err


REPLACING = [
    "cluster --save",
    "cluster --report",
    "cluster --output",
    "cluster --plot",
    "tree --save",
    "graph --report",
]
REPLACING += ["stream --save", "hdp --report", "predict --output", "levels --tree", "path --plot"]


@pytest.mark.parametrize("line", REPLACING)
def test_no_output_replaces_the_input_or_another_output(line, blobs_csv, here, capsys):
    command, option = line.split()
    more = {"hdp": ["--group", "shop"], "stream": ["--lam", "3"]}.get(command, [])
    before = (here / "data.csv").read_bytes()
    os.symlink("data.csv", "link.csv")
    os.link("data.csv", "twin.csv")
    os.link("data.csv", "twin.png")
    files = ["data.csv"]
    if command == "predict":
        outcome(["cluster", "data.csv", "--lam", "60", "--save", "m.kfree", "-o", "-", "--quiet"], capsys)
        files = ["m.kfree", "data.csv"]
    for target in ["twin.png"] if option == "--plot" else ["data.csv", "./link.csv", "twin.csv", *files]:
        status, _, err = outcome([command, *files, *more, option, target], capsys)
        assert status == 2
        assert "would replace" in err
    status, _, err = outcome([command, *files, *more, option, "same.csv", "--output", "same.csv"], capsys)
    assert (status == 2) == (option != "--output")
    assert (here / "data.csv").read_bytes() == before


@pytest.mark.parametrize("command", ["cluster", "graph", "levels", "stream"])
def test_outputs_without_a_name_are_refused(command, blobs_csv, here, capsys):
    """Such as a variable of a shell that is not set: the model would not be written, in silence."""
    option = "--tree" if command == "levels" else "--save"
    for given, said in (("", "is empty; give the name of a file"), ("-", "is not written to standard output")):
        status, _, err = outcome([command, "data.csv", option, given], capsys)
        assert (status, f"{option} {said}" in err) == (2, True)
    assert [path.name for path in here.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    "line", ["cluster --id", "cluster --weight", "hdp --group", "tree --names", "cluster --id who --drop a --weight"]
)
def test_columns_without_a_name_are_refused(line, blobs_csv, here, capsys):
    command, *options = line.split()
    status, _, err = outcome([command, "data.csv", *options, ""], capsys)
    assert (status, f"argument {options[-1]}: '' names no column; give the name of one" in err) == (2, True)


@pytest.mark.parametrize("option", ["--columns", "--drop", "--categories", "--weights", "--geo"])
@pytest.mark.parametrize("given", ["", " , "])
def test_lists_without_a_name_are_refused(option, given, blobs_csv, here, capsys):
    status, _, err = outcome(["cluster", "data.csv", option, given], capsys)
    assert (status, f"argument {option}: {given!r} names no column; give names, separated by commas" in err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    "line", ["cluster data.csv -o t.csv.gz", "stream data.csv -o t.arrow", "path data.csv -o t.zip"]
)
def test_outputs_are_what_their_endings_say(line, blobs_csv, here, capsys):
    status, _, err = outcome(line.split(), capsys)
    assert status == 2
    assert f"{line.rpartition('.')[2]} is not written; use one of .csv, " in err
    status, _, err = outcome(["stream", "data.csv", "-o", "t.parquet"], capsys)
    assert (status, "a stream is written as csv or jsonl" in err) == (2, True)
    assert (
        outcome(
            [*line.split(), "--format", "csv", "--columns", "a,b,c", *(["--lam", "60"] if "path" not in line else [])],
            capsys,
        )[0]
        == 0
    )


def test_what_a_stream_lacks_is_not_called_a_damaged_file(blobs_csv, here, capsys):
    status, _, err = outcome(["stream", "data.csv"], capsys)
    assert status == 1
    assert "start with at least 100, or give lam as a number" in err
    assert "cannot be read" not in err


@pytest.mark.parametrize("command", ["cluster", "tree", "stream"])
def test_names_cannot_command_a_terminal(command, here, capsys, rng):
    evil = "x\x1b]0;owned\x07\x9b31m\u202e"
    rows = "".join(f"{a},{b},t{i}\n" for i, (a, b) in enumerate(rng.normal(size=(40, 2))))
    (here / f"{evil}.csv").write_text(f"{evil},b,{evil}text\n{rows}")
    more = ["--lam", "3"] if command != "tree" else []
    for extra in ([], ["--json"], ["--drop", f"no{evil}"], ["--columns", f"{evil}text"]):
        _, out, err = outcome([command, f"{evil}.csv", *more, *extra], capsys)
        assert out or err
        assert not set("\x1b\x07\x9b\u202e") & set(out + err)
    with pytest.raises(ValueError, match="does not hold numbers") as error:
        kfree.open_rows(f"{evil}.csv")
    assert not set("\x1b\x07\x9b\u202e") & set(str(error.value))


def test_safe_cells_are_no_formulas(here, capsys):
    cells = ["=1+1", "+cmd", "-2.5", "@sum", "plain", '"=quoted, ""x"""']
    lines = [f"{cell},{10 * i}" for i, cell in enumerate(cells)]
    (here / "t.csv").write_text("\n".join(["=name,x", *lines]) + "\n")
    assert outcome(["cluster", "t.csv", "--lam", "1", "--quiet"], capsys)[0] == 0
    assert [row["=name"] for row in rows_of("t.clusters.csv")] == [*cells[:5], '=quoted, "x"']
    expected = ["'=1+1", "'+cmd", "-2.5", "'@sum", "plain", '\'=quoted, "x"']
    pa.parquet.write_table(pa.csv.read_csv("t.csv"), "t.parquet")
    for name in ("t.csv", "t.parquet"):
        line = ["cluster", name, "--lam", "1", "--quiet", "--safe-cells", "-o", "out.csv"]
        assert outcome(line, capsys)[0] == 0
        assert [row["'=name"] for row in rows_of("out.csv")] == expected


def test_a_csv_without_header_or_with_semicolons_keeps_its_rows(here):
    (here / "t.csv").write_text("1,2\n3,4\n5,6\n")
    rows = kfree.open_rows("t.csv")
    assert rows.shape == (3, 2)
    (here / "t.csv").write_text("a;b\n1,5;2\n3;4\n")
    (chunk,) = kfree.open_rows("t.csv").chunks(0, 2, 2)
    assert chunk.X.tolist() == [[1.5, 2.0], [3.0, 4.0]]


def test_a_table_without_columns_is_refused(here):
    np.save("t.npy", np.empty((60, 0)))
    with pytest.raises(ValueError, match=r"t\.npy has no columns; give a table with at least one"):
        kfree.cluster("t.npy")


def test_npy_headers_with_negative_sizes_are_refused(here):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -2), }"
    header += b" " * (117 - len(header)) + b"\n"
    (here / "t.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64)
    with pytest.raises(ValueError, match=r"t\.npy cannot be read: it holds an array of shape \(-4, -2\)"):
        kfree.open_rows("t.npy")


def test_saving_a_model_with_yes_and_no(here, capsys, rng):
    rows = [f"{v},{['true', 'false'][int(v > 0)]},{'abc'[i % 3]}" for i, v in enumerate(rng.normal(size=60))]
    (here / "t.csv").write_text("\n".join(["x,yes,level", *rows]) + "\n")
    assert outcome(["cluster", "t.csv", "--encode", "--k", "2", "--save", "m.kfree", "--quiet"], capsys)[0] == 0
    assert outcome(["predict", "m.kfree", "t.csv", "-o", "again.csv", "--quiet"], capsys)[0] == 0
    assert rows_of("again.csv") == rows_of("t.clusters.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused_by_user(blobs_csv, here, capsys):
    (here / "data.csv").chmod(0)
    status, _, err = outcome(["cluster", "data.csv"], capsys)
    assert (status, "data.csv cannot be read: Permission denied" in err) == (1, True)


@pytest.mark.parametrize("place", ["builtins.open", "kfree.files.places.open"])
@pytest.mark.parametrize("line", ["cluster data.csv", "stream data.csv --lam 3"])
def test_what_the_system_refuses_is_told(line, place, blobs_csv, capsys, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(place, refuse, raising=False)
    status, _, err = outcome(line.split(), capsys)
    assert status == 1
    assert "data.csv cannot be read: Permission denied" in err


def test_a_directory_without_files_and_a_file_that_is_not_there(here, capsys):
    (here / "folder").mkdir()
    for name, said in (
        ("folder", "the folder 'folder' has no files"),
        ("nothing.csv", "no file matches 'nothing.csv'"),
    ):
        status, _, err = outcome(["cluster", name], capsys)
        assert status == 1
        assert said in err


def test_a_command_that_fails_ends_without_an_abort(blobs_csv, here, capsys):
    """An Arrow thread that drops a Python file while the interpreter ends aborts it; some of many runs would."""
    outcome(["cluster", "data.csv", "--no-encode", "--lam", "60", "--save", "m.kfree", "--quiet"], capsys)
    (here / "new.csv").write_text("a,b\n" + "1,2\n" * 200_000)
    command = [sys.executable, "-m", "kfree", "predict", "m.kfree", "new.csv"]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert "no column 'c' (a column of the model)" in done.stderr


def test_labels_of_a_stream_are_as_many_as_its_rows(here, capsys, monkeypatch):
    text = b'a,note\n1,"x\ny"\n2,5" pipe\n\n3,z\n'
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    status, _, err = outcome(["stream", "-", "--lam", "5", "--json", "--format", "jsonl", "-o", "s.jsonl"], capsys)
    assert status == 0, err
    assert [json.loads(line)["row"] for line in (here / "s.jsonl").read_text().splitlines()] == [1, 2, 3]
