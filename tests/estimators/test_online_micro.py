"""Streams kept as micro-clusters: as good as DPMeans, the same in any chunking, with ids and events that make sense."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from common import blobs
from sklearn.base import clone
from test_online import replayed, same_bits, streamed

from kfree import DPMeans, OnlineDPMeans
from kfree.search.micro_stream import Clusters

# Most streams here reach their limit, which a test of its own is about.
pytestmark = pytest.mark.filterwarnings("ignore:max_clusters=.* was reached")


def gaussians(rng, n=6000, d=4, k=9):
    return blobs(rng, n=n, d=d, k=k, spread=8.0)[0]


def appearing(rng, n=6000):
    """Two clusters; a third comes half-way."""
    X = rng.normal(size=(n, 2)) + 15.0 * rng.integers(0, 2, size=(n, 1))
    late = (np.arange(n) > n // 2) & (rng.random(n) < 0.3)
    return np.where(late[:, None], X + np.array([0.0, 40.0]), X)


def drifting(rng, n=6000):
    """Three clusters that move by some ten standard deviations."""
    centres = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, 2)) + np.linspace(0, 10, n)[:, None] * [1.0, 0.0]


STREAMS = {"gaussians": gaussians, "appearing": appearing, "drifting": drifting}


@pytest.mark.parametrize("lam", [300.0, "auto"])
@pytest.mark.parametrize("stream", STREAMS)
def test_cost_and_number_are_near_those_of_dp_means(stream, lam, rng):
    X = STREAMS[stream](rng)
    model = OnlineDPMeans(lam=lam).partial_fit(X[:1000]).partial_fit(X[1000:])
    best = DPMeans(lam=model.lam_).fit(X)
    assert -model.score(X) <= 1.1 * best.cost_
    assert model.n_clusters_ <= 1.3 * best.n_clusters_
    assert set(model.predict(X)) == set(range(model.n_clusters_))  # every centre owns rows


def test_a_penalty_that_the_published_algorithm_turns_into_many_clusters(rng):
    X = gaussians(rng, n=20_000, d=10, k=12)
    published = OnlineDPMeans(lam=3000.0, search="published").fit(X)
    assert published.n_clusters_ > 24
    assert OnlineDPMeans(lam=3000.0).fit(X).n_clusters_ == 12


SETTINGS = [
    {"n_micro": 200},
    {"half_life": 400, "n_micro": 100},
    {"max_clusters": 4, "n_micro": 60},
    {"n_micro": 30},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_any_chunking_gives_the_same_bits(settings, rng):
    X, weight = gaussians(rng, n=1500) * np.geomspace(0.1, 2, 1500)[:, None], rng.integers(0, 3, size=1500)
    whole = OnlineDPMeans(lam=500.0, **settings).partial_fit(X, sample_weight=weight)
    for most in (400, 1200):
        model, _ = streamed(clone(whole), X, weight, rng, most)
        same_bits(model, whole)
    assert (whole.labels_[weight > 0] >= 0).all()
    np.testing.assert_array_equal(np.append(whole.cluster_ids_, -1)[whole.labels_], whole.joined_ids_)


def test_the_engines_agree(rng):
    X = gaussians(rng, n=300)
    native, reference = (OnlineDPMeans(lam=200.0, n_micro=25, engine=e).partial_fit(X) for e in ("native", "reference"))
    same_bits(native, reference)


def test_micro_clusters_are_few_and_lose_no_weight(rng):
    X, weight = gaussians(rng), rng.exponential(size=6000)
    model = OnlineDPMeans(lam=1000.0, n_micro=50).partial_fit(X, sample_weight=weight)
    clusters = model._stream_.clusters
    assert len(clusters.micro_ids) <= 50
    assert model.weights_.sum() == pytest.approx(weight.sum())
    mean = np.average(model.cluster_centers_, axis=0, weights=model.weights_)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight))


def test_events_follow_ids(rng):
    X = appearing(rng, n=12_000)
    model = OnlineDPMeans(lam=500.0, half_life=1000)
    for chunk in np.array_split(X, 7):
        model.partial_fit(chunk)
    events = model.events_
    assert {"birth"} <= set(events["kind"]) <= {"birth", "split", "merge", "death"}
    late = events[(events["kind"] == "birth") & (events["row"] > 5000)]
    assert len(late) >= 1  # the third cluster
    assert (np.diff(events["row"]) >= 0).all()
    assert set(replayed(events)) == set(model._stream_._reviewed.ids.tolist())


def test_old_clusters_die_and_the_penalty_follows_what_is_remembered(rng):
    X = np.concatenate([rng.normal(size=(3000, 2)), rng.normal(size=(9000, 2)) + 50])
    model = OnlineDPMeans(half_life=500).partial_fit(X[:1500])
    for chunk in np.array_split(X[1500:], 4):
        model.partial_fit(chunk)
    assert model.n_clusters_ == 1
    np.testing.assert_allclose(model.cluster_centers_, [[50, 50]], atol=0.5)
    remembered = model.weights_.sum()
    assert remembered == pytest.approx(500 / np.log(2), rel=0.01)
    forgetful = OnlineDPMeans().partial_fit(X[:1500])
    assert model.lam_ / remembered == pytest.approx(forgetful.lam_ / 1500)


def test_the_automatic_penalty_is_that_of_the_first_chunk(rng):
    X = gaussians(rng)
    first = DPMeans().fit(X[:1000]).lam_
    model = OnlineDPMeans().partial_fit(X[:1000])
    assert model.lam_ == pytest.approx(first)
    assert model.partial_fit(X[1000:3000]).lam_ == pytest.approx(3 * first)
    with pytest.raises(ValueError, match="lam='auto' searches the first chunk, which has 99 row"):
        OnlineDPMeans().partial_fit(X[:99])


def test_the_largest_penalties_stay_as_they_are(rng):
    """From 2^1020 on they were a sixteenth of what was given, or less."""
    assert OnlineDPMeans(lam=1e308).fit(rng.normal(size=(50, 2))).lam_ == 1e308


def test_a_limit_doubles_the_penalty(rng):
    X = gaussians(rng)
    model = OnlineDPMeans(lam=100.0, max_clusters=3, n_micro=100).fit(X[:2000])
    assert model.n_clusters_ <= 3
    assert np.log2(model.lam_ / 100) == round(np.log2(model.lam_ / 100)) > 0


def test_fit_merge_copies_and_pickles(rng):
    X = gaussians(rng)
    model = OnlineDPMeans(lam=500.0, half_life=5000).fit(X)
    assert model.cost_ == pytest.approx(-model.score(X))
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert replayed(model.events_) == model.cluster_ids_.tolist()
    centres = model.cluster_centers_
    np.testing.assert_array_equal(model.merge().cluster_centers_, centres)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        same_bits(other.partial_fit(X[:500]), copy.deepcopy(model).partial_fit(X[:500]))


def test_a_micro_cluster_that_is_gone_has_no_cluster():
    ids = np.array([2, 5])
    clusters = Clusters(ids, np.zeros((2, 1)), np.ones(2), 1.0, np.array([2, 5, 9]), np.array([0, 1, 0]))
    assert clusters.of_micro(np.array([9, 5, 3, 12, -1, 2])).tolist() == [2, 5, -1, -1, -1, 2]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_weights_changes_nothing_with_an_automatic_penalty(unit, metric, rng):
    """Weights that add up to 1, say: micro-clusters held all rows where a row weighed a millionth of a cluster's."""
    X, weight = gaussians(rng, n=600) + 20.0, rng.integers(1, 5, size=600).astype(float)
    expected = OnlineDPMeans(metric=metric).fit(X, sample_weight=weight)
    model = OnlineDPMeans(metric=metric).fit(X, sample_weight=unit * weight)
    assert model.n_clusters_ == expected.n_clusters_ > 1
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.lam_ == unit * expected.lam_


def test_rows_of_no_weight_and_equal_rows():
    model = OnlineDPMeans(lam=1.0).partial_fit([[5.0]], sample_weight=[0.0])
    assert (model.n_clusters_, model.labels_.tolist(), model.joined_ids_.tolist()) == (0, [-1], [-1])
    model.partial_fit(np.full((2500, 1), 7.0))
    assert (model.n_clusters_, model.weights_.tolist(), set(model.labels_)) == (1, [2500.0], {0})


def test_a_limit_that_was_reached_is_told_once(rng):
    """Where the clusters of micro-clusters are searched for: when they are read, or at a review."""
    X = gaussians(rng)[:1000]
    model = OnlineDPMeans(lam=100.0, max_clusters=3, n_micro=100).partial_fit(X[:900])
    with pytest.warns(UserWarning, match=r"max_clusters=3 was reached: the penalty of this stream was raised from 100"):
        assert model.n_clusters_ <= 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.partial_fit(X[900:]).n_clusters_ <= 3
