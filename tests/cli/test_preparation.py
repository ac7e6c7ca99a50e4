"""From tables to matrices: choice of columns, missing values, scale; and errors that name row and column."""

import numpy as np
import pytest

from kfree.cli.errors import CommandError
from kfree.cli.preparation import chosen_columns, prepare
from kfree.cli.tables import Source, Table

NAN = np.nan


def table(**columns):
    kinds = {name: object if isinstance(values[0], str) else None for name, values in columns.items()}
    return Table(Source("t.csv", b""), {name: np.array(values, kinds[name]) for name, values in columns.items()})


def chosen(table, columns=None, drop=(), encode=False):
    said = []
    return chosen_columns(table, columns, list(drop), [], encode, said.append), said


def test_text_is_left_out_and_named():
    names, said = chosen(table(a=[1.5, 2.5], city=["x", "y"]))
    assert names == ["a"]
    assert "'city'" in said[0]


def test_text_among_given_columns_is_an_error():
    with pytest.raises(CommandError, match=r"column 'city' of --columns holds text.*--encode"):
        chosen(table(a=[1.5, 2.5], city=["x", "y"]), ["a", "city"])


def test_a_column_of_numbers_with_a_mistake_is_an_error_that_names_the_row():
    with pytest.raises(CommandError, match=r"t\.csv, row 3, column 'a': '1O' is not a number \(1 such"):
        chosen(table(a=["1", "2", "1O", "4"], b=[1.0, 2.0, 3.0, 4.0]))
    assert chosen(table(a=["1", "2", "1O", "4"], b=[1.0, 2.0, 3.0, 4.0]), drop=["a"])[0] == ["b"]


def test_columns_that_do_not_exist_are_named():
    with pytest.raises(CommandError, match=r"no column 'x' \(--drop\); it has 'a'"):
        chosen(table(a=[1.0]), drop=["x"])


def test_no_numbers_at_all_is_an_error():
    with pytest.raises(CommandError, match="no column of numbers"):
        chosen(table(city=["x", "y"]))


def test_identifiers_are_warned_about_and_measurements_are_not(rng):
    n = 50
    measured, codes = rng.normal(size=n).tolist(), [f"c{i}" for i in range(n)]
    _, said = chosen(table(id=list(range(n)), x=measured, few=[1, 2] * 25, code=codes))
    warnings = [text for text in said if text.startswith("warning")]
    assert len(warnings) == 1
    assert "'id'" in warnings[0]
    assert "--drop id" in warnings[0]
    assert "'x'" not in warnings[0]


def test_missing_values_are_an_error_that_names_columns_and_options():
    with pytest.raises(CommandError, match=r"'b' \(2\); the first is in row 2.*--missing drop.*--missing mean.*--drop"):
        prepare(table(a=[1.0, 2.0, 3.0], b=[1.0, NAN, NAN]), ["a", "b"])


def test_missing_values_are_dropped_or_filled():
    X, kept, _ = prepare(table(a=[1.0, 2.0, 6.0], b=[1.0, NAN, 5.0]), ["a", "b"], missing="drop")
    assert X.tolist() == [[1.0, 1.0], [6.0, 5.0]]
    assert kept.tolist() == [True, False, True]
    X, kept, plan = prepare(table(a=[1.0, 2.0, 6.0], b=[1.0, NAN, 5.0]), ["a", "b"], missing="mean")
    assert X.tolist() == [[1.0, 1.0], [2.0, 3.0], [6.0, 5.0]]
    assert kept.all()
    # Further rows are filled by the means of the fit.
    assert plan.matrix(table(a=[NAN], b=[NAN]))[0].tolist() == [[3.0, 3.0]]
    with pytest.raises(CommandError, match="'b' hold no value at all"):
        prepare(table(a=[1.0], b=[NAN]), ["a", "b"], missing="mean")
    with pytest.raises(CommandError, match="missing values"):
        prepare(table(a=[NAN, 1.0], b=[1.0, NAN]), ["a", "b"], missing="drop")


def test_infinite_values_are_an_error_that_names_the_row():
    with pytest.raises(CommandError, match=r"row 2, column 'b': an infinite value \(1 in all\)"):
        prepare(table(a=[1.0, 2.0], b=[1.0, np.inf]), ["a", "b"])


def test_standardized_columns_and_further_rows(rng):
    X = rng.normal(size=(40, 2)) * [3, 100] + [5, -50]
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "constant": [7.0] * 40}
    found, _, plan = prepare(table(**columns), list(columns), standardize=True)
    np.testing.assert_allclose(found[:, :2], (X - X.mean(axis=0)) / X.std(axis=0))
    assert not found[:, 2].any()
    again, _ = plan.matrix(table(**columns))
    np.testing.assert_array_equal(again, found)


def test_float32_stays_float32():
    columns = {"a": np.float32([1, 2]), "b": np.float32([3, 4])}
    assert prepare(Table(Source("t", b""), dict(columns)), ["a", "b"])[0].dtype == np.float32
    columns["b"] = np.array([3, 4])
    assert prepare(Table(Source("t", b""), columns), ["a", "b"])[0].dtype == np.float64


def test_columns_of_a_model_that_are_not_there_are_named():
    _, _, plan = prepare(table(a=[1.0], b=[2.0]), ["a", "b"])
    with pytest.raises(CommandError, match=r"no column 'b' \(a column of the model\)"):
        plan.matrix(table(a=[1.0]))
