"""What the report page holds, without a browser."""

import base64
import csv
import datetime
import io
import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import kfree
from kfree import AgglomerativeBayes, AutoCluster, DPMeans, KMeans, TableEncoder, lambda_path
from kfree.explain.units import Unit
from kfree.report import embedded, page, steps, write_report
from kfree.report.data import number, packed
from kfree.report.kinds import report_data
from kfree.report.steps import colours, slider_steps
from tests.report.conftest import NAMES


def unpacked(labels):
    return np.frombuffer(base64.b64decode(labels["data"]), dtype=labels["type"])


def test_counts_are_those_of_the_labels_at_every_step(reported):
    assert len(reported["steps"]) > 5
    for step in reported["steps"]:
        labels = unpacked(step["labels"])
        assert [cluster["size"] for cluster in step["clusters"]] == np.bincount(labels, minlength=step["k"]).tolist()
        assert len(step["colours"]) == len(set(step["colours"])) == step["k"]


def test_steps_go_from_many_clusters_to_one_and_the_model_is_among_them(reported, fitted):
    model, _ = fitted
    ks = [step["k"] for step in reported["steps"]]
    assert ks == sorted(set(ks), reverse=True)
    assert ks[-1] == 1
    own = next(step for step in reported["steps"] if step["own"])
    assert own["k"] == model.n_clusters_ == 5
    assert np.array_equal(unpacked(own["labels"]), model.labels_)
    assert own["lam"] == pytest.approx(model.lam_, rel=1e-4)


def test_means_and_exemplars_are_those_of_the_rows(reported, fitted):
    model, X = fitted
    own = next(step for step in reported["steps"] if step["own"])
    for cluster, means in zip(own["clusters"], own["means"], strict=True):
        rows = model.labels_ == cluster["label"]
        by_hand = dict(zip(NAMES, X[rows].mean(axis=0), strict=True))
        told = {name: float(mean.replace("−", "-")) for name, mean in zip(reported["features"], means, strict=True)}
        assert told == pytest.approx(by_hand, abs=0.06)
        distances = np.where(rows, model.transform(X)[:, cluster["label"]], np.inf)
        assert cluster["exemplars"][0] == 1001 + distances.argmin()


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (pd.date_range("2024-01-01", periods=200), ["2024-01-01", "2024-07-18"]),
        (np.array([None, *[datetime.date(2024, 1, 31)] * 199]), ["(no name)", "2024-01-31"]),
        (np.r_[np.nan, np.arange(199.0)], ["(no name)", "198"]),
        (pd.array([pd.NA, *range(199)]), ["(no name)", "198"]),
        (np.r_[-np.inf, np.arange(199) / 2], ["-inf", "99"]),
    ],
    ids=["times", "dates", "numbers and NaN", "numbers and NA", "numbers and infinity"],
)
def test_rows_may_be_named_by_values_of_any_kind(names, shown, fitted, tmp_path):
    model, X = fitted
    data = report_data(model, X, NAMES, row_numbers=names)
    assert [data["row_numbers"][0], data["row_numbers"][-1]] == shown
    assert [data["points"]["rows"][0], data["points"]["rows"][-1]] == shown
    assert set(data["steps"][0]["clusters"][0]["exemplars"]) < set(data["row_numbers"])
    write_report(tmp_path / "page.html", model, X, row_numbers=names)


def test_labels_for_download_are_cells(reported):
    """The function of the page, by node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = files("kfree.report").joinpath("page.js").read_text("utf-8")
    text = script[script.index("function labelsAsText") :]
    given = "const data = {word: 'row', row_numbers: ['a, b', 'say \"no\"', 7, 'c\\nd']}; "
    given += "const current = () => ({}), unpacked = () => [0, 1, 2, 3]; "
    command = given + text[: text.index("\n}") + 2] + "; process.stdout.write(labelsAsText())"
    found = subprocess.run([node, "-e", command], capture_output=True, text=True, check=True).stdout
    rows = list(csv.reader(io.StringIO(found, newline="")))
    assert rows == [["row", "cluster"], ["a, b", "0"], ['say "no"', "1"], ["7", "2"], ["c\nd", "3"]]


def test_standardised_columns_are_shown_in_their_units(fitted):
    _, X = fitted
    from kfree.clustering.preparation import Preparation

    encoder = TableEncoder(transforms="identity", scale="deviation").fit(X)
    plan, scaled = Preparation(list("abcd"), encoder=encoder), encoder.transform(X)
    data = report_data(DPMeans(lam=10.0).fit(scaled), scaled, encoder=plan)
    axis = next(axis for axis in data["points"]["axes"] if axis["name"] == "x0")
    np.testing.assert_allclose(axis["values"], X[:, 0], rtol=1e-3, atol=1e-3)


def test_values_of_the_map_are_as_exact_as_they_are_told(tmp_path):
    days, place = np.arange(60), np.arange(60) % 2
    frame = pd.DataFrame({"paid": 1_234_567 + 9_000 * place + days, "since": pd.Timestamp("2024-03-01")})
    frame["since"] += pd.to_timedelta(9 * days + 500 * place, unit="D") + pd.Timedelta("18:30:00")
    kfree.cluster(frame, k=2).report(tmp_path / "page.html")
    data = json.loads((tmp_path / "page.html").read_text("utf-8").split('id="data">')[1].split("</script>")[0])
    values = {axis["name"]: axis["values"] for axis in data["points"]["axes"]}
    assert np.rint(values["paid"]).tolist() == frame["paid"].tolist()
    told = [Unit("date", 0).text(value) for value in values["since"]]
    assert told == frame["since"].dt.strftime("%Y-%m-%d").tolist()


def test_of_a_large_table_only_the_labels_of_the_model_are_kept(fitted, monkeypatch):
    model, X = fitted
    monkeypatch.setattr("kfree.report.data._LABELS_KEPT", 500)
    monkeypatch.setattr("kfree.report.data._DESCRIBED", 150)
    monkeypatch.setattr("kfree.report.data._POINTS", 50)
    monkeypatch.setattr(steps, "SAMPLE", 100)
    data = report_data(model, X)
    assert data["row_numbers"] is None
    assert len(data["points"]["rows"]) == 50
    for step in data["steps"]:
        assert (step["labels"] is not None) == step["own"]
        assert sum(cluster["size"] for cluster in step["clusters"]) == 200
    own = next(step for step in data["steps"] if step["own"])
    summary = model.summary(X)  # which sees all rows
    for cluster, told in zip(own["clusters"], summary.clusters, strict=True):
        assert cluster["spread"] == pytest.approx(told.spread, rel=1e-4)
        assert cluster["exemplars"] == [row + 1 for row in told.exemplars]


def test_a_penalty_for_a_sample_gives_the_clusters_of_all_rows(fitted, monkeypatch):
    model, X = fitted
    monkeypatch.setattr(steps, "SAMPLE", 100)
    path = lambda_path(X)
    for step in slider_steps(model, X, path):
        if step.k <= 3:
            assert step.k == DPMeans(lam=step.lam).fit(X).n_clusters_


def test_clusters_keep_the_colour_of_their_largest_part():
    def step(labels):
        labels = np.array(labels)
        return type("Step", (), {"labels": labels, "k": int(labels.max()) + 1})

    before, after = step([0, 0, 0, 1, 1, 1]), step([2, 2, 0, 1, 1, 1])
    assert colours([before, after]) == [[0, 1], [2, 1, 0]]


def test_one_column_and_equal_rows_have_pages():
    assert page(report_data(DPMeans(lam=1.0).fit([[0.0], [5.0]]), [[0.0], [5.0]]))
    same = np.ones((30, 2))
    assert page(report_data(DPMeans().fit(same), same))


def test_no_text_in_the_data_can_end_the_script(reported):
    text = page(reported)
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<b>bold" not in text
    assert "<title>people &lt;i&gt;&amp;amp;&lt;/i&gt;.csv</title>" in text
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
    assert json.loads(held) == reported


def test_embedded_text_has_no_angle_brackets():
    text = embedded({"name": "</script><!--<script>&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text)["name"] == "</script><!--<script>&\u2028"


def test_the_page_loads_nothing(reported):
    text = page(reported)
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["']|https?://(?!www\.w3\.org/2000/svg)|@import|url\(""", text)


def test_numbers_without_a_word_in_json_are_none():
    assert number(np.inf) is number(np.nan) is None
    assert number(1 / 3) == 0.33333
    assert packed(np.array([0, 40_000]))["type"] == "<i4"


def test_an_old_page_is_kept_when_a_new_one_cannot_be_made(tmp_path, fitted):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="X has 3 rows and the model was fitted with 200"):
        write_report(path, fitted[0], np.zeros((3, 4)))
    assert path.read_text() == "old"


def test_a_page_is_about_the_rows_of_fit(tmp_path, fitted):
    model, X = fitted
    with pytest.raises(ValueError, match=r"X holds other rows than fit: \d+ have labels that differ"):
        write_report(tmp_path / "report.html", model, np.roll(X, 1, axis=0))


def test_effects_of_columns_that_do_not_vary_within_clusters_are_finite():
    X = np.column_stack([np.repeat([0.0, 1.0], 30), np.tile([0.0, 0.5, 1.0], 20)])
    data = report_data(DPMeans(target_k=2).fit(X), X, ["plan", "x"])
    own = next(step for step in data["steps"] if step["own"])
    assert sorted(effects[0] for effects in own["effects"]) == [-number(np.sqrt(30)), number(np.sqrt(30))]


def test_places_on_the_earth_have_a_page_with_and_without_a_path(rng):
    X = np.array([[-17.0, 179.5], [-21.0, 165.0], [52.0, -175.0]])[np.arange(90) % 3] + 0.3 * rng.normal(size=(90, 2))
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    for target_k in (None, 2):
        model = DPMeans(metric="haversine", target_k=target_k).fit(X)
        data = report_data(model, X)
        assert ([step["k"] for step in data["steps"]], data["places"]) == ([model.n_clusters_], True)
        assert page(data)


def test_a_model_without_a_page_is_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(TypeError, match="no report page for KMeans; give one of GraphDPMeans, AutoCluster, DPMeans"):
        report_data(KMeans(2).fit(X), X)


def own_step(data):
    return next(step for step in data["steps"] if step["own"])


def test_columns_are_ranked_by_their_effect_and_none_is_lost(rng):
    """The last of 35 columns tells the clusters apart."""
    X = rng.normal(size=(120, 35))
    X[:, 34] += 30.0 * (np.arange(120) % 2)
    data = report_data(DPMeans(target_k=2).fit(X), X)
    assert len(data["features"]) == data["n_features"] == 35
    assert data["features"][0] == "x34"
    assert [abs(row[0]) for row in own_step(data)["effects"]] == pytest.approx([30.0, 30.0], rel=0.2)
    assert [axis["name"] for axis in data["points"]["axes"]][2] == "x34"


def test_the_first_columns_of_a_page_are_those_of_every_cluster(rng, monkeypatch):
    kind = np.arange(200) % 4
    X = rng.normal(size=(200, 50))
    X[np.arange(200), 40 + kind] += 25.0
    monkeypatch.setattr("kfree.report.columns._CELLS", 1)  # the page of a table that is too large keeps few columns
    data = report_data(DPMeans(target_k=4).fit(X), X)
    assert len(data["features"]) == 1
    monkeypatch.undo()
    assert set(report_data(DPMeans(target_k=4).fit(X), X)["features"][:4]) == {"x40", "x41", "x42", "x43"}


def test_a_single_cluster_has_columns_in_the_order_of_the_next_step(rng):
    X = rng.normal(size=(100, 3)) * [1.0, 1.0, 40.0]
    data = report_data(DPMeans(lam=1e9).fit(X), X)
    assert own_step(data)["k"] == 1
    assert data["features"][0] == "x2"


def test_the_page_of_a_chosen_model_says_why_and_the_number_once(rng):
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0) + rng.normal(size=(90, 2))
    for rows, begins in ((X, "round: "), (rng.normal(size=(90, 2)), "because ")):
        model = AutoCluster().fit(rows)
        (step,) = report_data(model, rows)["steps"]
        assert step["k"] == model.n_clusters_
        assert step["note"].startswith(begins)
        assert model.reason_.endswith(step["note"].removeprefix(begins))
        assert "cluster" not in step["note"].split(" ")[:2]


def test_the_map_of_clusters_in_few_columns_is_about_these():
    X = np.random.default_rng(0).normal(size=(90, 10))
    X[:, 2:5] += 12 * np.eye(3)[np.arange(90) % 3]
    model = AutoCluster().fit(X)
    assert model.columns_.tolist() == [2, 3, 4]
    names = [axis["name"] for axis in report_data(model, X)["points"]["axes"]]
    assert [name.partition(" (")[0] for name in names[:2]] == ["direction 1 in 3 columns", "direction 2 in 3 columns"]
    unit = AutoCluster(metric="cosine").fit(X)
    assert report_data(unit, X)["points"]["axes"][0]["name"].startswith("direction 1 (")


def test_sparse_rows_are_refused_by_name_and_dense_ones_taken(tmp_path, rng):
    X = np.eye(3)[np.arange(60) % 3] * 9 + rng.random((60, 3))
    model = DPMeans(lam=30.0).fit(sp.csr_array(X))
    with pytest.raises(TypeError, match=r"X is sparse, and a page takes dense rows only. Use X.toarray\(\)"):
        write_report(tmp_path / "page.html", model, sp.csr_array(X))
    write_report(tmp_path / "page.html", model, X)


@pytest.mark.parametrize("model", [DPMeans(target_k=3), AgglomerativeBayes()])
def test_a_model_writes_its_page(model, tmp_path, rng):
    X = np.repeat(10 * np.eye(3), 20, axis=0) + rng.normal(size=(60, 3))
    assert model.fit(X).report(tmp_path / "own.html", X, title="clusters") is model
    write_report(tmp_path / "page.html", model, X, title="clusters")
    assert (tmp_path / "own.html").read_text() == (tmp_path / "page.html").read_text()
