"""Spreadsheets: read as text tables are, written with every row, and refused with what to do where they cannot be."""

import datetime
import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told

openpyxl = pytest.importorskip("openpyxl")


def write(path, rows, *others):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
        for cell in book.active[book.active.max_row]:
            cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type  # "=p1" is no formula
    for name in others:
        book.create_sheet(name)
    book.save(path)


def read(path):
    return [list(row) for row in openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)]


@pytest.fixture
def people(here, rng):
    """people.xlsx: two kinds of people, with a cell of each kind, an empty row, and a note outside the table."""
    rows = [["name", "age", "since", "member", "zip", "plan"]]
    for i in range(60):
        k = i % 2
        day = datetime.datetime(2010 + 8 * k, 1 + i % 12, 1 + i % 28)
        age = None if i == 5 else 30 + 30 * k + round(float(rng.normal()), 2)
        rows.append([f"=p{i}", age, day, bool(k), f"0{1000 + i % 9}", "ab"[k] if i % 7 else "N/A"])
    write("people.xlsx", [*rows[:20], [None] * 6, *rows[20:]])
    return rows


def test_a_sheet_is_read_as_the_text_table_that_it_is(people, here, capsys):
    facts = told(["cluster", "people.xlsx", "--encode", "--id", "name", "--k", "2", "--save", "m.kfree"], capsys)
    frame = pd.DataFrame(people[1:], columns=people[0])
    frame["since"] = frame["since"].dt.strftime("%Y-%m-%d")
    frame["age"] = frame["age"].astype(float)
    frame.to_csv("people.csv", index=False, na_rep="")
    same = told(["cluster", "people.csv", "--encode", "--id", "name", "--k", "2", "-o", "text.csv"], capsys)
    assert facts["sentences"] == same["sentences"]
    assert facts["n_rows"] == 60
    assert any("'zip' hold whole numbers with leading zeros" in remark for remark in facts["remarks"])
    labels = [int(row["cluster"]) for row in rows_of("text.csv")]
    # Written as a sheet, with cells as they were: texts that look like formulas or numbers are texts.
    written = read("people.clusters.xlsx")
    assert written[0] == [*people[0], "cluster"]
    assert [row[:4] for row in written[1:]] == [row[:4] for row in people[1:]]
    assert [row[4] for row in written[1:]] == [row[4] for row in people[1:]]
    assert [row[-1] for row in written[1:]] == labels
    sheet = openpyxl.load_workbook("people.clusters.xlsx").worksheets[0]
    assert {sheet.cell(row, 1).data_type for row in range(2, 62)} == {"s"}
    assert kfree.cluster("people.xlsx", id="name", k=2).labels.tolist() == labels
    assert outcome(["predict", "m.kfree", "people.xlsx", "-o", "again.csv", "--quiet"], capsys)[0] == 0
    assert [int(row["cluster"]) for row in rows_of("again.csv")] == labels
    assert [row["zip"] for row in rows_of("again.csv")] == [row[4] for row in people[1:]]


def test_tables_of_other_formats_become_sheets_and_codes_keep_their_zeros(here, capsys):
    (here / "t.csv").write_text("a,code\n1,007\n30,012\n")
    for name in ("t.xlsx", "t.parquet"):
        line = ["cluster", "t.csv", "--no-encode", "--lam", "1", "--columns", "a", "-o", name, "--quiet"]
        assert outcome(line, capsys)[0] == 0
    assert read("t.xlsx") == [["a", "code", "cluster"], [1, "007", 0], [30, "012", 1]]
    assert pd.read_parquet("t.parquet")["code"].tolist() == ["007", "012"]
    assert outcome(["path", "t.csv", "--columns", "a", "-o", "steps.xlsx", "--quiet"], capsys)[0] == 0
    assert read("steps.xlsx")[0][0] == "k"


def test_numbers_in_files_are_rows(here):
    write("t.xlsx", [["a", "b"], [1.5, 2], [3, 4.25]])
    rows = kfree.open_rows("t.xlsx")
    (chunk,) = rows.chunks(0, 2, 2)
    np.testing.assert_array_equal(chunk.X, [[1.5, 2.0], [3.0, 4.25]])
    write("t.xlsx", [["a", "b"], ["1,5", 2.5], ["3", 4.25]])
    (chunk,) = kfree.open_rows("t.xlsx", decimal=",").chunks(0, 2, 2)
    np.testing.assert_array_equal(chunk.X, [[1.5, 2.5], [3.0, 4.25]])
    write("t.xlsx", [[1, 2], [3, 4]])
    assert kfree.open_rows("t.xlsx").shape == (2, 2)


def test_a_row_may_end_with_empty_cells_and_not_beyond_the_names(here, capsys):
    rows = [[float(50 * (i % 2) + i), None if i == 4 else float(i)] for i in range(12)]
    write("t.xlsx", [["a", "b"], *rows])
    told(["cluster", "t.xlsx", "--missing", "drop", "--k", "2", "-o", "t.csv"], capsys)
    assert [row["b"] for row in rows_of("t.csv")][3:6] == ["3", "", "5"]
    write("wide.xlsx", [["a", "b"], *rows, [1.0, 2.0, "note"]])
    status, _, err = outcome(["cluster", "wide.xlsx"], capsys)
    assert status == 1
    assert "wide.xlsx: row 14 of the sheet has a cell in column 3, where the names end with column 2" in err
    assert err.endswith("remove rows above the names.\n")


def test_a_sheet_loses_nothing_of_numbers_times_and_texts(here, capsys):
    when = datetime.datetime(2024, 1, 31, 10, 30, 59, 250_000)
    ids = [10**15 - 1, 9007199254740993]
    pd.DataFrame({"x": [0, 30], "id": ids, "when": [when, when], "text": ["a", "b" * 32767]}).to_parquet("t.parquet")
    line = ["cluster", "t.parquet", "--no-encode", "--columns", "x", "--lam", "1", "--quiet", "-o"]
    assert outcome([*line, "t.xlsx"], capsys)[0] == 0
    assert read("t.xlsx")[1:] == [[0, ids[0], when, "a", 0], [30, str(ids[1]), when, "b" * 32767, 1]]
    assert outcome(["cluster", "t.xlsx", *line[2:], "t.csv"], capsys)[0] == 0
    assert [(row["id"], row["when"]) for row in rows_of("t.csv")] == [(str(one), str(when)[:-3]) for one in ids]
    pd.DataFrame({"x": [0, 30], "text": ["a", "b" * 32768]}).to_parquet("t.parquet")
    status, _, err = outcome([*line, "long.xlsx"], capsys)
    assert (status, "row 2 has a cell of 32768 characters, and one of a sheet holds 32767; write .csv" in err) == (
        1,
        True,
    )
    assert not (here / "long.xlsx").exists()


def test_a_sheet_is_one_whatever_its_name(here, monkeypatch, capsys):
    write("t.xlsx", [["a", "b"], [1, 2], [30, 4]])
    content = (here / "t.xlsx").read_bytes()
    (here / "t.csv").write_bytes(content)
    assert kfree.open_rows("t.csv").shape == (2, 2)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert (
        outcome(["cluster", "-", "--lam", "1", "--no-encode", "--quiet"], capsys)[1] == "a,b,cluster\n1,2,0\n30,4,1\n"
    )


def test_of_several_sheets_the_first_is_read_and_named(here):
    write("t.xlsx", [["a", "b"], [1, 2], [30, 4]], "Other", "More")
    with pytest.warns(kfree.exceptions.DataAdvice, match=r"t\.xlsx has 3 sheets, and the first, 'Sheet', is read"):
        assert kfree.open_rows("t.xlsx").shape == (2, 2)


def test_a_mistake_in_a_sheet_is_named_by_its_row(here, capsys):
    write("t.xlsx", [["a", "b"], [1, 2], ["1O", 4], [5, 6], [7, 8]])
    status, _, err = outcome(["cluster", "t.xlsx", "--no-encode"], capsys)
    assert status == 1
    assert "t.xlsx: column 'a', row 2: '1O' is not a number" in err


def test_what_cannot_be_read_or_written_says_what_to_do(here, capsys, monkeypatch, blobs_csv):
    (here / "t.xlsx").write_text("a,b\n1,2\n")
    status, _, err = outcome(["cluster", "t.xlsx"], capsys)
    assert status == 1
    assert "t.xlsx cannot be read" in err
    assert outcome(["cluster", "data.csv", "--format", "xlsx", "-o", "-"], capsys)[0] == 2
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    write_error = outcome(["cluster", "data.csv", "--lam", "60", "-o", "out.xlsx"], capsys)
    assert write_error[0] == 1
    assert 'to write .xlsx needs openpyxl: pip install "kfree[excel]"' in write_error[2]
    assert not (here / "out.xlsx").exists()
    with pytest.raises(ImportError, match=r'to read \.xlsx needs openpyxl: pip install "kfree\[excel\]"'):
        kfree.open_rows("t.xlsx")


def test_years_are_names_of_columns_in_a_sheet_and_in_text(here, rng, capsys):
    k = np.arange(60) % 2
    table = pd.DataFrame({"region": np.array(["north", "south"])[k]})
    for year in (2021, 2022):
        table[year] = (100.0 + 800 * k + rng.normal(0, 30, 60)).round(1)
    table.to_excel("t.xlsx", index=False)
    table.to_csv("t.csv", index=False)
    for name in ("t.xlsx", "t.csv"):
        facts = told(["cluster", name, "--k", "2", "--save", "m.kfree"], capsys)
        assert (facts["n_rows"], facts["columns"]) == (60, ["region", "2021", "2022"])
        said = "the first line ('region', '2021', '2022') is read as the header, although numbers stand in it."
        assert f"warning: {name}: {said} Give --header no if it is a row." in facts["remarks"]
        # One row would not show that the first line holds names; that of the fit does.
        (here / "new.csv").write_text("region,2021,2022\nnorth,2021,2022\n")
        assert len(kfree.load("m.kfree").predict("new.csv")) == 1
