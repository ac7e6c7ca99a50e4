"""What TableEncoder refuses, by the name of the column, and what it says to do."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from kfree import TableEncoder


def expected_failures(encoder):
    """Checks that are wrong themselves."""
    is_wrong = encoder.transforms == "identity" and parse_version(sklearn.__version__) < parse_version("1.8")
    return {"check_positive_only_tag_during_fit": "subtracts a mean from whole numbers"} if is_wrong else {}


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")
@parametrize_with_checks(
    [TableEncoder(), TableEncoder(missing="error", transforms="identity")], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def frame(**columns):
    return pd.DataFrame({"n": np.arange(30.0), **columns})


TEXTS = [f"I bought {j} things and liked them" for j in range(30)]
REFUSED = {
    "text": (frame(note=TEXTS), r"column 'note' holds text, or a name for each row: 30 distinct values in 30 rows"),
    "dates as text": (
        frame(since=[f"2024-03-{j + 1:02}" for j in range(30)]),
        "'since' holds text.*look like dates: convert them with pandas.to_datetime",
    ),
    "numbers as text": (frame(price=[f"{j}.5" for j in range(30)]), "'price' holds text.*pandas.to_numeric"),
    "too many levels": (
        pd.DataFrame({"code": [f"c{j % 60}" for j in range(600)]}),
        r"column 'code' holds text.*60 distinct values in 600 rows.*list them in categories",
    ),
    "text in polars": (pl.DataFrame({"note": TEXTS}), "column 'note' holds text"),
    "text in pyarrow": (pa.table({"note": TEXTS}), "column 'note' holds text"),
    "infinite": (frame(rate=np.append(np.arange(28.0), [np.inf, -np.inf])), r"column 'rate' contains 2 infinite"),
    "mixed": (frame(mess=[1, "a", None] * 10), "column 'mess' holds values of mixed .*int such as 1, str such as 'a'"),
    "booleans and numbers": (frame(mess=[True, 3.0] * 15), "column 'mess' holds values of mixed"),
    "unknown objects": (frame(mess=[{"a": 1}, [2]] * 15), "column 'mess' holds values of mixed or unknown types"),
    "complex": (np.ones((4, 2)) * 1j, "Complex data not supported"),
    "sparse": (sp.csr_array(np.eye(4)), r"takes tables only. Use X.toarray\(\)"),
    "all columns constant": (pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}), "no column of X varies, with n_samples=2"),
    "a row without values": (
        pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", None, "y"]}),
        "1 row.s. have no value at all .*the first is row 1",
    ),
    "no rows": (pl.DataFrame({"a": []}), "0 sample"),
    "two columns of one name": (
        pd.DataFrame([[1.0, 2.0, 3.0]] * 2, columns=["a", "b", "a"]),
        r"several columns share: 'a' \(columns 0, 2\)",
    ),
    "a transform that rounds": (
        np.array([[1.0, 1e9], [2.0, 1e9 + 1e-7], [3.0, 1e9]]),
        r"column 'x1' holds values from 1000000000 to 1000000000.0000001, and its transform log rounds all",
    ),
    "a range beyond float64": (
        np.array([[1.0, -1.5e308], [2.0, 1.5e308], [3.0, 0.0]]),
        r"column 'x1' holds values from -1.5e\+308 to 1.5e\+308, whose difference overflows float64",
    ),
    "a range below float64": (
        np.array([[1.0, 1e-310], [2.0, 3e-310], [3.0, 2e-310]]),
        r"column 'x1' holds values that differ by about .*e-310, of which float64 has too few digits",
    ),
    "vectors in polars": (
        pl.DataFrame({"v": pl.Series([[1.0], [2.0]], dtype=pl.Array(pl.Float64, 1))}),
        r"column 'v' holds values of several parts \(Array",
    ),
    "lists in pyarrow": (pa.table({"v": [[1, 2], [3]]}), r"column 'v' holds values of several parts \(list<"),
    "structs in pyarrow": (pa.table({"v": [{"a": 1}, {"a": 2}]}), r"column 'v' holds values of several parts"),
    "bytes": (frame(v=[b"x", b"y"] * 15), "convert it to one type, or leave the column out"),
    "structs in polars": (pl.DataFrame({"v": [{"a": 1}, {"a": 2}]}), r"column 'v' holds values of several parts"),
    "unions in pyarrow": (
        pa.table({"v": pa.UnionArray.from_sparse(pa.array([0, 0], type=pa.int8()), [pa.array([1.0, 2.0])])}),
        r"column 'v' holds values of several parts \(sparse_union",
    ),
    "names of two kinds": (pd.DataFrame({"a": [1.0, 2.0], 3: [1.0, 2.0]}), "string names"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_tables(case):
    X, message = REFUSED[case]
    encoder = TableEncoder(transforms={"x1": "log"} if "transform" in case else "auto")
    with pytest.raises((ValueError, TypeError), match=message):
        encoder.fit(X)
    assert not hasattr(encoder, "n_features_in_")


PARAMETERS = [
    ({"transforms": "log"}, "transforms='log' is not allowed; give one of 'auto', 'identity'"),
    ({"transforms": {"n": "lg"}}, r"transforms\['n'\]='lg' is not allowed; .*did you mean 'log'"),
    ({"transforms": {"m": "log"}}, "transforms='m' is not allowed; give names of columns of X: 'n', 'kind'"),
    ({"transforms": {"n": "log"}}, "column 'n' holds 0, and its transform log takes numbers > 0.*'asinh'"),
    ({"ordinal": ["kind"]}, "ordinal=.* is not allowed; give a dict or None"),
    ({"ordinal": {"kind": ["a"]}}, "column 'kind' holds 'b', .*; list all levels in ordinal, lowest first"),
    ({"ordinal": {"mood": ["a"]}}, "ordinal='mood' is not allowed"),
    ({"categories": "kind"}, "categories='kind' is not allowed; give a list of names"),
    ({"categories": iter(["kind"])}, "categories=.* is not allowed; give a list of names"),
    ({"categories": ["mood"]}, "categories='mood' is not allowed"),
    ({"missing": "zero"}, "missing='zero' is not allowed; give one of 'nearest', 'mean', 'error'"),
    ({"unseen": "ignore"}, "unseen='ignore' is not allowed; give one of 'error', 'missing'"),
    ({"max_levels": 1}, "max_levels=1 is not allowed; give a whole number ≥ 2"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**parameters).fit(frame(kind=["a", "b"] * 15))


FITTED = {"kind": ["a", "b", "c"] * 10, "income": np.exp(np.linspace(0, 9, 30))}
LATER = {
    "unseen level": (frame(**FITTED | {"kind": ["a", "b", "z"] * 10}), "column 'kind' holds 'z', .*unseen='missing'"),
    "renamed": (frame(**FITTED).rename(columns={"income": "wage"}), "(?s)names unseen at fit.*wage.*missing.*income"),
    "column missing": (frame(kind=FITTED["kind"]), "(?s)yet now missing.*income"),
    "another order": (frame(**FITTED)[["kind", "n", "income"]], "same order"),
    "text for a number": (frame(**FITTED | {"income": ["low"] * 30}), "'income' held numbers at fit and holds levels"),
    "number for a level": (frame(**FITTED | {"kind": np.arange(30)}), "'kind' held levels at fit and holds numbers"),
    "outside of the logarithm": (
        frame(**FITTED | {"income": -np.arange(30.0)}),
        "column 'income' holds -29, and .* log",
    ),
    "infinite": (frame(**FITTED | {"income": np.full(30, np.inf)}), "column 'income' contains 30 infinite"),
}


@pytest.mark.parametrize("case", LATER)
def test_tables_that_do_not_fit_the_fitted_one(case):
    encoder = TableEncoder().fit(frame(**FITTED))
    X, message = LATER[case]
    with pytest.raises(ValueError, match=message):
        encoder.transform(X)


def test_an_unseen_level_may_count_as_missing():
    encoder = TableEncoder(unseen="missing").fit(frame(**FITTED))
    later = frame(**FITTED)
    later.loc[7, "kind"] = "z"
    gappy = frame(**FITTED)
    gappy.loc[7, "kind"] = None
    np.testing.assert_array_equal(encoder.transform(later), encoder.transform(gappy))


def test_gaps_are_named_where_none_may_be():
    t = frame(kind=["a", None, "b"] * 10, rate=[1.0, 2.0, np.nan, 4.0, 5.0] * 6)
    with pytest.raises(
        ValueError, match=r"missing values .* column\(s\) 'kind' \(10\), 'rate' \(6\), and missing='error'"
    ):
        TableEncoder(missing="error").fit(t)


def test_not_fitted():
    for use in (lambda e: e.transform(frame()), lambda e: e.get_feature_names_out(), lambda e: e.describe()):
        with pytest.raises(NotFittedError):
            use(TableEncoder())
    with pytest.raises(ValueError, match="X has 5 columns; give the 1 columns that transform returns"):
        TableEncoder().fit(frame()).inverse_transform(np.zeros((2, 5)))


def test_odd_numbers():
    """Decimals, missing values of every kind, and times."""
    values = [decimal.Decimal("1.5"), None, decimal.Decimal("2.5"), pd.NA] + [decimal.Decimal(4)] * 26
    rows = TableEncoder().fit_transform(frame(amount=pd.Series(values, dtype=object)))
    assert np.isfinite(rows).all(axis=None)
    hours = pl.DataFrame({"at": pl.Series(range(0, 86_400_000_000_000, 10**13)).cast(pl.Time)})
    assert TableEncoder().fit_transform(hours)["at"].to_list()[1:3] == pytest.approx(
        (TableEncoder().fit_transform(np.arange(9.0)[:, None]))[1:3, 0].tolist(), rel=1e-6
    )


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this version of polars has no such numbers")
def test_whole_numbers_of_128_bits():
    exact = pl.DataFrame({"n": pl.Series(range(30), dtype=pl.Int128)})
    rows = TableEncoder().fit_transform(exact)
    np.testing.assert_array_equal(rows, TableEncoder().fit_transform(exact.cast(pl.Int64)))


@pytest.mark.parametrize("size", [1e-300, 1e200])
def test_deviations_whose_squares_leave_float64(size, rng):
    X = rng.normal(size=(30, 2))
    rows = TableEncoder(scale="deviation").fit_transform(X * [1.0, size])
    np.testing.assert_allclose(rows, TableEncoder(scale="deviation").fit_transform(X), rtol=1e-9)


def test_transform_does_not_depend_on_the_other_rows(rng):
    t = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(list("xyz"), 60)})
    t = t.mask(rng.random(t.shape) < 0.1).dropna(how="all")
    encoder = TableEncoder().fit(t)
    rows = encoder.transform(t)
    order = rng.permutation(len(t))[:20]
    np.testing.assert_array_equal(encoder.transform(t.iloc[order]), rows.iloc[order])
    np.testing.assert_array_equal(clone(encoder).fit(t).transform(t), rows)
