"""Published online algorithms against a literal transcription of the paper, in any chunking, limited and forgetting."""

import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from common import INSTRUCTION_SETS, blobs
from oracles.online import merge_dp_means, online_dp_means
from sklearn.base import clone

import kfree
from kfree.search import events as _events

# Most streams here reach their limit, which a test of its own is about.
pytestmark = pytest.mark.filterwarnings("ignore:max_clusters=.* was reached")

OnlineDPMeans = partial(kfree.OnlineDPMeans, search="published")

ENGINES = ["native", "reference"]
SETTINGS = {
    "online": {"split": False},
    "split": {},
    "limited": {"max_clusters": 9},
    "limited, online": {"max_clusters": 5, "split": False},
    "one only": {"max_clusters": 1},
    "forgetting": {"half_life": 20.5},
    "forgetting, online": {"half_life": 12, "split": False},
    "both": {"max_clusters": 7, "half_life": 40},
}
LAMS = [0.05, 2.0, 60.0]


def rows_and_weights(seed, n=120):
    """Gaussian rows, every second time on a grid, so that ties are many; every second time with weights, zeros too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, seed % 6 + 1)) * rng.choice([1.0, 3.0])
    X = np.round(X) if seed % 2 else X
    return X, rng.choice([0.0, 0.5, 1.0, 3.0], size=n) if seed % 4 > 1 else None


def chunks(X, weight, rng, most=40):
    begin = 0
    while begin < X.shape[0]:
        end = begin + int(rng.integers(1, most + 1))
        yield X[begin:end], None if weight is None else weight[begin:end]
        begin = end


def streamed(model, X, weight, rng, most=40):
    """The model after all chunks, and the id that each row joined."""
    joined = []
    for chunk, w in chunks(X, weight, rng, most):
        joined.extend(model.partial_fit(chunk, sample_weight=w).joined_ids_.tolist())
        assert len(model.labels_) == chunk.shape[0]
    return model, joined


def anchored(X, weight):
    return X - X[0 if weight is None else np.flatnonzero(weight)[0]]


def same_bits(a, b):
    assert a.cluster_centers_.tobytes() == b.cluster_centers_.tobytes()
    assert a.weights_.tobytes() == b.weights_.tobytes()
    assert a.events_.tobytes() == b.events_.tobytes()
    assert (a.lam_, a.n_rows_seen_, a.cluster_ids_.tolist()) == (b.lam_, b.n_rows_seen_, b.cluster_ids_.tolist())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("split", [True, False], ids=["split", "online"])
@pytest.mark.parametrize("seed", range(6))
def test_the_papers_algorithms_bit_for_bit(seed, split, lam, engine, rng):
    X, weight = rows_and_weights(seed)
    clusters, expected, _ = online_dp_means(anchored(X, weight), lam, weight, split)
    model, joined = streamed(OnlineDPMeans(lam=lam, split=split, engine=engine), X, weight, rng)
    assert joined == expected
    assert model.cluster_ids_.tolist() == [c.name for c in clusters]
    np.testing.assert_array_equal(model._model_.centres, [c.mean for c in clusters])
    np.testing.assert_array_equal(model.weights_, [c.w for c in clusters])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lam", LAMS[1:])
@pytest.mark.parametrize("settings", list(SETTINGS)[2:])
@pytest.mark.parametrize("seed", [4, 6])
def test_limit_and_forgetting_against_plain_python(seed, settings, lam, engine, rng):
    """Here the oracle's arithmetic is another one, so decisions must not hang on the last bit: no grid."""
    X, weight = rows_and_weights(seed, n=80)
    clusters, expected, penalty = online_dp_means(anchored(X, weight), lam, weight, **SETTINGS[settings])
    model, joined = streamed(OnlineDPMeans(lam=lam, engine=engine, **SETTINGS[settings]), X, weight, rng)
    assert model.lam_ == penalty
    assert joined == expected
    np.testing.assert_allclose(model._model_.centres, [c.mean for c in clusters], atol=1e-9)
    np.testing.assert_allclose(model.weights_, [c.w for c in clusters])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("seed", range(4))
def test_merging_against_equation_10(seed, lam, engine):
    X, weight = rows_and_weights(seed, n=60)
    model = OnlineDPMeans(lam=lam / 4, engine=engine).partial_fit(X, sample_weight=weight)
    centres, weights, ids = model.cluster_centers_, model.weights_, model.cluster_ids_
    expected, group = merge_dp_means(centres, weights, lam / 4)
    before = model.n_events_
    model.merge()
    np.testing.assert_allclose(model.cluster_centers_, expected, atol=1e-12)
    assert model.cluster_ids_.tolist() == ids[sorted(set(group))].tolist()
    assert model.weights_.sum() == pytest.approx(weights.sum())
    events = model.events_[before:]
    assert len(events) == len(ids) - len(expected)
    assert set(events["kind"]) <= {"merge"}


@pytest.mark.parametrize("settings", SETTINGS)
def test_chunks_engines_and_instruction_sets_give_the_same_bits(settings, rng, monkeypatch):
    """Enough clusters for the compiled code to look ahead, and blobs for it to be fooled by what has moved since."""
    X, weight = blobs(rng, n=500, d=3, k=150, spread=4.0)[0].astype(np.float32), rng.integers(0, 4, size=500)
    whole = OnlineDPMeans(lam=1.0, **SETTINGS[settings]).partial_fit(X, sample_weight=weight)
    ids = whole.joined_ids_.tolist()
    single_rows = [(isa, 1) for isa in sorted({INSTRUCTION_SETS[0], INSTRUCTION_SETS[-1]})]
    for isa, most in [*single_rows, *((isa, 200) for isa in INSTRUCTION_SETS)]:
        monkeypatch.setenv("KFREE_ISA", isa)
        model, joined = streamed(clone(whole), X, weight, rng, most)
        same_bits(model, whole)
        assert joined == ids
    twin, joined = streamed(clone(whole).set_params(engine="reference"), X, weight, rng)
    same_bits(twin, whole)
    assert joined == ids
    same_bits(twin.merge(), whole.merge())


def test_a_tie_with_a_site_that_has_just_moved_goes_to_the_first_born():
    pairs = 100.0 * np.arange(60)[:, None]
    births = pairs + np.array([0.0, 3.0])
    visits = pairs + np.array([1.0, 1.75])  # the first moves 0 to 0.5, which is as near to 1.75 as 3 is
    model = OnlineDPMeans(lam=4.0, split=False).partial_fit(np.concatenate([births.ravel(), visits.ravel()])[:, None])
    assert model.joined_ids_.tolist() == [*range(120), *np.repeat(np.arange(0, 120, 2), 2)]


def test_a_row_goes_to_a_site_that_is_nearer_than_one_that_has_just_moved_away():
    """So many columns that sites are ranked ahead, not searched in trees."""
    pairs = 1000.0 * np.arange(60)[:, None]
    births = pairs + np.array([0.0, 30.0])
    visits = pairs + np.array([-18.0, 14.0])  # the first moves 0 to −9, which is farther from 14 than 30 is
    X = np.zeros((240, 9))
    X[:, 0] = np.concatenate([births.ravel(), visits.ravel()])
    model = OnlineDPMeans(lam=400.0, split=False).partial_fit(X)
    assert model.joined_ids_.tolist() == [*range(120), *range(120)]


@pytest.mark.parametrize("as_rows", [np.asfortranarray, sp.csr_array, sp.csc_array, np.ndarray.tolist], ids=str)
def test_containers_give_the_same_bits(as_rows, rng):
    X, _ = blobs(rng)
    X[rng.random(X.shape) < 0.3] = 0
    X.flags.writeable = False
    for settings in ({"order": "given"}, {"order": "random", "random_state": 3}):
        plain, model = (OnlineDPMeans(lam=9.0, **settings).fit(rows) for rows in (X, as_rows(X)))
        same_bits(model, plain)
        np.testing.assert_array_equal(model.joined_ids_, plain.joined_ids_)
        np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_a_random_order_is_that_of_permuted_rows(rng):
    X, weight = blobs(rng)[0], rng.integers(0, 3, size=300)
    order = np.random.RandomState(5).permutation(300)
    model = OnlineDPMeans(lam=9.0, order="random", random_state=5).fit(X, sample_weight=weight)
    other = OnlineDPMeans(lam=9.0).fit(X[order], sample_weight=weight[order])
    same_bits(model, other)
    np.testing.assert_array_equal(model.labels_[order], other.labels_)
    np.testing.assert_array_equal(model.joined_ids_[order], other.joined_ids_)


@pytest.mark.parametrize("split", [True, False])
def test_fit_is_one_pass_then_merge_then_labels(split, rng):
    X, _ = blobs(rng, n=400)
    weight = rng.exponential(size=400)
    model = OnlineDPMeans(lam=4.0, split=split).fit(X, sample_weight=weight)
    parts = OnlineDPMeans(lam=4.0, split=split).partial_fit(X[:150], sample_weight=weight[:150])
    parts.partial_fit(X[150:], sample_weight=weight[150:])
    same_bits(model, parts.merge() if split else parts)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.score(X, sample_weight=weight) == -model.cost_
    assert model.cost_ == pytest.approx(model.inertia_ + 4.0 * model.n_clusters_)
    assert model.transform(X).shape == (400, model.n_clusters_)
    assert model.transform(X).argmin(axis=1).tolist() == model.labels_.tolist()
    model.partial_fit(X[:2])
    assert not hasattr(model, "cost_")
    assert not hasattr(model, "inertia_")
    assert model.fit(X).n_rows_seen_ == 400


def test_splitting_finds_what_online_dp_means_cannot():
    """Lemmas 1 and 2 of the paper: many rows within √lam of each other are one cluster to Algorithm 2, whatever it
    costs."""
    X = np.tile([[-1.0, 0.0], [1.0, 0.0]], (1000, 1))
    online = OnlineDPMeans(lam=100.0, split=False).fit(X)
    assert (online.n_clusters_, online.cost_) == (1, 2100.0)
    assert OnlineDPMeans(lam=100.0).fit(X).cost_ < 700
    few = OnlineDPMeans(lam=100.0).fit(X[:20])
    assert (few.n_clusters_, few.cost_) == (1, 120.0)


def replayed(events):
    """The ids alive after all events, each of which must make sense."""
    alive = set()
    for _, kind, name, other in events.tolist():
        newborn = {"birth": name, "split": other}.get(kind)
        leaving = {"merge": other, "death": name}.get(kind)
        assert newborn not in alive
        alive |= {newborn} - {None}
        assert {name} <= alive
        alive -= {leaving}
    return sorted(alive)


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_log_tells_everything(settings, rng):
    X = rng.normal(size=(600, 2)) + np.linspace(0, 30, 600)[:, None]
    model = OnlineDPMeans(lam=0.5, **SETTINGS[settings]).partial_fit(X).merge()
    events = model.events_
    assert model.n_events_ == len(events)
    assert replayed(events[events["kind"] != "penalty"]) == model.cluster_ids_.tolist()
    assert (np.diff(events["row"]) >= 0).all()
    assert model.lam_ == 0.5 * 2.0 ** (events["kind"] == "penalty").sum()
    assert model.n_clusters_ <= SETTINGS[settings].get("max_clusters", np.inf)
    if "half_life" not in SETTINGS[settings]:
        assert model.weights_.sum() == pytest.approx(600)


def test_the_log_is_bounded(monkeypatch):
    monkeypatch.setattr(_events, "KEPT", 10)
    model = OnlineDPMeans(lam=0.5)
    for x in range(57):
        model.partial_fit([[float(x)]])
    assert model.events_["id"].tolist() == list(range(47, 57))
    assert model.n_events_ == 57
    assert set(model.events_["kind"]) == {"birth"}


def test_labels_follow_merges_and_deaths():
    model = OnlineDPMeans(lam=1.0, max_clusters=2, split=False).partial_fit([[0.0], [2.0], [100.0], [101.0]])
    assert model.joined_ids_.tolist() == [0, 1, 2, 2]
    assert model.cluster_ids_.tolist() == [0, 2]
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.lam_ == 4.0
    model = OnlineDPMeans(lam=1.0, half_life=1).partial_fit([[9.0]] + [[0.0]] * 12)
    assert model.labels_.tolist() == [-1] + [0] * 12
    assert model.events_["kind"].tolist() == ["birth", "birth", "death"]
    assert model.events_["row"].tolist() == [0, 1, 11]
    model = OnlineDPMeans(lam=9.0, split=False).partial_fit([[0.0], [3.5], [1.5], [20.0]])
    assert model.labels_.tolist() == [0, 1, 0, 2]
    assert model.merge().labels_.tolist() == [0, 0, 0, 1]


def test_a_loaded_stream_is_merged(tmp_path):
    """It does not know its rows."""
    model = OnlineDPMeans(lam=9.0, split=False).partial_fit([[0.0], [3.5], [1.5], [20.0]])
    model.save(tmp_path / "model")
    loaded = kfree.load(tmp_path / "model").merge()
    assert loaded.events_.tolist() == model.merge().events_.tolist()
    assert loaded.labels_.tolist() == model.labels_.tolist() == [0, 0, 0, 1]


def test_forgetting_weighs_rows_by_age(rng):
    X, weight, half_life = rng.normal(size=(100, 3)), rng.exponential(size=100), 7.3
    model = OnlineDPMeans(lam=1e9, half_life=half_life).partial_fit(X, sample_weight=weight)
    aged = weight * 2.0 ** (-np.arange(99, -1, -1) / half_life)
    assert model.weights_ == pytest.approx(aged.sum(), rel=1e-12)
    np.testing.assert_allclose(model.cluster_centers_[0], np.average(X, axis=0, weights=aged), rtol=1e-10)


def test_a_limit_that_was_reached_is_told_once():
    model, X = OnlineDPMeans(lam=1.0, max_clusters=2, split=False), [[0.0], [2.0], [100.0]]
    assert_tells_once(model, X, r"max_clusters=2 was reached: the penalty of this stream was raised from 1 to 4.*Raise")


def assert_tells_once(model, X, match):
    """In the chunk that reaches the limit, not in those after it, and again in a new stream."""
    with pytest.warns(UserWarning, match=match):
        model.partial_fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X)
    with pytest.warns(UserWarning, match=match):
        model.fit(X)


def test_outlier_scores_of_many_clusters_take_little_memory(rng):
    """Distances of the 4,000 sampled rows to 8,000 clusters would be 256 MB."""
    X = rng.uniform(size=(8000, 2))
    model = OnlineDPMeans(lam=1e-30).fit(X)
    assert model.n_clusters_ == len(X)
    tracemalloc.start()
    scores = model.outlier_score(X[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.shape == (5,)
    assert peak < 100e6
