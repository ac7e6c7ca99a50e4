"""datasets.load: which source is asked first, what is made of the arrays, and what is said when nothing is found."""

import urllib.error

import numpy as np
import pytest
import sklearn.datasets
from common import real_data
from sklearn.utils import Bunch

from kfree import datasets
from kfree.datasets import table
from kfree.datasets.gaussians import _apart, _closest_pair
from kfree.datasets.table import GRAPHS, ROWS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for KFREE_DATA, and no network."""
    monkeypatch.setenv("KFREE_DATA", str(tmp_path))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", _no_network)
    return tmp_path


def _no_network(**_):
    raise urllib.error.URLError("no network")


def one_cluster_cost(X):
    return ((X - X.mean(axis=0)) ** 2).sum()


def test_a_file_in_the_folder_comes_before_the_bundled_copy(folder, rng):
    X = rng.normal(size=(5, 4))
    np.savez(folder / "iris.npz", X=X, y=np.arange(5), feature_names=list("abcd"), target_names=["p", "q"])
    iris = datasets.load("iris")
    np.testing.assert_array_equal(iris.X, X)
    np.testing.assert_array_equal(iris.y, np.arange(5))
    assert iris.feature_names == tuple("abcd")
    assert iris.target_names == ("p", "q")
    assert iris.source == str(folder / "iris.npz")


@pytest.mark.parametrize("name", [name for name, entry in ROWS.items() if entry.bundled])
def test_a_bundled_copy_serves_where_the_folder_has_none(folder, name):
    data = datasets.load(name)
    assert len(data.X) == len(data.y)
    assert len(data.feature_names) == data.X.shape[1]
    assert set(data.y) == set(range(len(data.target_names)))
    assert data.source == f"sklearn.datasets.{ROWS[name].bundled}"


def test_openml_is_asked_last_and_by_a_pinned_number(folder, monkeypatch):
    asked = []

    def fetch(**given):
        asked.append(given["data_id"])
        return Bunch(data=np.ones((3, 2)), target=np.array(["b", "a", "b"]), feature_names=["u", "v"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    data = datasets.load("vehicle")
    assert asked == [54]
    assert data.y.tolist() == [1, 0, 1]
    assert data.target_names == ("a", "b")
    assert data.feature_names == ("u", "v")


def test_members_of_a_family_are_told_apart(folder):
    np.savez(folder / "shapes.npz", **{"s1/X": np.zeros((3, 2)), "s1/y": np.arange(3), "s2/X": np.ones((4, 2))})
    s1, s2 = datasets.load("s1"), datasets.load("s2")
    assert len(s1.X) == len(s1.y) == 3
    assert len(s2.X) == 4
    assert s2.y is None
    with pytest.raises(FileNotFoundError, match="'spiral/X'"):
        datasets.load("spiral")


def test_a_graph_has_edges_nodes_and_perhaps_weights(folder):
    np.savez(folder / "graph_karate.npz", edges=[[0, 1], [1, 2]], n_nodes=[3], weight=[4, 5])
    graph = datasets.load("graph-karate")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.n_nodes == 3
    assert graph.weight.tolist() == [4, 5]
    assert graph.y is None


def test_rows_are_prepared_and_then_have_no_column_names(folder):
    np.savez(folder / "kddcup04_bio.npz", X100=np.array([[150, -25]]), y=[0], feature_names=["a", "b"])
    data = datasets.load("kdd2004bio")
    assert data.X.tolist() == [[1.5, -0.25]]
    assert data.feature_names == ()


def test_points_on_the_ellipsoid():
    """On the equator, at the pole (whose radius WGS 84 gives as 6356.752 km), and halfway down to the centre."""
    radius = table.EQUATORIAL_RADIUS_KM
    places = np.array([[0, 0, 0], [0, 90, 0], [90, 0, 0], [-90, 0, 0], [0, 180, radius / 2]])
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 6356.7523142 / radius], [0, 0, -6356.7523142 / radius], [-0.5, 0, 0]]
    np.testing.assert_allclose(table.earth_centred(places), expected, atol=1e-10)


def test_principal_components_have_variance_one_and_are_the_same_each_time(rng):
    X = rng.normal(size=(200, 12)) * np.arange(1, 13)
    first, second = (table.principal(3)(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(np.cov(first.T), np.eye(3), atol=1e-10)


def test_an_image_is_halved_by_means_of_four_pixels():
    image = np.zeros((1, 16, 16))
    image[0, 2:4, 6:8] = [[1, 2], [3, 6]]
    halved = table.halved_image(image.reshape(1, 256)).reshape(8, 8)
    assert halved[1, 3] == 3
    assert halved.sum() == 3


def test_an_unknown_name_is_answered_with_a_guess_and_the_list():
    with pytest.raises(ValueError, match=r"no data set 'minst'. Did you mean 'mnist'\? Known are: .*balance-scale"):
        datasets.load("minst")
    with pytest.raises(ValueError, match="no data set 7"):
        datasets.load(7)


@pytest.mark.parametrize("name", sorted(name for name, e in (ROWS | GRAPHS).items() if not e.bundled))
def test_a_set_that_is_nowhere_says_what_to_do(folder, name):
    entry = (ROWS | GRAPHS)[name]
    with pytest.raises(FileNotFoundError, match=f"folder .*{entry.file}.npz") as caught:
        datasets.load(name)
    assert (entry.about if entry.openml else repr(name)) in str(caught.value)
    assert f"it is not in KFREE_DATA={folder}" in str(caught.value)


def test_made_up_sets_are_as_the_papers_say():
    """Three Gaussians alike in size; five in two groups, each within a circle of diameter 10."""
    X, y = datasets.make_three_gaussians(90, random_state=0)
    assert np.bincount(y).tolist() == [30, 30, 30]
    centres = np.array([X[y == c].mean(axis=0) for c in range(3)])
    sides = np.linalg.norm(centres - np.roll(centres, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 4.45, atol=0.6)
    X, y = datasets.make_two_groups(1000, random_state=0)
    for group in (X[y < 2], X[y >= 2]):
        assert np.linalg.norm(group - (group.min(axis=0) + group.max(axis=0)) / 2, axis=1).max() < 5.5
    again, _ = datasets.make_two_groups(1000, random_state=0)
    np.testing.assert_array_equal(X, again)


def test_without_a_folder_the_variable_is_named(monkeypatch):
    monkeypatch.delenv("KFREE_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="KFREE_DATA is not set"):
        datasets.load("usgs")


@real_data
@pytest.mark.parametrize(
    ("name", "shape", "cost"),
    [
        ("usgs", (59_209, 3), 46_033),
        ("mnist-pca10", (70_000, 10), 7.0e5),
        ("mnist-pca8", (70_000, 8), 5.6e5),
        ("kdd2004bio", (145_751, 74), 2.353e12),
    ],
)
def test_one_cluster_costs_what_the_paper_says(name, shape, cost):
    X = datasets.load(name).X
    assert X.shape == shape
    assert one_cluster_cost(X) == pytest.approx(cost, rel=2e-4)


@real_data
@pytest.mark.parametrize("name", [name for name in datasets.names() if not name.startswith("mnist")])
def test_sets_are_as_large_as_their_description_says(name):
    data = datasets.load(name)
    if name in GRAPHS:
        said, size = f"{data.n_nodes:,} nodes", data.n_nodes
    elif ROWS[name].file == "shapes":
        said, size = f"{len(set(data.y))} clusters", len(data.X)
    else:
        said, size = "{:,} × {}".format(*data.X.shape), len(data.X)
    assert said in data.about
    assert data.y is None or len(data.y) == size


def test_gaussians_are_as_far_apart_as_wished():
    centres, stds = _apart(2, 10, 3.0, 0.0, np.random.RandomState(0))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + np.diag(np.full(10, np.inf))
    assert (gaps >= 3.0 * (stds[:, None] + stds) / 2).all()
    X, y = datasets.make_gaussians(2000, 3, 4, random_state=1)
    again, _ = datasets.make_gaussians(2000, 3, 4, random_state=1)
    np.testing.assert_array_equal(X, again)
    assert X.shape == (2000, 3)
    assert set(y) == set(range(4))


@pytest.mark.parametrize(("d", "tau", "narrowest"), [(2, 0.1, 0.0), (5, 2.0, 0.5), (64, 0.5, 1.0)])
def test_the_closest_pair_is_as_far_apart_as_the_separation_says(d, tau, narrowest):
    for seed in range(5):
        centres, stds = _closest_pair(d, 10, tau, narrowest, np.random.RandomState(seed))
        gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + np.diag(np.full(10, np.inf))
        assert (gaps / ((stds[:, None] + stds) / 2)).min() == pytest.approx(tau * np.sqrt(d))
        assert stds.min() >= narrowest * stds.max()
    assert len(datasets.make_gaussians(20, d, 1, placement="closest-pair")[0]) == 20


BAD_SETTINGS = {
    "no rows": (datasets.make_three_gaussians, {"n_rows": 0}, "n_rows=0 is not allowed; give a whole number ≥ 1"),
    "rows that are no number": (datasets.make_two_groups, {"n_rows": True}, "n_rows=True is not allowed; give a whole"),
    "rows beyond 64 bits": (datasets.make_customers, {"n_rows": 2**70}, "n_rows=.* and < 2"),
    "half a column": (datasets.make_gaussians, {"n_features": 0.5}, "n_features=0.5 is not allowed"),
    "clusters that never fit": (
        datasets.make_gaussians,
        {"separation": np.inf},
        "separation=inf is not allowed; give a",
    ),
    "separation that is no number": (datasets.make_gaussians, {"separation": np.nan}, "separation=nan is not allowed"),
    "a placement that is none": (
        datasets.make_gaussians,
        {"placement": "far"},
        "placement='far' is not allowed",
    ),
    "negative widths": (
        datasets.make_gaussians,
        {"narrowest": -0.1},
        "narrowest=-0.1 is not allowed; give a number",
    ),
    "more missing than there is": (
        datasets.make_customers,
        {"missing": 1.5},
        "missing=1.5 is not allowed",
    ),
    "shuffled by a text": (datasets.make_customers, {"shuffled": "no"}, "shuffled='no' is not allowed; give True"),
    "a seed below zero": (datasets.make_customers, {"random_state": -1}, "random_state=-1 is not allowed"),
}


@pytest.mark.parametrize("bad", BAD_SETTINGS)
def test_bad_settings_of_generators_are_named(bad):
    make, settings, message = BAD_SETTINGS[bad]
    with pytest.raises(ValueError, match=message):
        make(**settings)
