"""--encode: columns of text and missing values become numbers, the same ones in predict."""

import json

import numpy as np
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told


@pytest.fixture
def customers(here, rng):
    """Two kinds of customers, told apart by plan and age; some ages and plans are missing."""
    kind = np.arange(80) % 2
    age = (30 + 30 * kind + rng.normal(size=80)).round(2)
    lines = [
        f"{a},{['basic', 'gold'][k]},{['x', 'y', 'z'][i % 3]}" for i, (a, k) in enumerate(zip(age, kind, strict=True))
    ]
    lines[5] = ",gold,x"
    lines[8] = "30,,x"
    (here / "t.csv").write_text("\n".join(["age,plan,note", *lines]) + "\n")
    return kind


def test_text_and_gaps_are_encoded(customers, capsys):
    line = ["cluster", "t.csv", "--encode", "--drop", "note", "--missing", "nearest", "--k", "2", "--save", "m.kfree"]
    facts = told(line, capsys)
    assert facts["n_clusters"] == 2
    assert {"age", "plan=basic"} & {feature["name"] for feature in facts["clusters"][0]["features"]}
    labels = [int(row["cluster"]) for row in rows_of("t.clusters.csv")]
    assert len(set(zip(labels, customers.tolist(), strict=True))) == 2
    told(["predict", "m.kfree", "t.csv", "-o", "again.csv"], capsys)
    assert [int(row["cluster"]) for row in rows_of("again.csv")] == labels


def test_the_encoder_comes_back_from_the_file(customers, capsys):
    outcome(
        ["cluster", "t.csv", "--encode", "--missing", "nearest", "--k", "2", "--save", "m.kfree", "--quiet"], capsys
    )
    plan = kfree.load("m.kfree").preparation
    assert plan.columns == ["age", "plan", "note"]
    assert "plan: " in plan.encoder.describe()


def test_missing_values_come_from_the_nearest_rows_unless_they_are_an_error(customers, capsys):
    status, _, err = outcome(["cluster", "t.csv", "--encode"], capsys)
    assert status == 0
    assert "took 2 missing values of 2 rows from the nearest rows" in err
    status, _, err = outcome(["cluster", "t.csv", "--encode", "--missing", "error"], capsys)
    assert status == 1
    assert "'age' (1), 'plan' (1)" in err
    assert "--missing nearest" in err


def test_values_that_predict_fills_in_are_counted(customers, here, capsys):
    outcome(["cluster", "t.csv", "--k", "2", "--save", "m.kfree"], capsys)
    status, _, err = outcome(["predict", "m.kfree", "t.csv"], capsys)
    assert status == 0
    assert "took 2 missing values of 2 rows from the nearest rows" in err
    names, *rows = (here / "t.csv").read_text().splitlines()
    (here / "further.csv").write_text("\n".join([names, *rows[10:]]) + "\n")
    assert "missing values" not in outcome(["predict", "m.kfree", "further.csv"], capsys)[2]


def test_encode_is_the_table_encoder_of_python(customers, capsys, here):
    import pandas

    outcome(["cluster", "t.csv", "--encode", "--lam", "3", "--save", "m.kfree", "--quiet"], capsys)
    clustering, table = kfree.load("m.kfree"), pandas.read_csv("t.csv")
    encoder = kfree.TableEncoder()
    expected = kfree.DPMeans(lam=3.0).fit(encoder.fit_transform(table))
    assert clustering.encoder.describe() == encoder.describe()
    np.testing.assert_array_equal(clustering.labels, expected.labels_)
    np.testing.assert_array_equal(clustering.model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize(
    "options", ["--no-encode --missing nearest", "--encode --standardize", "--no-encode --fold-levels"]
)
def test_choices_that_do_not_go_together(options, customers, capsys):
    assert outcome(["cluster", "t.csv", *options.split()], capsys)[0] == 2


def test_means_are_in_the_units_of_the_table(here, rng, capsys):
    kind = np.arange(90) % 2
    income = np.exp(10 + 2 * kind + 0.1 * rng.normal(size=90))
    day = [f"20{10 + 10 * k}-07-0{1 + i % 9}" for i, k in enumerate(kind)]
    lines = [
        f"{v:.2f},{'xyx'[i % 3] if k else 'z'},{d}" for i, (v, k, d) in enumerate(zip(income, kind, day, strict=True))
    ]
    (here / "t.csv").write_text("\n".join(["income,plan,since", *lines]) + "\n")
    facts = told(["cluster", "t.csv", "--encode", "--k", "2", "--report", "r.html"], capsys)
    labels = np.array([int(row["cluster"]) for row in rows_of("t.clusters.csv")])
    for cluster in facts["clusters"]:
        means = {feature["name"]: feature["mean"] for feature in cluster["features"]}
        own = kind[labels == cluster["label"]][0]
        assert means["income"] == pytest.approx(income[kind == own].mean(), rel=1e-3)
        assert means["plan=z"] == pytest.approx(1.0 - own)
        assert means["plan=x"] == pytest.approx(own * 2 / 3)
        assert means["since"] == pytest.approx(2010.5 + 10 * own, abs=0.05)
    page = (here / "r.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    shown = next(step for step in data["steps"] if step["own"])
    place = data["features"].index("plan=z")
    assert sorted(row[place] for row in shown["means"]) == ["0 %", "100 %"]


def test_advice_fits_a_table_that_is_encoded(here, rng, capsys):
    kind = rng.integers(3, size=200)
    ages = np.array([24, 42, 67])[kind] + 4 * rng.normal(size=200)
    rows = [f"{i},{age:.1f},{'abc'[k]}" for i, (age, k) in enumerate(zip(ages, kind, strict=True))]
    (here / "t.csv").write_text("\n".join(["id,age,plan", *rows]) + "\n")
    err = outcome(["cluster", "t.csv", "--encode", "--drop", "id", "--model", "round"], capsys)[2]
    assert (
        "take(s) few values, and rows of one value look like a cluster. Leave such columns out with --drop, or" in err
    )
    assert "give them less weight with --weights.\n" in err
    assert "with --encode" not in err
    err = outcome(["cluster", "t.csv", "--no-encode"], capsys)[2]
    assert err.count("whole number in") == 1  # not once more by the estimator
    assert "--drop id" in err


def test_a_column_of_names_is_left_out_unless_it_is_asked_for(here, rng, capsys):
    rows = [f"person {i},{value}" for i, value in enumerate(rng.normal(size=60))]
    (here / "t.csv").write_text("\n".join(["name,x", *rows]) + "\n")
    facts = told(["cluster", "t.csv"], capsys)
    assert facts["columns"] == ["x"]
    name = "'name' (text, or a name for each row: 60 distinct values in 60 rows, such as 'person 0')"
    assert f"left out 1 column(s): {name}. Give --categories name to use them" in facts["remarks"]
    status, _, err = outcome(["cluster", "t.csv", "--columns", "name,x"], capsys)
    assert status == 1
    assert "t.csv: column 'name' holds text" in err
    assert "Leave such columns out with --drop name, or give --categories name" in err
