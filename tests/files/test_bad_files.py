"""Files that cannot be used: each gives an error that names the file."""

import os
import resource
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from kfree import BayesianKMeans, DPMeans, KMeans, open_rows
from kfree.files.rows import FileRows

NAMES = ["x", "y", "count"]


@pytest.fixture
def table(rng):
    return np.column_stack([rng.normal(size=(3000, 2)), rng.integers(1, 4, 3000)])


def read(rows):
    return sum(len(chunk.X) for chunk in rows.chunks(0, rows.n_rows, 512))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file matches '.*gone\*\.parquet'"):
        open_rows(tmp_path / "gone*.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches 'file:///.*gone.parquet'"):
        open_rows(f"file://{tmp_path}/gone.parquet")
    with pytest.raises(FileNotFoundError, match="paths is empty"):
        open_rows([])
    with pytest.raises(TypeError, match="paths=None is not allowed; give the path of a file, a list of paths or"):
        open_rows(None)


@pytest.mark.parametrize("given", ["", "a.csv", "*.csv", "deeper/*.csv"])
def test_a_folder_without_permission_is_named(given, tmp_path, monkeypatch):
    """Without it, its files are found by nobody, and they may well be there. The superuser may read all folders."""
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(tmp_path))
    with pytest.raises(PermissionError, match=f"the folder {tmp_path} cannot be read: permission denied. Give one"):
        open_rows(tmp_path / given)


def test_another_format(tmp_path):
    (tmp_path / "a.ods").write_text("x")
    with pytest.raises(ValueError, match=r"a\.ods is a spreadsheet, .* Save it as CSV, Parquet, .xlsx or .npy"):
        open_rows(tmp_path / "a.ods")


def test_columns_that_are_not_there(table, written):
    folder = written(table, NAMES)
    with pytest.raises(ValueError, match=r"part0\.parquet has no column 'z', which columns names; it has 'x', 'y'"):
        open_rows(folder, columns=["x", "z"])
    with pytest.raises(ValueError, match=r"part0\.parquet has no column 'w', which weight names"):
        open_rows(folder, weight="w")
    with pytest.raises(ValueError, match="give every column once"):
        open_rows(folder, columns=["x", "count"], weight="count")
    with pytest.raises(ValueError, match="columns='x' is not allowed; give a list"):
        open_rows(folder, columns="x")


def test_files_with_different_columns(table, written):
    folder = written(table, NAMES)
    pa.parquet.write_table(pa.table({"x": [1.0], "z": [2.0]}), folder / "part1.parquet")
    with pytest.raises(ValueError, match=r"part1\.parquet has the columns 'x', 'z', and .*part0\.parquet has 'x', 'y'"):
        open_rows(folder)
    with pytest.raises(ValueError, match=r"part1\.parquet has no column 'y'"):
        open_rows(folder, columns=["x", "y"])
    assert open_rows(folder, columns=["x"]).shape == (3001, 1)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_columns_that_are_not_numbers(ending, tmp_path):
    columns = pa.table({"x": [1.0, 2.0], "name": ["a", "b"]})
    path = tmp_path / f"a{ending}"
    (pa.parquet.write_table if ending == ".parquet" else pa.csv.write_csv)(columns, path)
    with pytest.raises(ValueError, match=rf"a\{ending}: column 'name' does not hold numbers"):
        open_rows(path)


def test_text_far_down_in_a_csv_file(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 300_000 + "1,oops\n")
    with pytest.raises(
        ValueError, match=r"a\.csv: column 'y' does not hold numbers, row 300001: 'oops' is not a number"
    ):
        open_rows(tmp_path / "a.csv")


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_rows_that_are_not_finite(bad, table, written):
    folder = written(table[:, :2], ["x", "y"], cuts=(1000,))
    values = table[:2000, 0].tolist()
    values[1234] = bad
    pa.parquet.write_table(pa.table({"x": values, "y": table[:2000, 1]}), folder / "part1.parquet")
    with pytest.raises(ValueError, match=r"part1\.parquet: row 1234 holds (nan|inf) in column 'x'"):
        DPMeans(lam=1.0).fit(open_rows(folder))


@pytest.mark.parametrize("bad", [-1.0, 1e-200])
def test_weights_that_are_not_allowed(bad, table, written):
    table[77, 2] = bad
    rows = open_rows(written(table, NAMES), weight="count")
    with pytest.raises(ValueError, match=r"part0\.parquet: row 77 holds .* in the weight column 'count'"):
        KMeans(2).fit(rows)


def test_weights_that_are_all_zero(table, written):
    table[:, 2] = 0
    rows = open_rows(written(np.tile(table, (10, 1)), NAMES), weight="count")
    for memory in ("3MB", None):
        with pytest.raises(ValueError, match="all weights are zero"):
            KMeans(2, memory=memory).fit(rows)


def test_a_file_that_changes_between_two_passes(table, written, monkeypatch):
    folder = written(table, NAMES, cuts=(1000,))
    rows = open_rows(folder)
    path = folder / "part1.parquet"
    status = os.stat(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ValueError, match=r"part1\.parquet has changed since open_rows described it"):
        read(rows)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"part1\.parquet is gone"):
        read(rows)


def test_a_file_that_is_rewritten_during_a_fit_with_its_time_restored(tmp_path, monkeypatch):
    path, n_passes = tmp_path / "rows.npy", 0
    X = np.random.default_rng(0).normal(size=(400_000, 2))
    np.save(path, X)
    status, chunks = os.stat(path), FileRows.chunks

    def rewritten_before_the_fourth_pass(*args, **settings):
        nonlocal n_passes
        n_passes += 1
        if n_passes == 4:
            np.save(path, X[::-1])
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        return chunks(*args, **settings)

    monkeypatch.setattr(FileRows, "chunks", rewritten_before_the_fourth_pass)
    with pytest.raises(ValueError, match="are not those that an earlier pass of this fit read"):
        KMeans(3, memory="3MB", random_state=0).fit(open_rows(path))


def test_a_file_that_changes_while_it_is_read(table, written):
    folder = written(table, NAMES)
    rows = open_rows(folder)
    chunks = rows.chunks(0, 3000, 512)
    next(chunks)
    status = os.stat(folder / "part0.parquet")
    os.utime(folder / "part0.parquet", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ValueError, match=r"part0\.parquet has changed"):
        list(chunks)


@pytest.mark.parametrize("ending", [".parquet", ".npy", ".arrow", ".csv.gz"])
def test_truncated_files(ending, table, written):
    path = written(table, NAMES, ending) / f"part0{ending}"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ValueError, match=rf"part0\{ending} cannot be read"):
        open_rows(path)


def test_a_damaged_page_of_a_parquet_file(table, written):
    path = written(table, NAMES) / "part0.parquet"
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"part0\.parquet cannot be read"):
        read(open_rows(path))


def test_files_without_rows(tmp_path):
    np.save(tmp_path / "a.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"a\.npy and 0 other file\(s\) have no rows"):
        open_rows(tmp_path / "a.npy")


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_text("x")
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'pip install "kfree\[files\]"'):
        open_rows(tmp_path / "a.parquet")
    assert read(open_rows(tmp_path / "a.npy")) == 3  # needs no pyarrow


def test_estimators_that_take_no_files_say_so(table, written):
    rows = open_rows(written(table, NAMES))
    with pytest.raises(TypeError, match="BayesianKMeans takes no rows of files here"):
        BayesianKMeans().fit(rows)
    with pytest.raises(TypeError, match="KMeans takes no rows of files here"):
        KMeans(2).fit(rows).transform(rows)
    with pytest.raises(
        ValueError, match="sample_weight='…' is not allowed; give None for files, and weight to open_rows"
    ):
        KMeans(2).fit(rows, sample_weight=np.ones(3000))


def test_a_disk_that_fills_leaves_nothing_under_the_final_name(table, written, tmp_path):
    rows = open_rows(written(np.tile(table, (20, 1)), NAMES, cuts=(30,)))
    model = KMeans(2, random_state=0).fit(rows)
    out = tmp_path / "labels"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"part1\.parquet"):
            model.predict(rows, out=out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in out.iterdir()] == ["part0.parquet"]


def test_labels_never_replace_rows_or_each_other(table, written, tmp_path):
    folder = written(table, NAMES)
    rows = open_rows(folder)
    model = KMeans(2, random_state=0).fit(rows)
    with pytest.raises(ValueError, match=r"would replace .*part0\.parquet, which holds rows"):
        model.predict(rows, out=folder)
    (tmp_path / "more").mkdir()
    np.save(tmp_path / "more" / "part0.npy", table)
    np.save(folder / "part0.npy", table)
    twice = open_rows([folder / "part0.npy", tmp_path / "more" / "part0.npy"])
    with pytest.raises(ValueError, match=r"would both go to part0\.parquet"):
        model.predict(twice, out=tmp_path / "labels")
    with pytest.raises(ValueError, match="out='x' is not allowed; give None unless X is from open_rows"):
        model.predict(table, out="x")


def test_rows_with_other_columns_than_those_of_the_fit(table, written):
    rows = open_rows(written(table, NAMES), columns=["x", "y"])
    model = KMeans(2, random_state=0).fit(rows)
    with pytest.raises(ValueError, match=r"have 3 columns, but KMeans is expecting 2 features"):
        model.predict(open_rows(written(table, NAMES)))
    with pytest.raises(ValueError, match=r"are not those of the fit, \['x', 'y'\]"):
        model.predict(open_rows(written(table, NAMES), columns=["y", "x"]))


def test_a_reader_that_is_no_longer_needed_ends(table, written, monkeypatch):
    rows = open_rows(written(np.tile(table, (40, 1)), NAMES))
    before = threading.active_count()
    model = KMeans(2, max_iter=1, memory="8MB")
    monkeypatch.setattr("kfree.search.lloyd.summarised", lambda *given, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(rows)
    assert threading.active_count() == before
