"""Text tables: what is found about them, and what is said about bad ones."""

import csv
import io
import os
import random
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from kfree import open_rows
from kfree.exceptions import DataAdvice
from kfree.files.dialect import TextOptions, found_dialect
from kfree.files.records import EndlessCellError, cells_of, record_blocks, split_records
from kfree.files.table import open_table


def table_of(content, tmp_path, name="t.csv", **options):
    """The columns of a text as lists, by name."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table, _ = open_table(path, TextOptions(**options))
    return table.read(list(table.types)).to_pydict()


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
    "old line ends": ("a,b\r1,2\r3,4\r", ["a", "b"], [1, 3], [2, 4]),
    "no last line end": ("a,b\n1,2\n3,4", ["a", "b"], [1, 3], [2, 4]),
    "empty lines": ("\na,b\n1,2\n\n3,4\n\n", ["a", "b"], [1, 3], [2, 4]),
    "quoted": ('"a, x","b\ny"\n"1",2\n3,"4"\n', ["a, x", "b\ny"], [1, 3], [2, 4]),
    "missing": ("a,b\n1,\n,4\n", ["a", "b"], [1, None], [None, 4]),
    "NA": ("a,b\n1,NA\nnan,4\n", ["a", "b"], [1, None], [None, 4]),
    "index column": (",b\n0,2\n1,4\n", ["column 1", "b"], [0, 1], [2, 4]),
    "large and small": ("a,b\n1e300,-2e-300\n3,4\n", ["a", "b"], [1e300, 3], [-2e-300, 4]),
}


@pytest.mark.parametrize("name", TABLES)
def test_dialects_are_found(name, tmp_path):
    text, names, first, second = TABLES[name]
    assert table_of(text, tmp_path) == dict(zip(names, [first, second], strict=True))


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("missing", "NA")])
def test_rows_of_every_dialect_are_those_of_the_table(name, tmp_path):
    text, names, first, second = TABLES[name]
    (tmp_path / "t.csv").write_text(text, newline="")
    rows = open_rows(tmp_path / "t.csv")
    assert rows.feature_names == names
    (chunk,) = rows.chunks(0, rows.n_rows, 100)
    np.testing.assert_array_equal(chunk.X, np.column_stack([first, second]))


def test_a_decimal_comma_is_found_beside_names_with_commas(tmp_path):
    assert table_of('name;x\n"Smith, Ann";1,5\nBell;2\n', tmp_path)["x"] == [1.5, 2.0]


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_found(encoding, tmp_path):
    found = table_of("größe,stadt\n1,Köln\n2,Jülich\n".encode(encoding), tmp_path)
    assert found == {"größe": [1, 2], "stadt": ["Köln", "Jülich"]}


def test_a_guessed_encoding_is_said(tmp_path):
    with pytest.warns(DataAdvice, match=r"t\.csv is not UTF-8 and was read as Windows-1252; give encoding"):
        table_of("größe\n1\n".encode("cp1252"), tmp_path)


def test_bytes_that_are_not_utf_8_beyond_the_sample_are_found(tmp_path):
    text = "a,b\n" + "1,x\n" * 300_000 + "2,é\n"
    with pytest.warns(DataAdvice, match="Windows-1252"):
        assert table_of(text.encode("latin-1"), tmp_path)["b"][-1] == "é"
    with pytest.raises(ValueError, match="is not utf-8: line 300002 holds the byte 0xe9"):
        table_of(text.encode("latin-1"), tmp_path, encoding="utf-8")


def test_types_that_show_after_the_first_block_are_found(tmp_path):
    text = "whole,empty,text,day\n" + "1,,2,2024-01-01\n" * 100_000 + "1.5,3,x,2024-01-01 10:00:00\n"
    table = table_of(text, tmp_path)
    assert table["whole"][::100_000] == [1.0, 1.5]
    assert table["empty"][::100_000] == [None, 3]
    assert table["text"][::100_000] == ["2", "x"]
    assert table["day"][-1].hour == 10


def test_codes_and_long_numbers_after_the_first_block_are_found(tmp_path):
    text = "code,long\n" + "1,2\n" * 100_000 + "007,12345678901234567890\n"
    assert table_of(text, tmp_path)["long"][-1] == "12345678901234567890"
    table, _ = open_table(tmp_path / "t.csv", TextOptions())
    assert table.files[0].text.codes == ("code",)


def test_a_given_encoding_that_is_wrong_is_an_error_with_a_line(tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv is not utf-8: line 3 holds the byte 0xe9.*encoding"):
        table_of("a,b\n1,x\n2,é\n".encode("latin-1"), tmp_path, encoding="utf-8")
    for encoding in ("utf-99", "hex", ""):
        with pytest.raises(ValueError, match=f"^encoding '{encoding}' is unknown; give one such as utf-8"):
            table_of("a\n1\n", tmp_path, encoding=encoding)
    with pytest.raises(ValueError, match="encoding 'utf-99' is unknown"):
        table_of("a,b\n1,2\n", tmp_path, encoding="utf-99")


def test_what_is_given_is_not_looked_for(tmp_path):
    assert list(table_of("1 2\n3 4\n", tmp_path, delimiter=",", header=True)) == ["1 2"]
    assert list(table_of("2019,2020\n3,4\n", tmp_path, header=True)) == ["2019", "2020"]
    assert table_of("a,b\nc,d\n", tmp_path, header=False) == {"column 1": ["a", "c"], "column 2": ["b", "d"]}
    assert table_of("a;b\n1,5;2\n", tmp_path, decimal=".")["a"] == ["1,5"]


def test_a_column_of_text_that_comes_again_is_no_header():
    assert not found_dialect("t", b"ann,bob\nbob,cid\n", True, TextOptions()).header
    assert found_dialect("t", b"from,to\nann,bob\nbob,cid\n", True, TextOptions()).header


BAD = {
    "ragged": ("a,b\n1,2\n3,4,5\n6,7\n", r"row 2 \(line 3\): 3 cell\(s\), where the first line has 2"),
    "short": ("a,b\n1,2\n3,4\n5\n", r"row 3 \(line 4\): 1 cell\(s\)"),
    "late ragged": ('"a\n",b\n' + "1,2\n" * 500_000 + "1\n", r"row 500001 \(line 500003\)"),
    "duplicates": ("a,b,a\n1,2,3\n", r"two columns named 'a', number 1 and 3"),
    "a line for spreadsheets": ("sep=;\na;b\n1;2\n", "line 1 is 'sep=;', which tells a spreadsheet the delimiter"),
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "zero bytes": ("a,b\n1,\0\n", "is not a text table"),
    "a quote without end": (
        'a,b\n1,2\n3,"4\n' + "5,6\n" * 10,
        r"line 3: a quoted cell begins here or below, and has no",
    ),
    "a long quote without end": (
        'a,b\n1,2\n3,"4\n' + "5,6\n" * 100_000,
        r"line 3: a quoted cell begins here or below, and has no",
    ),
    "a quote too many twice": (
        'a,b\n1,2\n3," x\n' + "5,6\n" * 10 + '7," y\n8,9\n',
        r"row 2 \(line 3\): a quoted cell begins here, and has text after its last quote, in line 14",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_text_is_an_error_that_names_file_and_place(name, tmp_path):
    content, message = BAD[name]
    with pytest.raises(ValueError, match=message) as error:
        table_of(content, tmp_path)
    assert "t.csv" in str(error.value)


def test_a_cell_that_is_no_number_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n1O,3\n")
    with pytest.raises(ValueError, match=r"column 'a' does not hold numbers, row 3: '1O' is not a number \(1 such"):
        open_rows(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a;b\n1.5;2,5\n1,5;2,5\n3,5;2\n")
    with pytest.raises(ValueError, match=r"row 1: '1.5' is not a number, and the decimal mark of this file is ','"):
        open_rows(tmp_path / "t.csv")


def random_records(rng, signs):
    """A text of some signs, and its records, cut from blocks that end anywhere; None if a cell has no end."""
    text = "".join(rng.choice(signs) for _ in range(rng.randint(1, 30)))
    cuts = sorted(rng.randint(0, len(text)) for _ in range(rng.randint(0, 4)))
    blocks = [text[i:j].encode() for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    try:
        return text, [record for block in record_blocks(blocks, ",") for record in split_records(block, ",")]
    except EndlessCellError:
        return text, None


def records_by_csv(text):
    """The records of a text as the csv module cuts it, without their line ends."""
    taken, records = [], []

    def lines():
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    for row in csv.reader(lines()):
        records += ["".join(taken).rstrip("\r\n")] if row else []
        taken.clear()
    return records


def test_records_are_those_of_the_csv_module_wherever_blocks_end():
    rng = random.Random(0)
    cases = [random_records(rng, 'ab,"\n\r" ;') for _ in range(5000)]
    whole = [(text, records) for text, records in cases if records is not None]
    assert len(whole) > 3000
    for text, records in whole:
        assert [record.decode() for record in records] == records_by_csv(text)


def test_cells_are_those_of_the_csv_module():
    rng, n_compared = random.Random(2), 0
    for _, records in (random_records(rng, 'ab,,"" ;\n\r') for _ in range(5000)):
        for record in records or ():
            assert cells_of(record, ",") == next(csv.reader(io.StringIO(record.decode(), newline="")))
            n_compared += b'"' in record
    assert n_compared > 2000


def test_cells_may_be_long_wherever_they_stand(tmp_path):
    long = "x" * 200_000
    (tmp_path / "t.csv").write_text(f'a,b,c\n1,{long},"{long}"\n2,y,z\n')
    table, _ = open_table(str(tmp_path / "t.csv"))
    assert table.read(["b", "c"]).to_pylist() == [{"b": long, "c": long}, {"b": "y", "c": "z"}]


def test_as_many_records_are_found_as_pyarrow_parses():
    rng = random.Random(1)
    names, parse = pa.csv.ReadOptions(column_names=["x"]), pa.csv.ParseOptions(newlines_in_values=True)
    for text, records in (random_records(rng, 'ab"\n\r ') for _ in range(3000)):
        if records:
            assert pa.csv.read_csv(pa.BufferReader(text.encode()), names, parse).num_rows == len(records), text


def test_ten_thousand_columns(tmp_path, rng):
    X = rng.normal(size=(2, 10_000))  # a block for each
    lines = [",".join(f"c{j}" for j in range(10_000)), *(",".join(map(repr, row.tolist())) for row in X)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    rows = open_rows(tmp_path / "t.csv")
    (chunk,) = rows.chunks(0, 2, 2)
    np.testing.assert_array_equal(chunk.X, X)


def test_the_first_bytes_say_what_a_file_is(tmp_path, rng):
    import pyarrow.parquet as parquet

    X = rng.normal(size=(50, 2))
    arrow = pa.table({"x0": X[:, 0], "x1": X[:, 1]})
    parquet.write_table(arrow, tmp_path / "t.parquet")
    with pa.ipc.new_stream(tmp_path / "s.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    np.savetxt(tmp_path / "t.dat", X, delimiter=",", header="x0,x1", comments="", fmt="%.17g")
    os.link(tmp_path / "t.parquet", tmp_path / "t.data")
    for name in ("s.arrow", "t.dat", "t.data"):
        (chunk,) = open_rows(tmp_path / name).chunks(0, 50, 50)
        np.testing.assert_array_equal(chunk.X, X)


@pytest.mark.parametrize("name", ["t.npz", "t.csv.bz2", "t.csv.zst", "t.csv.xz"])
def test_files_that_kfree_does_not_read_are_refused_by_name(name, tmp_path):
    with pytest.raises(
        ValueError, match=rf"{name} is .*, which kfree does not read\. Save it as CSV, Parquet, \.xlsx or"
    ):
        table_of(b"\0\1", tmp_path, name)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npy"])
def test_binary_files_that_are_something_else_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=rf"{name} cannot be read"):
        table_of(b"\x89PNG\r\n not a table", tmp_path, name)


def test_dates_by_day_and_month_are_read_where_the_column_decides_it(tmp_path):
    text = "d,m,both,time\n13.02.2024,2/13/2024,1/2/2024,31.12.2023 10:30\n,02/28/2024,3/4/2024,1.1.2024 00:00\n"
    with pytest.warns(DataAdvice, match="column 'both' holds dates, and no value decides which number is the day"):
        found = table_of(text, tmp_path)
    assert [value and value.isoformat() for value in found["d"]] == ["2024-02-13T00:00:00", None]
    assert [value.isoformat() for value in found["m"]] == ["2024-02-13T00:00:00", "2024-02-28T00:00:00"]
    assert [value.isoformat() for value in found["time"]] == ["2023-12-31T10:30:00", "2024-01-01T00:00:00"]
    assert found["both"] == ["1/2/2024", "3/4/2024"]


def test_a_date_that_is_none_far_down_makes_the_column_text(tmp_path):
    text = "d,x\n" + "13.02.2024,1\n" * 60_000 + "soon,1\n"
    assert table_of(text, tmp_path)["d"][::60_000] == ["13.02.2024", "soon"]


@pytest.mark.parametrize("day", ["2023-02-29", "31.04.2024", "2/30/2024", "31.02.2024 10:30", "2024/02/30"])
def test_a_day_that_no_month_has_is_not_moved_to_the_next_month(day, tmp_path):
    assert table_of(f"d,x\n{day},1\n{day},2\n", tmp_path)["d"] == [day, day]


def test_marks_between_thousands_and_further_cells_for_missing_values(tmp_path):
    text = 'a,b,c\n"1,234.5","12,345",?\n7,"1,000",5\n'
    with pytest.warns(DataAdvice) as told:
        found = table_of(text, tmp_path)
    assert (found["a"], found["b"], found["c"]) == ([1234.5, 7.0], [12345.0, 1000.0], ["?", "5"])
    assert "column 'a' is read with ',' between thousands" in str(told[0].message)
    assert "column 'b' is read with ',' between thousands, such as '12,345'" in str(told[1].message)
    with pytest.warns(DataAdvice, match="column 'b' holds numbers such as 12,345, .*Give thousands=',' if so"):
        assert table_of('b,c\n"12,345",x\n"1,000",y\n', tmp_path)["b"] == ["12,345", "1,000"]
    found = table_of(text, tmp_path, thousands=",", missing=("?",))
    assert found == {"a": [1234.5, 7.0], "b": [12345.0, 1000.0], "c": [None, 5]}
    assert table_of("a;b\n1.234,5;x\n7;y\n", tmp_path, thousands=".")["a"] == [1234.5, 7.0]
    rows = open_rows(tmp_path / "t.csv", ["a"], thousands=".")
    assert next(rows.chunks(0, 2, 2)).X.tolist() == [[1234.5], [7.0]]
    with pytest.raises(ValueError, match="thousands='x' is not allowed; give one of"):
        open_rows(tmp_path / "t.csv", thousands="x")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_commas_that_may_stand_between_thousands_are_no_decimal_marks_in_silence(delimiter, tmp_path):
    def read(*rows, **options):
        return table_of("".join(f"{line.replace(' ', delimiter)}\n" for line in ("n x", *rows)), tmp_path, **options)

    doubt = "column 'x' holds numbers such as 1,096, and no value decides .*Give thousands=',' if so, else decimal=','"
    with pytest.warns(DataAdvice, match=doubt):
        assert read("1 1,096", "2 678")["x"] == ["1,096", "678"]
    assert read("1 1,096", "2 678", thousands=",")["x"] == [1096, 678]
    assert read("1 1,096", "2 678", decimal=",")["x"] == [1.096, 678]
    # Another column, or another number, decides.
    told = "column 'x' is read with ',' between thousands, such as '1,096'"
    with pytest.warns(DataAdvice, match=told):
        assert read("1.5 1,096", "2 678") == {"n": [1.5, 2], "x": [1096, 678]}
    with pytest.warns(DataAdvice, match=told):
        assert read("1 1,096", "2 1,096,000")["x"] == [1096, 1096000]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataAdvice)
        assert read("1 3,141", "2 2,718", "3 12,5")["x"] == [3.141, 2.718, 12.5]
        assert read("1,5 3,141", "2 2")["x"] == [3.141, 2]
        assert read("1 0,125", "2 2,718", "3 7")["x"] == [0.125, 2.718, 7]
    # Decimals of three digits in all rows stay decimals, and are named.
    with pytest.warns(DataAdvice, match="decimal mark is read as ',', which could .*'x', such as '3,141'"):
        assert read("1 3,141", "2 2,718")["x"] == [3.141, 2.718]
    # A point before three digits decides nothing.
    with pytest.warns(DataAdvice, match=doubt):
        assert read("1.500 1,096", "2.250 678")["x"] == ["1,096", "678"]


def first_line(content, **options):
    """Whether the first line is read as names, and what is said about that."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        header = found_dialect("t", content.encode(), True, TextOptions(**options)).header
    return header, [str(one.message) for one in told]


DECIMALS = "".join(f"{'nsew'[i % 4]},{100 + i}.5,{900 - 7 * i}.0\n" for i in range(8))
WHOLE = "".join(f"{'nsew'[i % 4]},{i},{97 * i % 1000}\n" for i in range(8))


@pytest.mark.parametrize(
    ("content", "header", "is_told"),
    [
        (f"region,2021,2022\n{DECIMALS}", True, True),  # a table of years
        (f"region,2021,2022\n{WHOLE}", True, True),
        (f"x,2024,2022\n{WHOLE}", True, True),
        (f"region,90,10\n{DECIMALS}", True, True),
        (f",0,1\n{DECIMALS}", True, True),  # as pandas numbers columns
        (f"n,90,10\n{DECIMALS}", True, True),
        ("2021,2022\n" + "".join(f"{500 * i},{5000 - 490 * i}\n" for i in range(9)), False, True),
        ("2021,2022,2023\n" + "".join(f"{500 * i},{5000 - 490 * i},7\n" for i in range(9)), True, True),
        ("1,5;2021\n" + "".join(f"{i},5;{i}\n" for i in range(9)), False, False),
        (f"region,2021,5\n{WHOLE}", False, True),  # a word that is no value, and a number that could be one
        (f"n,2,5\n{WHOLE}", False, False),
        (DECIMALS, False, False),
        (WHOLE, False, False),
        ("ann,1,2\nbob,3,4\ncid,5,6\n", False, False),  # names of rows
        ("1990,2021\n1987,2015\n2001,2019\n", False, False),  # years among years
        ("33,1.5\n" + "".join(f"{20 + i},{i}.25\n" for i in range(9)), False, False),
        ("0,1,2\n3,4,5\n6,7,8\n", False, False),
        ("a,b,c\n1,2,x\n", True, False),
        ("a,inf\n1,2\n3,4\n", True, False),
        ("Infinity\n1\n", True, False),
        ("inf,1\n1,2\n3,4\n", False, False),
    ],
)
def test_numbers_in_the_first_line_are_names_where_they_are_no_values(content, header, is_told):
    found, told = first_line(content)
    assert (found, len(told)) == (header, is_told)
    assert all(f"Give header={not header} if it" in one for one in told)
    assert first_line(content, header=False) == (False, [])
    assert first_line(content, header=True) == (True, [])


def test_a_first_line_with_the_columns_of_an_earlier_file_is_no_row():
    content = "region,2021,2022\nn,1990,2011\ns,1995,2012\n"
    assert not first_line(content)[0]
    assert first_line(content, numbers=("2021", "2022")) == (True, [])
