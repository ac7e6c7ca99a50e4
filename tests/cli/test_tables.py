"""Tables: what is found about text files, with pyarrow and without, and what is said about bad ones."""

import io
import os
import sys

import numpy as np
import pytest

from kfree.cli.dialect import found_dialect
from kfree.cli.errors import CommandError
from kfree.cli.tables import Source, read_table

READERS = ["pyarrow", "csv"]


@pytest.fixture(params=READERS)
def reader(request, monkeypatch):
    """Both ways to read text."""
    if request.param == "csv":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    return request.param


def table_of(content, tmp_path, name="t.csv", **given):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(Source.of(str(path)), **given)


# text: names, first column, second column
TABLES = {
    "commas": ("a,b\n1,2\n3,4\n", ["a", "b"], [1, 3], [2, 4]),
    "semicolons": ("a;b\n1;2\n3;4\n", ["a", "b"], [1, 3], [2, 4]),
    "tabs": ("a\tb\n1\t2\n3\t4\n", ["a", "b"], [1, 3], [2, 4]),
    "bars": ("a|b\n1|2\n3|4\n", ["a", "b"], [1, 3], [2, 4]),
    "decimal commas": ("a;b\n1,5;2\n-3,25;4\n", ["a", "b"], [1.5, -3.25], [2, 4]),
    "no header": ("1,2\n3,4\n", ["column 1", "column 2"], [1, 3], [2, 4]),
    "one row, no header": ("1,2\n", ["column 1", "column 2"], [1], [2]),
    "windows line ends": ("a,b\r\n1,2\r\n3,4\r\n", ["a", "b"], [1, 3], [2, 4]),
    "no last line end": ("a,b\n1,2\n3,4", ["a", "b"], [1, 3], [2, 4]),
    "empty lines": ("a,b\n1,2\n\n3,4\n\n", ["a", "b"], [1, 3], [2, 4]),
    "quoted": ('"a, x","b\ny"\n"1",2\n3,"4"\n', ["a, x", "b\ny"], [1, 3], [2, 4]),
    "missing": ("a,b\n1,\n,4\n", ["a", "b"], [1, np.nan], [np.nan, 4]),
    "NA": ("a,b\n1,NA\nnan,4\n", ["a", "b"], [1, np.nan], [np.nan, 4]),
    "index column": (",b\n0,2\n1,4\n", ["column 1", "b"], [0, 1], [2, 4]),
    "large and small": ("a,b\n1e300,-2e-300\n3,4\n", ["a", "b"], [1e300, 3], [-2e-300, 4]),
}


@pytest.mark.parametrize("name", TABLES)
def test_dialects_are_found(name, reader, tmp_path):
    text, names, first, second = TABLES[name]
    table = table_of(text, tmp_path)
    assert table.names == names
    assert [table.kind(column) for column in names] == ["number"] * 2
    np.testing.assert_array_equal(table.numbers(names[0]), first)
    np.testing.assert_array_equal(table.numbers(names[1]), second)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found(encoding, reader, tmp_path):
    said = []
    table = table_of("größe,stadt\n1,Köln\n2,Jülich\n".encode(encoding), tmp_path, say=said.append)
    assert table.names == ["größe", "stadt"]
    assert table.values("stadt").tolist() == ["Köln", "Jülich"]
    assert bool(said) == (encoding == "cp1252")


def test_bytes_that_are_not_utf_8_beyond_the_sample_are_found(reader, tmp_path):
    text = "a,b\n" + "1,x\n" * 300_000 + "2,é\n"
    table = table_of(text.encode("latin-1"), tmp_path)
    assert table.values("b")[-1] == "é"
    with pytest.raises(CommandError, match="is not utf-8: line 300002 holds the byte 0xe9"):
        table_of(text.encode("latin-1"), tmp_path, encoding="utf-8")


def test_types_that_show_after_the_first_block_are_found(reader, tmp_path):
    text = "whole,empty,text\n" + "1,,2\n" * 400_000 + "1.5,3,x\n"
    table = table_of(text, tmp_path)
    assert [table.kind(name) for name in table.names] == ["number", "number", "text"]
    assert table.numbers("whole")[-1] == 1.5
    assert table.numbers("empty")[-1] == 3
    assert table.values("text")[-1] == "x"


def test_a_given_encoding_that_is_wrong_is_an_error_with_a_line(reader, tmp_path):
    with pytest.raises(CommandError, match=r"t\.csv is not utf-8: line 3 holds the byte 0xe9.*--encoding"):
        table_of("a,b\n1,x\n2,é\n".encode("latin-1"), tmp_path, encoding="utf-8")
    with pytest.raises(CommandError, match="encoding 'utf-99' is unknown"):
        table_of("a,b\n1,2\n", tmp_path, encoding="utf-99")


def test_what_is_given_is_not_looked_for(reader, tmp_path):
    table = table_of("1 2\n3 4\n", tmp_path, delimiter=",", header=True)
    assert table.names == ["1 2"]
    table = table_of("2019,2020\n3,4\n", tmp_path, header=True)
    assert table.names == ["2019", "2020"]
    table = table_of("a,b\nc,d\n", tmp_path, header=False)
    assert table.n_rows == 2


def test_a_column_of_text_that_comes_again_is_no_header():
    assert not found_dialect("t", b"ann,bob\nbob,cid\n", True).header
    assert found_dialect("t", b"from,to\nann,bob\nbob,cid\n", True).header


def test_the_same_numbers_come_from_every_format(tmp_path, rng):
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    X = rng.normal(size=(50, 2))
    arrow = pyarrow.table({"x0": X[:, 0], "x1": X[:, 1]})
    pyarrow.parquet.write_table(arrow, tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", X)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="x0,x1", comments="", fmt="%.17g")
    with pyarrow.ipc.new_file(tmp_path / "t.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    with pyarrow.ipc.new_stream(tmp_path / "s.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    # The first bytes say what a file is, not its name alone.
    os.link(tmp_path / "t.parquet", tmp_path / "t.data")
    for name in ("t.parquet", "t.npy", "t.csv", "t.arrow", "s.arrow", "t.data"):
        table = read_table(Source.of(str(tmp_path / name)))
        np.testing.assert_array_equal(np.column_stack([table.numbers("x0"), table.numbers("x1")]), X)


def test_standard_input_is_a_table(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    table = read_table(Source.of("-"))
    assert table.names == ["a", "b"]


BAD = {
    "ragged": ("a,b\n1,2\n3,4,5\n6,7\n", r"row 2 \(line 3\): 3 cell\(s\), where the first line has 2"),
    "short": ("a,b\n1,2\n3,4\n5\n", r"row 3 \(line 4\): 1 cell\(s\)"),
    "late ragged": ("a,b\n" + "1,2\n" * 5000 + "1\n", r"row 5001 \(line 5002\)"),
    "duplicates": ("a,b,a\n1,2,3\n", r"two columns named 'a', number 1 and 3"),
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "only a header": ("a,b\n", "a header and no rows"),
    "zero bytes": ("a,b\n1,\0\n", "is not a text table"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_text_is_an_error_that_names_file_and_place(name, reader, tmp_path):
    content, message = BAD[name]
    with pytest.raises(CommandError, match=message) as error:
        table_of(content, tmp_path)
    assert "t.csv" in str(error.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npy"])
def test_binary_files_that_are_something_else_are_refused(name, tmp_path):
    with pytest.raises(CommandError, match=rf"{name} cannot be read as"):
        table_of(b"\x89PNG\r\n not a table", tmp_path, name)


def test_cut_binary_files_are_refused(tmp_path, rng):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": rng.normal(size=1000)}), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(CommandError, match="cannot be read as Parquet"):
        table_of(content[:3000], tmp_path, "t.parquet")
    np.save(tmp_path / "t.npy", rng.normal(size=(100, 3)))
    with pytest.raises(CommandError, match="cannot be read as .npy"):
        table_of((tmp_path / "t.npy").read_bytes()[:500], tmp_path, "t.npy")


def test_npy_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros(5))
    with pytest.raises(CommandError, match=r"shape \(5,\).*\(rows, columns\)"):
        read_table(Source.of(str(tmp_path / "t.npy")))
    np.save(tmp_path / "t.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(CommandError, match="cannot be read as .npy"):
        read_table(Source.of(str(tmp_path / "t.npy")))


def test_directories_and_missing_files_are_refused(tmp_path):
    with pytest.raises(CommandError, match="is a directory"):
        Source.of(str(tmp_path))
    with pytest.raises(CommandError, match="does not exist"):
        Source.of(str(tmp_path / "nothing.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "t.csv").chmod(0)
    with pytest.raises(CommandError, match="cannot be read: Permission denied"):
        Source.of(str(tmp_path / "t.csv"))


def test_what_the_system_refuses_is_told(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(CommandError, match=r"t\.csv cannot be read: Permission denied"):
        Source.of(str(tmp_path / "t.csv"))


def test_parquet_without_pyarrow_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(CommandError, match=r'pip install "kfree\[files\]"'):
        table_of(b"PAR1....", tmp_path, "t.parquet")


def test_ten_thousand_columns(reader, tmp_path, rng):
    X = rng.normal(size=(5, 10_000))
    lines = [",".join(f"c{j}" for j in range(10_000)), *(",".join(map(repr, row.tolist())) for row in X)]
    table = table_of("\n".join(lines), tmp_path)
    assert len(table.names) == 10_000
    np.testing.assert_array_equal(table.numbers("c9999"), X[:, -1])
