"""Places on the Earth: all partitions of few of them, arcs by the haversine formula, poles and the date line."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.bayes import partitions

import kfree
from kfree import DPMeans, KMeans, lambda_path, load, open_rows

R = 6371.0088


def vectors(X):
    lat, lon = np.radians(X).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def haversine(a, b):
    """Arcs in km between all of a and all of b."""
    (lat_a, lon_a), (lat_b, lon_b) = np.radians(a).T[:, :, None], np.radians(b).T[:, None, :]
    h = np.sin((lat_b - lat_a) / 2) ** 2 + np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    return 2 * R * np.arcsin(np.sqrt(np.minimum(h, 1.0)))


def cost_of(X, w, labels, lam):
    """R²·Σ 2(W − ‖S‖) + lam·k, which is the cost about the mean directions."""
    total = 0.0
    for c in set(labels):
        chosen = np.asarray(labels) == c
        total += R**2 * 2 * (w[chosen].sum() - np.linalg.norm(w[chosen] @ vectors(X[chosen]))) + lam
    return total


def anywhere(rng, n):
    """Places everywhere on the sphere, some at the poles and on both sides of the date line."""
    X = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, size=n))), rng.uniform(-180, 180, size=n)])
    X[0], X[1] = (90.0, 17.0), (rng.uniform(-60, 60), 180.0)
    return X


CITIES = np.array([[52.5, 13.4], [48.9, 2.4], [-36.8, 179.95], [-17.7, -179.9], [89.6, 10.0], [35.7, 139.7]])


def around_cities(rng, n=600, km=40.0):
    """Rows about cities, with equal spread in all directions, also about a pole."""
    truth = rng.integers(len(CITIES), size=n)
    points = vectors(CITIES[truth]) + km / R * rng.normal(size=(n, 3))
    x, y, z = points.T
    return np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)])), truth


@pytest.mark.parametrize("weighted", [False, True])
def test_few_places_against_all_partitions(weighted, rng):
    """Never below the minimum, and at it but for local minima of places scattered over half the globe."""
    excess = []
    for lam in np.repeat([1e5, 1e7, 4e7], 6):
        X, w = anywhere(rng, 7), rng.uniform(0.5, 2.0, size=7) if weighted else np.ones(7)
        model = DPMeans(lam=lam, metric="haversine").fit(X, sample_weight=w if weighted else None)
        assert model.cost_ == pytest.approx(cost_of(X, w, model.labels_, lam), rel=1e-9)
        assert model.lam_ == pytest.approx(lam)
        excess.append(model.cost_ / min(cost_of(X, w, labels, lam) for labels in partitions(7)) - 1)
    assert min(excess) > -1e-9
    assert np.mean(np.array(excess) < 1e-9) >= 0.85


@pytest.mark.parametrize("make", [lambda: DPMeans(metric="haversine"), lambda: KMeans(6, metric="haversine", n_init=5)])
def test_clusters_at_a_pole_and_across_the_date_line_are_whole(make, rng):
    X, truth = around_cities(rng)
    model = make().set_params(random_state=0).fit(X)
    assert model.n_clusters_ == 6
    for c in range(6):
        assert len(set(model.labels_[truth == c].tolist())) == 1
    nearest = haversine(CITIES, model.cluster_centers_).min(axis=1)
    assert (nearest < 15).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.cost_)
    chords = 2 * R * np.sin(haversine(X, model.cluster_centers_)[np.arange(len(X)), model.labels_] / (2 * R))
    assert model.inertia_ == pytest.approx((chords**2).sum())
    assert (np.diff(model.cost_history_) <= 0).all()
    assert model.cost_history_[-1] == model.cost_


def test_distances_are_arcs_in_km(rng):
    X, _ = around_cities(rng)
    model = KMeans(6, metric="haversine", random_state=0).fit(X)
    places = np.vstack([anywhere(rng, 30), model.cluster_centers_, -CITIES])
    np.testing.assert_allclose(model.transform(places), haversine(places, model.cluster_centers_), rtol=1e-7, atol=1e-6)
    np.testing.assert_array_equal(model.transform(model.cluster_centers_).diagonal(), 0.0)
    found = model.summary(X)
    assert found.distance == "arc to the centre in km"
    for cluster in found.clusters:
        own = haversine(X[model.labels_ == cluster.label], model.cluster_centers_[[cluster.label]])
        assert cluster.spread == pytest.approx(np.sqrt((own**2).mean()))
        gaps = haversine(model.cluster_centers_[[cluster.label]], model.cluster_centers_)[0]
        assert cluster.nearest_distance == pytest.approx(np.sort(gaps)[1])
    # 40 km of spread: a place 1,000 km away is new, one 60 km away is not.
    berlin = CITIES[0] + np.array([[0.0, 0.0], [0.5, 0.0], [9.0, 0.0]])
    assert (model.predict(berlin, allow_new=True) >= 0).tolist() == [True, True, False]


def test_a_turn_of_the_globe_changes_nothing(rng):
    X, _ = around_cities(rng)
    plain = DPMeans(lam=1e6, metric="haversine").fit(X)
    for turn in (90.0, 180.0, 333.0):
        turned = np.column_stack([X[:, 0], (X[:, 1] + turn + 180) % 360 - 180])
        model = DPMeans(lam=1e6, metric="haversine").fit(turned)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.cost_ == pytest.approx(plain.cost_, rel=1e-9)
    east = DPMeans(lam=1e6, metric="haversine").fit(np.column_stack([X[:, 0], X[:, 1] % 360]))
    np.testing.assert_array_equal(east.labels_, plain.labels_)
    assert (np.abs(east.cluster_centers_[:, 1]) <= 180).all()


def test_starts_and_penalties_are_in_the_units_of_the_user(rng):
    X, _ = around_cities(rng)
    model = KMeans(6, init=CITIES, metric="haversine").fit(X)
    assert (haversine(CITIES, model.cluster_centers_).diagonal() < 15).all()
    called = KMeans(6, init=lambda rows, k, random_state: rows[:k], n_init=1, metric="haversine").fit(X)
    given = KMeans(6, init=X[:6], metric="haversine").fit(X)
    np.testing.assert_array_equal(called.labels_, given.labels_)
    auto = DPMeans(metric="haversine").fit(X)
    step = auto.path_.suggest()
    assert step.lam_low / 2 <= auto.lam_ <= step.lam_high * 2
    assert auto.path_.cost[0] == pytest.approx(cost_of(X, np.ones(len(X)), np.zeros(len(X), dtype=int), 0.0), rel=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert DPMeans(target_k=3, metric="haversine").fit(X).n_clusters_ == 3
    swept = DPMeans(lam=500.0**2, metric="haversine", search="sweep").fit(X)
    assert swept.n_clusters_ == 6


def test_the_path_is_that_of_the_fit_with_penalties_in_km2(rng):
    X, _ = around_cities(rng)
    path, fitted = lambda_path(X, metric="haversine"), DPMeans(metric="haversine").fit(X)
    assert path.suggest().k == fitted.n_clusters_ == len(CITIES)
    assert path.suggest().lam == fitted.lam_


def test_a_saved_model_predicts_the_same_and_frames_and_summaries_work(rng, tmp_path):
    import pandas as pd

    X, _ = around_cities(rng)
    frame = pd.DataFrame(X, columns=["latitude", "longitude"])
    model = DPMeans(lam=1e6, metric="haversine").fit(frame)
    assert model.feature_names_in_.tolist() == ["latitude", "longitude"]
    model.save(tmp_path / "model.kfree")
    again = load(tmp_path / "model.kfree")
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    np.testing.assert_array_equal(again.outlier_score(frame), model.outlier_score(frame))
    by_summary = DPMeans(lam=1e6, metric="haversine", search="summary").fit(X)
    np.testing.assert_array_equal(by_summary.labels_, model.labels_)
    assert by_summary.cost_ == pytest.approx(model.cost_, rel=1e-9)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[10.0, 20.0, 3.0]] * 4, "X has 3 columns, and metric='haversine' takes two dense columns"),
        (sp.csr_array(np.ones((4, 2))), "X is sparse, and metric='haversine' takes two dense columns"),
        ([[0.0, 0.0], [95.0, 3.0]], r"X\[1, 0\] = 95 \(row 1\) is no latitude: .* Check the order of the columns"),
        ([[0.0, -181.0], [5.0, 3.0]], r"X\[0, 1\] = -181 \(row 0\) is no longitude"),
    ],
)
def test_what_is_no_place_is_named(X, said):
    with pytest.raises(ValueError, match=said):
        DPMeans(lam=1.0, metric="haversine").fit(X)


def test_new_rows_and_files_that_are_no_places_are_named(rng, tmp_path):
    X, _ = around_cities(rng)
    model = KMeans(6, metric="haversine", random_state=0).fit(X)
    with pytest.raises(ValueError, match="is no latitude"):
        model.predict([[100.0, 0.0]])
    with pytest.raises(ValueError, match=r"init\[0, 0\] = 91 \(row 0\) is no latitude"):
        KMeans(1, init=[[91.0, 0.0]], metric="haversine").fit(X)
    X[450] = 91.0, 0.0
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X\[450, 0\] = 91 \(row 450\) is no latitude"):
        DPMeans(lam=1.0, metric="haversine").fit(open_rows(tmp_path))
    np.save(tmp_path / "X.npy", X[:, [0, 1, 1]])
    with pytest.raises(ValueError, match="X has 3 columns, and metric='haversine' takes two"):
        DPMeans(lam=1.0, metric="haversine").fit(open_rows(tmp_path))


def in_files(folder, X, sizes):
    """Rows cut into files of these numbers of rows, and the rest."""
    folder.mkdir()
    for number, part in enumerate(np.split(X, np.cumsum(sizes))):
        np.save(folder / f"{number}.npy", part)
    return open_rows(folder)


@pytest.mark.parametrize("make", [lambda **k: DPMeans(lam=3e7, **k), lambda **k: KMeans(6, random_state=0, **k)])
@pytest.mark.parametrize("n_rows", [600, 20_000])
def test_files_give_the_bits_of_arrays(make, n_rows, rng, tmp_path):
    """Below the limit of memory, all rows are searched; above it a summary, and regions of the rows."""
    X, truth = around_cities(rng, n=n_rows)
    settings = {"metric": "haversine"} | ({} if n_rows == 600 else {"memory": 3_000_000})
    given = make(**settings).fit(X)
    for folder, sizes in (("a", []), ("b", [n_rows // 7, n_rows // 3])):
        rows = in_files(tmp_path / folder, X, sizes)
        found = make(**settings).fit(rows)
        np.testing.assert_array_equal(found.cluster_centers_, given.cluster_centers_)
        assert (found.cost_, found.inertia_, found.n_features_in_) == (given.cost_, given.inertia_, 2)
        np.testing.assert_array_equal(found.predict(rows), given.labels_)
        assert found.score(rows) == given.score(X)
        scores = found.predict(rows, allow_new=True)
        np.testing.assert_array_equal(scores, given.predict(X, allow_new=True))
    assert given.n_clusters_ == 6
    assert [len(set(given.labels_[truth == c].tolist())) for c in range(6)] == [1] * 6


def test_an_automatic_penalty_of_a_file_is_in_km2(rng, tmp_path):
    X, _ = around_cities(rng, n=20_000)
    model = DPMeans(metric="haversine", memory=3_000_000, random_state=0).fit(in_files(tmp_path / "X", X, [1000]))
    assert model.n_clusters_ == len(CITIES)
    assert (haversine(CITIES, model.cluster_centers_).min(axis=1) < 5).all()
    assert model.score(X) == pytest.approx(-model.cost_)
    assert 1e4 < model.lam_ < 1e11


@pytest.mark.parametrize("names", [("Longitude", "Latitude"), ("lng", "lat"), (" lon", "lat_deg")])
def test_columns_that_are_named_the_other_way_round_are_refused(names):
    X = pd.DataFrame({names[0]: [13.4, 13.5, 2.3], names[1]: [52.5, 52.4, 48.9]})
    with pytest.raises(ValueError, match=f"latitude and longitude, in this order. Give {names[1]!r} first"):
        DPMeans(metric="haversine").fit(X)
    with pytest.raises(ValueError, match="in this order"):
        kfree.cluster(X, geo=names)
    DPMeans(metric="haversine", lam=100.0).fit(X[list(names[::-1])])


def test_the_explanation_of_a_place_has_its_arcs(rng):
    X, _ = around_cities(rng, 200)
    made = kfree.cluster(pd.DataFrame(X, columns=["lat", "lon"]), geo=("lat", "lon"))
    arcs = np.sort(haversine(X[:1], made.model.cluster_centers_)[0])[:2]
    found = made.explain(0)
    assert found.km == pytest.approx(tuple(arcs), rel=1e-9)
    assert f"{found.name}, {arcs[0]:.3g} km away, confidence" in str(found)
    assert f"; next is {found.next}, {arcs[1]:,.0f} km away" in str(found)
