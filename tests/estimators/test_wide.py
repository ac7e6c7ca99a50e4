"""Few rows of many columns: the search in their span finds what a search in all columns finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs

from kfree import AgglomerativeBayes, DPMeans, HardHDP
from kfree.core.frame import Frame
from kfree.core.stats import GaussianStats
from kfree.estimators import dp_means
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES
from kfree.search import span
from kfree.search.groups import search as shared_search
from kfree.search.span import coordinates, ended, is_wide


def wide(rng, n=60, d=1500, k=4):
    return blobs(rng, n, d, k, spread=1.0)[0]


def text(rng, n=50, d=2000):
    topics = rng.integers(d, size=(4, 30))[rng.integers(4, size=n)]
    counts = np.zeros((n, d))
    for row, words in enumerate(topics):
        np.add.at(counts[row], rng.choice(words, 40), 1.0)
    return sp.csr_array(counts)


def sq_gaps(points):
    return ((points[:, None] - points[None]) ** 2).sum(axis=-1)


def assert_same_partition(a, b):
    """Numbers aside, which follow the order in which clusters were found."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    assert len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_coordinates_keep_all_distances(offset, rng):
    X = wide(rng) + offset
    X[7] = X[3]
    found = coordinates(X, Frame.about(X))
    assert found.shape[1] <= len(X)
    np.testing.assert_allclose(sq_gaps(found), sq_gaps(X - offset), rtol=1e-8, atol=1e-7)


def test_coordinates_of_sparse_rows(rng):
    X = text(rng)
    np.testing.assert_allclose(sq_gaps(coordinates(X, Frame.plain(2000))), sq_gaps(X.toarray()), atol=1e-9)


def test_rows_that_are_close_together_keep_their_digits(rng):
    """Squares of coordinates have no digits left for a gap of 1e-9; without squares they have seven."""
    X = np.repeat(wide(rng, n=10), 2, axis=0)
    X[1::2] += 1e-9
    found = coordinates(X, Frame.about(X))
    gap = np.linalg.norm(found[1::2] - found[::2], axis=1)
    np.testing.assert_allclose(gap, 1e-9 * np.sqrt(X.shape[1]), rtol=1e-4)


def test_nothing_to_span():
    assert coordinates(np.ones((5, 2000)), Frame.about(np.ones((5, 2000)))) is None
    assert coordinates(sp.csr_array((5, 2000)), Frame.plain(2000)) is None
    assert DPMeans(lam=1.0).fit(np.ones((5, 2000))).n_clusters_ == 1


def test_what_is_wide():
    assert is_wide(np.empty((10, 1024)))
    assert not is_wide(np.empty((10, 1000)))
    assert not is_wide(np.empty((1, 2000)))
    assert not is_wide(np.empty((2000, 4000)))
    assert is_wide(sp.csr_array((100, 1600)))
    assert not is_wide(sp.csr_array((100, 1500)))


def test_histories_end_with_the_cost_that_is_published():
    assert ended([5.0, 4.0, 3.0], 2.5) == [5.0, 4.0, 3.0, 2.5]
    assert ended([5.0, 4.0, 3.0], 3.0 + 1e-15) == [5.0, 4.0, 3.0 + 1e-15]


CASES = {
    "given lam": (lambda rng: wide(rng), {"lam": 4000.0}),
    "every row alone": (lambda rng: wide(rng), {"lam": 100.0}),
    "auto": (lambda rng: wide(rng), {}),
    "weights": (lambda rng: wide(rng), {"lam": 2000.0, "weighted": True}),
    "cosine": (lambda rng: wide(rng) + 1.0, {"lam": 8.0, "metric": "cosine"}),
    "sparse": (text, {"lam": 300.0}),
    "sparse, cosine": (text, {"lam": 3.0, "metric": "cosine"}),
}


@pytest.mark.parametrize("scale", [1e-160, 1e153, 1e160])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_coordinates_of_rows_that_cannot_be_squared(make, scale, rng):
    X = wide(rng, n=10)
    rows = make(X * scale)
    frame = Frame.plain(X.shape[1]) if sp.issparse(rows) else Frame(rows[0], (rows - rows[0]).mean(axis=0))
    np.testing.assert_allclose(sq_gaps(coordinates(rows, frame) / scale), sq_gaps(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", [DPMeans(lam=1.0), DPMeans(), HardHDP(lam_local=1.0, lam_global=1.0)])
def test_wide_rows_that_cannot_be_squared_are_refused(estimator, make, rng):
    groups = {"groups": np.arange(20) % 2} if isinstance(estimator, HardHDP) else {}
    with pytest.raises(ValueError, match=r"overflows float64.*Divide X by a constant"):
        estimator.fit(make(wide(rng, n=20) * 1e160), **groups)


def test_wide_rows_of_float32_have_products_in_float64(rng):
    X = sp.csr_array(wide(rng, n=20)).astype(np.float32)
    expected = DPMeans().fit(X)
    np.testing.assert_array_equal(DPMeans().fit(X * np.float32(2.0**80)).labels_, expected.labels_)


def test_a_length_that_overflows_is_refused():
    with pytest.raises(ValueError, match="length of a row of X overflows"):
        coordinates(sp.csr_array(np.full((2, 2000), 1.7e308)), Frame.plain(2000))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_directions_do_not_depend_on_lengths(make, rng):
    """Beside the products of long rows nothing was left of those of short ones."""
    X = wide(rng, n=30)
    lengths = 10.0 ** rng.uniform(-100, 100, size=(30, 1))
    model = DPMeans(lam=0.5, metric="cosine").fit(make(X * lengths))
    assert_same_partition(model.labels_, DPMeans(lam=0.5, metric="cosine").fit(make(X)).labels_)


def test_one_long_sparse_row_leaves_the_others_apart(rng):
    X = wide(rng, n=30)
    X[4] = X[7]
    X[0] *= 1e9
    assert coordinates(sp.csr_array(X), Frame.plain(X.shape[1])) is None
    assert DPMeans(lam=1.0).fit(sp.csr_array(X)).n_clusters_ == 29


@pytest.mark.parametrize("at_once", [span._VALUES_AT_ONCE, 50 * 300])
def test_sparse_rows_that_are_close_together_have_coordinates_if_these_are_needed(at_once, rng, monkeypatch):
    monkeypatch.setattr(span, "_VALUES_AT_ONCE", at_once)
    X = text(rng).toarray()
    X[4] = X[7]
    X[4, 3] += 1e-9
    close, frame = sp.csr_array(X), Frame.plain(2000, unit=True)
    assert coordinates(close, frame) is None
    found, expected = coordinates(close, frame, with_all_digits=True), X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(sq_gaps(found), sq_gaps(expected), atol=1e-12)
    assert np.linalg.norm(found[4] - found[7]) == pytest.approx(np.linalg.norm(expected[4] - expected[7]), rel=1e-4)


def test_equal_sparse_rows_are_searched_in_their_span(rng):
    X = text(rng).toarray()
    X[4] = X[7]
    found = coordinates(sp.csr_array(X), Frame.plain(2000))
    np.testing.assert_allclose(sq_gaps(found), sq_gaps(X), atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_span_finds_what_all_columns_find(case, rng, monkeypatch):
    make, parameters = CASES[case]
    X, parameters = make(rng), dict(parameters)
    weight = rng.uniform(0.5, 2.0, size=X.shape[0]) if parameters.pop("weighted", False) else None
    used = []
    monkeypatch.setattr(span, "coordinates", lambda *given: used.append(1) or coordinates(*given))
    here = DPMeans(**parameters).fit(X, sample_weight=weight)
    assert used
    monkeypatch.setattr(dp_means, "is_wide", lambda rows: False)
    there = DPMeans(**parameters).fit(X, sample_weight=weight)
    assert_same_partition(here.labels_, there.labels_)
    assert here.cost_ == pytest.approx(there.cost_, rel=1e-9)
    np.testing.assert_array_equal(here.predict(X), here.labels_)
    assert (np.diff(here.cost_history_) <= 0).all()
    assert here.cost_history_[-1] == here.cost_


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_in_the_span(weighted, rng, monkeypatch):
    X, groups = wide(rng), rng.integers(3, size=60)
    weight = rng.uniform(0.5, 2.0, size=60) if weighted else None
    here = HardHDP(lam_local=2000.0, lam_global=2000.0).fit(X, groups=groups, sample_weight=weight)
    monkeypatch.setattr(shared_search, "is_wide", lambda rows: False)
    there = HardHDP(lam_local=2000.0, lam_global=2000.0).fit(X, groups=groups, sample_weight=weight)
    assert_same_partition(here.labels_, there.labels_)
    assert here.cost_ == pytest.approx(there.cost_, rel=1e-9)
    np.testing.assert_array_equal(here.predict(X, groups=groups), here.labels_)


def test_trees_of_rows_in_their_span(rng):
    """The free energy of single rows, which a tree reaches by subtraction, against its formula in all columns."""
    X = rng.normal(size=(12, 30))
    tree = AgglomerativeBayes(random_state=0).fit(X)
    prior = tree.prior_
    model = GaussianModel.conjugate(prior["xi0"], prior["m0"], prior["eta0"], prior["B0"])
    objective = FreeEnergy(model, MIXTURES[tree.mixture](prior["phi0"]))
    n, scatter = np.ones(12), np.zeros((12, 30, 30))
    alone = objective.free_energy(GaussianStats(n, X, scatter))
    assert tree.free_energy_path_[0] == pytest.approx(alone, rel=1e-9)


def test_parts_of_columns(rng, monkeypatch):
    X = wide(rng, n=20)
    whole = coordinates(X, Frame.about(X))
    monkeypatch.setattr(span, "_VALUES_AT_ONCE", 20 * 300)
    np.testing.assert_allclose(sq_gaps(coordinates(X, Frame.about(X))), sq_gaps(whole), rtol=1e-9, atol=1e-9)


def test_a_cost_that_overflows_in_all_columns_only_is_refused():
    """The mean of one row that counts differs from it by rounding, and the square of that overflows."""
    with pytest.raises(ValueError, match="the cost overflows float64"):
        ended([1e300], np.inf)
