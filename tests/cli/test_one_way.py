"""kfree cluster and kfree.cluster go one way: the same reading, preparation, fit and explanation, and the same file."""

import json

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.cli.advice import in_options
from kfree.clustering.fitting import _WEIGHTS_TOLD
from tests.cli.conftest import outcome, rows_of, told

# Levels of plans are so few that rows of one look like a cluster, which they are.
pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")


@pytest.fixture
def people(here):
    """people.csv: three kinds of people, with names, levels, gaps, dates, marks between thousands and counts."""
    rng = np.random.default_rng(0)
    kind = np.arange(240) % 3
    frame = pd.DataFrame(
        {
            "who": [f"p{i}" for i in range(240)],
            "age": (20 + 25 * kind + rng.normal(size=240)).round(1),
            "income": [f"{value:,.0f}" for value in np.exp(8 + 2 * kind + 0.1 * rng.normal(size=240))],
            "plan": np.array(["a", "b", "c"])[kind],
            "since": [f"{13 + i % 15}.0{1 + i % 9}.20{10 + 5 * k}" for i, k in enumerate(kind)],
            "times": 1 + np.arange(240) % 4,
            "country": "NZ",
        }
    )
    frame["age"] = frame["age"].astype(object)
    frame.loc[7, "age"] = "?"
    frame.to_csv("people.csv", index=False)
    return kind


READING = {"thousands": ",", "na": ["?"]}
OPTIONS = ["--thousands", ",", "--na", "?"]
WAYS = {
    "by default": ("--id who", {"id": "who"}),
    "numbers by default": ("--columns age,income,since", {"columns": ["age", "income", "since"]}),
    "without text": ("--encode --model round", {"prepare": "encode", "model": "round"}),
    "k": ("--id who --k 2", {"id": "who", "k": 2}),
    "lam": ("--id who --lam 40", {"id": "who", "lam": 40.0}),
    "judged": (
        "--standardize --columns age,income --missing mean",
        {"prepare": "standardize", "columns": ["age", "income"], "missing": "mean"},
    ),
    "numbers": (
        "--no-encode --columns age,times --missing drop --lam 300",
        {"prepare": "none", "columns": ["age", "times"], "missing": "drop", "lam": 300.0},
    ),
    "weights": (
        "--id who --weight times --weights age=2,plan=.5 --lam 90",
        {"id": "who", "weight": "times", "weights": {"age": 2.0, "plan": 0.5}, "lam": 90.0},
    ),
    "dropped": (
        "--columns age,plan --categories plan --fold-levels --k 3",
        {"columns": ["age", "plan"], "categories": ["plan"], "fold": True, "k": 3},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_command_and_the_function_give_the_same(way, people, here, capsys):
    line, parameters = WAYS[way]
    command = ["cluster", "people.csv", *OPTIONS, *line.split(), "--save", "m.kfree", "--report", "r.html"]
    facts = told(command, capsys)
    made = kfree.cluster("people.csv", **READING, **parameters)
    saved = kfree.load("m.kfree")
    assert type(saved) is kfree.Clustering
    np.testing.assert_array_equal(saved.labels, made.labels)
    written = [row["cluster"] for row in rows_of("people.clusters.csv")]
    assert written == ["" if label < 0 else str(label) for label in made.labels]
    assert facts["certainty"] == saved.certainty == made.certainty.replace("without k", "without --k")
    assert facts["sentences"] == saved.sentences() == made.sentences()
    assert facts["columns"] == saved.preparation.columns == made.preparation.columns
    assert len(made.remarks) == len(facts["remarks"])  # warnings among them, which options may word otherwise
    assert {in_options(remark) for remark in made.remarks if "warning" not in remark} <= set(facts["remarks"])
    if made.encoder is not None:
        assert saved.encoder.describe() == made.encoder.describe()
    made.report("made.html")
    pages = [
        json.loads((here / name).read_text().split('id="data">')[1].split("</script>")[0])
        for name in ("r.html", "made.html")
    ]
    assert [page["certainty"].replace("--k", "k") for page in pages] == [made.certainty] * 2
    assert pages[0]["features"] == pages[1]["features"]
    own = [next(step for step in page["steps"] if step["own"]) for page in pages]
    assert own[0]["means"] == own[1]["means"]
    assert own[0]["sentences"] == own[1]["sentences"]


def test_a_file_of_the_command_labels_further_rows_in_python_and_on_the_command_line(people, here, capsys):
    line = ["cluster", "people.csv", *OPTIONS, "--encode", "--id", "who", "--k", "3", "--save", "m.kfree", "--quiet"]
    assert outcome(line, capsys)[0] == 0
    labels = [int(row["cluster"]) for row in rows_of("people.clusters.csv")]
    loaded = kfree.load("m.kfree")
    assert loaded.predict("people.csv", **READING).tolist() == labels
    (here / "new.csv").write_text(
        (here / "people.csv").read_text().replace(",a,", ",new,", 1).replace("NZ", "AU").replace("who", "name")
    )
    with pytest.raises(ValueError, match=r"new\.csv: column 'plan' holds 'new'.*unseen='missing'"):
        loaded.predict("new.csv", **READING)
    assert loaded.predict("new.csv", unseen="missing", **READING).tolist() == labels
    assert loaded.predict("new.csv", unseen="new", **READING).tolist() == [-1, *labels[1:]]
    predict = ["predict", "m.kfree", "new.csv", *OPTIONS, "--unseen", "new", "--quiet"]
    assert outcome(predict, capsys)[0] == 0
    assert [int(row["cluster"]) for row in rows_of("new.clusters.csv")] == [-1, *labels[1:]]
    loaded.rename({0: "First"}).save("named.kfree")
    assert outcome(["predict", "named.kfree", *predict[2:]], capsys)[0] == 0
    assert {row["cluster_name"] for row in rows_of("new.clusters.csv") if row["cluster"] == "0"} == {"First"}


def test_what_the_data_suggest_takes_no_second_fit(people, monkeypatch, capsys):
    fits, fit = [], kfree.DPMeans.fit
    monkeypatch.setattr(
        kfree.DPMeans, "fit", lambda self, *given, **named: fits.append(1) or fit(self, *given, **named)
    )
    facts = told(["cluster", "people.csv", *OPTIONS, "--encode", "--id", "who", "--k", "2"], capsys)
    assert facts["certainty"] == "2 clusters, as asked for; without --k: 3 clusters, clear"
    assert len(fits) == 1


def test_rows_with_missing_values_that_are_left_out_have_no_cluster(people):
    made = kfree.cluster("people.csv", columns=["age", "times"], prepare="none", missing="drop", k=3, **READING)
    assert made.labels.shape == (240,)
    assert np.flatnonzero(made.labels < 0).tolist() == [7]
    assert made.remarks[0] == "left out 1 of 240 rows with missing values"
    assert made.explain(8).label == made.labels[8]
    with pytest.raises(ValueError, match="row=7 is not allowed; give a number from 0 to 239 of a row that was used"):
        made.explain(7)
    made.save("c.kfree")
    np.testing.assert_array_equal(kfree.load("c.kfree").labels, made.labels)


def test_arrays_and_directions_are_clustered_as_they_are(here, rng, capsys):
    X = rng.normal(size=(60, 2)) + 20.0 * (np.arange(60) % 2)[:, None]
    np.save("x.npy", X)
    pd.DataFrame(X, columns=["a", "b"]).to_csv("x.csv", index=False)
    for given in ("x.npy", X):
        assert kfree.cluster(given, lam=100.0).model.cost_ == kfree.DPMeans(lam=100.0).fit(X).cost_
    assert told(["cluster", "x.npy", "--lam", "100"], capsys)["cost"] == kfree.DPMeans(lam=100.0).fit(X).cost_
    cost = kfree.DPMeans(lam=0.5, metric="cosine").fit(X).cost_
    assert kfree.cluster("x.csv", lam=0.5, metric="cosine").model.cost_ == cost
    assert told(["cluster", "x.csv", "--lam", ".5", "--metric", "cosine"], capsys)["cost"] == cost


def test_a_folder_a_pattern_and_a_list_are_one_table(people, here):
    lines = (here / "people.csv").read_text().splitlines(keepends=True)
    (here / "parts").mkdir()
    (here / "parts" / "1.csv").write_text("".join(lines[:100]))
    (here / "parts" / "2.csv").write_text("".join([lines[0], *lines[100:]]))
    settings = {"id": "who", "model": "round", **READING}
    labels = kfree.cluster("people.csv", **settings).labels
    for given in ("parts", here / "parts", "parts/*.csv", ["parts/1.csv", here / "parts" / "2.csv"]):
        made = kfree.cluster(given, **settings)
        np.testing.assert_array_equal(made.labels, labels)
        np.testing.assert_array_equal(made.predict(given, **READING), labels)


def test_files_of_a_folder_with_columns_in_another_order_are_refused_with_a_remedy(here):
    (here / "parts").mkdir()
    (here / "parts" / "1.csv").write_text("x,y\n1,2\n")
    (here / "parts" / "2.csv").write_text("y,x\n2,1\n")
    with pytest.raises(ValueError, match=r"2\.csv has .*Give files with the same columns in the same order"):
        kfree.cluster("parts", columns=["x", "y"])


def test_rows_that_do_not_fit_in_memory_are_streamed(here, rng):
    n, kind = 60_000, rng.integers(3, size=60_000)
    table = pd.DataFrame({"x": np.abs(rng.normal(size=n)) + 30 * kind, "y": rng.normal(size=n)})
    table["level"] = np.array(["x", "y", "z"], dtype=object)[kind]
    table["count"], table["name"] = rng.integers(1, 4, n), [f"r{i}" for i in range(n)]
    table.to_parquet("large.parquet", row_group_size=10_000)
    settings = {"columns": ["x", "y"], "prepare": "none", "lam": 400_000.0, "memory": "4MB", "id": "name"}
    made = kfree.cluster("large.parquet", weight="count", **settings)
    rows = kfree.open_rows("large.parquet", ["x", "y"], "count")
    expected = kfree.DPMeans(lam=400_000.0, memory="4MB").fit(rows)
    np.testing.assert_array_equal(made.labels, expected.predict(rows))
    assert [cluster.size for cluster in made.summary().clusters] == np.bincount(made.labels).tolist()
    assert made.remarks == [_WEIGHTS_TOLD]  # no rows are left out of the summary
    np.testing.assert_allclose(made.scores()["confidence"], expected.confidence(table[["x", "y"]]))
    made.report("r.html").save("c.kfree")
    loaded = kfree.load("c.kfree")
    np.testing.assert_array_equal(loaded.predict("large.parquet"), made.labels)
    with pytest.raises(AttributeError, match="labels_ is not kept after a fit on files"):
        _ = loaded.labels
    encoded = kfree.cluster("large.parquet", drop=["count", "name"], memory="5MB", lam=9000.0)
    np.testing.assert_array_equal(encoded.predict(table), encoded.labels)
    assert encoded.remarks == []
    chosen = kfree.cluster("large.parquet", **settings | {"lam": None})
    assert chosen.remarks[-1] == "rows do not fit in memory, so that only round clusters were looked for"
    with pytest.raises(ValueError, match="sample_weight=.* the name of a column as weight"):
        kfree.cluster("large.parquet", sample_weight=np.ones(n), **settings)
    with pytest.raises(ValueError, match="missing='drop' takes all rows in memory; give more memory"):
        kfree.cluster("large.parquet", missing="drop", **settings)


def test_missing_values_of_rows_that_are_streamed_are_counted(here, rng):
    n = 60_000
    table = pd.DataFrame({"x": rng.normal(size=n) + 30 * rng.integers(3, size=n), "y": rng.normal(size=n)})
    table.loc[::20, "x"], table.loc[7::30, "y"] = np.nan, np.nan
    table.to_parquet("large.parquet", row_group_size=10_000)
    made = kfree.cluster("large.parquet", memory="5MB", lam=9000.0)
    assert made.remarks == [
        "took 5,000 missing values of 5,000 rows from the nearest rows; means and shares include them"
    ]


def test_places_are_clustered_on_the_globe(here):
    rng = np.random.default_rng(0)
    X = np.array([[52.5, 13.4], [-36.8, 179.9], [-17.7, -179.95]])[np.arange(90) % 3] + 0.2 * rng.normal(size=(90, 2))
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    table = pd.DataFrame({"lat": X[:, 0], "lon": X[:, 1], "other": np.arange(90.0)})
    made = kfree.cluster(table, geo=("lat", "lon"))
    assert made.n_clusters == 3
    np.testing.assert_array_equal(made.labels, kfree.DPMeans(metric="haversine").fit(X).labels_)
    label = made.labels[1]  # near the date line
    radius = np.quantile(made.model.transform(X[made.labels == label])[:, label], 0.9)
    latitude, longitude = made.model.cluster_centers_[label]
    where = f"around {-latitude:.1f}° S, {longitude:.1f}° E, nine of ten within {radius:.1f} km"
    assert made.sentences()[label] == f"Cluster {label}: 30 rows (33 %); {where}."
    assert where in str(made.summary())
    made.save("c.kfree")
    assert kfree.load("c.kfree").sentences() == made.sentences()
    np.testing.assert_array_equal(made.predict(table), made.labels)
    with pytest.raises(ValueError, match="geo='lat' is not allowed; give two columns"):
        kfree.cluster(table, geo="lat")
    for name, value in {"prepare": "encode", "weights": {"lat": 1.5}, "columns": ["other"], "metric": "cosine"}.items():
        with pytest.raises(ValueError, match=f"{name}=.* is not allowed; give none with geo, which uses its two colum"):
            kfree.cluster(table, geo=("lat", "lon"), **{name: value})


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_clustered_as_numbers_too(kind, rng):
    X = rng.normal(size=(60, 2)) + 20 * (np.arange(60) % 2)[:, None]
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "note": "word"})
    frame.loc[3, "a"] = np.nan
    if kind == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    if kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    made = kfree.cluster(frame, prepare="none", missing="drop", lam=500.0)
    kept = np.arange(60) != 3
    np.testing.assert_array_equal(made.labels[kept], kfree.DPMeans(lam=500.0).fit(X[kept]).labels_)
    assert made.labels[3] == -1
    assert made.remarks[0] == "left out 1 column(s) that are not numbers: 'note' (prepare='encode' uses them)"
    np.testing.assert_array_equal(made.predict(frame), made.labels)
    with pytest.raises(ValueError, match=r"missing values in 1 column\(s\): 'a' \(1\); the first is in row 4"):
        kfree.cluster(frame, prepare="none")
    with pytest.raises(ValueError, match="column 'note' of columns holds other values, not numbers"):
        kfree.cluster(frame, prepare="none", columns=["note"])


def test_columns_that_are_not_used_may_hold_anything(rng):
    frame = pd.DataFrame({"a": np.r_[rng.normal(size=30), 30 + rng.normal(size=30)], "b": [1, "x"] * 30})
    made = kfree.cluster(frame, drop=["b"], k=2)
    assert sorted(np.bincount(made.labels)) == [30, 30]
    made = kfree.cluster(frame, prepare="none", k=2)
    assert made.preparation.columns == ["a"]


def test_columns_of_pandas_may_be_called_by_numbers(rng):
    X = rng.normal(size=(60, 2)) + 20 * (np.arange(60) % 2)[:, None]
    made = kfree.cluster(pd.DataFrame(X), k=2)
    assert made.preparation.columns == ["0", "1"]
    np.testing.assert_array_equal(made.predict(pd.DataFrame(X)), made.labels)


@pytest.mark.filterwarnings("ignore:DPMeans chose:UserWarning")
@pytest.mark.parametrize("model", ["round", "auto"])
def test_identifiers_are_told_once(model, rng, here, capsys):
    frame = pd.DataFrame({"id": np.arange(60), "x": rng.normal(size=60) + 20 * (np.arange(60) % 2)})
    frame.to_csv("t.csv", index=False)
    for table in (frame, "t.csv"):
        made = kfree.cluster(table, prepare="none", model=model)
        (said,) = (remark for remark in made.remarks if "whole number in" in remark)
        assert "column(s) 'id' hold a different whole number in nearly every row" in said
    facts = told(["cluster", "t.csv", "--no-encode", "--model", model], capsys)
    assert len(facts["remarks"]) == len(made.remarks)
    of_array = kfree.cluster(frame.to_numpy(), model="round").remarks  # which has no columns by name
    assert any("column 0 has another whole number in every row" in remark for remark in of_array)


def test_parameters_that_contradict_each_other(people):
    for parameters, said in [
        ({"k": 2, "lam": 3.0}, "k and lam both set"),
        ({"weight": "times", "sample_weight": np.ones(240)}, "sample_weight=.*None where weight names a column"),
        ({"prepare": "none", "fold": True}, "need prepare='encode'"),
        ({"prepare": "none", "missing": "nearest"}, "missing='nearest' needs prepare='encode'"),
        ({"prepare": "raw"}, "prepare='raw' is not allowed; give one of 'encode', 'standardize', 'none'"),
        ({"thousands": "x"}, "thousands='x' is not allowed"),
        ({"weight": "tims"}, r"people\.csv has no column 'tims'"),
    ]:
        with pytest.raises(ValueError, match=said):
            kfree.cluster("people.csv", **({"id": "who"} | parameters))
