"""Streams are read as files are: in any encoding, packed, with marks between thousands; and as they come."""

import gzip
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told

LINE = ["stream", "s.csv", "--lam", "60", "--save", "m.kfree"]


@pytest.fixture
def rows(rng):
    """90 rows of three clusters, with cents."""
    return (rng.normal(size=(90, 2)) + 3000.0 * np.eye(3)[np.arange(90) % 3][:, :2]).round(2)


def text(rows, form="{}", glue=";", end="\n"):
    return end.join(["größe;höhe".replace(";", glue), *(glue.join(map(form.format, row)) for row in rows.tolist()), ""])


def expected(rows):
    return kfree.OnlineDPMeans(lam=60.0).partial_fit(rows)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
@pytest.mark.parametrize("source", ["file", "packed file", "standard input", "packed standard input"])
def test_streams_of_any_encoding(source, encoding, end, rows, here, capsys, monkeypatch):
    content = text(rows, end=end).encode(encoding)
    content = gzip.compress(content) if "packed" in source else content
    (here / "s.csv").write_bytes(content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    line = [part.replace("s.csv", "-") if "input" in source else part for part in LINE]
    line += ["--encoding", encoding] * (encoding == "utf-16-le")
    status, _, err = outcome([*line, "-o", "out.csv"], capsys)
    assert status == 0, err
    assert [int(row["cluster"]) for row in rows_of("out.csv")] == expected(rows).joined_ids_.tolist()
    assert kfree.load("m.kfree").preparation_.columns == ["größe", "höhe"]


@pytest.mark.parametrize(("mark", "decimal"), [(",", "."), (".", ","), (" ", "."), ("'", ".")])
def test_numbers_with_marks_between_thousands(mark, decimal, rows, here, capsys):
    form = "{:,.2f}"
    lines = [";".join(form.format(x).translate(str.maketrans(",.", mark + decimal)) for x in row) for row in rows]
    (here / "s.csv").write_text("\n".join(["a;b", *lines]) + "\n")
    facts = told([*LINE, "--thousands", mark, "--decimal", decimal], capsys)
    assert facts["n_rows"] == 90
    assert facts["n_clusters"] == expected(rows).n_clusters_
    assert facts["remarks"] == []
    # A further file is read like that of the fit.
    assert outcome(["predict", "m.kfree", "s.csv", "-o", "again.csv", "--quiet"], capsys)[0] == 0
    assert len(rows_of("again.csv")) == 90


@pytest.mark.parametrize(
    ("cell", "options", "said"),
    [
        (
            "none",
            ["--na", "none"],
            "s.csv, row 60, column 'a': a missing value; a stream takes whole rows. Leave the row",
        ),
        ("", [], "s.csv, row 60, column 'a': a missing value; a stream takes whole rows."),
        ("none", [], "s.csv, row 60, column 'a': 'none' is not a finite number."),
        ("inf", [], "s.csv, row 60, column 'a': 'inf' is not a finite number."),
        ("1,2,3", ["--thousands", ","], "s.csv, row 60, column 'a': '1,2,3' is not a finite number."),
        ("inf", ["--thousands", ","], "s.csv, row 60, column 'a': 'inf' is not a finite number."),
        ("none", ["--thousands", ",", "--na", "none"], "s.csv, row 60, column 'a': a missing value;"),
        ("(5", ["--thousands", ","], "s.csv, row 60, column 'a': '(5' is not a finite number."),
    ],
)
def test_a_cell_that_is_no_number_is_named(cell, options, said, here, capsys):
    lines = [f"{i}.5;{i % 7}" for i in range(100)]
    lines[59] = f"{cell};3"
    (here / "s.csv").write_text("\n".join(["a;b", *lines]) + "\n")
    status, _, err = outcome([*LINE, *options], capsys)
    assert (status, said in err) == (1, True), err


@pytest.mark.parametrize("n_rows", [0, 3, 60])
def test_a_quoted_cell_without_an_end_is_named(n_rows, here, capsys):
    (here / "s.csv").write_text("a,b\n" + "1,2\n" * n_rows + '"1,2\n3,4\n')
    status, _, err = outcome(LINE, capsys)
    assert (status, err) == (
        1,
        f"kfree: s.csv: a quoted cell begins below row {n_rows}, and has no end. Close its quotes.\n",
    )


def test_bytes_that_the_encoding_lacks_are_named(here, capsys, monkeypatch):
    content = b"a,note\n" + b"1,x\n" * 40 + b"2,\xe9t\xe9\n"
    (here / "s.csv").write_bytes(content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    for name, title in (("s.csv", "s.csv"), ("-", "standard input")):
        status, _, err = outcome(["stream", name, "--lam", "3"], capsys)
        assert status == 1
        assert f"{title} is not utf-8: line 42 holds the byte 0xe9. Give the right encoding" in err
    (here / "s.csv").write_bytes("a;b\n1;2\n".encode("utf-16") + b"3")
    status, _, err = outcome(LINE, capsys)
    assert (status, "s.csv is not utf-16: line 3 holds the byte 0x33" in err) == (1, True)


def test_a_packed_file_that_was_cut_is_named(rows, here, capsys):
    packed = gzip.compress(text(rows).encode())
    (here / "s.csv").write_bytes(packed[:-20])
    status, _, err = outcome(LINE, capsys)
    assert (status, "s.csv cannot be read: Compressed file ended before the end" in err) == (1, True)


def test_a_delimiter_that_no_file_has_is_refused(here, capsys):
    (here / "s.csv").write_text("a§b\n1§2\n")
    for command in ("stream", "cluster"):
        status, _, err = outcome([command, "s.csv", "--delimiter", "§"], capsys)
        assert (status, "delimiter '§' is not allowed; give one ASCII character" in err) == (2, True)


def test_a_reader_that_goes_away_is_no_damaged_file(here):
    (here / "s.csv").write_text("a,b\n" + "1.5,2\n3,40\n" * 100_000)
    command = f"{sys.executable} -m kfree stream s.csv --lam 3 -o - --quiet --chunk 1000 | head -c 20"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.stdout[:11], done.stderr) == ("row,cluster", "")


def test_rows_are_labelled_as_they_come(here):
    """The labels of a chunk are there before the next row is."""
    command = [sys.executable, "-m", "kfree", "stream", "-", "--lam", "60", "--chunk", "30", "--format", "jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a,b\n" + b"1.5,2\n3,400\n" * 15 + b"5,6\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"row": 1, "cluster": 0}
        process.stdin.write(b"7,8\n")
        process.stdin.close()
        assert len(process.stdout.read().splitlines()) == 31
