"""TableEncoder: what distances mean, that every container gives the same rows, and that centres come back as tables."""

import datetime
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from kfree import DPMeans, TableEncoder, load
from kfree.datasets import make_customers
from kfree.exceptions import DataAdvice
from kfree.tables.numeric import typical_difference
from kfree.tables.transforms import chosen_transform


def table(n=40):
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + rng.integers(0, 500, n).astype("timedelta64[D]")
    return {
        "height": rng.normal(170.0, 9.0, n),
        "children": rng.integers(0, 5, n),
        "member": rng.random(n) < 0.4,
        "since": days.astype("datetime64[us]"),
        "size": rng.choice(["S", "M", "L"], n).astype(object),
        "colour": rng.choice(["red", "green", "blue"], n).astype(object),
        "sex": rng.choice(["f", "m"], n).astype(object),
    }


ORDER = {"size": ["S", "M", "L"]}
CONTAINERS = {
    "pandas": pd.DataFrame,
    "pandas, own types": lambda t: pd.DataFrame(t).convert_dtypes(),
    "pandas, categorical": lambda t: pd.DataFrame(t).astype({"colour": "category", "sex": "category"}),
    "polars": pl.DataFrame,
    "polars, categorical": lambda t: pl.DataFrame(t).cast({"colour": pl.Categorical, "sex": pl.Categorical}),
    "pyarrow": pa.table,
    "pyarrow, dictionary": lambda t: pa.table(t).set_column(
        5, "colour", pa.array(t["colour"].tolist()).dictionary_encode()
    ),
    "pyarrow, chunks": lambda t: pa.concat_tables([pa.table(t).slice(0, 17), pa.table(t).slice(17)]),
    "objects": lambda t: pd.DataFrame(t).astype(object),
}
NAMES = ["height", "children", "member", "since", "size", "colour=blue", "colour=green", "colour=red", "sex=m"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_give_the_same_rows(container):
    expected = TableEncoder(ordinal=ORDER).fit_transform(pd.DataFrame(table()))
    held = CONTAINERS[container](table())
    encoder = TableEncoder(ordinal=ORDER).fit(held)
    names = encoder.get_feature_names_out().tolist()
    assert sorted(names) == sorted(NAMES)
    rows = np.asarray(encoder.transform(held))
    np.testing.assert_allclose(rows[:, [names.index(name) for name in NAMES]], expected)
    back = encoder.inverse_transform(encoder.transform(held))
    assert type(back) is type(held)
    back = {name: np.asarray(back[name]) for name in table()}
    for name, column in table().items():
        values = back[name].astype("datetime64[us]") if name == "since" else back[name]
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values, column)
        else:
            np.testing.assert_array_equal(values, column)


def test_arrays_have_numbered_columns():
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(encoder.inverse_transform(encoder.transform(X)), X, rtol=1e-5)
    mixed = [[1.5, "a"], [2.5, "b"], [4.0, "c"]]
    numbers, levels = TableEncoder().fit(mixed).inverse_transform(np.eye(4)[1:]).T
    assert numbers.tolist() == pytest.approx([2.5, 2.5, 2.5])
    assert levels.tolist() == ["a", "b", "c"]


def pairwise(values):
    """The median difference over pairs that differ, one pair after the other."""
    gaps = [abs(a - b) for a, b in itertools.combinations(values, 2) if a != b]
    return float(np.median(gaps))


DRAWS = {
    "gaussian": lambda rng, n: rng.normal(5.0, 3.0, n),
    "counts": lambda rng, n: rng.poisson(2.0, n).astype(float),
    "yes or no": lambda rng, n: (rng.random(n) < 0.1) * 7.0,
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.exponential(size=n)),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_typical_difference_against_all_pairs(draw, rng):
    few, many = DRAWS[draw](rng, 200), DRAWS[draw](rng, 2500)
    assert typical_difference(few) == pytest.approx(pairwise(few.tolist()))
    assert typical_difference(many) == pytest.approx(pairwise(many.tolist()), rel=0.05)


def test_two_rows_that_differ_are_typically_one_apart(rng):
    t = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, 500),
            "age": rng.integers(18, 90, 500),
            "kind": rng.choice(list("abcd"), 500),
            "is": rng.random(500) < 0.2,
        }
    )
    rows = TableEncoder().set_output(transform="pandas").fit_transform(t)
    for name in ("income", "age", "is"):
        assert pairwise(rows[name].to_numpy().tolist()) == pytest.approx(1.0, rel=0.02)
    kinds = rows[[f"kind={level}" for level in "abcd"]].drop_duplicates().to_numpy()
    gaps = [math.dist(a, b) for a, b in itertools.combinations(kinds, 2)]
    np.testing.assert_allclose(gaps, 1.0)


SKEWED = {
    "gaussian": (lambda rng: rng.normal(size=3000), "identity"),
    "uniform": (lambda rng: rng.uniform(0, 9, size=3000), "identity"),
    "left-skewed": (lambda rng: 9 - rng.lognormal(size=3000), "identity"),
    "log-normal": (lambda rng: rng.lognormal(10, 0.8, size=3000), "log"),
    "amounts with zeros": (lambda rng: np.where(rng.random(3000) < 0.1, 0, rng.lognormal(3, 2, 3000)), "log1p"),
    "squares": (lambda rng: rng.normal(2.5, 1.0, 3000).clip(0) ** 2, "sqrt"),
    "cauchy": (lambda rng: rng.standard_cauchy(3000), "asinh"),
    "skewed by the last digits": (lambda rng: 1e9 + np.spacing(1e9) * (rng.random(3000) < 0.3), "identity"),
    "two groups": (lambda rng: np.concatenate([rng.normal(0, 1, 1500), rng.normal(20, 1, 1500)]), "identity"),
}


@pytest.mark.parametrize("draw", SKEWED)
def test_transforms_are_chosen_by_tails_and_stated(draw, rng):
    values, expected = SKEWED[draw]
    x = values(rng)
    transform = chosen_transform(x)
    assert transform.name == expected
    np.testing.assert_allclose(transform.backward(transform.forward(x)), x, rtol=1e-7, atol=1e-9)
    assert chosen_transform(1000 * x).name == expected
    encoder = TableEncoder().fit(x[:, None])
    assert (expected in encoder.describe()) == (expected != "identity")
    told = TableEncoder(transforms={"x0": "asinh"}).fit(x[:, None])
    assert "asinh(" in told.describe()


def test_a_formula_adds_what_is_less_than_zero():
    table = pd.DataFrame({"change": [-28.0, -25.0, -22.0], "depth": [1.0, 2.0, 3.0]})
    change, depth = TableEncoder().fit(table).describe().splitlines()
    assert change.startswith("change: (change + 25) / ")
    assert depth.startswith("depth: (depth − 2) / ")


def test_dates_count_by_time_in_any_form():
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 31), datetime.date(2024, 3, 1), None]
    aware = pd.Series(pd.to_datetime(["2024-01-01T02:00", "2024-01-31T02:00", "2024-03-01T02:00", None]))
    aware = aware.dt.tz_localize("Europe/Berlin")
    stamps = [d and datetime.datetime(d.year, d.month, d.day, tzinfo=datetime.UTC) for d in days]
    filled = np.arange(4.0)
    expected = TableEncoder().fit_transform(pd.DataFrame({"day": days, "n": filled})).to_numpy()
    for held in (
        pl.DataFrame({"day": days, "n": filled}),
        pa.table({"day": days, "n": filled}),
        pd.DataFrame({"day": aware, "n": filled}),
        pd.DataFrame({"day": pd.Series(stamps, dtype=object), "n": filled}),
    ):
        np.testing.assert_allclose(TableEncoder().fit_transform(held), expected, atol=1e-12)
    assert expected[1, 0] - expected[0, 0] == pytest.approx(1.0)
    assert "2024-01-31" in TableEncoder().fit(pd.DataFrame({"day": days, "n": filled})).describe()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_whole_numbers_that_are_all_dates_count_by_time(make):
    days = np.array([20240101, 20240131, 20240301, 20241231, 20230115, 20220704])
    moments = pd.to_datetime(pd.Series(days).astype(str)).to_numpy().astype("datetime64[us]")
    with pytest.warns(DataAdvice, match="column 'd' is read as dates, such as 20241231 for 2024-12-31"):
        encoder = TableEncoder().fit(make({"d": days}))
    expected = TableEncoder().fit(make({"d": moments}))
    assert encoder.describe() == expected.describe()
    rows = np.asarray(expected.transform(make({"d": moments})))
    for one in (encoder, expected):  # whose fit decides what a column is, however few rows come later
        np.testing.assert_array_equal(np.asarray(one.transform(make({"d": days[:2]}))), rows[:2])
        np.testing.assert_array_equal(np.asarray(one.transform(make({"d": moments[:2]}))), rows[:2])
    with pytest.raises(ValueError, match="column 'd' held dates at fit and holds numbers now"):
        encoder.transform(make({"d": np.array([20240101, 20240132])}))
    # What the caller says about a column, one that is none, and few of them.
    known = TableEncoder(transforms={"d": "identity"}).fit(make({"d": days}))
    assert known.encoders_[0].family == "number"
    assert TableEncoder().fit(make({"d": np.append(days, 20230230)})).encoders_[0].family == "number"
    assert TableEncoder().fit(make({"d": days[:4]})).encoders_[0].family == "number"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00", "America/New_York"])
def test_dates_keep_their_time_zone(zone, tmp_path):
    moments = pd.Series(pd.date_range("2024-03-30", periods=40, freq="7h", tz="UTC")).dt.tz_convert(zone)
    frame = pd.DataFrame({"at": moments, "once": [moments[0]] * 40, "n": np.arange(40.0)})
    moment = datetime.datetime(2024, 7, 1)  # old versions of pandas name the zones of some offsets otherwise
    tables = {"pandas": frame, "pyarrow": pa.Table.from_pandas(frame)}
    if not zone.startswith("+"):  # which polars does not know
        tables["polars"] = pl.from_pandas(frame)
    for name, table in tables.items():
        with pytest.warns(DataAdvice, match="leaves out"):
            encoder = TableEncoder().fit(table)
        encoder.save(tmp_path / "e.kfree")
        for one in (encoder, load(tmp_path / "e.kfree")):
            back = one.inverse_transform(one.transform(table))
            back = back if name == "pandas" else back.to_pandas()
            for column in ("at", "once"):
                assert back[column].dt.tz.utcoffset(moment) == frame[column].dt.tz.utcoffset(moment)
                assert (abs(back[column] - frame[column]) <= pd.Timedelta("1us")).all()


def test_ordinals_count_by_rank():
    sizes = ["S", "M", "XL", "M", "S", None]
    ordered = pd.DataFrame({"size": pd.Categorical(sizes, ["S", "M", "L", "XL"], ordered=True), "n": np.arange(6.0)})
    enum = pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Enum(["S", "M", "L", "XL"])), "n": np.arange(6.0)})
    told = pd.DataFrame({"size": sizes, "n": np.arange(6.0)})
    for held, ordinal in ((ordered, None), (enum, None), (told, {"size": ["S", "M", "L", "XL"]})):
        encoder = TableEncoder(ordinal=ordinal).fit(held)
        rows = np.asarray(encoder.transform(held))[:, 0]
        assert (rows[2] - rows[0]) / (rows[1] - rows[0]) == pytest.approx(3.0)
        assert encoder.inverse_transform(encoder.transform(held))["size"].to_list()[:3] == ["S", "M", "XL"]


def test_numbers_may_be_categories():
    t = pd.DataFrame({"zip": [10115, 80331, 20095, 10115], "n": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder(categories=["zip"]).fit(t)
    assert encoder.get_feature_names_out().tolist() == ["zip=10115", "zip=20095", "zip=80331", "n"]
    assert encoder.inverse_transform(encoder.transform(t))["zip"].tolist() == t["zip"].tolist()


def test_distances_with_gaps_are_right_in_expectation(rng):
    """Against the same rows before values were lost; a mean or most frequent value instead would be too near."""
    full = rng.normal(size=(1500, 1)) @ [[1.0, 1.0, 1.0, 0.0]] + 0.5 * rng.normal(size=(1500, 4))
    gappy = np.where(rng.random(full.shape) < 0.15, np.nan, full)
    encoder = TableEncoder(transforms="identity").fit(full)
    exact, filled = encoder.transform(full), TableEncoder(transforms="identity").fit(gappy).transform(gappy)
    a, b = rng.integers(0, 1500, size=(2, 40_000))
    touched = np.isnan(gappy[a]).any(axis=1) ^ np.isnan(gappy[b]).any(axis=1)
    mean = [((rows[a] - rows[b]) ** 2).sum(axis=1)[touched].mean() for rows in (exact, filled)]
    assert mean[1] == pytest.approx(mean[0], rel=0.04)
    means = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
    rows = encoder.transform(means)
    assert ((rows[a] - rows[b]) ** 2).sum(axis=1)[touched].mean() < 0.93 * mean[0]


def test_the_nearest_row_fills_all_coordinates_of_a_category():
    t = pd.DataFrame({"n": [0.0, 1.0, 50.0, 51.0, 99.0, 51.4], "kind": ["a", "a", "b", "b", "c", None]})
    rows = TableEncoder().fit_transform(t)
    np.testing.assert_array_equal(rows.iloc[5, 1:], rows.iloc[3, 1:])


def test_pipelines_and_output_containers():
    t, _ = make_customers(300, random_state=0)
    frame = pd.DataFrame(t)
    out = TableEncoder().set_output(transform="polars").fit_transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns[:2] == ["age", "income"]
    some = ColumnTransformer(
        [("table", TableEncoder(), ["age", "income", "orders", "plan"])], remainder="drop"
    ).set_output(transform="pandas")
    assert some.fit_transform(frame).columns[0] == "table__age"
    labels = make_pipeline(TableEncoder(), DPMeans(lam=200.0)).fit_predict(frame)
    assert len(labels) == 300


def test_segments_of_customers_are_found_and_none_where_they_are_shuffled_away():
    table, segment = make_customers(random_state=0)
    encoder = TableEncoder()
    model = DPMeans(random_state=0).fit(encoder.fit_transform(pd.DataFrame(table)))
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(segment, model.labels_) > 0.9
    centres = encoder.inverse_transform(model.cluster_centers_)
    assert sorted(centres["plan"]) == ["basic", "family", "gold", "senior"]
    assert centres.loc[centres["plan"] == "senior", "age"].item() == pytest.approx(62, abs=3)
    table, _ = make_customers(shuffled=True, random_state=0)
    rows = TableEncoder().fit_transform(pl.DataFrame(table, strict=False))
    # Ages alone still fall into groups.
    with pytest.warns(DataAdvice, match=r"column 'age' falls into groups within clusters"):
        assert DPMeans(random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_a_random_category_makes_no_clusters(levels, rng):
    t = pd.DataFrame(rng.normal(size=(1000, 4)), columns=list("abcd"))
    t["kind"] = rng.choice(list("uvwxyz")[:levels], 1000)
    assert DPMeans(random_state=0).fit(TableEncoder().fit_transform(t)).n_clusters_ == 1


def test_columns_that_say_nothing_are_left_out_and_named():
    t = pd.DataFrame({"n": [1.0, 2.0, 4.0], "same": ["x"] * 3, "none": [None] * 3, "zero": [0, 0, 0]})
    encoder = TableEncoder()
    with pytest.warns(DataAdvice, match=r"'same' \(constant: x\), column 'none' \(all values are missing\), .*'zero'"):
        encoder.fit(t)
    assert list(encoder.left_out_) == ["same", "none", "zero"]
    assert encoder.get_feature_names_out().tolist() == ["n"]
    back = encoder.inverse_transform([[0.0]])
    assert (back["n"].item(), back["same"].item(), back["zero"].item()) == (2.0, "x", 0.0)
    assert "same: left out, constant: x" in encoder.describe()


def test_numbers_that_a_reader_knows():
    rows = pd.DataFrame(
        {
            "income": np.exp(np.linspace(5, 12, 41)),
            "size": pd.Categorical(np.resize(["S", "M", "L"], 41), ["S", "M", "L"], ordered=True),
            "plan": np.resize(["a", "b", "b", "c"], 41),
            "member": np.resize([True, False], 41),
            "since": pd.date_range("2020-01-01", periods=41, freq="61D"),
            "constant": 1.0,
        }
    )
    with pytest.warns(DataAdvice, match="leaves out"):
        encoder = TableEncoder().fit(rows)
    known = dict(zip(encoder.get_feature_names_out(), encoder.in_units(encoder.transform(rows)).T, strict=True))
    np.testing.assert_allclose(known["income"], rows["income"])
    np.testing.assert_allclose(known["size"], rows["size"].cat.codes, atol=1e-12)
    np.testing.assert_allclose(known["plan=b"], rows["plan"] == "b", atol=1e-12)
    np.testing.assert_allclose(known["member"], rows["member"])
    year = rows["since"].dt.year + (rows["since"].dt.day_of_year - 1) / 365.25
    np.testing.assert_allclose(known["since"], year, atol=0.01)
    mean = encoder.in_units(np.asarray(encoder.transform(rows)).mean(axis=0, keepdims=True))[0]
    at = list(encoder.get_feature_names_out()).index
    assert mean[at("plan=b")] == pytest.approx((rows["plan"] == "b").mean())
    assert mean[at("income")] == pytest.approx(np.exp(np.log(rows["income"]).mean()))
    with pytest.raises(ValueError, match="X has 2 columns; give the 7 columns that transform returns"):
        encoder.in_units([[1.0, 2.0]])


SPANS = {
    "span": np.array([1, 90, 3600, 86_400], dtype="timedelta64[s]"),
    "time": np.array(
        [datetime.time(0, 30), datetime.time(9), datetime.time(12, 15, 1), datetime.time(23)], dtype=object
    ),
    "constant": np.array([60] * 4, dtype="timedelta64[s]"),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_spans_and_times_of_day_come_back_as_what_they_were(library):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    columns = {name: values.tolist() if library != "pandas" else values for name, values in SPANS.items()}
    table = make(columns)
    with pytest.warns(DataAdvice, match="constant"):
        encoder = TableEncoder().fit(table)
    found = encoder.inverse_transform(encoder.transform(table))
    rows = (
        found.to_pylist()
        if library == "pyarrow"
        else found.to_dict("records")
        if library == "pandas"
        else found.to_dicts()
    )
    expected = [
        {"span": span.item(), "time": time, "constant": datetime.timedelta(minutes=1)}
        for span, time in zip(SPANS["span"], SPANS["time"], strict=True)
    ]
    assert [{name: as_python(value) for name, value in row.items()} for row in rows] == expected
    with pytest.raises(ValueError, match="held durations at fit and holds numbers now"):
        encoder.transform(make(columns | {"span": [1.0, 2.0, 3.0, 4.0]}))


def as_python(value):
    return value.to_pytimedelta() if hasattr(value, "to_pytimedelta") else value


def test_other_scales():
    X = np.array([[1.0, 5.0], [2.0, 9.0], [6.0, 7.0]])
    found = TableEncoder(transforms="identity", scale="deviation").fit_transform(X)
    np.testing.assert_allclose(found, (X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_array_equal(TableEncoder(transforms="identity", scale="none").fit_transform(X), X)


def test_missing_values_can_be_means():
    X = np.array([[1.0, 5.0], [np.nan, 9.0], [6.0, np.nan]])
    encoder = TableEncoder(transforms="identity", scale="none", missing="mean")
    np.testing.assert_array_equal(encoder.fit_transform(X), [[1.0, 5.0], [3.5, 9.0], [6.0, 7.0]])
    np.testing.assert_array_equal(encoder.transform([[np.nan, 2.0]]), [[3.5, 2.0]])


def test_weights_multiply_distances_and_come_back():
    frame = pd.DataFrame(table())
    plain, weighted = TableEncoder(), TableEncoder(weights={"height": 2.0, "colour": 0.5})
    X, Y = plain.fit_transform(frame), weighted.fit_transform(frame)
    names = plain.get_feature_names_out().tolist()
    factor = [2.0 if name == "height" else 0.5 if name.startswith("colour") else 1.0 for name in names]
    assert set(factor) == {0.5, 1.0, 2.0}
    np.testing.assert_allclose(Y, X * factor, rtol=1e-12)
    pd.testing.assert_frame_equal(weighted.inverse_transform(Y), plain.inverse_transform(X))
    np.testing.assert_allclose(weighted.in_units(Y), plain.in_units(X))
    assert "height: " in weighted.describe()
    assert ", times 2" in weighted.describe()


def test_levels_that_look_alike_are_named_or_folded():
    frame = pd.DataFrame({"channel": ["App", "app", "App ", "App", "Web", "web"], "x": range(6)})
    with pytest.warns(DataAdvice, match=r"'channel' has levels that look alike: 'App', 'App ', 'app', 'Web', 'web'"):
        assert len(TableEncoder().fit(frame).encoders_[0].levels) == 5
    encoder = TableEncoder(fold=True).fit(frame)
    assert encoder.encoders_[0].levels == ("App", "Web")
    rows = encoder.transform(pd.DataFrame({"channel": ["APP", " web"], "x": [0, 0]}))
    assert rows["channel=Web"].tolist() == [0.0, 1.0]


def test_rows_with_unseen_levels():
    frame = pd.DataFrame({"plan": ["a", "b", "c", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder(unseen="missing").fit(frame)
    new = pd.DataFrame({"plan": ["a", "z", None], "x": [1.0, 2.0, 3.0]})
    assert encoder.has_unseen(new).tolist() == [False, True, False]
    assert np.isfinite(encoder.transform(new)).all(axis=None)


def test_all_columns_of_text_are_named_at_once():
    frame = pd.DataFrame({name: [f"{name} {i}" for i in range(60)] for name in ("note", "name")} | {"x": range(60)})
    with pytest.raises(ValueError, match=r"column 'note' holds text.*column 'name' holds text") as error:
        TableEncoder().fit(frame)
    assert list(error.value.faults) == ["note", "name"]


@pytest.mark.parametrize("sign", [1, -1])
def test_skewed_dates_are_transformed_and_later_ones_accepted(sign):
    days = sign * np.exp(np.linspace(0, 8, 200))
    dates = np.datetime64("2020-01-01T00:00:00", "us") + (days * 86_400e6).astype("timedelta64[us]")
    encoder = TableEncoder().fit(pd.DataFrame({"day": dates, "x": range(200)}))
    assert "symlog" in encoder.describe()
    later = pd.DataFrame({"day": dates[[0, 100]] + np.array([-sign, 9000], "timedelta64[D]"), "x": [1, 2]})
    back = encoder.inverse_transform(encoder.transform(later))
    assert (np.abs(back["day"] - later["day"]) < pd.Timedelta(seconds=1)).all()
    even = np.datetime64("2020-01-01", "us") + np.arange(200).astype("timedelta64[D]")
    assert "symlog" not in TableEncoder().fit(pd.DataFrame({"day": even})).describe()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_a_frame_in_is_a_frame_out(kind):
    columns = {"age": [20.0, None, 40.0, 61.0], "plan": ["a", "b", "c", "a"]}
    frame = pd.DataFrame(columns, index=[7, 5, 3, 1])
    X = {"pandas": frame, "polars": pl.DataFrame(columns), "pyarrow": pa.table(columns)}.get(kind, frame.to_numpy())
    encoder = TableEncoder().fit(X)
    expected = encoder.set_output(transform="default").transform(X)
    assert type(expected) is np.ndarray  # as it was asked for
    encoder = TableEncoder()
    for rows in (encoder.fit_transform(X), encoder.transform(X)):
        assert type(rows) is type(X)
        np.testing.assert_array_equal(np.asarray(rows), expected)
        if kind == "pandas":
            assert rows.columns.tolist() == ["age", "plan=a", "plan=b", "plan=c"]
            assert rows.index.tolist() == [7, 5, 3, 1]
        elif kind != "numpy":
            names = rows.columns if kind == "polars" else rows.column_names
            assert list(names) == ["age", "plan=a", "plan=b", "plan=c"]
    other = "polars" if kind == "pandas" else "pandas"
    assert type(TableEncoder().set_output(transform=other).fit_transform(X)).__module__.startswith(other)
    with config_context(transform_output="pandas"):
        assert type(TableEncoder().fit_transform(X)) is pd.DataFrame
    # A model of such rows knows the columns by name, and tells means in the units of the table.
    model = DPMeans(lam=1.0).fit(encoder.transform(X))
    summary = model.summary(encoder.transform(X), encoder=encoder)
    assert summary.clusters[0].features[0].name in encoder.get_feature_names_out()
    if kind != "numpy":
        assert model.feature_names_in_.tolist() == encoder.get_feature_names_out().tolist()


def test_means_of_zeros_and_ones_are_shares():
    """They were told as ratios of means: 2.3 times the segmented."""
    table = pd.DataFrame({"age": [20.0, 30.0, 40.0, 61.0], "member": [0, 1, 1, 1], "orders": [0, 1, 2, 1]})
    encoder = TableEncoder().fit(table)
    assert encoder.units_out == ["number", "share", "number"]
    np.testing.assert_array_equal(encoder.inverse_transform(encoder.transform(table))["member"], table["member"])
    later = encoder.in_units(encoder.transform(table.assign(member=[0, 1, 2, 3])))
    np.testing.assert_allclose(later[:, 1], [0, 1, 2, 3])  # as other numbers are
