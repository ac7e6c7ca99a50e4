"""Advice: data that mislead an automatic number of clusters are named with a remedy, and others raise no warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kfree import DPMeans, TableEncoder, lambda_path
from kfree.datasets import make_customers
from kfree.estimators import _opening
from kfree.exceptions import DataAdvice
from kfree.explain.advice import lattices, path_ended, row_numbers, unlike_scales
from kfree.explain.column_advice import angles, date_line, hidden_groups
from kfree.models.centres import CentreModel


def blobs(rng, n=600, d=2, k=3):
    centres = 12.0 * np.eye(max(k, d))[:k, :d] if k <= d else rng.uniform(-12 * k, 12 * k, size=(k, d))
    return centres[np.arange(n) % k] + rng.normal(size=(n, d)), np.arange(n) % k


def named(d):
    return [f"column {j}" for j in range(d)]


def noted(X, labels):
    """All advice about columns and clusters, without a fit."""
    names = named(X.shape[1])
    columns = unlike_scales(X, names) + row_numbers(X, names) + lattices(X, names, labels)
    columns += angles(X, names, labels.max() + 1) + hidden_groups(X, names, labels)
    return columns + date_line(X, names)


def hours(rng):
    """Hours of the day as sine and cosine, beside another column."""
    angle = rng.integers(24, size=500) * 2 * np.pi / 24
    return np.c_[np.sin(angle), np.cos(angle), rng.normal(size=500)]


CLEAN = {
    "three round clusters": lambda rng: blobs(rng),
    "ten columns": lambda rng: blobs(rng, d=10, k=5),
    "many clusters": lambda rng: blobs(rng, n=2000, k=12),
    "no clusters": lambda rng: (rng.normal(size=(500, 3)), np.zeros(500, dtype=int)),
    "one long cluster": lambda rng: (rng.normal(size=(500, 2)) * [10, 1], np.zeros(500, dtype=int)),
    "whole numbers, finely": lambda rng: (np.round(blobs(rng)[0] * 20), blobs(rng)[1]),
    "a yes/no column that weighs little": lambda rng: (
        np.c_[rng.normal(size=(500, 3)), rng.random(500) < 0.5],
        np.zeros(500, dtype=int),
    ),
    "longer than wide, in pieces": lambda rng: (blobs(rng)[0] * [8.0, 1.0], blobs(rng)[1]),
    "degrees on one side of the date line": lambda rng: (islands(rng)[0] * [1, 0.9], islands(rng)[1]),
    "a skewed column and rows five times": lambda rng: (
        np.repeat(rng.lognormal(size=(200, 6)), 5, axis=0),
        np.zeros(1000, dtype=int),
    ),
    "an angle in one cluster": lambda rng: (hours(rng), np.zeros(500, dtype=int)),
    "scales within a hundred": lambda rng: (rng.normal(size=(500, 3)) * [1, 30, 90], np.zeros(500, dtype=int)),
    "large whole numbers, all different": lambda rng: (
        np.c_[rng.lognormal(12, 1, 500).round(), rng.lognormal(12, 1, 500)],
        np.zeros(500, dtype=int),
    ),
}


@pytest.mark.parametrize("case", CLEAN)
def test_no_advice_about_clean_data(case, rng):
    assert noted(*CLEAN[case](rng)) == []


def with_column(column):
    return lambda rng: (np.c_[rng.normal(size=(500, 3)), column(rng)], np.zeros(500, dtype=int))


def islands(rng):
    """Latitudes and longitudes of places around the date line, and labels of three."""
    place = rng.integers(3, size=600)
    degrees = np.array([[-17.0, 179.5], [-21.0, 165.0], [52.0, -175.0]])[place] + 0.8 * rng.normal(size=(600, 2))
    return np.c_[degrees[:, 0], (degrees[:, 1] + 180) % 360 - 180], place


ADVISED = {
    "other units": (with_column(lambda rng: 1000 * rng.normal(size=500)), "column 3 decide.*kfree.TableEncoder"),
    "tiny units": (
        with_column(lambda rng: rng.normal(size=500) / 1000),
        "column 3 cannot influence them.*kfree.TableEncoder",
    ),
    "row numbers": (with_column(lambda rng: rng.permutation(500) + 7.0), "column 3 has another whole number .* Drop"),
    "yes/no, standardised": (with_column(lambda rng: 2.0 * (rng.random(500) < 0.5)), "column 3 take.s. few values"),
    "Likert only": (
        lambda rng: (rng.integers(1, 6, size=(500, 3)).astype(float), np.zeros(500, dtype=int)),
        "column 0, column 1, column 2 take.s. few values.*such as 1, 2, 3",
    ),
    "clusters that are years": (
        lambda rng: ((age := rng.normal(45, 12, 800).round())[:, None], np.unique(age, return_inverse=True)[1]),
        "column 0 take.s. few values",
    ),
    "an angle": (
        lambda rng: ((X := hours(rng)), (X[:, 0] > 0).astype(int)),
        "column 0 and column 1 are a point on a circl",
    ),
    "groups in one of six columns": (
        lambda rng: (
            np.c_[5 * rng.normal(size=(500, 3)), blobs(rng, n=500, d=1)[0], 5 * rng.normal(size=(500, 2))],
            np.arange(500) % 2,
        ),
        r"column 3 falls into groups within clusters.*X\[:, \[3\]\]",
    ),
    "yes/no that decides, of encoded rows": (
        with_column(lambda rng: 3.0 * (rng.random(500) < 0.5)),
        "column 3 take.s. few values.*Leave such columns out, or give them less weight, or use",
    ),
    "one far value among encoded rows": (
        lambda rng: (np.r_[rng.normal(size=(500, 3)), [[0, 0, 1e5]]], np.zeros(501, dtype=int)),
        "column 2 decide.*A few far values make columns so wide",
    ),
    "the date line": (lambda rng: islands(rng), "column 1 looks like degrees of longitude.*date line.*in place of bot"),
}


@pytest.mark.parametrize("case", ADVISED)
def test_advice_names_the_column_and_the_remedy(case, rng):
    make, message = ADVISED[case]
    with pytest.warns(DataAdvice, match=message):
        warnings.warn("\n".join(noted(*make(rng))) or "nothing", DataAdvice, stacklevel=1)


def test_a_path_that_was_too_short(rng):
    X, _ = blobs(rng, k=6)
    assert path_ended(lambda_path(X, max_k=20)) == []
    with pytest.warns(DataAdvice, match="the best number of clusters is 6, the largest that was considered"):
        assert lambda_path(X, max_k=6).suggest().k == 6


@pytest.mark.parametrize("max_k", [1, 3, 5])
def test_a_path_that_ends_below_the_number_that_greedy_merging_suggests(max_k, rng):
    X, _ = blobs(rng, k=6)
    with pytest.warns(DataAdvice, match=rf"up to {max_k}, but greedy merging suggests 6.*max_k=12"):
        assert lambda_path(X, max_k=max_k).suggest().k <= max_k


@pytest.mark.parametrize("max_k", [2, 5])
def test_a_short_path_of_rows_without_clusters_says_nothing(max_k, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lambda_path(rng.normal(size=(300, 3)), max_k=max_k)


def test_a_fit_warns_once_for_each_and_names_columns_of_frames(rng):
    X, _ = blobs(rng, n=200)
    table = pd.DataFrame({"age": X[:, 0], "height": X[:, 1], "income": 1e4 * rng.normal(size=200)})
    with pytest.warns(DataAdvice, match="column 'income' decide") as caught:
        DPMeans().fit(table)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(DataAdvice, match="X has 12 rows"):
        DPMeans().fit(X[:12])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPMeans(lam=100.0).fit(table)
        DPMeans(target_k=3).fit(X)
        DPMeans(metric="cosine").fit(table)
        DPMeans().fit(sp.csr_array(X))


def test_encoded_tables_need_no_advice():
    table, _ = make_customers(600, random_state=1)
    DPMeans(random_state=0).fit(TableEncoder().fit_transform(pd.DataFrame(table)))


def fitted_without_advice(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return DPMeans().fit(X)


@pytest.mark.parametrize("rows_at_once", [10**6, 14_000])
def test_large_fits_look_for_far_rows_among_some(rows_at_once, monkeypatch):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", rows_at_once)
    compared = []
    distances = CentreModel.distances
    monkeypatch.setattr(
        CentreModel, "distances", lambda model, rows, *how: compared.append(len(rows)) or distances(model, rows, *how)
    )
    rng = np.random.default_rng(4)
    X = 40.0 * np.eye(3, 2)[np.arange(15_000) % 3] + rng.normal(size=(15_000, 2))
    X[2:15_000:300] -= rng.uniform(8, 60, size=(50, 1))
    fitted_without_advice(X)
    assert len(compared) == 1
    assert compared[0] <= 5000


def test_a_fit_across_the_date_line_warns_and_unit_vectors_do_not(rng):
    X, place = islands(rng)
    with pytest.warns(DataAdvice, match="column 'lon' looks like degrees of longitude"):
        split = DPMeans().fit(pd.DataFrame(X, columns=["lat", "lon"]))
    assert split.n_clusters_ > 3
    lat, lon = np.deg2rad(X).T
    model = fitted_without_advice(np.c_[np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    assert model.n_clusters_ == len(np.unique(place))
