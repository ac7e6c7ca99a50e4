"""From tables to rows: choice of columns, missing values, scale; and errors that name row and column."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.clustering.columns import ColumnOptions, chosen_columns
from kfree.clustering.rows import prepared
from kfree.clustering.tables import NamedFilesTable
from kfree.exceptions import DataAdvice
from kfree.files.dialect import TextOptions
from tests.cli.conftest import outcome, rows_of, told

NAN = np.nan


@pytest.fixture
def table(here):
    """Writes columns to t.csv and opens it."""

    def make(**columns):
        rows = zip(*columns.values(), strict=True)
        cells = [",".join("" if cell != cell else str(cell) for cell in row) for row in rows]
        (here / "t.csv").write_text("\n".join([",".join(columns), *cells]) + "\n")
        return NamedFilesTable("t.csv", TextOptions(delimiter=",", header=True))

    return make


def chosen(table, **options):
    said = []
    return chosen_columns(table, ColumnOptions("none", **options), said.append), said


def prepare(table, names, missing="error", standardize=False):
    options = ColumnOptions("standardize" if standardize else "none", names, missing=missing)
    rows = prepared(table, options, print)
    return rows.X, rows.kept, rows.preparation


def test_text_is_left_out_and_named(table):
    names, said = chosen(table(a=[1.5, 2.5], city=["x", "y"]))
    assert names == ["a"]
    assert "'city'" in said[0]


def fault(line, capsys):
    status, _, err = outcome(line.split(), capsys)
    assert status == 1
    return err


def test_text_among_given_columns_is_an_error(table, capsys):
    table(a=[1.5, 2.5], city=["x", "y"])
    err = fault("cluster t.csv --no-encode --columns a,city", capsys)
    assert "column 'city' of --columns holds text" in err
    assert "--encode" in err


def test_a_column_of_numbers_with_a_mistake_is_an_error_that_names_the_row(table, capsys):
    columns = table(a=["1", "2", "1O", "4"], b=[1.0, 2.0, 3.0, 4.0])
    err = fault("cluster t.csv --no-encode", capsys)
    assert "t.csv: column 'a', row 3: '1O' is not a number (1 such value(s) in a column of numbers)." in err
    assert err.endswith("Correct such cells, or give --na '1O': such cells are missing values then.\n")
    assert chosen(columns, drop=["a"])[0] == ["b"]


def test_names_in_a_remedy_are_quoted_for_the_shell(table, capsys):
    cylinders = ["4", "6", "8"] * 20
    table(**{"no of cylinders": [*cylinders, "rotary"], "b": list(range(61))})
    err = fault("cluster t.csv", capsys)
    assert err.endswith("If all values are categories, give --categories 'no of cylinders'.\n")


def test_a_column_may_have_a_decimal_mark_of_its_own_and_a_cell_may_not(here, capsys):
    (here / "t.csv").write_text("a;b\n1.5;2,5\n300;4\n")
    with pytest.warns(DataAdvice, match="column 'a' is read with the decimal mark '.', where the file has ','"):
        (chunk,) = kfree.open_rows("t.csv").chunks(0, 2, 2)
    assert chunk.X.tolist() == [[1.5, 2.5], [300.0, 4.0]]
    (here / "t.csv").write_text('a,b\n"1,25",2.5\n"0,5",4\n')
    facts = told(["cluster", "t.csv", "--no-encode", "--lam", "1"], capsys)
    assert any("column 'a' is read with the decimal mark ','" in remark for remark in facts["remarks"])
    assert {feature["mean"] for feature in facts["clusters"][0]["features"]} <= {1.25, 0.5, 2.5, 4.0}
    (here / "t.csv").write_text("a;b\n1.234,5;2,5\n12.345.678;4\n17,5;4\n300;4\n")
    with pytest.warns(DataAdvice, match="column 'a' is read with '.' between thousands"):
        (chunk,) = kfree.open_rows("t.csv").chunks(0, 4, 4)
    assert chunk.X[:, 0].tolist() == [1234.5, 12345678.0, 17.5, 300.0]
    (here / "t.csv").write_text("a;b\n1.234;2,5\n17,5;4\n")  # a mistake in either, perhaps
    assert "row 1: '1.234' is not a number" in fault("cluster t.csv --no-encode", capsys)
    (here / "t.csv").write_text("a;b\n1.234;2,5\n5.678;4\n")
    err = outcome(["cluster", "t.csv", "--no-encode", "--lam", "1"], capsys)[2]
    assert "no value decides whether '.' is the decimal mark or stands between thousands; it is read as text" in err
    assert "Give --thousands '.' if so" in err
    (here / "t.csv").write_text("a;b\n1.5;2,5\n2,5;3\n")
    assert "row 1: '1.5' is not a number, and the decimal mark of this file is ','" in fault(
        "cluster t.csv --no-encode", capsys
    )


def test_columns_that_do_not_exist_are_named(table, capsys):
    table(a=[1.0])
    assert "no column 'x' (--drop); it has 'a'" in fault("cluster t.csv --drop x", capsys)


def test_no_numbers_at_all_is_an_error(table, capsys):
    table(city=["x", "y"])
    assert "no column of numbers" in fault("cluster t.csv --no-encode", capsys)


def test_identifiers_are_warned_about_and_measurements_are_not(table, rng, capsys):
    n = 50
    measured, codes = rng.normal(size=n).tolist(), [f"c{i}" for i in range(n)]
    table(id=list(range(n)), x=measured, few=[1, 2] * 25, code=codes)
    err = outcome(["cluster", "t.csv", "--no-encode", "--lam", "9"], capsys)[2]
    warnings = [line for line in err.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "'id'" in warnings[0]
    assert "--drop id" in warnings[0]
    assert "'x'" not in warnings[0]
    numbers = [*range(1000, 1197), 1005, 1006]  # two come again
    table(id=numbers, x=rng.normal(size=199).tolist(), sold=rng.poisson(900, 199).tolist())
    err = outcome(["cluster", "t.csv", "--no-encode", "--lam", "9"], capsys)[2]
    assert "column(s) 'id' hold a different whole number in nearly every row, like identifiers" in err


def test_missing_values_are_an_error_that_names_columns_and_options(table, capsys):
    table(a=[1.0, 2.0, 3.0], b=[1.0, NAN, NAN])
    err = fault("cluster t.csv --no-encode", capsys)
    assert "'b' (2); the first is in row 2" in err
    assert all(option in err for option in ("--missing drop", "--missing mean", "--drop"))


def test_missing_values_are_dropped_or_filled(table, capsys):
    columns = table(a=[1.0, 2.0, 6.0], b=[1.0, NAN, 5.0])
    X, kept, _ = prepare(columns, ["a", "b"], missing="drop")
    assert X.tolist() == [[1.0, 1.0], [6.0, 5.0]]
    assert kept.tolist() == [True, False, True]
    X, kept, plan = prepare(columns, ["a", "b"], missing="mean")
    assert X.tolist() == [[1.0, 1.0], [2.0, 3.0], [6.0, 5.0]]
    assert kept.all()
    # Further rows are filled by the means of the fit.
    assert plan.matrix("t", {"a": np.array([9.0]), "b": np.array([NAN])})[0].tolist() == [[9.0, 3.0]]
    table(a=[NAN, 1.0], b=[1.0, NAN])
    assert "missing values" in fault("cluster t.csv --missing drop", capsys)


def test_infinite_values_are_an_error_that_names_the_row(table, capsys):
    table(a=[1.0, 2.0], b=[1.0, np.inf])
    assert "row 1 holds inf in column 'b' (rows are counted from 0)" in fault("cluster t.csv --no-encode", capsys)


@pytest.mark.parametrize("missing", ["error", "drop", "mean"])
def test_standardized_columns_and_further_rows(table, rng, missing):
    X = rng.normal(size=(40, 2)) * [3, 100] + [5, -50]
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "yes": [True, False] * 20}
    opened = table(**columns)
    found, _, plan = prepare(opened, list(columns), missing, standardize=True)
    np.testing.assert_allclose(found[:, :2], (X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(found[:, 2], [1, -1] * 20)
    batches = [plan.matrix("t", batch)[0] for batch in opened.batches(list(columns), 7)]
    np.testing.assert_array_equal(np.concatenate(batches), found)


def test_float32_stays_float32(here):
    np.save("t.npy", np.float32([[1, 2], [3, 4]]))
    assert prepare(NamedFilesTable("t.npy"), ["x0", "x1"])[0].dtype == np.float32


def test_columns_of_a_model_that_are_not_there_are_named(table, capsys):
    table(a=[1.0, 9.0], b=[2.0, 8.0])
    assert outcome(["cluster", "t.csv", "--lam", "1", "--save", "m.kfree", "--quiet"], capsys)[0] == 0
    table(a=[1.0])
    assert "no column 'b' (a column of the model)" in fault("predict m.kfree t.csv", capsys)


@pytest.fixture
def large(here, rng):
    """large.parquet: rows of three clusters that do not fit in 4 MB, with a rare level and a rare number."""
    import pyarrow as pa
    import pyarrow.parquet

    n, kind = 60_000, rng.integers(3, size=60_000)
    level = np.array(["x", "y", "z"], dtype=object)[kind]
    level[47_001] = "rare"
    x = np.abs(rng.normal(size=n)) + 30 * kind
    x[33_333] = -4.0
    columns = {"x": x, "y": rng.normal(size=n), "level": level.tolist()}
    pa.parquet.write_table(pa.table(columns), "large.parquet", row_group_size=10_000)
    return kind


def test_more_rows_than_memory_are_streamed_and_all_are_labelled(large, capsys):
    import pyarrow.parquet

    line = "cluster large.parquet --no-encode --lam 200000 --columns x,y --memory 4MB --report r.html --save m.kfree"
    facts = told(line.split(), capsys)
    assert sum(cluster["size"] for cluster in facts["clusters"]) == facts["n_rows"] == 60_000
    table = pyarrow.parquet.read_table("large.clusters.parquet")
    assert table.column_names == ["x", "y", "level", "cluster"]
    expected = kfree.DPMeans(lam=200000.0, memory="4MB").fit(kfree.open_rows("large.parquet", ["x", "y"]))
    labels = table["cluster"].to_numpy()
    np.testing.assert_array_equal(labels, expected.predict(kfree.open_rows("large.parquet", ["x", "y"])))
    assert [cluster["size"] for cluster in facts["clusters"]] == np.bincount(labels).tolist()
    assert not any("60000 rows" in remark for remark in facts["remarks"])
    told(["predict", "m.kfree", "large.parquet", "-o", "again.parquet"], capsys)
    np.testing.assert_array_equal(pyarrow.parquet.read_table("again.parquet")["cluster"].to_numpy(), labels)
    assert os.path.getsize("r.html") > 10_000


def test_a_sample_for_the_encoder_has_all_levels_and_extremes(large, capsys, monkeypatch):
    monkeypatch.setattr("kfree.clustering.rows.SAMPLE_ROWS", 1000)
    table = NamedFilesTable("large.parquet")
    rows = prepared(table, ColumnOptions(), [].append, memory="5MB")
    assert len(rows.X) == len(rows.row_numbers) == 1000
    encoder = rows.preparation.encoder
    assert set(encoder.encoders_[2].levels) == {"x", "y", "z", "rare"}
    (chunk,) = rows.rows.chunks(0, 60_000, 60_000)
    np.testing.assert_array_equal(chunk.X, encoder.transform(table.read(["x", "y", "level"])))
    np.testing.assert_array_equal(chunk.X[rows.row_numbers], rows.X)
    facts = told(["cluster", "large.parquet", "--encode", "--lam", "9000", "--memory", "5MB", "-o", "out.csv"], capsys)
    assert len(rows_of("out.csv")) == facts["n_rows"] == 60_000
    assert any(
        "scales, summary, page and picture are those of 1,000 of 60,000 rows" in said for said in facts["remarks"]
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("prepare", ["none", "encode"])
def test_a_missing_value_in_a_stream_is_told_by_its_row(prepare, kind, here, rng, monkeypatch):
    monkeypatch.setattr("kfree.clustering.rows.SAMPLE_ROWS", 1000)
    for row in (30_000, 33_333):  # one of the sample, and one beside it
        table = pd.DataFrame({"x": rng.normal(size=60_000), "y": rng.normal(size=60_000).round(2)})
        table.loc[row, "y"] = NAN
        table.to_csv("large.csv", index=False)
        table.to_parquet("large.parquet", row_group_size=10_000)
        with pytest.raises(
            ValueError, match=rf"missing values in 1 column\(s\): 'y' \(1\); the first is in row {row + 1}"
        ):
            kfree.cluster(f"large.{kind}", prepare=prepare, missing="error", memory="3MB", lam=9.0)


def test_rows_of_standard_input_are_those_of_the_file(blobs_csv, capsys, monkeypatch, here):
    import io

    outcome(["cluster", "data.csv", "--lam", "60", "--quiet"], capsys)
    expected = (here / "data.clusters.csv").read_text()
    content = (here / "data.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert outcome(["cluster", "-", "--lam", "60", "--quiet", "-o", "out.csv"], capsys)[0] == 0
    assert (here / "out.csv").read_text() == expected
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content + b"1,2\n")))
    assert fault("cluster -", capsys).startswith("kfree: standard input, row 91")


def test_a_folder_is_one_table(blobs_csv, capsys, here):
    (here / "parts").mkdir()
    lines = (here / "data.csv").read_text().splitlines(keepends=True)
    (here / "parts" / "1.csv").write_text("".join(lines[:31]))
    (here / "parts" / "2.csv").write_text("".join([lines[0], *lines[31:]]))
    outcome(["cluster", "data.csv", "--lam", "60", "--quiet"], capsys)
    assert outcome(["cluster", "parts", "--lam", "60", "--quiet"], capsys)[0] == 0
    assert (here / "parts.clusters.csv").read_text() == (here / "data.clusters.csv").read_text()
    assert outcome(["cluster", "parts/*.csv", "--lam", "60", "--quiet"], capsys)[0] == 2
    assert outcome(["cluster", "parts/*.csv", "--lam", "60", "--quiet", "-o", "out.parquet"], capsys)[0] == 0


def test_too_little_memory_is_called_by_the_number_that_was_given(here, rng):
    X = rng.normal(size=(3000, 3))
    np.savetxt("small.csv", X, delimiter=",", header="x,y,z", comments="")
    with pytest.raises(ValueError, match=r"memory=100000 bytes is not enough for 3 columns; give at least \d+ bytes"):
        kfree.cluster("small.csv", prepare="none", memory="100KB")
