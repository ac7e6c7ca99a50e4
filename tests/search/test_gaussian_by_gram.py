"""Few rows of many columns: inner products of the rows say what matrices of the columns say."""

import warnings

import numpy as np
import pytest
from common import blobs

from kfree import BayesianKMeans
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.engines.cost_rules.numbered import NumberedRows
from kfree.native import _core
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.gaussian_by_gram import GramModel, is_faster_by_gram
from kfree.objectives.mixtures import MIXTURES
from kfree.search.evidence.hard_labels import Update, clustering_by
from kfree.search.evidence.splits import Bisections

# Places by which clusters differ: near the prior's mean, and so far from it that half of the digits are lost.
PLACES = {"near": (3.0, 1e-10), "far": (1e4, 1e-7)}


def both(rng, n, d, far=3.0, weighted=False):
    """The same four clusters of rows, one of them of a single row, by inner products and by columns."""
    labels = np.append(np.arange(4), rng.integers(3, size=n - 4)).astype(np.int32)
    X = rng.normal(size=(n, d)) + far * rng.normal(size=(4, d))[labels] / np.sqrt(d)
    half = rng.normal(size=(d, d + 2))
    prior = GaussianModel.conjugate(0.3, rng.normal(size=d), d + 0.7, half @ half.T)
    weight = rng.uniform(0.5, 3.0, n) if weighted else None
    numbered = NumberedRows(X, weight)
    gram = GramModel.of(prior, X, numbered.weights())
    sides = [(numbered, gram), (GaussianRows(_core, X, "brute", 1, weight), prior)]
    for rows, model in sides:
        objective = FreeEnergy(model, MIXTURES["finite"](2.0))
        yield rows, objective, clustering_by(rows.assignment(labels, 4), rows, objective)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(30, 70), (40, 5)])
def test_formulas_are_those_of_the_columns(shape, weighted, place, rng):
    far, tolerance = PLACES[place]
    (rows, here, ours), (columns, there, theirs) = both(rng, *shape, far, weighted)
    assert ours.cost == pytest.approx(theirs.cost, rel=tolerance)
    np.testing.assert_allclose(here.cluster_terms(ours.stats), there.cluster_terms(theirs.stats), rtol=tolerance)
    pairs = np.triu_indices(4, 1)
    found, expected = here.merge_costs(ours.stats, slice(None)), there.merge_costs(theirs.stats, slice(None))
    np.testing.assert_allclose(found[pairs], expected[pairs], rtol=tolerance, atol=tolerance * abs(theirs.cost))
    for name in ("labelling", "plug_in"):
        found = getattr(here, name)(ours.stats).costs(rows.block(slice(None)))
        expected = getattr(there, name)(theirs.stats).costs(columns.block(slice(None)))
        np.testing.assert_allclose(found, expected, rtol=100 * tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(30, 70), (40, 5)])
def test_moves_are_those_in_columns(shape, weighted, rng):
    """An update of all rows, and cuts of single clusters, whose rows are known by the same numbers."""
    (rows, here, ours), (columns, there, theirs) = both(rng, *shape, weighted=weighted)
    for patient in (False, True):
        cuts = Bisections(patient).of(ours, rows, here), Bisections(patient).of(theirs, columns, there)
        for (c, _, half), (place, _, expected) in zip(*cuts, strict=True):
            assert c == place
            assert half.saving == pytest.approx(expected.saving, rel=1e-8)
            assert sorted(half.stats.n) == pytest.approx(sorted(expected.stats.n))
            np.testing.assert_array_equal(half.stats.sum.sum(axis=0), ours.stats.sum[c])
    new, expected = Update()(ours, rows, here), Update()(theirs, columns, there)
    np.testing.assert_array_equal(rows.labels(new.assignment), columns.labels(expected.assignment))
    assert new.cost == pytest.approx(expected.cost, rel=1e-10)


def test_some_rows_of_some_rows_keep_their_numbers(rng):
    some = NumberedRows(rng.normal(size=(9, 3)), np.arange(1.0, 10.0)).among(np.array([2, 5, 7])).among(np.array([1]))
    np.testing.assert_array_equal(some.stats_of(some.together()).sum, [[0, 0, 0, 0, 0, 6, 0, 0, 0]])


def test_too_few_digits_are_refused(rng):
    rows = rng.normal(size=(20, 6))
    model = GaussianModel.conjugate(0.3, np.zeros(6), 7.0, np.eye(6))
    assert GramModel.of(model, rows, np.ones(20)) is not None
    assert GramModel.of(model, rows * 1e5, np.ones(20)) is None
    assert GramModel.of(model, rows * 1e160, np.ones(20)) is None
    assert GramModel.of(model, rows, np.full(20, 1e10)) is None
    assert GramModel.of(GaussianModel.uninformative(np.ones(6)), rows, np.ones(20)) is None


def test_what_is_faster():
    assert is_faster_by_gram(900, 400)
    assert is_faster_by_gram(256, 64)
    assert not is_faster_by_gram(257, 64)
    assert not is_faster_by_gram(30, 63)


def mixed_prior(X):
    """A prior whose B0 is no multiple of the covariance of X."""
    d = X.shape[1]
    B0 = 0.5 * np.eye(d)
    B0[0, 1] = B0[1, 0] = 0.2
    return {"xi0": 0.1, "m0": X.mean(axis=0) + 0.3, "eta0": d + 1.0, "B0": B0}


CASES = {
    "data": {},
    "given": {"prior": mixed_prior},
    "dirichlet-process": {"mixture": "dirichlet-process"},
    "published": {"prior": mixed_prior, "search": "published"},
    "weights": {"prior": mixed_prior, "sample_weight": True},
}


@pytest.mark.parametrize("case", CASES)
def test_fits_are_those_in_columns(case, rng, monkeypatch):
    """The free energy of the fit is that of all columns, and clusters are those of a search there, but for ties."""
    X = blobs(rng, 40, 80, 3, spread=3.0)[0]
    parameters = {name: value(X) if callable(value) else value for name, value in CASES[case].items()}
    weight = rng.integers(1, 4, 40).astype(float) if parameters.pop("sample_weight", False) else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the covariance of X is singular")
        there = BayesianKMeans(algorithm="kd-tree", **parameters).fit(X, sample_weight=weight)
        monkeypatch.setattr(GaussianRows, "sides", None)  # no cluster is cut in its columns
        here = BayesianKMeans(**parameters).fit(X, sample_weight=weight)
    assert here.n_clusters_ == there.n_clusters_
    assert here.free_energy_ == pytest.approx(there.free_energy_, rel=1e-9)
    np.testing.assert_array_equal(np.bincount(here.labels_), np.bincount(there.labels_))
    # By the covariance of X, 40 rows of 80 columns are equally far apart: clusters of the same sizes cost the same.
    if "prior" in parameters:
        pairs = set(zip(here.labels_.tolist(), there.labels_.tolist(), strict=True))
        assert len(pairs) == here.n_clusters_
    np.testing.assert_array_equal(here.predict(X), here.labels_)
    assert (np.diff(here.free_energy_history_) <= 0).all()
