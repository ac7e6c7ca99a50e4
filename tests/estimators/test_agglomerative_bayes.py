"""AgglomerativeBayes against greedy enumeration with free energies from one row after the other."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from oracles.bayes import (
    bernoulli_predictive,
    gaussian_predictive,
    multinomial_predictive,
    sequential_free_energy,
)
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from kfree import AgglomerativeBayes, BayesianKMeans

PREDICTIVES = {
    "gaussian": gaussian_predictive,
    "multinomial": multinomial_predictive,
    "bernoulli": bernoulli_predictive,
}
MODELS = list(PREDICTIVES)
MIXTURES = ["finite", "dirichlet-process"]
# Costs that differ by less are ties: the oracle's own rounding.
TIE = 1e-9


def rows_of(model, rng, n, d):
    """Rows with ties: some of them twice, and for counts a row of zeros."""
    if model == "gaussian":
        X = blobs(rng, n, d, k=3)[0]
    else:
        shares = rng.dirichlet(np.full(d, 0.5), size=3)[rng.integers(3, size=n)]
        X = rng.poisson(6 * shares).astype(float) if model == "multinomial" else (rng.random((n, d)) < shares) * 1.0
        X[n // 2] = 0
    X[-1] = X[0]
    return X


def predictive_of(tree):
    prior = dict(tree.prior_)
    phi0 = prior.pop("phi0")
    return phi0, PREDICTIVES[tree.model](*prior.values())


def greedy_enumeration(X, free_energy):
    """Of all pairs the one with the lowest free energy after merging, the smallest on ties; with every free energy."""
    labels = np.arange(len(X))
    pairs, path = [], [free_energy(labels)]
    while len(names := np.unique(labels)) > 1:
        tried = {(a, b): free_energy(np.where(labels == b, a, labels)) for a, b in itertools.combinations(names, 2)}
        lowest = min(tried.values())
        a, b = next(pair for pair, found in tried.items() if found < lowest + TIE)
        labels[labels == b] = a
        pairs.append((a, b))
        path.append(tried[a, b])
    return np.array(pairs), np.array(path)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", [1, 3])
def test_tree_is_that_of_greedy_enumeration(d, model, mixture, rng):
    X = rows_of(model, rng, 9, d)
    settings = [("plain", "native"), ("conga-line", "native"), ("plain", "reference")]
    trees = [AgglomerativeBayes(model, mixture=mixture, closest_pairs=c, engine=e).fit(X) for c, e in settings]
    phi0, log_predictive = predictive_of(trees[0])
    pairs, path = greedy_enumeration(X, lambda labels: sequential_free_energy(X, labels, mixture, phi0, log_predictive))
    for tree in trees:
        np.testing.assert_array_equal(tree._tree_.merges.pairs, pairs)
        np.testing.assert_allclose(tree.free_energy_path_, path, rtol=1e-9)
        np.testing.assert_allclose(tree.merge_deltas_, np.diff(path), rtol=1e-7, atol=1e-8)
        assert tree.n_clusters_ == 9 - np.argmin(path)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (60, 1), (70, 2), (90, 7), (40, 30), (120, 12)])
def test_conga_lines_and_the_numpy_twin_grow_the_same_tree(model, n, d, rng):
    X = rows_of(model, rng, n, d)
    plain = AgglomerativeBayes(model, engine="native").fit(X)
    conga = AgglomerativeBayes(model, engine="native", closest_pairs="conga-line").fit(X)
    twin = AgglomerativeBayes(model, engine="reference").fit(X)
    np.testing.assert_array_equal(plain.linkage_, conga.linkage_)
    np.testing.assert_array_equal(plain.free_energy_path_, conga.free_energy_path_)
    np.testing.assert_array_equal(plain.linkage_[:, [0, 1, 3]], twin.linkage_[:, [0, 1, 3]])
    np.testing.assert_allclose(plain.merge_deltas_, twin.merge_deltas_, rtol=1e-7, atol=1e-7)


def test_ties_go_to_the_smallest_pair():
    """Columns in another order cost the same in theory, and must in fact, whatever order the terms are added in."""
    X = np.eye(7)[:, ::-1]
    for model, closest_pairs in itertools.product(["multinomial", "bernoulli"], ["plain", "conga-line"]):
        pairs = AgglomerativeBayes(model, closest_pairs=closest_pairs).fit(X)._tree_.merges.pairs
        assert pairs[0].tolist() == [0, 1]
    equal_rows = AgglomerativeBayes(prior={"B0": [[1.0]], "m0": [0.0]}).fit(np.ones((6, 1)))
    assert equal_rows._tree_.merges.pairs[0].tolist() == [0, 1]


@pytest.mark.parametrize("model", MODELS)
def test_threads_change_nothing(model, rng):
    X = rows_of(model, rng, 320, 40)
    trees = [AgglomerativeBayes(model, n_threads=n).fit(X) for n in (1, 2, 5)]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.linkage_, trees[0].linkage_)
        np.testing.assert_array_equal(tree.free_energy_path_, trees[0].free_energy_path_)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_sparse_rows_grow_the_same_tree(model, rng):
    X = rows_of(model, rng, 40, 15)
    dense, sparse = AgglomerativeBayes(model).fit(X), AgglomerativeBayes(model).fit(sp.csr_array(X))
    np.testing.assert_array_equal(dense.linkage_[:, :2], sparse.linkage_[:, :2])
    np.testing.assert_allclose(dense.free_energy_path_, sparse.free_energy_path_, rtol=1e-12)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_wide_rows_keep_their_digits(model, rng):
    X = np.minimum(rng.poisson(0.02, size=(8, 20_000)), 1.0)
    tree = AgglomerativeBayes(model).fit(sp.csr_array(X))
    phi0, log_predictive = predictive_of(tree)
    apart = sequential_free_energy(X, np.arange(8), "finite", phi0, log_predictive)
    assert tree.free_energy_path_[0] == pytest.approx(apart, rel=1e-10)


def test_stored_zeros_are_zeros():
    X = sp.csr_array(np.array([[3.0, 1.0, 0.0], [1.0, 1.0, 2.0], [1.0, 0.0, 5.0]]))
    plain = AgglomerativeBayes("multinomial").fit(X)
    X.data[1] = 0.0
    before = X.copy()
    tree = AgglomerativeBayes("multinomial").fit(X)
    assert (X.data == before.data).all()
    assert (X.indices == before.indices).all()
    np.testing.assert_array_equal(tree.linkage_, AgglomerativeBayes("multinomial").fit(X.toarray()).linkage_)
    assert not np.array_equal(tree.linkage_, plain.linkage_)


def test_more_counts_than_the_table_of_gammas_holds(rng):
    X = rng.integers(3_000_000, size=(6, 3)).astype(float)
    native, twin = (AgglomerativeBayes("multinomial", engine=engine).fit(X) for engine in ("native", "reference"))
    np.testing.assert_array_equal(native.linkage_[:, :2], twin.linkage_[:, :2])
    np.testing.assert_allclose(native.free_energy_path_, twin.free_energy_path_, atol=1e-6)


def test_an_offset_changes_nothing(rng):
    X = np.round(blobs(rng, 80, 3)[0], 3)
    here, there = AgglomerativeBayes().fit(X), AgglomerativeBayes().fit(X + 1e6)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    np.testing.assert_allclose(here.free_energy_path_, there.free_energy_path_, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_linkage_is_for_scipy(model, rng):
    X = rows_of(model, rng, 60, 4)
    tree = AgglomerativeBayes(model).fit(X)
    assert is_valid_linkage(tree.linkage_)
    deltas = np.diff(tree.free_energy_path_)
    np.testing.assert_array_equal(tree.linkage_[:, 2], np.maximum.accumulate(deltas - deltas.min()))
    for k in (1, 2, 5, 60):
        if k in (1, 60) or tree.linkage_[-k, 2] < tree.linkage_[-k + 1, 2]:  # SciPy cannot cut between equal heights
            theirs = fcluster(tree.linkage_, k, "maxclust")
            assert len(np.unique(np.column_stack([theirs, tree.cut(k)]), axis=0)) == k


def test_cuts(rng):
    X, _ = blobs(rng, 120, 2, k=3, spread=30)
    tree = AgglomerativeBayes().fit(X)
    np.testing.assert_array_equal(tree.cut(), tree.labels_)
    np.testing.assert_array_equal(tree.cut(tree.n_clusters_), tree.labels_)
    assert tree.free_energy_ == tree.free_energy_path_.min() == tree.free_energy_path_[-tree.n_clusters_]
    for k in (1, 7, 120):
        labels = tree.cut(k)
        assert labels.max() + 1 == k
        assert (np.diff(np.bincount(labels)) <= 0).all()
    assert tree.cut(free_energy=tree.free_energy_).max() + 1 == tree.n_clusters_
    assert not tree.cut(free_energy=np.inf).any()
    few = tree.cut(free_energy=tree.free_energy_ + 20).max() + 1
    assert tree.free_energy_path_[-few] <= tree.free_energy_ + 20
    assert (tree.free_energy_path_[len(X) - few + 1 :] > tree.free_energy_ + 20).all()
    for wrong, message in [
        ({"n_clusters": 0}, "whole number ≥ 1"),
        ({"n_clusters": 121}, "at most 120, the number of rows"),
        ({"free_energy": tree.free_energy_ - 1}, "the lowest on the path"),
        ({"n_clusters": 2, "free_energy": 0.0}, "not both"),
    ]:
        with pytest.raises(ValueError, match=message):
            tree.cut(**wrong)


@pytest.mark.parametrize("model", MODELS)
def test_refinement_reports_what_it_gains(model, rng):
    X = blobs(rng, 200, 2, k=4, spread=2)[0] if model == "gaussian" else rows_of(model, rng, 100, 6)
    tree = AgglomerativeBayes(model).fit(X)
    for k in (2, 5):
        better = tree.refine(X, tree.cut(k))
        assert better.gained >= 0
        assert better.free_energy + better.gained == pytest.approx(tree.free_energy_path_[-k], rel=1e-9)
        assert better.n_clusters == better.labels.max() + 1 <= k
        phi0, log_predictive = predictive_of(tree)
        again = sequential_free_energy(X, better.labels, "finite", phi0, log_predictive)
        assert again == pytest.approx(better.free_energy, rel=1e-9)
    with pytest.raises(ValueError, match="the tree has"):
        tree.refine(X[:-1])


def test_refinement_gains_where_clusters_overlap(rng):
    X = blobs(rng, 300, 2, k=4, spread=2)[0]
    assert AgglomerativeBayes().fit(X).refine(X, AgglomerativeBayes().fit(X).cut(4)).gained > 1


def test_a_tree_takes_no_inverses(rng, monkeypatch):
    """They are for new rows, and take half of the time of a fit with many columns."""
    X = blobs(rng, n=60, d=3, k=3)[0]
    tree = AgglomerativeBayes().fit(X)
    assert (tree.predict(X) == tree.labels_).mean() > 0.9
    monkeypatch.setattr("kfree.objectives.gaussian._inverses", None)
    assert AgglomerativeBayes().fit(X).n_clusters_ == tree.n_clusters_


def test_free_energies_are_those_of_bayesian_k_means(rng):
    X = blobs(rng, 90, 2, k=2, spread=9)[0]
    tree = AgglomerativeBayes().fit(X)
    top_down = BayesianKMeans(prior=tree.prior_).fit(X)
    assert tree.refine(X).free_energy == pytest.approx(top_down.free_energy_, rel=0.02)


def test_picture(rng):
    import matplotlib

    matplotlib.use("Agg")
    for n in (20, 150):
        tree = AgglomerativeBayes().fit(blobs(rng, n, 2)[0])
        ax = tree.plot_dendrogram(names=list("abcdefghijklmnopqrst")) if n == 20 else tree.plot_dendrogram()
        assert ax.collections
