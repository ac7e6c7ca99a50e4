"""cluster: one call from a table to clusters in its names and units; sentences, explanations, names, pages, files."""

import copy
import datetime
import decimal
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import kfree
from kfree.cli import main
from kfree.datasets import make_customers
from kfree.exceptions import DataAdvice
from kfree.explain.certainty import in_words
from kfree.explain.features import Feature, one_per_column
from kfree.explain.sentences import phrase
from kfree.explain.units import Unit


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame(make_customers(random_state=0)[0])
    return frame.assign(customer=[f"c{j:04d}" for j in range(len(frame))], country="NZ")


@pytest.fixture(scope="module")
def clustering(table):
    return kfree.cluster(table, id="customer")


@pytest.fixture(scope="module")
def of_four(table):
    """The same with a number of clusters that is given, which takes a fifth of the time."""
    return kfree.cluster(table, id="customer", k=4)


def numbers(rng, n=300):
    kind = rng.integers(3, size=n)
    X = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])[kind] + rng.normal(size=(n, 2))
    return pd.DataFrame({"height": 100 + X[:, 0], "width": np.exp(X[:, 1] / 6)}), kind


def test_a_table_is_clustered_and_told_in_its_units(clustering, table):
    assert clustering.n_clusters == 4
    assert clustering.certainty == "4 clusters, clear"
    n_missing = int(table.isna().sum().sum())
    assert clustering.remarks == [
        "left out: 'country' (constant: NZ)",
        f"took {n_missing} missing values of {int(table.isna().any(axis=1).sum())} rows from "
        "the nearest rows; means and shares include them",
    ]
    labels = np.asarray(clustering.labels)
    for cluster, sentence in zip(clustering.summary().clusters, clustering.sentences(), strict=True):
        inside = table[labels == cluster.label]
        assert sentence.startswith(f"Cluster {cluster.label}: {len(inside)} rows")
        income = next((f for f in cluster.features if f.name == "income"), None)
        assert income is not None
        assert income.mean == pytest.approx(inside["income"].mean(), rel=0.02)  # some values are missing
        assert set(map(clustering.summary().row_name, cluster.exemplars)) <= set(inside["customer"])
    assert str(clustering).splitlines()[0] == clustering.certainty
    assert "sizes" in repr(clustering)


def test_zeros_and_ones_are_told_as_shares_of_rows(rng):
    """They were told as ratios of means: 2.3 times the member."""
    frame, kind = numbers(rng)
    frame["member"] = (rng.uniform(size=len(kind)) < np.array([0.9, 0.3, 0.3])[kind]).astype(int)
    clustering = kfree.cluster(frame, k=3)
    members = clustering.labels[np.flatnonzero(kind == 0)[0]]
    inside, others = (100 * frame["member"][(clustering.labels == members) == side].mean() for side in (True, False))
    assert f"member in {inside:.0f} % (others {others:.0f} %)" in clustering.sentences()[members]


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "file", "text file"])
def test_any_kind_of_table_gives_the_same(kind, of_four, table, tmp_path):
    pa = pytest.importorskip("pyarrow")
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    if kind == "polars":
        given = pytest.importorskip("polars").from_arrow(arrow)
    elif kind == "pyarrow":
        given = arrow
    elif kind == "file":
        given = tmp_path / "t.parquet"
        table.to_parquet(given)
    else:
        given = str(tmp_path / "t.csv")
        table.to_csv(given, index=False)
    other = kfree.cluster(given, id="customer", k=4)
    np.testing.assert_array_equal(other.labels, of_four.labels)
    assert other.sentences() == of_four.sentences()
    np.testing.assert_array_equal(other.predict(given), other.labels)


def test_numbers_are_given_to_auto_cluster_and_arrays_stay_as_they_are(rng):
    frame, kind = numbers(rng)
    found = kfree.cluster(frame)
    assert type(found.model) is kfree.AutoCluster
    assert found.n_clusters == 3
    assert len(set(zip(kind.tolist(), found.labels.tolist(), strict=True))) == 3
    X = frame.to_numpy()
    array = kfree.cluster(X, model="round")
    np.testing.assert_array_equal(array.labels, kfree.DPMeans(random_state=0).fit(X).labels_)
    assert array.encoder is None
    assert array.explain(4).label == array.labels[4]
    np.testing.assert_array_equal(kfree.cluster(sp.csr_array(X), model="round").labels, array.labels)


@pytest.mark.slow  # with the fit that they share
def test_names_survive_files_and_predictions(clustering, table, tmp_path):
    named = copy.copy(clustering).rename({0: "Young", 2: 'the "old"'})
    named.save(tmp_path / "c.kfree")
    loaded = kfree.load(tmp_path / "c.kfree")
    assert loaded.names == {0: "Young", 2: 'the "old"'}
    assert loaded.sentences() == named.sentences()
    assert loaded.sentences()[0].startswith("Young: ")
    assert loaded.certainty == named.certainty
    tomorrow = table.drop(columns=["customer", "country"]).iloc[::-1]
    np.testing.assert_array_equal(loaded.predict(tomorrow), np.asarray(named.labels)[::-1])
    names = loaded.predict(tomorrow, named=True)
    assert set(names) == {"Young", "Cluster 1", 'the "old"', "Cluster 3"}
    assert str(loaded.summary()) == str(named.summary())
    loaded.report(tmp_path / "r.html", table)
    with pytest.raises(ValueError, match="give the table that was clustered"):
        loaded.report(tmp_path / "r.html")


@pytest.mark.slow  # with the fit that they share
def test_the_page_tells_the_same(clustering, table, tmp_path):
    named = copy.copy(clustering).rename({1: "Families"})
    named.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["certainty"] == "4 clusters, clear"
    assert data["names"] == {"1": "Families"}
    assert data["remarks"][0] == "left out: 'country' (constant: NZ)"
    assert any(remark.startswith("age: (age − ") for remark in data["remarks"])
    own = next(step for step in data["steps"] if step["own"])
    for told, sentence, cluster in zip(own["sentences"], named.sentences(), own["clusters"], strict=True):
        assert sentence.endswith(f"; {told}.")
        exemplars = named.summary().clusters[cluster["label"]].exemplars
        assert cluster["exemplars"] == [named.summary().row_name(row) for row in exemplars]
    income = data["features"].index("income")
    for means, cluster in zip(own["means"], named.summary().clusters, strict=True):
        assert means[income] == next(f for f in cluster.features if f.name == "income").text


@pytest.mark.slow  # with the fit that they share
def test_a_row_is_explained_by_number_by_values_and_from_a_table(clustering, table):
    label = int(clustering.labels[7])
    by_number = clustering.explain(7)
    assert (by_number.label, by_number.name) == (label, f"Cluster {label}")
    assert by_number.confidence == pytest.approx(clustering.model.confidence(clustering._rows[7:8])[0])
    assert by_number == clustering.explain(table.iloc[[7]]) == clustering.explain(table.iloc[7].to_dict())
    told = {name: (value, mean) for name, value, mean, _ in by_number.features}
    cluster = clustering.summary().clusters[label]
    assert all(told[f.name][1] == f.text for f in cluster.features if f.name in told)
    assert str(by_number).startswith(f"Cluster {label}, confidence ")
    far = table.iloc[7].to_dict() | {"income": 1e12}
    assert "far from all clusters" in str(clustering.explain(far))


def test_k_is_met_and_the_data_are_heard(table):
    found = kfree.cluster(table.drop(columns="customer"), k=3)
    assert found.n_clusters == 3
    assert found.certainty == "3 clusters, as asked for; without k: 4 clusters, clear"


def test_what_is_wrong_is_told(clustering, table):
    with pytest.raises(ValueError, match="column 'customer'"):
        kfree.cluster(table, columns=["age", "customer"])  # as good as text
    assert "left out 1 column(s): 'customer' (text, or a name for each row: " in kfree.cluster(table, k=4).remarks[0]
    with pytest.raises(ValueError, match=r"the table has no column 'incom' \(columns\); it has 'age'"):
        kfree.cluster(table, columns=["incom"])
    with pytest.raises(ValueError, match="model='rund' is not allowed.*did you mean 'round'"):
        kfree.cluster(table, model="rund")
    with pytest.raises(ValueError, match="columns=.* none for an array"):
        kfree.cluster(np.zeros((5, 2)), columns=["a"])
    with pytest.raises(ValueError, match="names=.*labels from 0 to 3"):
        clustering.rename({9: "x"})
    with pytest.raises(ValueError, match="another name for each"):
        clustering.rename({0: "x", 1: "x"})
    with pytest.raises(ValueError, match="has no column 'income'"):
        clustering.predict(table.drop(columns="income"))
    with pytest.raises(ValueError, match="row=5000 is not allowed; give a number from 0 to"):
        clustering.explain(5000)


def test_warnings_name_the_columns_of_the_table(rng):
    kind = np.arange(120) % 3
    table = pd.DataFrame({"x": 50.0 * kind + rng.normal(size=120), "plan": np.array(["a", "b", "c"])[kind]})
    with pytest.warns(
        DataAdvice, match=r"column 'plan=a', column 'plan=b', column 'plan=c' take\(s\) few values"
    ) as told:
        kfree.cluster(table, model="round")
    assert told[0].filename == __file__  # the caller, not a file of ours or of contextlib


def path_of(**facts):
    known = {"runner_up": None, "weakest": 3.0} | facts

    class Path:
        density_dips = None
        is_sure, is_doubtful = facts.get("is_sure", False), facts.get("is_doubtful", False)

        def summary(self):
            return known

    return Path()


def test_how_sure_in_words(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)
        one = kfree.DPMeans().fit(rng.normal(size=(200, 2))).certainty()
    assert one.startswith("no separate groups: nowhere do rows thin out between two centres")
    assert one.endswith("For a practical division give k.")
    even = kfree.DPMeans().fit(np.random.default_rng(1).uniform(size=(150, 2)))
    step, needed = even.path_.closest()
    assert f"closest is k = {step.k} (evidence {step.evidence:.1f} of {needed:.1f})" in even.certainty()
    assert 0 < step.evidence < needed
    X = rng.normal(size=(300, 2)) + 12 * np.eye(3, 2)[np.arange(300) % 3]
    assert kfree.DPMeans(lam=1e6).fit(X).certainty() == "1 cluster at the penalty that was given"
    assert kfree.KMeans(3).fit(X).certainty() == "3 clusters, as asked for"
    assert kfree.NestedDPMeans((2, 3)).fit(X).certainty() == "3 clusters, as asked for"
    assert kfree.SpectralDPMeans().fit(X).certainty() == "3 clusters"
    auto = kfree.AutoCluster().fit(X)
    assert auto.certainty() == "3 clusters, clear"
    auto.k_interval_, auto.is_sure_ = (2, 3), False
    assert in_words(auto).startswith("2 or 3 clusters (3 shown): not sure, because halves")
    auto.k_interval_, auto.stability_ = (3, 3), np.array([0.9, 0.5, 0.9])
    assert in_words(auto).endswith("do not show the same cluster 1")
    auto.k_interval_, auto.n_clusters_ = (1, 3), 1
    assert in_words(auto).endswith("Some halves of the rows show up to 3 clusters. For a practical division give k.")
    model = type("Model", (), {"n_clusters_": 5, "path_": path_of(is_doubtful=True, weakest=-1.0, runner_up=2)})
    assert in_words(model) == (
        "5 clusters: not sure, because rows do not thin out between two of them; the runner-up is k = 2"
    )


SIZES = Unit("rank", levels=("S", "M", "L", "XL"))


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        (Feature("income", 8.0, 8980.0, 1159.0, Unit("number", 0)), "7.7 times the income: 8,980 (others 1,159)"),
        (Feature("a", 9.0, 8.94, 0.04, Unit("number", 2)), "higher a: 8.94 (others 0.04)"),
        (Feature("age", -2.0, 28.3, 49.9, Unit("number", 1)), "lower age: 28.3 (others 49.9)"),
        (Feature("plan=gold", 2.0, 0.92, 0.11, Unit("share"), "plan"), "plan is gold in 92 % (others 11 %)"),
        (Feature("churned", 2.0, 0.92, 0.11, Unit("share")), "churned in 92 % (others 11 %)"),
        (Feature("size", 2.0, 2.9, 1.1, SIZES), "higher size: XL (others M)"),
        (Feature("size", -2.0, -0.0, 2.6, SIZES), "lower size: S (others L to XL)"),
        (Feature("size", 0.9, 1.2, 0.9, SIZES), "slightly higher size: M (others M)"),
        (Feature("size", 2.0, 2.9, 1.1, Unit("rank", 1)), "higher size: 2.9 (others 1.1)"),  # of a file without levels
        (
            Feature("since", -1.0, 2010.1, 2020.1, Unit("date", 0)),
            "since earlier: 2010-02-06 (others 2020-02-06)",
        ),
    ],
)
def test_phrases(feature, text):
    assert phrase(feature) == text


def test_the_level_that_is_told_sets_the_cluster_apart():
    """The most frequent level is as frequent among other rows."""
    shares = {"basic": (-0.02, 0.55, 0.56), "plus": (1.9, 0.3, 0.04), "gold": (-2.1, 0.15, 0.4), "x": (1.0, 0.0, 0.0)}
    features = [Feature(f"plan={name}", *facts, Unit("share"), "plan") for name, facts in shares.items()]
    features = sorted(features, key=lambda feature: -abs(feature.effect))
    assert [feature.level for feature in one_per_column(features, 0.005)] == ["plus"]
    assert one_per_column(features, 2.5) == []
    assert [feature.level for feature in one_per_column(features[2:], 0.005)] == ["x"]


def test_ordered_levels_are_called_by_their_names(tmp_path):
    sizes, place = ["S", "M", "L", "XL"], np.arange(80) % 2
    frame = pd.DataFrame({"x": 9.0 * place + np.arange(80) / 80, "size": np.where(place, "XL", "M")})
    frame.loc[[0, 1], "size"] = ["S", "L"]
    frame["size"] = pd.Categorical(frame["size"], sizes, ordered=True)
    frame["height"] = pd.cut(frame["x"], [-1, 0.5, 5, 9.5, 20])
    for table in (frame, pl.from_pandas(frame[["x", "size"]]).cast({"size": pl.Enum(sizes)})):
        made = kfree.cluster(table, k=2)
        sentence = made.sentences()[made.labels[3]]
        assert "higher size: XL (others M)" in sentence
        assert "  size: XL (cluster XL, others M)" in str(made.explain(3)).splitlines()
        assert "(XL)" in str(made.summary())
    made = kfree.cluster(frame, k=2)
    assert (
        "higher height: (5.0, 9.5] to (9.5, 20.0] (others (-1.0, 0.5] to (0.5, 5.0])"
        in made.sentences()[made.labels[3]]
    )
    made = kfree.cluster(frame, k=2, drop=["height"]).report(tmp_path / "page.html").save(tmp_path / "made.kfree")
    assert kfree.load(tmp_path / "made.kfree").sentences() == made.sentences()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "higher size: XL (others M)" in page
    assert '"levels":["S","M","L","XL"]' in page.replace(", ", ",").replace(": [", ":[")


def test_names_of_columns_may_hold_equals_signs(tmp_path):
    place = np.arange(60) % 2
    columns = {"size=x": place, "size=y": 1 - place}
    frame = pd.DataFrame({name: np.array(["in", "b=c"])[which] for name, which in columns.items()})
    frame["is=on"], frame["z"] = place == 1, 9.0 * place + np.arange(60) / 60
    made = kfree.cluster(frame, k=2)
    for sentence, label in zip(made.sentences(), (0, 1), strict=True):
        inside = frame[made.labels == label]
        for name in columns:
            share = 100 * (inside[name] == "in").mean()
            assert f"{name} is in in {share:.0f} % (others {100 - share:.0f} %)" in sentence
        assert f"is=on in {100 * inside['is=on'].mean():.0f} %" in sentence
    made.report(tmp_path / "page.html").save(tmp_path / "made.kfree")
    assert kfree.load(tmp_path / "made.kfree").sentences() == made.sentences()
    assert "size=x is in in" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_name_of_a_row_is_not_taken_for_a_file(of_four):
    with pytest.raises(ValueError, match="row='c0003' is not allowed; give the number of a row, values by column"):
        of_four.explain("c0003")


def test_of_many_columns_that_are_left_out_the_first_are_named(rng):
    frame = numbers(rng)[0].assign(**{f"same{j}": "x" for j in range(10)})
    (said,) = (remark for remark in kfree.cluster(frame, k=3).remarks if remark.startswith("left out"))
    assert said.startswith("left out: 'same0' (constant: x), 'same1' (constant: x), ")
    assert said.endswith("'same7' (constant: x) and 2 more")


MASKED = np.ma.array(np.arange(60.0).reshape(30, 2), mask=np.eye(30, 2))


@pytest.mark.parametrize(
    ("given", "options", "told"),
    [
        (MASKED, {}, "X is a masked array with 2 masked value"),
        ("gaps", {"sample_weight": np.ones(29)}, "sample_weight has 29 values for 30 rows"),
        ("gaps", {"sample_weight": MASKED[:, 0]}, "sample_weight is a masked array"),
        ("frame", {"columns": []}, r"columns=\[\] is not allowed; give names of columns, or None"),
        ("frame", {"na": ["?"]}, "na are about text files; leave them out"),
        (MASKED.data, {"missing": "mean"}, "missing='mean' is not allowed; give none for an array"),
    ],
)
def test_what_would_be_ignored_in_silence(given, options, told):
    frame = pd.DataFrame(MASKED.data, columns=["a", "b"])
    table = {"frame": frame, "gaps": frame.where(frame > 1)}[given] if isinstance(given, str) else given
    with pytest.raises(ValueError, match=told):
        kfree.cluster(table, k=2, **{"missing": "drop" if given is not MASKED else None} | options)


@pytest.mark.parametrize("values", [np.ones(30), pd.Series(np.ones(30)), [1.0] * 30, 3])
def test_values_in_place_of_the_name_of_a_column(values):
    frame = pd.DataFrame(MASKED.data, columns=["a", "b"])
    with pytest.raises(TypeError, match=r"weight is a \w+; give the name of a column, and numbers.* as sample_weight"):
        kfree.cluster(frame, weight=values)
    with pytest.raises(TypeError, match=r"id is a \w+; give the name of a column\."):
        kfree.cluster(frame, id=values)


def test_it_is_said_that_sizes_do_not_count_weights(rng):
    is_heavy = np.arange(60) % 3 == 0
    frame = pd.DataFrame({"x": 9.0 * is_heavy + rng.normal(size=60), "times": 1 + 9 * is_heavy})
    made = kfree.cluster(frame, k=2, weight="times")
    assert made.sentences()[0].startswith("Cluster 0: 20 rows (33 %)")
    assert "clusters are numbered by weight; sizes, shares and means count each row once" in str(made)
    assert "numbered by weight" not in str(kfree.cluster(frame, k=2, drop=["times"]))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_it_is_said_that_dates_are_told_in_utc(zone):
    days = pd.date_range("2024-07-01 00:30", periods=40, freq="13D", tz=zone)
    made = kfree.cluster(pd.DataFrame({"at": days, "x": np.arange(40) // 20 * 9.0}), k=2)
    said = "dates are told in UTC, not in their time zone, in column(s) 'at' (Europe/Berlin)"
    assert (said in made.remarks) == (zone == "Europe/Berlin")
    assert "at: 2024-06-30 (" in str(made.explain(0)) or zone != "Europe/Berlin"


def test_a_notebook_shows_remarks_too(rng):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(60) % 2) + rng.normal(size=60), "<b>": "<i>same</i>"})
    made = kfree.cluster(frame, k=2)
    assert made.remarks == ["left out: '<b>' (constant: <i>same</i>)"]
    html = made._repr_html_()
    assert html.endswith("<ul><li>left out: &#x27;&lt;b&gt;&#x27; (constant: &lt;i&gt;same&lt;/i&gt;)</li></ul>")
    assert "<ul>" not in kfree.cluster(frame[["x"]], k=2)._repr_html_()


def test_one_weight_for_all_rows_where_some_are_left_out():
    frame = pd.DataFrame({"a": [np.nan, *range(29)], "b": np.arange(30.0) % 7})
    made = kfree.cluster(frame, k=2, sample_weight=2, missing="drop")
    assert made.labels.tolist() == kfree.cluster(frame, k=2, missing="drop").labels.tolist()


def test_scores_and_summaries_count_rows_that_are_left_out():
    frame = pd.DataFrame({"a": 9.0 * (np.arange(40) % 2), "b": np.arange(40) / 40})
    frame.loc[[0, 1, 2], "a"] = np.nan
    made = kfree.cluster(frame, k=2, missing="drop")
    for scores in (made.scores(), made.scores(frame)):
        assert all((np.isnan(values) == (made.labels < 0)).all() for values in scores.values())
    summary = made.summary(frame)
    for cluster in summary.clusters:
        rows = [int(summary.row_name(row)) for row in cluster.exemplars]
        assert (made.labels[rows] == cluster.label).all()
        assert rows == [int(made.summary().row_name(row)) for row in made.summary().clusters[cluster.label].exemplars]


def test_whether_a_row_has_missing_values_does_not_depend_on_the_rows_beside_it(tmp_path, capsys):
    frame = pd.DataFrame({"a": 9.0 * (np.arange(40) % 2), "b": np.arange(40) / 40, "c": ["x", "y"] * 20})
    frame.loc[0, "a"] = np.nan
    made = kfree.cluster(frame, k=2, missing="drop")
    alone, both = frame.iloc[[0]], frame.iloc[[0, 1]]
    assert made.predict(both).tolist() == [-1, made.labels[1]]
    assert made.predict(alone).tolist() == [-1]
    assert made.predict(both.assign(c="new"), unseen="missing").tolist() == [-1, -1]
    assert all(np.isnan(values).tolist() == [True] for values in made.scores(alone).values())
    for row in (alone.iloc[0].to_dict(), alone):
        with pytest.raises(
            ValueError, match=r"value for each of 'a', 'b', 'c' \(missing='drop': a row without one has"
        ):
            made.explain(row)
    with pytest.raises(ValueError, match="the table has no row with a value for each"):
        made.summary(alone)
    filled = kfree.cluster(frame, k=2)
    nothing = frame.iloc[[0]].assign(b=np.nan, c=None)
    assert filled.predict(nothing).tolist() == [-1]
    assert np.isnan(filled.scores(nothing)["confidence"]).all()
    made.save(tmp_path / "m.kfree")
    alone.to_csv(tmp_path / "one.csv", index=False)
    command = ["predict", str(tmp_path / "m.kfree"), str(tmp_path / "one.csv"), "--scores"]
    main([*command, "-o", str(tmp_path / "out.csv")])
    assert "1 of 1 rows have missing values and no cluster" in capsys.readouterr().err
    assert pd.read_csv(tmp_path / "out.csv")[["cluster", "confidence", "outlier_score"]].isna().all(axis=None)


@pytest.mark.filterwarnings("ignore:column.s. 'age' hold numbers as text")
@pytest.mark.parametrize(
    ("texts", "remedy"),
    [
        (["3", "7.5"], "pandas.to_numeric,"),
        ([str(j) for j in range(40)], "pandas.to_numeric,"),
        (["nan", *(str(j) for j in range(40))], "pandas.to_numeric,"),
        (["none", "n/a", *(str(j) for j in range(40))], r"pandas.to_numeric\(…, errors='coerce'\),"),
        ([str(j) for j in range(80)], r"pandas.to_numeric\)"),
        (["none", *(str(j) for j in range(80))], r"pandas.to_numeric\(…, errors='coerce'\)\)"),
        ([f"{j:03}" for j in range(40)], None),
        (["3", "7.5", "many"], None),
    ],
)
def test_numbers_as_text_are_named_whatever_the_number_of_levels(texts, remedy):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(200) % 2), "y": np.arange(200) / 8, "age": (texts * 100)[:200]})
    remarks = " ".join(kfree.cluster(frame, k=2).remarks)
    if remedy is None:
        assert remarks == ""
    else:
        assert re.search(rf"'age'.* [Cc]onvert them with {remedy}.* categories=\['age'\]", remarks)
    assert kfree.cluster(frame, k=2, categories=["age"]).remarks == []


@pytest.mark.filterwarnings("ignore:column.s. 'since' hold dates as text")
@pytest.mark.parametrize(
    ("texts", "remedy"),
    [
        (["2024-03-01", "2024-12-24 08:00"], "pandas.to_datetime,"),
        (["2024-03-01", "2024-12-24", "n/a"], "pandas.to_datetime,"),
        (["1.3.2024", "24.12.2024"], r"pandas.to_datetime\(…, format=…\),"),
        (["2024-03-01", "soon"], None),
        (["2024-03", "2024-12"], None),
    ],
)
def test_dates_as_text_are_named(texts, remedy):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(60) % 2), "y": np.arange(60) / 8, "since": (texts * 60)[:60]})
    remarks = " ".join(kfree.cluster(frame, k=2).remarks)
    if remedy is None:
        assert remarks == ""
    else:
        assert re.search(rf"'since' hold dates as text.* Convert them with {remedy}.* categories=\['since'\]", remarks)
    assert kfree.cluster(frame, k=2, categories=["since"]).remarks == []


def test_dates_as_text_are_named_on_the_command_line(tmp_path, capsys):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(60) % 2), "since": ["2024-03-01", "2024-12-24"] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    main(["cluster", str(tmp_path / "t.parquet"), "--k", "2", "-o", str(tmp_path / "out.csv")])
    said = "hold dates as text, which are compared as levels, not by time. Store them as dates, or give --categories"
    assert said in capsys.readouterr().err


def test_a_row_of_its_own_is_not_far_from_its_cluster():
    frame = pd.DataFrame({"x": np.append(np.arange(60) % 7 / 7, [99.0, 40.0])})
    made = kfree.cluster(frame, k=2)
    far = "; far from all other clusters (outlier score "
    assert far in str(made.explain(60))
    assert str(made.explain(60)).splitlines()[0].endswith("), and its own has too few rows to tell")
    assert "; far from all clusters (outlier score " in str(kfree.cluster(frame, k=1).explain(60))


def test_one_cluster_has_no_others(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40) ** 2 / 39, "plan": ["x", "y"] * 20})
    made = kfree.cluster(frame, k=1).save(tmp_path / "made.kfree")
    lines = str(made.explain(1)).splitlines()
    assert lines[1:] == ["  a: 0 (cluster 13)", "  plan=y: yes (cluster 50 %)"]
    found = kfree.load(tmp_path / "made.kfree").summary().clusters[0].features
    assert all(np.isnan(feature.others) for feature in found)


def test_numbers_as_text_are_named_on_the_command_line(tmp_path, capsys):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(60) % 2), "age": [str(j % 20) for j in range(60)]})
    frame.to_parquet(tmp_path / "t.parquet")
    main(["cluster", str(tmp_path / "t.parquet"), "--k", "2", "-o", str(tmp_path / "out.csv")])
    said = "hold numbers as text, which are compared as levels, not by size. Write them as numbers, or give --categ"
    assert said in capsys.readouterr().err


def test_an_explanation_says_which_values_of_the_row_were_missing(tmp_path):
    frame = pd.DataFrame({"a": 9.0 * (np.arange(40) % 2), "b": np.arange(40) / 40, "plan": ["x", "y"] * 20})
    frame.loc[2, "a"], frame.loc[4, "plan"] = np.nan, None
    frame.loc[3] = [np.nan, np.nan, None]  # left out, so that later rows have other places
    apart = {"k": 2, "weights": {"a": 9.0, "plan": 9.0}}
    made = kfree.cluster(frame, **apart)
    without_a, without_plan = frame.loc[2].to_dict(), frame.loc[4].to_dict()
    for row in (2, without_a, frame.iloc[[2]]):
        lines = str(made.explain(row)).splitlines()
        assert "  a: missing, filled in as 0.0 (cluster 0.0, others 9.0)" in lines
        assert "  plan=y: no (cluster 0 %, others 100 %)" in lines
    for row in (4, without_plan):
        assert "  plan=y: missing, filled in as no (cluster 0 %, others 100 %)" in str(made.explain(row)).splitlines()
    new = str(made.explain({"a": 9.0, "b": 0.3, "plan": "new"}, unseen="missing"))
    assert "  plan=y: missing, filled in as yes (" in new
    assert "missing" not in str(made.explain(0))
    means = kfree.cluster(frame, missing="mean", **apart)
    assert "  plan=y: missing, filled in as 50 % (" in str(means.explain(4))
    loaded = kfree.load(made.save(tmp_path / "m.kfree") and tmp_path / "m.kfree")
    assert "  a: missing, filled in as 0.0 (" in str(loaded.explain(without_a))


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")
@pytest.mark.parametrize(
    ("options", "is_round"),
    [({}, False), ({"columns": ["x"]}, False), ({"model": "round"}, True), ({"k": 2}, True), ({"lam": 9.0}, True)],
)
def test_which_model_is_fitted(options, is_round):
    frame = pd.DataFrame({"x": 9.0 * (np.arange(60) % 2) + np.arange(60) / 60, "plan": ["a", "b", "c"] * 20})
    assert type(kfree.cluster(frame, **options).model) is (kfree.DPMeans if is_round else kfree.AutoCluster)


def test_masked_rows_are_not_predicted():
    made = kfree.cluster(MASKED.data, k=2)
    with pytest.raises(ValueError, match="masked"):
        made.predict(MASKED)


ODD = {
    "infinite": ({"m": [decimal.Decimal("Infinity"), *map(decimal.Decimal, range(29))]}, "1 infinite value"),
    "zones": (
        {"m": [datetime.datetime(2024, 1, 1, tzinfo=[None, datetime.UTC][j % 2]) for j in range(30)]},
        "with and without a time zone",
    ),
    "empty": ({"a": [np.nan] * 30, "b": None}, r"no value in column\(s\) 'a', 'b'"),
    "texts": ({"1": 2.0, 1: 3.0}, r"'1' \(columns 2, 3\)"),
}


@pytest.mark.parametrize("missing", ["drop", "error"])
def test_nan_in_columns_of_arrow_is_missing(missing):
    """pandas does not count it as such."""
    values = pa.array([float("nan"), 5.0, None, *range(27)])
    frame = pd.DataFrame({"a": MASKED.data[:, 0], "b": pd.arrays.ArrowExtensionArray(values)})
    if missing == "error":
        with pytest.raises(ValueError, match=r"missing values in 1 column\(s\): 'b' \(2\); the first is in row 1"):
            kfree.cluster(frame, k=2, missing=missing)
        return
    made = kfree.cluster(frame, k=2, missing=missing)
    np.testing.assert_array_equal(np.flatnonzero(made.labels < 0), [0, 2])


def test_objects_may_be_whole_numbers_and_missing():
    numbers = np.array([pd.NA, *range(29)], dtype=object)
    made = kfree.cluster(pd.DataFrame({"a": MASKED.data[:, 0], "b": numbers}), k=2)
    assert made.preparation.columns == ["a", "b"]


def test_frames_of_other_libraries_are_not_taken_for_arrays():
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(MASKED.data, columns=["a", "b"]), npartitions=2)
    with pytest.raises(TypeError, match=r"a dask\w*.DataFrame is no frame of pandas, .*; give X.compute\(\)"):
        kfree.cluster(frame, k=2)
    assert kfree.cluster(frame.compute(), k=2).n_clusters == 2


@pytest.mark.parametrize("name", ODD)
def test_odd_columns_are_an_error_that_says_what_they_are(name):
    columns, told = ODD[name]
    with pytest.raises(ValueError, match=told):
        kfree.cluster(pd.DataFrame(dict(zip("ab", MASKED.data.T, strict=True)) | columns), k=2)


def test_record_batches_and_lazy_frames(of_four, table):
    batch = pa.RecordBatch.from_pandas(table.head(9))
    assert of_four.predict(batch).tolist() == of_four.labels[:9].tolist()
    with pytest.raises(TypeError, match="LazyFrame"):
        of_four.predict(pl.from_pandas(table.head(9)).lazy())


def test_a_row_without_a_value_is_not_explained(of_four):
    with pytest.raises(ValueError, match="give a value for at least one of 'age'"):
        of_four.explain(dict.fromkeys(of_four.preparation.columns))


def test_a_table_of_two_rows_is_not_one_row():
    frame = pd.DataFrame({"a": 9.0 * (np.arange(40) % 2), "b": np.arange(40) / 40})
    frame.loc[0, "a"] = np.nan
    for made in (kfree.cluster(frame, k=2, missing="drop"), kfree.cluster(frame.fillna(0).to_numpy(), k=2)):
        two = frame[:2] if made.preparation else frame.to_numpy()[2:4]
        with pytest.raises(ValueError, match=r"(?s)row=.* is not allowed; give one row\.$"):
            made.explain(two)  # also if one of them has no cluster
        assert made.explain(two[1:2]).label == made.labels[1]


def test_a_further_table_is_read_once(monkeypatch, tmp_path):
    frame = pd.DataFrame({"a": 9.0 * (np.arange(40) % 2), "plan": ["x", "y"] * 20})
    made, reads, read = kfree.cluster(frame, k=2), [], pd.DataFrame.isna
    monkeypatch.setattr(pd.DataFrame, "isna", lambda self: reads.append(1) or read(self))
    made.explain(frame[:1], unseen="missing")
    made.explain(frame.iloc[0].to_dict())
    assert len(reads) == 2


@pytest.mark.parametrize("given", [None, {"a": [1, 2, 3]}, 5])
def test_what_is_no_table(given):
    with pytest.raises(TypeError, match="is no table; give a data frame, an array or the path of a file"):
        kfree.cluster(given)


@pytest.mark.parametrize("k", [0, "3", 2.0])
def test_a_number_that_is_not_allowed_is_called_k(k, rng):
    with pytest.raises(ValueError, match=f"^k={k!r} is not allowed"):
        kfree.cluster(numbers(rng)[0], k=k)


def test_rows_that_all_have_gaps_cannot_be_dropped(rng):
    with pytest.raises(ValueError, match="the table has no row without missing values, which are in 1 column"):
        kfree.cluster(numbers(rng)[0].assign(gone=np.nan), missing="drop")


def test_columns_of_one_name_are_counted_once(rng):
    with pytest.raises(ValueError, match=r"the table has 1 name\(s\) that several columns share: 'x' \(columns 0, 1\)"):
        kfree.cluster(numbers(rng)[0].set_axis(["x", "x"], axis=1))


@pytest.mark.parametrize("names", [{0: None}, {0: ""}, ["a", "b"], {99: "a"}])
def test_names_that_are_not_allowed(of_four, names):
    with pytest.raises(ValueError, match="give a dict with labels from 0 to 3 and a text for each"):
        of_four.rename(names)


@pytest.mark.parametrize("names", [{0: "Cluster 1"}, {0: "no cluster"}, {1: "a", 2: "a"}])
def test_no_two_clusters_have_one_name(of_four, names):
    with pytest.raises(ValueError, match="give another name for each cluster, none of them 'no cluster'"):
        of_four.rename(names)


def test_what_predict_would_ignore(of_four, table):
    with pytest.raises(ValueError, match="delimiter, decimal, .* are about text files; leave them out"):
        of_four.predict(table, delimiter=";")
    made = kfree.cluster(MASKED.data, k=2)
    with pytest.raises(ValueError, match="unseen='new' is not allowed"):
        made.predict(MASKED.data, unseen="new")


def test_two_opposite_rows_are_one_cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)
        found = kfree.cluster(pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}))
    assert found.labels.tolist() == [0, 0]


def test_the_name_of_a_column_does_not_break_the_lines_of_the_summary(rng):
    found = kfree.cluster(numbers(rng)[0].rename(columns={"height": "the\nheight"}), k=3)
    assert len(str(found.summary()).splitlines()) == 6  # title, header, three clusters, notes
    assert "the\\nheight" in str(found.summary())


def test_two_groups_in_one_column_are_clear():
    rng = np.random.default_rng(0)
    rng.normal(size=200)
    x = np.vstack([rng.normal(size=(100, 2)), 8 + rng.normal(size=(100, 2))])[:, 0]
    made = kfree.cluster(pd.DataFrame({"x": x}))
    assert made.n_clusters == 2
    assert made.certainty == "2 clusters, clear"


def test_columns_that_clusters_were_found_in_are_named():
    X = np.random.default_rng(0).normal(size=(90, 8))
    X[:, 2:4] += 12 * np.eye(3, 2)[np.arange(90) % 3]
    clustering = kfree.cluster(pd.DataFrame(X, columns=list("abcdefgh")))
    assert clustering.n_clusters == 3
    said = "clusters are those of column 'c', column 'd' alone, where they show more clearly than in all columns"
    assert clustering.remarks == [said]
    assert "column 'c', column 'd'" in clustering.model.reason_
    assert "column 'c', column 'd'" in clustering.model.candidates_[-1]["why_not"]
