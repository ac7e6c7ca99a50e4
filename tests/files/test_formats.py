"""Every format gives the rows that were written, from any row to any other, in chunks of any size."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import kfree
from kfree import open_rows
from kfree.files.formats import as_numbers
from kfree.files.table import open_table

ENDINGS = [".npy", ".parquet", ".arrow", ".feather", ".csv", ".csv.gz"]
NAMES = ["x", "y", "count"]


def table(n_rows=2500):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(n_rows, 2)), rng.integers(0, 4, n_rows)])


def names_of(ending):
    """Columns and weight, in another order than in the files."""
    return ([1, 0], 2) if ending == ".npy" else (["y", "x"], "count")


@pytest.mark.parametrize("cuts", [(), (1, 900, 900, 2400)], ids=["one file", "five files, one empty"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_are_those_that_were_written(ending, cuts, written):
    expected = table()
    columns, weight = names_of(ending)
    if ending.startswith(".csv") and cuts:
        cuts = (1, 900, 2400)  # an empty CSV file has no types
    rows = open_rows(written(expected, NAMES, ending, cuts) / f"*{ending}", columns, weight)
    assert rows.shape == (2500, 2)
    assert len(rows.files) == len(cuts) + 1
    for begin, end, size in ((0, 2500, 700), (899, 901, 1), (650, 2450, 10_000), (2400, 2500, 64)):
        chunks = list(pickle.loads(pickle.dumps(rows)).chunks(begin, end, size))
        assert [len(chunk.X) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
        assert [chunk.begin for chunk in chunks] == list(range(begin, end, size))
        np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), expected[begin:end, [1, 0]])
        np.testing.assert_array_equal(np.concatenate([chunk.weight for chunk in chunks]), expected[begin:end, 2])


@pytest.mark.parametrize("ending", [*ENDINGS, ".xlsx"])
def test_batches_have_at_most_as_many_rows_as_asked_for(ending, written, tmp_path):
    expected = table(100)
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
        pd.DataFrame(expected, columns=NAMES).to_excel(tmp_path / "t.xlsx", index=False)
    folder = tmp_path if ending == ".xlsx" else written(expected, NAMES, ending)
    found, _ = open_table(str(folder / f"*{ending}"))
    batches = list(found.batches(names_of(ending)[0], 3, 95, 7))
    sizes = [len(batch.columns[0]) for batch in batches]
    assert max(sizes) == 7
    assert [batch.first_row for batch in batches] == [3 + sum(sizes[:j]) for j in range(len(sizes))]
    values = np.concatenate([as_numbers(batch.columns[0]) for batch in batches])
    np.testing.assert_allclose(values, expected[3:95, 1], rtol=1e-15)  # a sheet keeps sixteen digits


def test_columns_of_fortran_order_and_narrow_types(tmp_path):
    expected = np.asfortranarray(table()[:, :2].astype(np.float32))
    np.save(tmp_path / "a.npy", expected)
    rows = open_rows(tmp_path / "a.npy")
    (chunk,) = rows.chunks(3, 2000, 5000)
    assert rows.dtype == "float32"
    assert rows.feature_names is None
    np.testing.assert_array_equal(chunk.X, expected[3:2000])


def test_numbers_of_every_kind_become_floats(tmp_path):
    columns = {
        "small": pa.array([1, 2], pa.int8()),
        "large": pa.array([2**40, -1], pa.int64()),
        "yes": pa.array([True, False]),
        "price": pa.array([1, 2], pa.decimal128(5, 2)),
        "half": pa.array(np.array([0.5, 2.0], np.float16)),
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet")
    (chunk,) = rows.chunks(0, 2, 2)
    assert rows.feature_names == list(columns)
    np.testing.assert_array_equal(chunk.X, [[1, 2**40, 1, 1, 0.5], [2, -1, 0, 2, 2]])


def test_whole_numbers_at_the_top_of_a_csv_file_do_not_fix_its_type(tmp_path):
    lines = [*["1,2"] * 200_000, "1.5,2.25"]
    (tmp_path / "a.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    rows = open_rows(tmp_path / "a.csv")
    last = list(rows.chunks(199_000, rows.n_rows, 4096))[-1]
    np.testing.assert_array_equal(last.X[-1], [1.5, 2.25])


def test_files_of_a_pattern_and_of_a_folder_are_sorted_and_lists_keep_their_order(tmp_path):
    for name in ("b", "a"):
        np.save(tmp_path / f"{name}.npy", np.full((2, 1), ord(name)))
    (tmp_path / ".hidden.npy").write_text("not read")
    in_order = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    for given in (tmp_path / "?.npy", tmp_path, f"file://{tmp_path}/?.npy"):
        assert [file.path.removeprefix("file://") for file in open_rows(given).files] == in_order
    assert [file.path for file in open_rows(in_order[::-1]).files] == in_order[::-1]


def test_an_address_of_pyarrow_gives_the_same_rows(written):
    folder = written(table(), NAMES, ".parquet", (1000,))
    here, there = open_rows(folder), open_rows(f"file://{folder}/*.parquet")
    assert here.shape == there.shape
    for ours, theirs in zip(here.chunks(0, 2500, 900), there.chunks(0, 2500, 900), strict=True):
        np.testing.assert_array_equal(ours.X, theirs.X)


def test_a_description_changes_with_its_files(written):
    folder = written(table(), NAMES, ".parquet", (1000,))
    digest = open_rows(folder).digest
    assert open_rows(folder).digest == digest
    assert open_rows(folder, columns=["x"]).digest != digest
    written(table(2501), NAMES, ".parquet", (1000,))
    assert open_rows(folder).digest != digest


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("5", "word", ["5", "word"]),
        ("word", "5", ["word", "5"]),
        ("true", "2", [1.0, 2.0]),
        ("", "2024-01-31", [None, datetime.date(2024, 1, 31)]),
        ("2024-01-31", "2024-01-31 10:00", [datetime.datetime(2024, 1, 31, hour) for hour in (0, 10)]),
        ("2024-01-31", "5", ["2024-01-31", "5"]),
        ("5", "7.5", [5.0, 7.5]),
    ],
)
def test_a_column_of_several_files_has_one_type(first, second, expected, tmp_path):
    (tmp_path / "a.csv").write_text(f"x,n\n1,{first}\n")
    (tmp_path / "b.csv").write_text(f"x,n\n2,{second}\n")
    table, _ = open_table(tmp_path)
    assert table.read(["n"])["n"].to_pylist() == expected
    batches = list(table.batches(["n"], 0, 2, 10))
    assert [value for batch in batches for value in batch.columns[0].to_pylist()] == expected


def test_dates_and_times_of_several_files_are_clustered(tmp_path):
    kind, days = np.arange(40) % 2, [f"20{10 + 10 * (i % 2)}-01-{1 + i % 28:02d}" for i in range(40)]
    for name, time in (("a", ""), ("b", " 10:30")):
        rows = [f"{day}{time},{20 * k}.{i}" for i, (day, k) in enumerate(zip(days, kind, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(["since,x", *rows]) + "\n")
    made = kfree.cluster(tmp_path, k=2)
    assert made.preparation.columns == ["since", "x"]
    np.testing.assert_array_equal(made.predict(tmp_path / "b.csv"), made.labels[40:])
    np.testing.assert_array_equal(made.predict(tmp_path), made.labels)
