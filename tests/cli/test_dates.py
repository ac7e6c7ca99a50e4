"""Dates as whole numbers (20241231) in files, frames and rows of dicts: the same in all of them, at fit and later."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kfree
from kfree.exceptions import DataAdvice
from tests.cli.conftest import outcome, told


def dated_table(n_rows=60):
    """Two groups of rows, which differ in days that are whole numbers such as 20241231."""
    k = np.arange(n_rows) % 2
    days = np.datetime64("2004-01-01") + (5000 * k + 37 * np.arange(n_rows) % 400).astype("timedelta64[D]")
    numbers = np.array([int(str(day).replace("-", "")) for day in days])
    return {"day": numbers, "order": 20000101 + np.arange(n_rows) % 40, "x": np.arange(n_rows) % 7 + 5.0 * k}


DATED = {
    "pandas": pd.DataFrame,
    "objects": lambda table: pd.DataFrame(table).astype({"day": object}),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", [*DATED, "t.csv", "t.parquet", "t.arrow"])
def test_dates_without_marks_are_dates_in_every_table(kind, here):
    table = pd.DataFrame(dated_table())
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    table.to_feather("t.arrow")
    given = DATED[kind](dated_table()) if kind in DATED else kind
    with pytest.warns(DataAdvice, match="column 'day' is read as dates, such as 20241231 for 2024-12-31"):
        found = kfree.cluster(given, k=2)
    assert any("column 'day' is read as dates" in remark for remark in found.remarks)
    known = {encoder.name: type(encoder).__name__ for encoder in found.preparation.encoder.encoders_}
    assert known == {"day": "Dates", "order": "Numeric", "x": "Numeric"}  # 20000132 is no date
    for further in ["t.csv", "t.parquet", "t.arrow", table, pl.DataFrame(dated_table())]:
        np.testing.assert_array_equal(found.predict(further), found.labels)
    assert found.predict(table.head(2)).tolist() == found.labels[:2].tolist()  # two dates would not show what they are
    assert found.explain({name: values[1].item() for name, values in dated_table().items()}).label == found.labels[1]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_of_dates_may_have_any_name(kind):
    names = {"day": "self", "order": "exprs", "x": "more columns"}
    table = {names[name]: values for name, values in dated_table().items()}
    with pytest.warns(DataAdvice, match="column 'self' is read as dates"):
        found = kfree.cluster(DATED[kind](table), k=2)
    assert type(found.preparation.encoder.encoders_[0]).__name__ == "Dates"
    assert found.preparation.columns == list(table)


def test_numbers_at_fit_stay_numbers_where_all_look_like_dates_later(here):
    table = pd.DataFrame(dated_table())
    table.loc[0, "day"] = 20041399
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)  # about the scale of numbers such as 20041399
        found = kfree.cluster(table, k=2)
    table[1:].to_csv("t.csv", index=False)
    table[1:].to_parquet("t.parquet")
    for further in ["t.csv", "t.parquet", table[1:]]:
        np.testing.assert_array_equal(found.predict(further), found.labels[1:])


def test_dates_without_marks_are_dates_where_rows_are_streamed_and_are_written_as_they_were(here, capsys):
    table = pd.DataFrame(dated_table(60_000))
    table.to_parquet("t.parquet")
    facts = told(["cluster", "t.parquet", "--k", "2", "--memory", "3MB"], capsys)
    assert "warning: t.parquet: column 'day' is read as dates, such as 20241231 for 2024-12-31." in facts["remarks"]
    written = pd.read_parquet("t.clusters.parquet")
    assert written["day"].tolist() == table["day"].tolist()


def test_columns_that_are_categories_or_weights_are_no_dates(here):
    table = pd.DataFrame(dated_table())
    table["day"] = np.where(np.arange(60) % 2, 20040101, 20100101)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataAdvice)
        found = kfree.cluster(table, k=2, categories=["day"], drop=["order"])
    assert found.preparation.encoder.encoders_[0].levels == (20040101, 20100101)


@pytest.mark.parametrize("prepare", ["none", "encode"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "t.csv", "t.parquet"])
def test_dates_where_the_fit_had_numbers_are_an_error_that_names_the_column(kind, prepare, here):
    x = 9.0 * (np.arange(40) % 2)
    made = kfree.cluster(pd.DataFrame({"x": x, "when": np.arange(40) / 7}), prepare=prepare, k=2)
    days = np.datetime64("2024-01-01", "us") + np.arange(40).astype("timedelta64[D]")
    table = pd.DataFrame({"x": x, "when": days})
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    given = DATED[kind](dict(table)) if kind in DATED else kind
    for ask in (made.predict, made.scores, made.summary, made.explain):
        with pytest.raises(ValueError, match="column 'when' held numbers at fit and holds .* now; give it the type"):
            ask(given)


def test_text_where_the_fit_had_numbers_is_an_error_that_names_the_column(here, capsys):
    made = kfree.cluster(pd.DataFrame({"x": 9.0 * (np.arange(40) % 2)}), prepare="none", k=2)
    made.save("m.kfree")
    pd.DataFrame({"x": ["a", "b"]}).to_parquet("t.parquet")
    (here / "t.csv").write_text("x\n1.5\nmany\n")
    for name, said in (
        ("t.parquet", "column 'x' held numbers at fit and holds text now"),
        ("t.csv", "column 'x', row 2: 'many' is not a number"),
    ):
        for ask in (made.predict, made.scores):
            with pytest.raises(ValueError, match=f"{name}.*{said}"):
                ask(name)
        status, _, err = outcome(["predict", "m.kfree", name], capsys)
        assert (status, said in err) == (1, True)
