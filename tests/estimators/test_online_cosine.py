"""Streams of directions: with room for all rows they are DPMeans under cosine; lengths of rows have no effect."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from test_online import same_bits, streamed

import kfree
from kfree import DPMeans, OnlineDPMeans


def directions(rng, n=1200, d=12, k=5, noise=0.12):
    """Rows of any length around k directions, and which."""
    centres = rng.normal(size=(k, d))
    y = rng.integers(k, size=n)
    unit = centres[y] / np.linalg.norm(centres[y], axis=1, keepdims=True) + noise * rng.normal(size=(n, d))
    return unit * rng.lognormal(size=(n, 1)), y


def test_micro_clusters_of_one_row_each_are_searched_as_dp_means_does(rng):
    X, _ = directions(rng, n=600)
    stream, batch = (model(lam=20.0, metric="cosine") for model in (OnlineDPMeans, DPMeans))
    stream.set_params(n_micro=600).fit(X)
    batch.fit(X)
    assert stream.n_clusters_ == batch.n_clusters_
    assert stream.cost_ == pytest.approx(batch.cost_, rel=1e-9)
    assert adjusted_rand_score(stream.labels_, batch.labels_) == 1
    np.testing.assert_allclose(np.linalg.norm(stream.cluster_centers_, axis=1), 1.0)


@pytest.mark.parametrize("lam", ["auto", 30.0])
def test_few_micro_clusters_find_the_directions(lam, rng):
    X, y = directions(rng, n=4000)
    stream = OnlineDPMeans(lam=lam, metric="cosine", n_micro=100)
    for chunk in np.array_split(X, 7):
        stream.partial_fit(chunk)
    assert stream.n_clusters_ == 5
    assert adjusted_rand_score(y, stream.predict(X)) > 0.99
    assert stream.weights_.sum() == pytest.approx(4000)
    best = DPMeans(lam=stream.lam_, metric="cosine").fit(X)
    assert -stream.score(X) <= 1.02 * best.cost_
    assert OnlineDPMeans(lam=30.0).fit(X).n_clusters_ != 5  # lengths differ by a factor of ten


def test_a_sum_of_unit_vectors_stands_for_them_exactly(rng):
    """The clusters of micro-clusters are at the directions of the sums of all their rows."""
    X, _ = directions(rng, n=900, noise=0.4)
    weight = rng.uniform(0.5, 2, size=900)
    stream = OnlineDPMeans(lam=40.0, metric="cosine", n_micro=60).partial_fit(X, sample_weight=weight)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for label, centre in enumerate(stream.cluster_centers_):
        own = stream.labels_ == label
        total = (weight[own, None] * unit[own]).sum(axis=0)
        np.testing.assert_allclose(centre, total / np.linalg.norm(total), atol=1e-12)
        assert stream.weights_[label] == pytest.approx(weight[own].sum())


@pytest.mark.parametrize("settings", [{"n_micro": 80}, {"half_life": 300, "n_micro": 60}], ids=str)
def test_chunks_lengths_and_sparsity_leave_no_trace(settings, rng):
    X, _ = directions(rng)
    X = np.where(np.abs(X) < 0.2 * np.linalg.norm(X, axis=1, keepdims=True), 0.0, X)
    whole = OnlineDPMeans(lam=25.0, metric="cosine", **settings).partial_fit(X)
    model, _ = streamed(OnlineDPMeans(lam=25.0, metric="cosine", **settings), X, None, rng, 400)
    same_bits(model, whole)
    same_bits(OnlineDPMeans(lam=25.0, metric="cosine", **settings).partial_fit(sp.csr_array(X)), whole)
    powers_of_two = X * 2.0 ** rng.integers(-3, 4, size=(len(X), 1))
    same_bits(OnlineDPMeans(lam=25.0, metric="cosine", **settings).partial_fit(powers_of_two), whole)


def test_rows_of_other_directions_are_new(rng):
    X, _ = directions(rng, n=3000)
    stream = OnlineDPMeans(metric="cosine").fit(X)
    assert (stream.predict(X, allow_new=True) < 0).mean() < 0.01
    assert (stream.predict(-X[:50], allow_new=True) < 0).all()


def test_a_stream_from_a_file_goes_on(rng, tmp_path):
    X, _ = directions(rng)
    stream = OnlineDPMeans(lam=25.0, metric="cosine", n_micro=80).partial_fit(X[:700])
    stream.save(tmp_path / "s.kfree")
    again = kfree.load(tmp_path / "s.kfree")
    same_bits(again.partial_fit(X[700:]), stream.partial_fit(X[700:]))


def test_rows_that_cancel_out_belong_anywhere():
    stream = OnlineDPMeans(lam=1e9, metric="cosine").partial_fit([[1.0, 0.0], [-1.0, 0.0]])
    assert (stream.n_clusters_, stream.weights_.tolist()) == (1, [2.0])
    assert np.linalg.norm(stream.cluster_centers_) == 1


def test_bad_input():
    stream = OnlineDPMeans(lam=1.0, metric="cosine").partial_fit([[1.0, 0.0]])
    for X in ([[1.0, 2.0], [0.0, 0.0]], sp.csr_array([[1.0, 2.0], [0.0, 0.0]])):
        with pytest.raises(ValueError, match="1 all-zero row.*the first is row 1"):
            stream.partial_fit(X)
    with pytest.raises(ValueError, match="the length of a row of X overflows float64. Divide X"):
        stream.partial_fit(np.full((1, 2), 1.7e308))
    assert stream.n_rows_seen_ == 1
    with pytest.raises(ValueError, match="metric='cosine' is not allowed; give 'euclidean' with search='published'"):
        OnlineDPMeans(lam=1.0, metric="cosine", search="published").fit([[1.0, 0.0]])
    with pytest.raises(ValueError, match="metric='euclidean' is not allowed; give 'cosine', the value at the start"):
        stream.set_params(metric="euclidean").partial_fit([[1.0, 0.0]])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_summary_without_rows_is_that_of_the_rows_seen(metric, rng):
    X, _ = directions(rng, n=3000)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    stream = OnlineDPMeans(metric=metric)
    for chunk in np.array_split(X, 3):
        stream.partial_fit(chunk)
    found, known = stream.summary(), stream.summary(X)  # all rows are in the sample
    for short, full in zip(found.clusters, known.clusters, strict=True):
        assert (short.label, short.size, short.nearest, short.exemplars) == (full.label, full.size, full.nearest, ())
        assert short.spread == pytest.approx(full.spread)
        assert [feature.name for feature in short.features] == [feature.name for feature in full.features]
        np.testing.assert_allclose([f.effect for f in short.features], [f.effect for f in full.features])
    assert found.n_rows == 3000
    assert "by a sample of 3000" in str(found)
    assert ("exemplars" in str(found), "exemplars" in str(known)) == (False, True)
    assert "exemplars" not in found.to_frame()


def test_a_summary_without_rows_counts_all_rows_and_forgets(rng):
    X, _ = directions(rng, n=9000, d=3, k=2)
    stream = OnlineDPMeans(lam=200.0, metric="cosine", half_life=1000).partial_fit(X)
    found = stream.summary(feature_names=["a", "b", "c"])
    assert found.n_rows == round(stream.weights_.sum()) < 2000
    assert [cluster.size for cluster in found.clusters] == np.rint(stream.weights_).tolist()
    assert sum(cluster.share for cluster in found.clusters) == pytest.approx(1)
    assert {feature.name for feature in found.clusters[0].features} == {"a", "b", "c"}
