"""Rows, sparse matrices and weights that cannot be: each is malformed once, and each estimator is tried with one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from common import sampled

from kfree import DPMeans, GraphDPMeans, KMeans, farthest_first_lambda, lambda_path
from tests.fuzz.fuzz_cases import Case
from tests.fuzz.fuzz_subjects import ESTIMATORS

# Each public estimator, made in one way.
ONE_EACH = sorted({name.split(",")[0] for name in ESTIMATORS} - {"GraphDPMeans"})
WEIGHTED = [name for name in ONE_EACH if ESTIMATORS[name].weighted]
TAKE_SPARSE = ["DPMeans", "DPMeans, cosine", "KMeans", "OnlineDPMeans", "HardHDP", "KernelDPMeans", "SpectralDPMeans"]
TAKE_SPARSE += ["BayesianKMeans, counts", "AgglomerativeBayes, counts"]


def made(name):
    return ESTIMATORS[name].make(Case(name, n_rows=12))


def rows():
    return np.random.default_rng(0).integers(-40, 40, size=(12, 2)) / 8 + 0.0625


def with_value(value, column, times=2):
    X = np.arange(30.0).reshape(10, 3)
    X[:times, column] = value
    return X


DAYS = pd.date_range("2020", periods=12)
ROWS = {
    "NaN": (with_value(np.nan, 1), r"2 NaN or inf value\(s\) in 1 column\(s\); the first is column 1 with 2"),
    "infinity": (with_value(np.inf, 2), "first is column 2 with 2"),
    "minus infinity, float32": (with_value(-np.inf, 0).astype(np.float32), "first is column 0 with 2"),
    "NaN in a frame": (
        pd.DataFrame(with_value(np.nan, 1, 3), columns=["a", "b", "c"]),
        r"first is column 1 \('b'\) with 3",
    ),
    "NaN in CSR": (sp.csr_array(with_value(np.nan, 1)), "first is column 1 with 2"),
    "no rows": (np.empty((0, 3)), r"0 sample\(s\)"),
    "no columns": (np.empty((3, 0)), r"0 feature\(s\)"),
    "a frame without columns": (pd.DataFrame(rows())[[]], r"0 feature\(s\)"),
    "one dimension": (np.arange(5.0), "Reshape your data"),
    "complex": (np.ones((4, 2)) * 1j, r"Complex data not supported: X holds complex numbers \(complex128\)"),
    "whole numbers without a double": (np.array([[10**400], [1]], dtype=object), "X holds whole numbers that float64"),
    "rows of two lengths": ([[1, 2], [3]], "rows of X differ in length"),
    "words": (
        np.array([["a", "b"], ["c", "d"]], dtype=object),
        r"X holds values that are not numbers in 2 column.*\(could not convert string to float",
    ),
    "text": (np.array([["1", "2"]]), r"X holds text \(<U1\), not numbers"),
    "column names of two kinds": (pd.DataFrame(np.eye(3), columns=["a", 1, 2]), "all input features have string names"),
    "dates": (rows().astype("datetime64[s]"), r"X holds dates or durations \(datetime64"),
    "a column of dates": (
        pd.DataFrame({"a": rows()[:, 0], "day": DAYS}),
        r"dates or durations in 1 column\(s\): 'day'",
    ),
    "dates of polars": (pl.DataFrame({"day": DAYS.to_numpy()}), r"dates or durations in 1 column\(s\): 'day'"),
    "dates of pyarrow": (pa.table({"day": DAYS.to_numpy()}), r"dates or durations in 1 column\(s\): 'day'"),
    "rows that are not computed": (pl.DataFrame(rows()).lazy(), r"LazyFrame.*X\.collect\(\)"),
    "gaps of pyarrow": (
        pa.table({"a": pa.array([None, *range(11)]), "b": rows()[:, 1]}),
        r"1 NaN or inf value\(s\) in 1 column\(s\); the first is column 0 \('a'\)",
    ),
    "words of pyarrow": (
        pa.table({"a": pa.array(["u", "v"] * 6).dictionary_encode(), "b": rows()[:, 1]}),
        r"not numbers in 1 column\(s\): 'a'",
    ),
    "two columns of one name": (
        pd.DataFrame(np.hstack([rows(), rows()]), columns=["a", "b", "a", "c"]),
        r"X has 1 name\(s\) that several columns share: 'a' \(columns 0, 2\)\. Rename or drop",
    ),
    "two columns of one name, pyarrow": (
        pa.table([pa.array(rows()[:, 0])] * 2, names=["a", "a"]),
        r"several columns share: 'a' \(columns 0, 1\)",
    ),
    "a dict": ({"a": [1.0, 2.0]}, "X is a dict"),
    "masked values": (
        np.ma.masked_array(rows(), mask=np.eye(12, 2, dtype=bool)),
        "X is a masked array with 2 masked value",
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_malformed_rows_are_refused(kind):
    X, message = ROWS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        DPMeans(lam=30.0).fit(X)


@pytest.mark.filterwarnings("ignore:AutoCluster judges at least 24 distinct rows")
@pytest.mark.parametrize("name", ONE_EACH)
def test_every_estimator_refuses_masked_rows(name):
    X, message = ROWS["masked values"]
    groups = {"groups": np.arange(12) % 3} if name == "HardHDP" else {}
    with pytest.raises(ValueError, match=message):
        made(name).fit(X, **groups)
    model = made(name).fit(rows(), **groups)
    if hasattr(model, "predict"):
        with pytest.raises(ValueError, match=message):
            model.predict(X, **groups)


@pytest.mark.parametrize(
    ("name", "kind"), sampled(len(ONE_EACH), ONE_EACH, ["NaN", "words", "dates of polars", "a dict"])
)
def test_every_estimator_refuses_other_rows(name, kind):
    X, message = ROWS[kind]
    model = made(name)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


WEIGHTS = {
    "negative": ([1, -2, 1, 1], r"1 negative value\(s\), the first is -2 for row 1"),
    "NaN": ([1, np.nan, 1, 1], r"1 NaN or inf value\(s\)"),
    "infinite": ([np.inf, 1, 1, 1], r"1 NaN or inf value\(s\)"),
    "all zero": ([0, 0, 0, 0], "all values of sample_weight are zero"),
    "too short": ([1, 1, 1], "3 values for 4 rows"),
    "two-dimensional": (np.ones((4, 1)), "has 2 dimensions"),
    "text": (np.array(["1", "2", "3", "4"]), "sample_weight holds text or dates"),
    "a list of text": (["1", "2", "3", "4"], "sample_weight holds text, not numbers"),
    "objects of text": (np.array([1, 2.0, "3", 4], dtype=object), "sample_weight holds text, not numbers"),
    "dates": (np.arange(4).astype("datetime64[s]"), "sample_weight holds text or dates"),
    "a dict": ({0: 1.0}, "sample_weight is a dict"),
    "masked": (
        np.ma.masked_array(np.ones(4), mask=np.arange(4) == 3),
        "sample_weight is a masked array with 1",
    ),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_malformed_weights_are_refused(kind):
    weight, message = WEIGHTS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        DPMeans(lam=30.0).fit(np.arange(8.0).reshape(4, 2), sample_weight=weight)


@pytest.mark.parametrize(("name", "kind"), sampled(len(WEIGHTED), WEIGHTED, ["negative", "NaN", "too short", "text"]))
def test_every_estimator_refuses_malformed_weights(name, kind):
    weight, message = WEIGHTS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        made(name).fit(np.arange(8.0).reshape(4, 2), sample_weight=weight)


def test_masked_centres_and_graphs_are_refused():
    hidden = np.ma.masked_array(np.ones((6, 2)), mask=np.arange(12).reshape(6, 2) == 3)
    with pytest.raises(ValueError, match="init is a masked array with 1"):
        KMeans(6, init=hidden).fit(rows())
    with pytest.raises(ValueError, match="the graph is a masked array with 1"):
        GraphDPMeans().fit(np.ma.masked_array(np.ones((4, 4)), mask=np.eye(4) * np.arange(4) == 3))


# Sparse matrices whose arrays were changed after they were made: refused before anything reads beyond an array.
COUNTS = np.random.default_rng(0).poisson(1.0, size=(20, 6)).astype(np.float64)
COUNTS[:, 0] += 1.0  # no row is all zero
GRAPH = sp.csr_array(COUNTS[:6] + COUNTS[:6].T)


def change(name, value):
    def broken(X):
        array = getattr(X, name).copy()
        array[-1] = value
        setattr(X, name, array)

    return broken


def replace(name, values):
    return lambda X: setattr(X, name, values(getattr(X, name)))


def fall(indptr):
    indptr = indptr.copy()
    indptr[3], indptr[4] = indptr[4], indptr[3]
    return indptr


BREAKAGES = {
    "column too large": (change("indices", 10**6), "indices of 1000000"),
    "column negative": (change("indices", -1), "indices of -1"),
    "indptr too large": (change("indptr", 10**7), "indptr up to 10000000"),
    "indptr falls": (replace("indptr", fall), "indptr that falls"),
    "indptr begins late": (replace("indptr", lambda p: np.concatenate([[2], p[1:]])), "begins with 2 instead of 0"),
    "indptr too short": (replace("indptr", lambda p: p[:-2]), "values in indptr instead of"),
    "few values": (replace("data", lambda v: v[:3]), "and 3 values"),
    "values in a table": (replace("data", lambda v: v[:, None]), r"data of \d dimension"),
    "few columns": (replace("indices", lambda i: i[:3]), "3 indices and"),
    "columns that are no whole numbers": (replace("indices", lambda i: i + 0.5), "indices of 1 dimension.* float64"),
}


def broken(breakage, kind=sp.csr_array, values=COUNTS):
    X = kind(values)
    BREAKAGES[breakage][0](X)
    return X


def refused(breakage):
    return pytest.raises(ValueError, match=BREAKAGES[breakage][1])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.bsr_array])
@pytest.mark.parametrize("breakage", BREAKAGES)
def test_broken_sparse_matrices_are_refused(breakage, kind):
    with refused(breakage):
        DPMeans(lam=9.0).fit(broken(breakage, kind))


@pytest.mark.parametrize(("name", "breakage"), sampled(len(TAKE_SPARSE), TAKE_SPARSE, list(BREAKAGES)))
def test_every_estimator_refuses_broken_matrices(name, breakage):
    model = made(name)
    with refused(breakage):
        model.fit(broken(breakage))
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


METHODS = ["predict", "transform", "score", "partial_fit"]
METHODS_OF = [
    (name, method) for name in ["DPMeans", "KMeans", "OnlineDPMeans", "HardHDP"] for method in METHODS
    if hasattr(made(name), method)
]  # fmt: skip


@pytest.mark.parametrize(("name", "method"), METHODS_OF)
def test_fitted_models_refuse_broken_matrices(name, method):
    model = made(name).fit(sp.csr_array(COUNTS))
    with refused("column too large"):
        getattr(model, method)(broken("column too large"))


def test_functions_and_graphs_refuse_broken_matrices():
    with refused("column too large"):
        farthest_first_lambda(broken("column too large"), 3)
    with refused("indptr falls"):
        lambda_path(broken("indptr falls"))
    with refused("few values"):
        GraphDPMeans(lam=-0.4).fit(broken("few values", values=GRAPH))
    model = GraphDPMeans(lam=-0.4).fit(GRAPH)
    with refused("column negative"):
        model.predict_nodes(broken("column negative", values=GRAPH))


STATES = ["x", -1, np.nan, [], 2**40]
# Those that draw random numbers whatever their parameters are.
DRAW = ["KMeans", "SpectralDPMeans", "BayesianKMeans", "AgglomerativeBayes", "GibbsDPMixture", "VariationalMixture"]


@pytest.mark.parametrize(("name", "state"), [*sampled(len(DRAW), DRAW, STATES), *[("KMeans", each) for each in STATES]])
def test_a_bad_random_state_is_named(name, state):
    with pytest.raises(ValueError, match=r"random_state=.* is not allowed"):
        made(name).set_params(random_state=state).fit(rows())
