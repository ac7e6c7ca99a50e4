"""Messy files at the first attempt: options for reading and preparing, tomorrow's file, and suggestions."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.exceptions import DataAdvice
from tests.cli.conftest import outcome, rows_of, told


@pytest.fixture
def messy(here, rng):
    """messy.csv: two kinds of customers with text, codes, dates, marks between thousands and levels that look alike."""
    kind = np.arange(80) % 2
    lines = ["name,note,zip,channel,since,income,visits,constant"]
    for i, k in enumerate(kind):
        channel = ["App", "app", "App "][i % 3] if k else "Shop"
        since = f"{13 + i % 15}.0{1 + i % 9}.20{10 + 9 * k}"
        income = f'"{1 + 50 * k},{100 + i}"'
        lines.append(f"person {i},remark {i},0{1000 + i % 7},{channel},{since},{income},{'?' if i == 5 else i % 4},x")
    (here / "messy.csv").write_text("\n".join(lines) + "\n")
    return kind


def test_all_text_is_named_at_once_or_left_out(messy, capsys):
    line = ["cluster", "messy.csv", "--encode", "--thousands", ",", "--na", "?", "--lam", "20"]
    status, _, err = outcome([*line, "--columns", "name,note"], capsys)
    assert status == 1
    assert "column 'name' holds text" in err
    assert "column 'note' holds text" in err
    assert "--drop name,note, or give --categories name,note" in err
    assert "TfidfVectorizer" not in err
    facts = told([*line, "--fold-levels", "--save", "m.kfree"], capsys)
    assert facts["columns"] == ["zip", "channel", "since", "income", "visits"]
    labels = [int(row["cluster"]) for row in rows_of("messy.clusters.csv")]
    assert len(set(zip(labels, messy.tolist(), strict=True))) == len(set(labels))  # no cluster has both kinds
    said = " ".join(facts["remarks"])
    assert "left out 2 column(s): 'name' (text, or a name for each row: " in said
    assert "left out: 'constant' (constant: x)" in said
    assert "'zip' hold whole numbers with leading zeros" in said
    assert "took 1 missing value of 1 row from the nearest rows; means and shares include them" in said
    encoders = {encoder.name: encoder for encoder in kfree.load("m.kfree").encoder.encoders_}
    assert encoders["channel"].levels == ("Shop", "app")  # as most rows call it
    assert type(encoders["since"]).__name__ == "Dates"


def test_look_alike_levels_are_named_with_the_option(messy, capsys):
    err = outcome(["cluster", "messy.csv", "--encode", "--lam", "20", "--columns", "channel,zip"], capsys)[2]
    assert "column 'channel' has levels that look alike: 'App', 'App ', 'app'" in err
    assert "--fold-levels" in err


def test_columns_that_are_categories_and_weights(blobs_csv, here, capsys):
    X, _ = blobs_csv
    line = ["cluster", "data.csv", "--no-encode", "--lam", "60", "--weights", "a=3,b=.5", "--save", "m.kfree"]
    facts = told(line, capsys)
    expected = kfree.DPMeans(lam=60.0).fit(X * [3, 0.5, 1])
    np.testing.assert_array_equal(kfree.load("m.kfree").labels, expected.labels_)
    # Means are those of the file.
    mean = {feature["name"]: feature["mean"] for feature in facts["clusters"][0]["features"]}
    assert mean["a"] == pytest.approx(X[expected.labels_ == 0, 0].mean())
    assert outcome(["cluster", "data.csv", "--weights", "a=0"], capsys)[0] == 2
    assert outcome(["cluster", "data.csv", "--weights", "a"], capsys)[0] == 2
    assert "no column 'z'" in outcome(["cluster", "data.csv", "--weights", "z=2"], capsys)[2]
    assert outcome(["cluster", "data.csv", "--standardize", "--fold-levels"], capsys)[0] == 2


def test_a_column_says_how_often_a_row_counts(here, rng, capsys):
    X, weight = rng.normal(size=(60, 2)), rng.integers(1, 5, 60)
    lines = [f"{a},{b},{w}" for (a, b), w in zip(X, weight, strict=True)]
    (here / "t.csv").write_text("\n".join(["a,b,count", *lines]) + "\n")
    facts = told(["cluster", "t.csv", "--no-encode", "--lam", "9", "--weight", "count"], capsys)
    assert facts["columns"] == ["a", "b"]
    assert facts["cost"] == kfree.DPMeans(lam=9.0).fit(X, sample_weight=weight).cost_


def test_scores_are_written_by_cluster_and_predict(blobs_csv, capsys):
    X, _ = blobs_csv
    told(["cluster", "data.csv", "--no-encode", "--lam", "60", "--scores", "--save", "m.kfree"], capsys)
    model, rows = kfree.DPMeans(lam=60.0).fit(X), rows_of("data.clusters.csv")
    np.testing.assert_allclose([float(row["confidence"]) for row in rows], model.confidence(X))
    np.testing.assert_allclose([float(row["outlier_score"]) for row in rows], model.outlier_score(X))
    told(["predict", "m.kfree", "data.csv", "--scores", "-o", "again.csv"], capsys)
    assert rows_of("again.csv") == rows


def test_tomorrows_file_has_unseen_levels_and_only_needed_columns(messy, here, capsys):
    line = "cluster messy.csv --encode --fold-levels --thousands , --na ? --lam 20 --save m.kfree --quiet"
    assert outcome(line.split(), capsys)[0] == 0
    (here / "new.csv").write_text(
        'zip,channel,since,income,visits\n01001,Fax,14.03.2019,"51,120",2\n01002,Shop,14.03.2010,"1,120",2\n'
    )
    predict = ["predict", "m.kfree", "new.csv", "--thousands", ","]
    status, _, err = outcome(predict, capsys)
    assert status == 1
    assert "column 'channel' holds 'Fax'" in err
    assert "--unseen missing or --unseen new" in err
    labels = [row["cluster"] for row in rows_of("messy.clusters.csv")]
    facts = told([*predict, "--unseen", "missing"], capsys)
    assert [row["cluster"] for row in rows_of("new.clusters.csv")] == [labels[1], labels[0]]
    assert any("1 row(s) have levels that the rows of the fit did not have" in remark for remark in facts["remarks"])
    told([*predict, "--unseen", "new"], capsys)
    assert [row["cluster"] for row in rows_of("new.clusters.csv")] == ["-1", labels[0]]
    (here / "new.csv").write_text("zip,channel\n01001,Shop\n")
    assert "has no column 'since', 'income', 'visits' (a column of the model)" in outcome(predict, capsys)[2]


def test_what_fails_leaves_the_rest(blobs_csv, here, capsys, monkeypatch):
    def fail(*_):
        raise TypeError("it cannot be packed")

    monkeypatch.setattr(kfree.Clustering, "save", fail)
    line = ["cluster", "data.csv", "--lam", "60", "--save", "m.kfree", "--report", "r.html", "--json"]
    status, out, err = outcome(line, capsys)
    assert status == 1
    assert "the model was not written: it cannot be packed" in err
    assert json.loads(out)["n_clusters"] == 3
    assert len(rows_of("data.clusters.csv")) == 90
    assert "</html>" in (here / "r.html").read_text()


@pytest.mark.parametrize(
    ("line", "meant"),
    [("cluster t.csv --misssing drop", "--missing"), ("clsuter t.csv", "cluster"), ("cluster t.csv --cutt 3", None)],
)
def test_mistyped_options_and_commands_get_a_suggestion(line, meant, here, capsys):
    status, _, err = outcome(line.split(), capsys)
    assert status == 2
    assert (f"did you mean {meant}?" in err) if meant else ("did you mean" in err or "unrecognized" in err)


def test_weights_and_scores_of_rows_that_are_streamed(here, rng, capsys):
    n = 60_000
    kind = rng.integers(2, size=n)
    np.save("t.npy", np.column_stack([30.0 * kind + rng.normal(size=n), rng.normal(size=n), rng.integers(1, 4, n)]))
    line = ["cluster", "t.npy", "--lam", "100000", "--weight", "x2", "--memory", "4MB", "--scores"]
    facts = told(line, capsys)
    assert facts["columns"] == ["x0", "x1"]
    rows = kfree.open_rows("t.npy", [0, 1], 2)
    model = kfree.DPMeans(lam=100000.0, memory="4MB").fit(rows)
    assert facts["cost"] == model.cost_
    written = rows_of("t.clusters.csv")
    assert len(written) == n
    X = np.load("t.npy")[:, :2]
    np.testing.assert_allclose([float(row["confidence"]) for row in written], model.confidence(X))
    assert [int(row["cluster"]) for row in written] == model.predict(X).tolist()


def test_the_output_of_a_packed_table_is_text(blobs_csv, here, capsys):
    import gzip

    (here / "data.csv.gz").write_bytes(gzip.compress((here / "data.csv").read_bytes()))
    assert outcome(["cluster", "data.csv.gz", "--lam", "60", "--quiet"], capsys)[0] == 0
    assert len(rows_of("data.clusters.csv")) == 90


@pytest.fixture
def marked(here):
    """t.csv: numbers and dates with marks of missing values among them, levels of which one looks like a mark."""
    rows = [
        f"{'?' if i % 30 == 4 else i % 70},{'-' if i % 40 == 3 else i % 9},{'+-'[i % 2]},word {i},"
        f"{'n.a.' if i == 7 else f'2024-0{1 + i % 9}-1{i % 8}'}"
        for i in range(400)
    ]
    (here / "t.csv").write_text("\n".join(["age,orders,rhesus,note,day", *rows]) + "\n")


def test_marks_among_numbers_and_dates_are_missing_and_told(marked, here, capsys):
    facts = told(["cluster", "t.csv", "--k", "2", "--save", "m.kfree"], capsys)
    assert facts["columns"] == ["age", "orders", "rhesus", "day"]
    marks = "'age' ('?' 14 times), 'orders' ('-' 10 times), 'day' ('n.a.' 1 times)"
    assert f"warning: marks among numbers or dates are read as missing values, in column(s) {marks}" in facts["remarks"]
    assert "took 25 missing values of 25 rows from the nearest rows; means and shares include them" in facts["remarks"]
    known = {encoder.name: encoder for encoder in kfree.load("m.kfree").encoder.encoders_}
    assert known["rhesus"].levels == ("+", "-")
    assert type(known["day"]).__name__ == "Dates"
    # Tomorrow's file has nothing but a mark in columns of numbers; the level that looks like one is none.
    (here / "new.csv").write_text("age,orders,rhesus,day\n12,?,-,-\n")
    (here / "gap.csv").write_text("age,orders,rhesus,day\n12,,-,\n")
    for name in ("new", "gap"):
        assert outcome(["predict", "m.kfree", f"{name}.csv", "--scores", "--quiet"], capsys)[0] == 0
    labels = [rows_of(f"{name}.clusters.csv")[0] for name in ("new", "gap")]
    assert [labels[0][name] for name in ("cluster", "confidence")] == [labels[1][n] for n in ("cluster", "confidence")]
    facts = told(["cluster", "t.csv", "--categories", "age,orders", "--k", "2"], capsys)
    assert facts["columns"] == ["age", "orders", "rhesus", "day"]


def test_marks_are_read_by_the_front_door_alone(marked):
    with pytest.raises(ValueError, match=r"column 'age' does not hold numbers, row 5: '\?' is not a number"):
        kfree.open_rows("t.csv", ["age"])
    with pytest.raises(ValueError, match=r"t.csv has missing values in 1 column\(s\): 'age' \(14\)"):
        kfree.cluster("t.csv", columns=["age"], prepare="none")


def test_one_error_names_all_that_is_in_the_way_and_one_line_that_mends_it(here, capsys):
    dates, odd = ["14.03.2019", "2019-03-15"], {8: "or", 5: "3?"}
    lines = [f"{'none' if i == 3 else i % 7},{dates[i % 2]},{odd.get(i, 2 * i)}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["n,since,m", *lines]) + "\n")
    status, _, err = outcome(["cluster", "t.csv"], capsys)
    assert status == 1
    for said in ("column 'n', row 4: 'none' is not", "column 'm', row 6: '3?' is not", "column 'since' holds dates"):
        assert said in err
    line = re.search(r"or give (--na .* --drop \S+):", err)[1]
    assert line == "--na 'none,3?,or' --drop since"
    assert outcome(["cluster", "t.csv", *shlex.split(line), "--quiet"], capsys)[0] == 0


def test_rows_without_any_value_are_left_out_and_told(here, capsys):
    lines = [f"name {i},{i % 7},{'abc'[i % 3]},x" for i in range(60)]
    lines[3], lines[9] = ",,,", "name 9,,,x"  # one of them without a value in the columns that are used
    (here / "t.csv").write_text("\n".join(["name,n,plan,constant", *lines]) + "\n")
    facts = told(["cluster", "t.csv", "--k", "3", "--save", "m.kfree"], capsys)
    assert facts["n_rows"] == 58
    assert "left out 2 of 60 rows without any value" in facts["remarks"]
    labels = [row["cluster"] for row in rows_of("t.clusters.csv")]
    assert [row for row, label in enumerate(labels) if not label] == [3, 9]
    told(["predict", "m.kfree", "t.csv", "-o", "again.csv"], capsys)
    assert [row["cluster"] for row in rows_of("again.csv")] == labels


def test_dates_without_marks_are_dates_and_not_numbers(here, capsys):
    lines = [f"{2000 + i % 20}{1 + i % 12:02d}{1 + i % 28:02d},{20000101 + i % 40},{i % 7}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["day,order,x", *lines]) + "\n")
    facts = told(["cluster", "t.csv", "--k", "2", "--save", "m.kfree"], capsys)
    assert "warning: t.csv: column 'day' is read as dates, such as 20241231 for 2024-12-31." in facts["remarks"]
    known = {encoder.name: type(encoder).__name__ for encoder in kfree.load("m.kfree").encoder.encoders_}
    assert known == {"day": "Dates", "order": "Numeric", "x": "Numeric"}  # 20000132 is no date
    (here / "new.csv").write_text("day,order,x\n20190405,20000102,3\n")
    (here / "iso.csv").write_text("day,order,x\n2019-04-05,20000102,3\n")
    for name in ("new", "iso"):
        assert outcome(["predict", "m.kfree", f"{name}.csv", "--scores", "--quiet"], capsys)[0] == 0
    assert rows_of("new.clusters.csv")[0]["confidence"] == rows_of("iso.clusters.csv")[0]["confidence"]
    assert kfree.open_rows("t.csv").shape == (60, 3)  # which reads numbers as such


def test_columns_that_number_the_rows_are_left_out(here, rng, capsys):
    X = rng.normal(size=(60, 2)).round(3)
    lines = [f"{i},{i + 1},{i + 2},{a},{b}" for i, (a, b) in enumerate(X)]
    (here / "t.csv").write_text("\n".join([",no,year,a,b", *lines]) + "\n")
    facts = told(["cluster", "t.csv"], capsys)
    assert facts["columns"] == ["year", "a", "b"]
    assert "left out 2 column(s) that number the rows: 'column 1', 'no' (--columns uses them)" in facts["remarks"]
    # Some rows of a larger table: numbers without a name that only rise.
    lines = [f"{3 * i + i % 2},{3 * i + i % 2},{a},{b}" for i, (a, b) in enumerate(X)]
    (here / "some.csv").write_text("\n".join([",stock,a,b", *lines]) + "\n")
    assert told(["cluster", "some.csv"], capsys)["columns"] == ["stock", "a", "b"]
    assert told(["cluster", "t.csv", "--columns", "no,a"], capsys)["columns"] == ["no", "a"]
    assert told(["cluster", "t.csv", "--no-encode", "--lam", "9"], capsys)["columns"][:2] == ["column 1", "no"]


def test_whole_numbers_number_rows_whatever_their_type(here, rng):
    x = rng.normal(size=60) + 30 * (np.arange(60) % 2)
    frame = pd.DataFrame(
        {"step": np.arange(60.0), "code": 2.0 * rng.permutation(60), "half": np.arange(60) / 2, "x": x}
    )
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    frame.astype({"step": "float32", "code": object}).to_parquet("other.parquet")
    for table in (frame, frame.astype({"step": int, "code": object}), "t.csv", "t.parquet", "other.parquet"):
        made = kfree.cluster(table, k=2)
        assert made.preparation.columns == ["code", "half", "x"]
        assert made.remarks[0] == "left out 1 column(s) that number the rows: 'step' (columns=[…] uses them)"
        (like_identifiers,) = (remark for remark in made.remarks if "like identifiers" in remark)
        assert "column(s) 'code' hold" in like_identifiers


def test_tomorrows_file_is_read_as_the_file_of_the_fit_was(here, capsys):
    kind = np.arange(60) % 2
    lines = [
        f"{13 + i % 15}/0{1 + i % 9}/20{10 + 9 * k};{'?' if i == 3 else i % 5};1.{i % 10};{k},5"
        for i, k in enumerate(kind)
    ]
    (here / "t.csv").write_text("\n".join(["since;n;x;y", *lines]) + "\n")
    fit = ["cluster", "t.csv", "--encode", "--na", "?", "--k", "2", "--weights", "since=9,y=9", "--save", "m.kfree"]
    assert outcome(fit, capsys)[0] == 0
    # Which number is the day, which mark is decimal and what "?" means is known from the fit.
    (here / "new.csv").write_text("since;n;x;y\n02/03/2019;?;1.250;1,5\n")
    status, _, err = outcome(["predict", "m.kfree", "new.csv", "-o", "new.out.csv"], capsys)
    assert status == 0, err
    (here / "iso.csv").write_text("since;n;x;y\n2019-03-02;;1.25;1,5\n2010-03-02;;1.25;0,5\n")
    assert outcome(["predict", "m.kfree", "iso.csv", "--quiet"], capsys)[0] == 0
    expected = [line.split(";")[-1] for line in (here / "iso.clusters.csv").read_text().splitlines()[1:]]
    assert expected[0] != expected[1]
    assert (here / "new.out.csv").read_text().splitlines()[1].split(";")[-1] == expected[0]
    assert kfree.load("m.kfree").predict("new.csv").tolist() == [int(expected[0])]
    (here / "bad.csv").write_text("since;n;x;y\n14/03/2019;2;1.5;1,5\n14/03/2019;none;1.5;1,5\n")
    status, _, err = outcome(["predict", "m.kfree", "bad.csv"], capsys)
    assert status == 1
    assert "bad.csv, column 'n', row 2: 'none' is not a number (1 such value(s)" in err
    assert "give --na 'none' if that stands for a missing value" in err


def test_a_unit_that_is_not_that_of_the_fit_is_told(here, capsys):
    (here / "t.csv").write_text("price\n" + "".join(f"${i % 2 * 50 + i}.50\n" for i in range(40)))
    assert outcome(["cluster", "t.csv", "--k", "2", "--save", "m.kfree", "--quiet"], capsys)[0] == 0
    (here / "new.csv").write_text("price\n€5.50\n€60.50\n")
    status, _, err = outcome(["predict", "m.kfree", "new.csv"], capsys)
    assert status == 0
    assert "column 'price' is read as numbers in '€', where the file of the fit has '$', such as '€5.50'" in err
    (here / "new.csv").write_text("price\n$5.50\n$60.50\n")
    assert outcome(["predict", "m.kfree", "new.csv"], capsys)[::2] == (0, "")


@pytest.mark.parametrize(
    ("dates", "examples"),
    [
        (["14.03.2019", "2019-03-15"], "'14.03.2019' (row 1), '2019-03-15' (row 2)"),
        (["01/02/2019", "14/03/2019", "03/15/2019"], "'14/03/2019' (row 2), '03/15/2019' (row 3)"),
        (["14/03/2019 10:30", "14.03.2019", ""], "'14/03/2019 10:30' (row 1), '14.03.2019' (row 2)"),
    ],
)
def test_dates_of_several_forms_in_a_column_are_named_with_examples(dates, examples, here, capsys):
    lines = [f"{i % 7},{dates[i % len(dates)]}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["x,since", *lines]) + "\n")
    status, _, err = outcome(["cluster", "t.csv"], capsys)
    assert status == 1
    assert f"t.csv: column 'since' holds dates of several forms: {examples}" in err
    assert "Correct such cells (dates as 2024-12-31), or give --drop since: such columns are left out" in err
    assert outcome(["cluster", "t.csv", "--categories", "since", "--k", "2", "--quiet"], capsys)[0] == 0


def test_an_error_about_a_folder_names_the_file(here, capsys):
    (here / "parts").mkdir()
    (here / "parts/1.csv").write_text("x,since\n" + "1,31/1/2024\n" * 30)
    (here / "parts/2.csv").write_text("x,since\n2,5.1.2024\n" + "oops,1/2/2024\n" + "3,2/1/2024\n" * 28)
    status, _, err = outcome(["cluster", "parts"], capsys)
    assert status == 1
    assert "column 'x', row 2 of parts/2.csv: 'oops' is not a number" in err
    assert "(row 1 of parts/1.csv)" in err


def test_an_error_shows_the_beginning_of_a_long_cell(here, capsys):
    (here / "t.csv").write_text("a,b\n" + "x" * 100_000 + ",1\n" + "1.5,2\n" * 9)
    status, _, err = outcome(["cluster", "t.csv"], capsys)
    assert status == 1
    assert f"row 1: '{'x' * 40}' is not a number" in err
    assert len(err) < 400


def test_an_error_about_marks_between_thousands_names_the_option_that_reads_them(here, capsys):
    incomes = [f'"{1000 + 37 * i:,}"' if i % 3 else f"{300 + i}" for i in range(60)]
    (here / "t.csv").write_text("age,income\n" + "".join(f"{i % 40},{income}\n" for i, income in enumerate(incomes)))
    remedy = "'income' give thousands=',' if it stands between thousands, or decimal=',' if it is the decimal mark."
    with pytest.raises(ValueError, match=r"t.csv: column 'income', row 2: '1,037' is not a number") as error:
        kfree.cluster("t.csv")
    assert str(error.value).endswith(f"For {remedy}")  # and no advice to drop the column, or to take it for levels
    assert "column 'income' holds numbers such as" in error.value.__notes__[0]
    status, _, err = outcome(["cluster", "t.csv"], capsys)
    assert status == 1
    assert "For 'income' give --thousands ',' if it stands between thousands, or --decimal ',' if it is" in err
    assert "--drop" not in err
    assert "--categories" not in err
    told = "column of numbers; give thousands=',' if it stands between thousands, or"
    with pytest.warns(DataAdvice), pytest.raises(ValueError, match=told):
        kfree.open_rows("t.csv")
    assert outcome(["cluster", "t.csv", "--thousands", ",", "--quiet"], capsys)[0] == 0
    # Beside other mistakes, each column has its own remedy.
    lines = [f"{i % 40 if i != 7 else 'none'},{income}\n" for i, income in enumerate(incomes)]
    (here / "t.csv").write_text("age,income\n" + "".join(lines))
    status, _, err = outcome(["cluster", "t.csv"], capsys)
    assert "or give --na 'none': such cells are missing values then" in err
    assert "--categories age" in err
    assert outcome(["cluster", "t.csv", "--thousands", ",", "--na", "none", "--quiet"], capsys)[0] == 0
