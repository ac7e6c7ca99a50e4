"""Near-duplicates: those of all pairs, for every metric and kind of rows, also at the borders of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from scipy.spatial.distance import cdist, pdist, squareform

from kfree import DPMeans, KMeans, NestedDPMeans, OnlineDPMeans
from kfree.core.sphere import EARTH_RADIUS
from kfree.explain import duplicates


def with_copies(rng, X, n_copies=40, noise=1e-3):
    """Rows, some of them again, exactly or nearly, in a random order."""
    some = rng.integers(len(X), size=n_copies)
    near = X[some] + noise * rng.normal(size=(n_copies, X.shape[1])) * rng.integers(2, size=(n_copies, 1))
    return rng.permutation(np.vstack([X, near]))


def by_all_pairs(distance, threshold):
    """Links of the first of equal rows, and groups, from a matrix of all distances."""
    n, near = len(distance), distance <= threshold
    first = np.array([np.flatnonzero(distance[i] == 0)[0] for i in range(n)])
    pairs = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if near[i, j] and (first[i] == i) and (first[j] == j or first[j] == i)
    ]
    group, n_groups = np.full(n, -1), 0
    for i in range(n):
        if group[i] < 0 and near[i].sum() > 1:
            reached, todo = {i}, [i]
            while todo:
                new = set(np.flatnonzero(near[todo.pop()])) - reached
                reached |= new
                todo += new
            group[list(reached)] = n_groups
            n_groups += 1
    return pairs, group


def euclidean(X):
    return squareform(pdist(X))


def cosine(X):
    return euclidean(X / np.linalg.norm(X, axis=1, keepdims=True))


def great_circle(X):
    latitude, longitude = np.deg2rad(X).T
    half = np.sin((latitude[:, None] - latitude) / 2) ** 2
    half += np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(half))


def places(rng, n=300):
    """Around two points, one of them at the date line."""
    X = rng.normal(size=(n, 2)) * [2.0, 3.0] + np.where(rng.random((n, 1)) < 0.5, [[10.0, 180.0]], [[50.0, 10.0]])
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    return X


@pytest.mark.parametrize("d", [2, 5, 30])
@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.6])
def test_pairs_and_groups_are_those_of_all_pairs(d, threshold, rng):
    X = with_copies(rng, blobs(rng, n=300, d=d, k=4, spread=1.5)[0])
    model = KMeans(12, random_state=0).fit(X)  # far more clusters than there are: many borders
    found = model.duplicates(X, threshold=threshold)
    pairs, group = by_all_pairs(euclidean(X), threshold)
    np.testing.assert_array_equal(found.pairs, np.array(pairs).reshape(-1, 2))
    np.testing.assert_array_equal(found.group, group)
    np.testing.assert_allclose(found.distances, [np.linalg.norm(X[i] - X[j]) for i, j in pairs], atol=1e-12)
    assert len(pairs) > 5


def test_pairs_across_borders_are_found(rng):
    X = rng.uniform(size=(800, 2))
    model = KMeans(40, random_state=0).fit(X)
    found = model.duplicates(X, threshold=0.03)
    np.testing.assert_array_equal(found.pairs, by_all_pairs(euclidean(X), 0.03)[0])
    first, second = found.pairs.T
    assert (model.labels_[first] != model.labels_[second]).sum() > 5


@pytest.mark.parametrize("sparse", [False, True])
def test_directions(sparse, rng):
    X = with_copies(rng, blobs(rng, n=300, d=20, k=4)[0], noise=0.02)
    X = np.where(np.abs(X) < 0.5, 0.0, X) * 2.0 ** rng.integers(-2, 3, size=(len(X), 1))
    model = DPMeans(lam=20.0, metric="cosine").fit(X)
    threshold = np.sqrt(2 - 2 * 0.999)
    found = model.duplicates(sp.csr_array(X) if sparse else X, threshold=threshold)
    pairs, group = by_all_pairs(cosine(X), threshold)
    np.testing.assert_array_equal(found.group, group)
    np.testing.assert_array_equal(found.pairs, pairs)


def test_sparse_rows_and_float32(rng):
    X = with_copies(rng, np.where(rng.random((300, 40)) < 0.1, rng.integers(1, 4, size=(300, 40)), 0).astype(float))
    model = KMeans(5, random_state=0).fit(X)
    pairs, group = by_all_pairs(euclidean(X), 1.0)
    for rows in (sp.csr_array(X), X):
        found = model.duplicates(rows, threshold=1.0)
        np.testing.assert_array_equal(found.pairs, pairs)
        np.testing.assert_array_equal(found.group, group)
    single = X.astype(np.float32)
    found = KMeans(5, random_state=0).fit(single).duplicates(single, threshold=0.01)
    np.testing.assert_array_equal(found.pairs, by_all_pairs(euclidean(single.astype(float)), 0.01)[0])


def test_places(rng):
    X = with_copies(rng, places(rng))
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    model = DPMeans(metric="haversine", lam=1e6).fit(X)
    found = model.duplicates(X, threshold=5.0)
    distance = great_circle(X)
    pairs, group = by_all_pairs(distance, 5.0)
    np.testing.assert_array_equal(found.pairs, pairs)
    np.testing.assert_array_equal(found.group, group)
    np.testing.assert_allclose(found.distances, [distance[i, j] for i, j in pairs], atol=1e-6)
    # Every distance is less than that to the antipode.
    assert (model.duplicates(X[:30], threshold=2e4).group == 0).all()


def test_the_threshold_is_a_tenth_of_the_usual_distance_to_the_nearest_row(rng):
    X = with_copies(rng, blobs(rng, n=400, d=6, k=3, spread=9.0)[0])
    model = DPMeans().fit(X)
    distance = euclidean(X)
    first = [i for i in range(len(X)) if not (distance[i, :i] == 0).any()]
    among = distance[np.ix_(first, first)]
    among[np.eye(len(first), dtype=bool) | (model.labels_[first][:, None] != model.labels_[first])] = np.inf
    found = model.duplicates(X)
    assert found.threshold == pytest.approx(0.1 * np.median(among.min(axis=1)))
    assert model.duplicates(7.0 * X + 3.0).threshold > 0
    np.testing.assert_array_equal(found.pairs, by_all_pairs(distance, found.threshold)[0])


@pytest.mark.parametrize(
    "model", [OnlineDPMeans(lam=100.0), NestedDPMeans(levels=(2, 4)), KMeans(3)], ids=lambda model: type(model).__name__
)
def test_every_estimator_with_centres_finds_them(model, rng):
    X = with_copies(rng, blobs(rng, n=300, d=3, k=4)[0])
    found = model.fit(X).duplicates(X, threshold=0.01)
    np.testing.assert_array_equal(found.pairs, by_all_pairs(euclidean(X), 0.01)[0])


def test_what_is_kept_has_no_duplicates_and_misses_nothing(rng):
    X = with_copies(rng, blobs(rng, n=300, d=3, k=4)[0])
    model = KMeans(4, random_state=0).fit(X)
    found = model.duplicates(X)
    kept = X[found.keep]
    assert not len(model.duplicates(kept, threshold=found.threshold).pairs)
    assert (cdist(X, kept).min(axis=1) <= 3 * found.threshold).all()
    assert sorted(np.concatenate(found.groups)) == np.flatnonzero(found.group >= 0).tolist()
    assert [rows[0] for rows in found.groups] == sorted(rows[0] for rows in found.groups)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["first", "second", "distance", "group"]
    assert (frame["group"] == found.group[frame["second"]]).all()
    assert repr(found).startswith(f"Duplicates(threshold={found.threshold:.3g}: {len(found.groups)} groups of ")


def test_many_equal_rows_are_few_pairs(rng):
    X = np.repeat(rng.normal(size=(3, 4)), [5000, 3000, 1], axis=0)
    found = KMeans(2, random_state=0).fit(X).duplicates(X)
    assert len(found.pairs) == 7998
    assert (found.threshold, len(found.groups), found.keep.sum()) == (found.threshold, 2, 3)


def test_one_row_and_no_pairs(rng):
    model = KMeans(2, random_state=0).fit(rng.normal(size=(10, 2)))
    for X in (np.zeros((1, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])):
        found = model.duplicates(X, threshold=0.1)
        assert (found.pairs.shape, found.groups, found.keep.all()) == ((0, 2), [], True)
    assert model.duplicates(np.zeros((1, 2))).threshold == 0


def test_bad_input(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    model = KMeans(2, random_state=0).fit(X)
    for bad in (-1.0, np.inf, np.nan, "near", True):
        with pytest.raises(ValueError, match=r"threshold=.* is not allowed; give a finite distance ≥ 0, or None"):
            model.duplicates(X, threshold=bad)
    monkeypatch.setattr(duplicates, "_MOST_PAIRS", 50)
    with pytest.raises(ValueError, match="threshold=100 makes pairs of too many rows.*Give a smaller threshold"):
        model.duplicates(X, threshold=100.0)
    counts = rng.integers(1, 9, size=(40, 3)).astype(float)
    with pytest.raises(ValueError, match="divergence 'kl' is no distance between two rows.*metric='euclidean'"):
        DPMeans(metric="kl", lam=10.0).fit(counts).duplicates(counts)
