"""kfree predict with a model of groups: rows of known groups, and of new ones, which are labelled together."""

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.cli import main
from tests.cli.conftest import outcome, rows_of, told

pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")


@pytest.fixture
def shops(here):
    """m.kfree: a model of groups whose clusters overlap, so that a group's choice of clusters decides about rows."""
    rng = np.random.default_rng(0)

    def rows(kinds, names):
        X = 3.0 * np.eye(4, 3)[kinds] + rng.normal(size=(len(kinds), 3))
        return pd.DataFrame(X, columns=["a", "b", "c"]).round(4).assign(shop=names)

    fitted = rows(np.repeat(rng.permutation(4).repeat(2), 60) % 4, np.repeat([1, 2, 3, 4], 120))
    fitted.to_csv("fit.csv", index=False)
    line = "hdp fit.csv --group shop --no-encode --lam-local 60 --lam-global 60 --save m.kfree --quiet"
    assert not main(line.split())
    return rows


@pytest.fixture
def further(shops, here):
    """new.csv: rows of a known shop and of two new ones, in blocks that each hold other kinds of rows."""
    table = pd.concat(
        [
            shops(np.repeat([0, 1, 2, 3], 3000), "new"),
            shops(np.repeat([1, 3], 1500), "other"),
            shops(np.repeat([2, 0], 500), "3"),
        ]
    )
    table = table.iloc[np.argsort(np.arange(len(table)) % 7, kind="stable")].reset_index(drop=True)
    table.to_csv("new.csv", index=False)
    assert (here / "new.csv").stat().st_size > 1.5 * (1 << 18)  # more than a block of text
    return table


def expected_of(table):
    """The model's own labels of all rows together."""
    model = kfree.load("m.kfree")
    X, known = table[["a", "b", "c"]].to_numpy(), (table["shop"] == "3").to_numpy()
    labels = np.empty(len(table), dtype=int)
    labels[known] = model.predict(X[known], groups=np.full(known.sum(), 3))
    labels[~known] = model.predict(X[~known], groups=table["shop"][~known].to_numpy(dtype=str))
    return labels


@pytest.mark.parametrize("form", ["csv", "parquet", "folder"])
def test_rows_of_a_new_group_are_labelled_together_in_whatever_blocks_they_are_read(form, further, here, capsys):
    name = {"csv": "new.csv", "parquet": "new.parquet", "folder": "parts"}[form]
    further.to_parquet("new.parquet", row_group_size=500)
    (here / "parts").mkdir()
    for part in range(4):
        further.iloc[part * 4000 : (part + 1) * 4000].to_csv(f"parts/{part}.csv", index=False)
    told(["predict", "m.kfree", name, "-o", "out.csv"], capsys)
    found = np.array([int(row["cluster"]) for row in rows_of("out.csv")])
    expected = expected_of(further)
    assert len(set(expected)) == kfree.load("m.kfree").n_clusters_
    np.testing.assert_array_equal(found, expected)


def test_scores_of_rows_of_groups(further, capsys):
    told(["predict", "m.kfree", "new.csv", "--scores", "--allow-new", "-o", "out.csv"], capsys)
    rows, model = pd.read_csv("out.csv"), kfree.load("m.kfree")
    labels, X = expected_of(further), further[["a", "b", "c"]].to_numpy()
    scores = model.outlier_score(X)
    np.testing.assert_allclose(rows["outlier_score"], scores)
    assert 0 < (scores > 1).sum() < 200
    np.testing.assert_array_equal(rows["cluster"], np.where(scores > 1, -1, labels))
    distances = model.transform(X)
    own = distances[np.arange(len(X)), labels]
    distances[np.arange(len(X)), labels] = np.inf
    np.testing.assert_allclose(rows["confidence"], np.maximum(0, 1 - own / distances.min(axis=1)), atol=1e-12)


def test_groups_that_are_numbers_are_known_however_they_are_written(shops, here, capsys):
    rows = shops(np.arange(200) % 4, 1 + np.arange(200) % 4)
    expected = kfree.load("m.kfree").predict(rows[["a", "b", "c"]].to_numpy(), groups=rows["shop"]).tolist()
    for name, table in {"int": rows, "float": rows.astype({"shop": float}), "text": rows.astype({"shop": str})}.items():
        table.to_parquet(f"{name}.parquet")
        table.to_csv(f"{name}.csv", index=False)
        for file in (f"{name}.parquet", f"{name}.csv"):
            told(["predict", "m.kfree", file, "-o", "out.csv"], capsys)
            assert [int(row["cluster"]) for row in rows_of("out.csv")] == expected


def test_groups_of_arrays_in_files(here, rng, capsys):
    X = rng.normal(size=(80, 3)) + 20 * (np.arange(80) % 2)[:, None]
    X[:, 2] = np.arange(80) // 40
    np.save("x.npy", X)
    told(["hdp", "x.npy", "--group", "x2", "--save", "m.kfree", "-o", "fit.csv"], capsys)
    told(["predict", "m.kfree", "x.npy", "-o", "again.csv"], capsys)
    assert [row["cluster"] for row in rows_of("again.csv")] == [row["cluster"] for row in rows_of("fit.csv")]


def test_a_further_row_without_a_group_is_told_by_its_number(shops, here, capsys):
    rows = shops(np.zeros(40, dtype=int), ["1"] * 40).astype({"shop": object})
    rows.loc[2, "a"] = np.nan
    rows.loc[5, "shop"] = None
    rows.to_csv("new.csv", index=False)
    told(["hdp", "fit.csv", "--group", "shop", "--no-encode", "--missing", "drop", "--save", "drop.kfree"], capsys)
    status, _, err = outcome(["predict", "drop.kfree", "new.csv"], capsys)
    assert (status, "new.csv, row 6, has no group (1 such row(s)); name the group of all rows" in err) == (1, True)
    rows.loc[5, "a"] = np.nan  # which is left out, so that its group does not matter
    rows.to_csv("new.csv", index=False)
    told(["predict", "drop.kfree", "new.csv", "-o", "out.csv"], capsys)
    assert [row["cluster"] == "" for row in rows_of("out.csv")] == [i in (2, 5) for i in range(40)]
