"""DPMeans with divergences: all partitions of few rows, weights as copies, sparse rows, ends of domains, refusals."""

from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.bayes import partitions
from sklearn.metrics import normalized_mutual_info_score

from kfree import DPMeans, load
from kfree.core.divergences import DIVERGENCES

METRICS = ["kl", "itakura-saito", "logistic"]


def rows(metric, rng, n=7, d=3):
    """Rows of the domain, its ends included where they belong to it."""
    if metric == "kl":
        return rng.poisson(2.0, size=(n, d)).astype(float)
    if metric == "itakura-saito":
        return rng.gamma(1.5, size=(n, d))
    return (rng.uniform(size=(n, d)) < 0.4).astype(float)


def cost_by_clusters(metric, X, w):
    """J by a loop over clusters. A cluster of few rows is in many partitions, and is computed once."""

    @cache
    def within(members):
        chosen = list(members)
        mean = np.average(X[chosen], axis=0, weights=w[chosen])
        return float(w[chosen] @ DIVERGENCES[metric].between(X[chosen], mean))

    return lambda labels, lam: sum(within(tuple(np.flatnonzero(labels == c))) + lam for c in range(max(labels) + 1))


@pytest.mark.parametrize("lam", [0.3, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_no_partition_of_few_rows_costs_less(metric, weighted, lam, rng):
    for _ in range(2):
        X = rows(metric, rng)
        w = rng.uniform(0.5, 2.0, size=7) if weighted else np.ones(7)
        model = DPMeans(lam=lam, metric=metric).fit(X, sample_weight=w if weighted else None)
        cost = cost_by_clusters(metric, X, w)
        assert model.cost_ == pytest.approx(cost(model.labels_, lam), abs=1e-9)
        assert model.cost_ == pytest.approx(min(cost(labels, lam) for labels in partitions(7)), rel=1e-9)
        assert (np.diff(model.cost_history_) <= 0).all()


def topics(rng, k=5, d=30, n=600, least=20, most=200):
    shares = rng.dirichlet(np.full(d, 0.3), size=k)
    truth = rng.integers(k, size=n)
    return np.array([rng.multinomial(rng.integers(least, most), shares[c]) for c in truth]).astype(float), truth


def shares(rng, k=5, d=15, n=300, concentration=10):
    """Rows of Dirichlet distributions about the shares of clusters."""
    centres, truth = rng.dirichlet(np.full(d, 0.5), size=k) + 1e-3, rng.integers(k, size=n)
    return np.array([rng.dirichlet(concentration * centres[c] / centres[c].sum()) for c in truth]), truth


@pytest.mark.parametrize("drawn", [partial(topics, d=15, n=300, least=20, most=21), shares], ids=["counts", "shares"])
def test_counts_and_shares_agree_more_with_kl_than_with_distances(drawn, rng):
    """Means over draws; distances have raw and standardised columns, and all are told the number of clusters."""
    found = []
    for _ in range(2):
        X, truth = drawn(rng)
        standardised = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        rivals = [("kl", X)] + [(metric, data) for metric in ("euclidean", "cosine") for data in (X, standardised)]
        labels = [DPMeans(metric=metric, target_k=5).fit(data).labels_ for metric, data in rivals]
        found.append([normalized_mutual_info_score(truth, one) for one in labels])
    kl, *others = np.mean(found, axis=0)
    assert kl > max(others)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("search", ["split-merge", "sweep"])
def test_a_fit_keeps_its_promises(metric, search, rng):
    X = rows(metric, rng, n=300, d=6)
    model = DPMeans(lam=40.0 if search == "split-merge" else 4.0, metric=metric, search=search).fit(X)
    assert model.n_clusters_ > 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.cost_)
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(model.n_clusters_)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-12)
    exact = DIVERGENCES[metric].between(X[:, None], model.cluster_centers_)
    np.testing.assert_allclose(model.transform(X) ** 2, exact, rtol=1e-9, atol=1e-12)
    assert model.inertia_ == pytest.approx(exact[np.arange(300), model.labels_].sum())
    assert (np.diff(model.cost_history_) <= 0).all()
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert model.converged_


def test_a_sweep_is_that_of_the_serial_loop(rng):
    """Kulis & Jordan's Algorithm 1 with divergences, row by row; rows then go to the nearest means."""
    X, lam, d = rows("kl", rng, n=80), 2.0, DIVERGENCES["kl"].between
    with pytest.warns(UserWarning, match="did not converge"):
        model = DPMeans(lam=lam, metric="kl", search="sweep", max_iter=1, label_order="found").fit(X)
    centres, labels = [X.mean(axis=0)], []
    for x in X:
        distances = d(x, np.array(centres))
        if distances.min() > lam:
            centres.append(x)
            labels.append(len(centres) - 1)
        else:
            labels.append(int(distances.argmin()))
    assert len(centres) > 3
    means = np.array([X[np.array(labels) == c].mean(axis=0) for c in np.unique(labels)])
    settled = d(X[:, None], means).argmin(axis=1)
    np.testing.assert_array_equal(np.unique(settled, return_inverse=True)[1], model.labels_)


def test_weights_are_copies(rng):
    X, _ = topics(rng, n=150)
    w = rng.integers(1, 4, size=150)
    weighted = DPMeans(lam=3000.0, metric="kl").fit(X, sample_weight=w)
    repeated = DPMeans(lam=3000.0, metric="kl").fit(np.repeat(X, w, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    none = np.append(w, 0)
    nothing = DPMeans(lam=3000.0, metric="kl").fit(np.vstack([X, 1e3 * X[:1]]), sample_weight=none)
    np.testing.assert_array_equal(nothing.labels_[:-1], weighted.labels_)


def test_sparse_counts_give_what_dense_ones_do(rng):
    X, truth = topics(rng)
    dense, sparse = (DPMeans(target_k=5, metric="kl").fit(Z) for Z in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert dense.cost_ == pytest.approx(sparse.cost_, rel=1e-9)
    np.testing.assert_allclose(dense.transform(X), sparse.transform(sp.csr_array(X)), rtol=1e-6, atol=1e-6)
    assert normalized_mutual_info_score(truth, dense.labels_) > 0.99


def test_float32_columns_in_other_order_and_the_reference_engine_agree(rng):
    X, _ = topics(rng)
    plain = DPMeans(lam=5000.0, metric="kl").fit(X)
    for other in (np.asfortranarray(X), X.astype(np.float32)):
        np.testing.assert_array_equal(plain.labels_, DPMeans(lam=5000.0, metric="kl").fit(other).labels_)
    reference = DPMeans(lam=5000.0, metric="kl", engine="reference").fit(X)
    np.testing.assert_array_equal(plain.labels_, reference.labels_)
    assert plain.cost_ == pytest.approx(reference.cost_, rel=1e-12)


def test_a_row_that_no_centre_can_explain_is_new(rng):
    X = np.array([[5.0, 0.0, 0.0], [7.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 8.0, 0.0]])
    model = DPMeans(lam=2.0, metric="kl").fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    odd = [[0.0, 0.0, 3.0], [6.0, 0.0, 0.1], [1.0, 9.0, 0.0]]
    assert np.isinf(model.transform(odd)[0]).all()
    assert model.predict(odd, allow_new=True).tolist() == [-1, -1, -1]
    # Without new clusters: the centre in whose empty columns the row has least.
    assert model.predict(odd).tolist() == [0, 0, 1]
    assert model.confidence(odd).tolist() == [0.0, 0.0, 0.0]


def test_a_saved_model_predicts_the_same(rng, tmp_path):
    X, _ = topics(rng)
    model = DPMeans(target_k=5, metric="kl").fit(X)
    model.save(tmp_path / "model.kfree")
    again = load(tmp_path / "model.kfree")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "lam='auto' is not allowed; give a number, or target_k, with metric='kl'"),
        ({"lam": 1.0, "engine": "gpu"}, "engine='gpu' is not allowed; give one of 'auto', 'native', 'reference' with"),
        ({"lam": 1.0, "engine": "dask"}, "engine='dask' is not allowed; give one of 'auto', 'native', 'reference'"),
        ({"lam": 1.0, "search": "summary"}, "search='summary' is not allowed; give 'auto', 'split-merge' or 'sweep'"),
        ({"lam": 1.0, "init": [[-1.0, 0.0, 0.0]]}, r"init\[0, 0\] = -1 \(row 0\), and metric='kl' takes finite"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(parameters, said, rng):
    with pytest.raises(ValueError, match=said):
        DPMeans(metric="kl", **parameters).fit(rows("kl", rng, n=20))


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e9])
@pytest.mark.parametrize("metric", ["kl", "itakura-saito"])
def test_the_unit_of_the_columns_does_not_matter(metric, unit, rng):
    """Only ratios count for spectra; the divergence of counts has the unit of the columns."""
    X, _ = topics(rng, d=10, n=300) if metric == "kl" else spectra(rng)
    lam, cost_unit = (60.0, unit) if metric == "kl" else (15.0, 1.0)
    model = DPMeans(lam=lam, metric=metric).fit(X)
    scaled = DPMeans(lam=lam * cost_unit, metric=metric).fit(X * unit)
    assert model.n_clusters_ > 4
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    assert scaled.cost_ == pytest.approx(model.cost_ * cost_unit, rel=1e-9)


def spectra(rng, k=6, d=5, n=300):
    truth = rng.integers(k, size=n)
    return rng.gamma(3.0, size=(n, d)) * np.exp(1.5 * rng.normal(size=(k, d)))[truth], truth


def test_spectra_with_a_tiny_floor(rng):
    """A value of 1e-25 among ones is far, and not infinitely far."""
    X, _ = spectra(rng)
    X[:3, 0] = 1e-25
    model = DPMeans(lam=40.0, metric="itakura-saito").fit(X)
    assert np.isfinite(model.cost_)
    assert set(model.labels_[:3]) & set(model.labels_[3:]) == set()


def test_rows_that_do_not_fit_in_memory_are_refused_by_name(rng):
    X = rng.poisson(2.0, size=(200_000, 2)).astype(float)
    with pytest.raises(ValueError, match="metric='kl' is not allowed; give 'euclidean' or 'cosine'; 'kl'"):
        DPMeans(lam=1e9, metric="kl", memory="20MB").fit(X)


@pytest.mark.parametrize("metric", ["itakura-saito", "logistic"])
def test_sparse_rows_are_for_counts(metric, rng):
    with pytest.raises(ValueError, match=f"metric='{metric}' takes dense rows; give X.toarray"):
        DPMeans(lam=1.0, metric=metric).fit(sp.csr_array(rows(metric, rng, n=20)))


def test_values_outside_the_domain_are_named_also_when_predicting(rng):
    X = rows("kl", rng, n=20)
    model = DPMeans(lam=5.0, metric="kl").fit(X)
    X[3, 1] = -2.0
    for act in (model.predict, model.transform, DPMeans(lam=5.0, metric="kl").fit):
        with pytest.raises(ValueError, match=r"X\[3, 1\] = -2 \(row 3\), and metric='kl' takes finite numbers ≥ 0"):
            act(X)


@pytest.mark.parametrize("metric", METRICS)
def test_too_few_distinct_rows_cost_what_the_penalty_says(metric):
    X = np.repeat([[0.2, 0.6], [0.6, 0.2]], 10, axis=0)
    with pytest.warns(UserWarning, match="found 2 clusters at .* not target_k=3"):
        model = DPMeans(target_k=3, metric=metric).fit(X)
    assert model.cost_ == model.cost_history_[-1] == pytest.approx(2 * model.lam_)
    assert model.certainty() == "2 clusters, not 3 as asked for"
