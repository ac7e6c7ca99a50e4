"""Output: in row order, in every format, as the input was written; and whole or not at all."""

import datetime
import io
import json
import os
import resource
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.cli import COMMANDS
from tests.cli.conftest import outcome, rows_of, told


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


def test_a_path_needs_no_output(blobs_csv, here, capsys, monkeypatch):
    """It writes its steps only where --output asks for them."""
    facts = told(["path", "data*.csv", "--no-encode"], capsys)
    assert facts["suggested"]["k"] == 3
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((here / "data.csv").read_bytes())))
    status, out, err = outcome(["path", "-", "--no-encode"], capsys)
    assert (status, "suggested: 3 cluster(s)" in out) == (0, True), err
    assert sorted(path.name for path in here.iterdir()) == ["data.csv"]
    status, out, err = outcome(["path", "data.csv", "--no-encode", "-o", "-"], capsys)
    assert (status, out.splitlines()[0][:6], "suggested: 3" in err) == (0, "k,lam,", True)
    status, _, err = outcome(["path", "data.csv", "--format", "xlsx"], capsys)
    assert (status, "--format xlsx is that of --output; give --output, too" in err) == (2, True)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx"])
def test_dates_of_years_that_python_does_not_have_are_written(ending, here, capsys):
    import pyarrow
    import pyarrow.parquet

    when = pyarrow.array([2**60, 0]).cast(pyarrow.timestamp("us"))
    pyarrow.parquet.write_table(pyarrow.table({"x": [0, 30], "when": when}), "t.parquet")
    line = ["cluster", "t.parquet", "--no-encode", "--columns", "x", "--lam", "1", "-o", f"out.{ending}", "--quiet"]
    status, _, err = outcome(line, capsys)
    assert (status, err) == (0, "")
    if ending == "csv":
        assert [row["when"][:5] for row in rows_of("out.csv")] == ["38504", "1970-"]


def test_penalties_without_an_end_are_written_in_every_format(blobs_csv, here, capsys):
    """The first step of a path has no upper end, and JSON and sheets have no number for that."""
    openpyxl = pytest.importorskip("openpyxl")
    for ending in ("csv", "jsonl", "xlsx", "parquet"):
        assert outcome(["path", "data.csv", "--no-encode", "--quiet", "-o", f"steps.{ending}"], capsys)[0] == 0
    assert rows_of("steps.csv")[0]["lam_high"] == "inf"
    assert pd.read_parquet("steps.parquet")["lam_high"][0] == np.inf
    first = (here / "steps.jsonl").read_text().splitlines()[0]
    assert json.loads(first, parse_constant=pytest.fail)["lam_high"] is None
    cell = (
        openpyxl.load_workbook("steps.xlsx").worksheets[0].cell(2, 1 + list(rows_of("steps.csv")[0]).index("lam_high"))
    )
    assert (cell.data_type, cell.value) == ("s", "inf")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_is_written_where_no_output_is_given(command, capsys):
    status, out, _ = outcome([command, "--help"], capsys)
    assert status == 0
    assert ("(default: INPUT.clusters.csv" in " ".join(out.split())) == (command not in ("path", "demo"))


# What commands write beside their labels, or steps.
OUTPUTS = {
    "cluster data.csv --lam 60": ["save", "report", "plot"],
    "tree data.csv": ["save", "report", "plot"],
    "levels data.csv --levels 2,3": ["save", "report", "tree"],
    "path data.csv": ["report", "plot"],
    "hdp data.csv --group shop": ["save", "report"],
    "graph links.csv": ["save", "report", "plot"],
    "stream data.csv --lam 60": ["save"],
}
WORDS = {"save": "model", "report": "page", "plot": "picture", "tree": "tree", "output": "labels"}


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (line, option)
        for line, options in OUTPUTS.items()
        for option in [*options, "output"]
        if "stream" not in line or option == "save"
    ],
)
def test_one_output_that_fails_leaves_the_others(line, option, blobs_csv, here, capsys, monkeypatch):
    """A folder that is gone when one of them is written."""
    monkeypatch.setattr("kfree.cli.tables._require_place", lambda option, path: None)
    (here / "links.csv").write_text("a,b\n" + "".join(f"n{i},n{i + 1}\nn{i},n{i + 2}\n" for i in range(12)))
    files = {one: f"written.{'png' if one == 'plot' else one}" for one in [*OUTPUTS[line], "output"]}
    asked = [part for one, path in files.items() for part in (f"--{one}", f"no/such/{path}" if one == option else path)]
    status, out, err = outcome([*line.split(), *asked], capsys)
    word = {"path": "steps", "graph": "nodes"}.get(line.split()[0], "labels") if option == "output" else WORDS[option]
    assert status == 1
    said = f"the {word} {'were' if word.endswith('s') else 'was'} not written: no/such/{files[option]} could not be"
    assert said in err
    assert sorted(path.name for path in here.glob("written*")) == sorted(set(files.values()) - {files[option]})
    for path in files.values():
        assert (f": {path}\n" in out) == (path != files[option])


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("cluster", "output"),
        ("cluster", "save"),
        ("cluster", "plot"),
        ("predict m.kfree", "output"),
        ("tree", "report"),
    ],
)
def test_an_output_without_a_place_is_refused_before_anything_is_read(line, option, here, capsys):
    (here / "empty.csv").write_text("")
    (here / "folder.png").mkdir()
    command, *model = line.split()
    status, _, err = outcome([command, *model, "empty.csv", f"--{option}", "no/such/file.png"], capsys)
    assert (status, f"--{option} no/such/file.png: there is no folder no/such; create it" in err) == (2, True)
    status, _, err = outcome([command, *model, "empty.csv", f"--{option}", "folder.png"], capsys)
    assert (status, f"--{option} folder.png is a folder; give the name of a file" in err) == (2, True)


@pytest.mark.parametrize("line", ["cluster", "tree", "path", "graph"])
def test_a_picture_of_no_known_kind_is_refused_before_anything_is_read(line, here, capsys):
    status, _, err = outcome([line, "nothing.csv", "--plot", "p.foo"], capsys)
    assert (status, "--plot p.foo: the ending sets the format; use one of .png, .svg" in err) == (2, True)
    status, _, err = outcome(["demo", "--output", "p.foo"], capsys)
    assert (status, "--output p.foo: the ending sets the format; use one of .png, .svg" in err) == (2, True)


def test_pictures_are_what_their_endings_say(here, capsys):
    assert outcome(["demo", "--output", "demo.svg", "--report", "demo.html"], capsys)[0] == 0
    assert b"<svg" in (here / "demo.svg").read_bytes()[:2000]


def test_a_picture_without_matplotlib_is_refused_before_anything_is_read(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, _, err = outcome(["cluster", "nothing.csv", "--plot", "p.png"], capsys)
    assert (status, 'plots need matplotlib: pip install "kfree[plot]"' in err) == (1, True)


def test_a_reader_that_goes_away_is_no_crash(blobs_csv):
    command = f"{sys.executable} -m kfree cluster data.csv --lam 60 -o - --quiet | head -c 20"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("a,b,c,shop")
    assert "Traceback" not in done.stderr


NAMES = {0: "Young, rich", 1: '=HYPERLINK("x")'}


@pytest.fixture
def named(here, rng):
    """named.kfree: two clusters with names that a cell cannot hold as they are; xy.csv: rows for it."""
    kind = np.arange(40) % 2
    table = pd.DataFrame({"x": 20 * kind + rng.normal(size=40), "y": rng.normal(size=40), "who": "a; b"})
    table.to_csv("xy.csv", index=False)
    made = kfree.cluster(table, columns=["x", "y"], k=2).rename(NAMES)
    made.save("named.kfree")
    return table, made.predict(table, named=True).tolist()


@pytest.mark.parametrize("safe", [False, True], ids=["as they are", "safe"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("source", ["text", "standard input", "parquet"])
def test_names_of_clusters_are_cells(source, delimiter, safe, named, here, capsys, monkeypatch):
    table, names = named
    table.to_csv("new.csv", index=False, sep=delimiter)
    table.to_parquet("new.parquet")
    given = {"text": "new.csv", "standard input": "-", "parquet": "new.parquet"}[source]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((here / "new.csv").read_bytes())))
    line = ["predict", "named.kfree", given, "-o", "out.csv", "--quiet", *["--safe-cells"] * safe]
    status, _, err = outcome(line, capsys)
    assert status == 0, err
    written = pd.read_csv("out.csv", sep="," if source == "parquet" else delimiter)
    assert written.columns.tolist() == ["x", "y", "who", "cluster", "cluster_name"]
    assert written["cluster_name"].tolist() == [f"'{name}" if safe and name[0] == "=" else name for name in names]


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "jsonl", "tsv"])
def test_names_of_clusters_are_cells_of_every_format(ending, named, here, capsys):
    status, _, err = outcome(["predict", "named.kfree", "xy.csv", "-o", f"out.{ending}", "--quiet"], capsys)
    assert status == 0, err
    readers = {"parquet": pd.read_parquet, "xlsx": pd.read_excel, "jsonl": lambda path: pd.read_json(path, lines=True)}
    written = readers.get(ending, lambda path: pd.read_csv(path, sep="\t"))(f"out.{ending}")
    assert written["cluster_name"].tolist() == named[1]
    assert written["who"].tolist() == ["a; b"] * 40
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        cells = openpyxl.load_workbook("out.xlsx").worksheets[0].iter_rows(min_row=2, values_only=False)
        assert {row[-1].data_type for row in cells} == {"s"}


@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_a_file_that_is_called_tsv_has_tabs(source, here, capsys):
    table = pd.DataFrame({"x": [1.0, 30.0], "note": ["a,b", 'c\t"d"']})
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    line = ["cluster", f"t.{source}", "--no-encode", "--lam", "1", "--columns", "x", "-o", "out.tsv", "--quiet"]
    assert outcome(line, capsys)[0] == 0
    assert (here / "out.tsv").read_text() == 'x\tnote\tcluster\n1.0\ta,b\t0\n30.0\t"c\t""d"""\t1\n'
    assert outcome(["path", "t.csv", "--columns", "x", "-o", "steps.tsv", "--quiet"], capsys)[0] == 0
    assert (here / "steps.tsv").read_text().startswith("k\tlam\t")


def test_a_carriage_return_in_a_cell_ends_no_row(here, capsys):
    pd.DataFrame({"x": [1.0, 30.0], "note": ["a\rb", "c"]}).to_parquet("t.parquet")
    line = ["cluster", "t.parquet", "--lam", "1", "--columns", "x", "-o", "out.csv", "--quiet"]
    assert outcome(line, capsys)[0] == 0
    assert [row["note"] for row in rows_of("out.csv")] == ["a\rb", "c"]


def test_scores_have_the_decimal_mark_of_the_file(here, capsys):
    (here / "t.csv").write_text("a;b\n1,5;2\n2,5;3\n90,25;4\n91;5\n")
    assert outcome(["cluster", "t.csv", "--no-encode", "--k", "2", "--scores", "--quiet"], capsys)[0] == 0
    assert all("." not in cell for row in rows_of("t.clusters.csv") for cell in row.values())
    written = pd.read_csv("t.clusters.csv", sep=";", decimal=",")
    assert written["confidence"].between(0.5, 1).all()
    assert written["a"].tolist() == [1.5, 2.5, 90.25, 91.0]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "jsonl"])
def test_rows_without_a_cluster_have_no_name(ending, here, capsys):
    table = pd.DataFrame({"x": [1.0, np.nan, 30.0, 31.0], "y": 1.0})
    table.to_csv("t.csv", index=False)
    kfree.cluster(table, missing="drop", prepare="none", k=2).rename({0: "many", 1: "one"}).save("m.kfree")
    assert outcome(["predict", "m.kfree", "t.csv", "-o", f"out.{ending}", "--quiet"], capsys)[0] == 0
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}
    written = readers.get(ending, lambda path: pd.read_json(path, lines=True))(f"out.{ending}")
    assert written["cluster_name"].fillna("none").tolist() == ["one", "none", "many", "many"]


def test_a_name_that_the_encoding_lacks_is_named(named, here, capsys):
    kfree.load("named.kfree").rename({1: "Жанна"}).save("named.kfree")
    named[0].assign(who="é").to_csv("new.csv", index=False, encoding="cp1252")
    status, _, err = outcome(["predict", "named.kfree", "new.csv", "-o", "out.csv"], capsys)
    assert status == 1
    assert "new.csv is written in cp1252, which lacks characters of 'Жанна' (cluster_name). Give" in err
    assert "--format jsonl, parquet or xlsx" in err
    assert not (here / "out.csv").exists()
    assert outcome(["predict", "named.kfree", "new.csv", "-o", "out.jsonl"], capsys)[0] == 0


@pytest.mark.parametrize("cell", ["=" + "x" * 200_000, '"=' + 'x, ""y""' * 30_000 + '"'])
def test_long_cells_are_made_safe(cell, here, capsys):
    lines = ["x,note", *(f"{i},{i % 7} words" for i in range(300)), f"900,{cell}"]
    (here / "t.csv").write_text("\n".join(lines) + "\n")
    line = ["cluster", "t.csv", "--lam", "1e4", "--columns", "x", "--safe-cells", "-o", "out.csv", "--quiet"]
    status, _, err = outcome(line, capsys)
    assert status == 0, err
    assert pd.read_csv("out.csv")["note"].iloc[-1] == "'" + pd.read_csv("t.csv")["note"].iloc[-1]


# A column of two files of a folder, and what a Parquet file of both holds.
OF_TWO_FILES = {
    "whole and decimal": ("5", "7.5", [5.0, 7.5]),
    "decimal and whole": ("7.5", "5", [7.5, 5.0]),
    "number and text": ("5", "word", ["5", "word"]),
    "text and number": ("word", "7.5", ["word", "7.5"]),
    "codes in the second": ("8001", "007", ["8001", "007"]),
    "codes in the first": ("007", "8001", ["007", "8001"]),
    "empty and number": ("", "7", [None, 7]),
    "number and empty": ("7", "", [7, None]),
    "empty and date": ("", "2024-01-31", [None, datetime.date(2024, 1, 31)]),
    "date and time": ("2024-01-31", "2024-01-31 10:00", [datetime.datetime(2024, 1, 31, h) for h in (0, 10)]),
    "yes and number": ("true", "2", [1.0, 2.0]),
    "whole and large": ("5", "9007199254740993", [5, 9007199254740993]),
}


@pytest.mark.parametrize("name", OF_TWO_FILES)
def test_a_folder_becomes_one_parquet_file_whatever_its_files_hold(name, here, capsys):
    import pyarrow.parquet

    first, second, expected = OF_TWO_FILES[name]
    (here / "folder").mkdir()
    (here / "folder/a.csv").write_text(f"x,n\n1,{first}\n")
    (here / "folder/b.csv").write_text(f"x,n\n30,{second}\n")
    line = ["cluster", "folder", "--no-encode", "--columns", "x", "--lam", "1", "-o", "out.parquet", "--quiet"]
    status, _, err = outcome(line, capsys)
    assert (status, err) == (0, "")
    assert pyarrow.parquet.read_table("out.parquet")["n"].to_pylist() == expected


def test_a_summary_is_printed_in_every_encoding(blobs_csv, here):
    encode = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "kfree", "cluster", "data.csv", "--lam", "60"]
    for more, expected in ([], b"-"), (["--json"], b'"n_clusters": 3'):
        done = subprocess.run([*command, *more], capture_output=True, env=os.environ | encode)
        assert (done.returncode, done.stderr) == (0, b"")
        assert expected in done.stdout
        assert b"\\u2212" not in done.stdout or more


@pytest.mark.parametrize(
    ("line", "stream", "said"),
    [
        ("cluster - -o out.csv", "stdin", "kfree: standard input is closed; give a file"),
        ("stream - --lam 3 -o out.csv", "stdin", "kfree: standard input is closed; give a file"),
        ("cluster data.csv -o -", "stdout", "standard output is closed; give a file by --output"),
    ],
)
def test_a_stream_that_is_closed_is_named(line, stream, said, blobs_csv, here, capsys, monkeypatch):
    monkeypatch.setattr(sys, stream, None)
    status, _, err = outcome(line.split(), capsys)
    assert (status, said in err) == (1, True), err


def test_a_file_whose_name_could_be_a_pattern_needs_no_output(blobs_csv, here, capsys):
    (here / "data.csv").rename(here / "data[1].csv")
    assert outcome(["cluster", "data[1].csv", "--lam", "60", "--quiet"], capsys)[0] == 0
    assert (here / "data[1].clusters.csv").exists()


def test_a_folder_of_text_and_other_files_becomes_one_csv_file(here, capsys):
    (here / "folder").mkdir()
    (here / "folder/a.csv").write_text("x,n\n1,5\n")
    pd.DataFrame({"x": [30], "n": [7]}).to_parquet(here / "folder/b.parquet")
    line = ["cluster", "folder", "--no-encode", "--columns", "x", "--lam", "1", "-o", "out.csv", "--quiet"]
    assert outcome(line, capsys)[::2] == (0, "")
    assert (here / "out.csv").read_text() == "x,n,cluster\n1,5,0\n30,7,1\n"


def test_what_no_parquet_column_holds_is_refused_by_name(here, capsys):
    (here / "folder").mkdir()
    (here / "folder/a.csv").write_text("x,n\n1,9007199254740993\n")
    (here / "folder/b.csv").write_text("x,n\n30,7.5\n")
    line = ["cluster", "folder", "--no-encode", "--columns", "x", "--lam", "1", "-o", "out.parquet", "--quiet"]
    status, _, err = outcome(line, capsys)
    assert status == 1
    assert "folder: values of column 'n' of its files do not fit in one column of a Parquet file (Integer value" in err
    assert "Give --format csv or jsonl" in err
    assert not (here / "out.parquet").exists()
