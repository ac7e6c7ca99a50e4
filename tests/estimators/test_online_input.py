"""What a stream is given: odd chunks, bad chunks, interruptions; and that it can be copied, stored and gone on with."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from test_online import same_bits
from test_process import run

import kfree

# Most streams here reach their limit, which a test of its own is about.
pytestmark = pytest.mark.filterwarnings("ignore:max_clusters=.* was reached")

OnlineDPMeans = partial(kfree.OnlineDPMeans, search="published")
BAD_CHUNKS = {
    "other columns": ((np.zeros((2, 4)),), "X has 4 features, but OnlineDPMeans is expecting 3 features"),
    "other columns, no rows": ((np.zeros((0, 4)),), "X has 4 features, but OnlineDPMeans is expecting 3 features"),
    "NaN": (([[1.0, np.nan, 0.0]],), r"1 NaN or inf value\(s\)"),
    "negative weight": ((np.zeros((2, 3)), None, [1, -1]), "1 negative value"),
    "too many weights": ((np.zeros((2, 3)), None, [1, 1, 1]), "3 values for 2 rows"),
    "values too large": (([[1e308, 0.0, 0.0]],), "differences between values of X overflow float64"),
}


@pytest.mark.parametrize("bad", BAD_CHUNKS)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_bad_chunk_changes_nothing(bad, engine, rng):
    X, _ = blobs(rng)
    model, other = (OnlineDPMeans(lam=4.0, engine=engine).partial_fit(X[:100]) for _ in range(2))
    arguments, message = BAD_CHUNKS[bad]
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*arguments)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    same_bits(model.partial_fit(X[100:]), other.partial_fit(X[100:]))


BAD_PARAMETERS = [
    ({"lam": 0.0}, "lam=0.0 is not allowed; give a finite number > 0"),
    ({"lam": "auto"}, "lam='auto' is not allowed; .*search='micro-clusters'; .*fit.sample..lam_ times"),
    ({"search": "birch"}, "search='birch' is not allowed; give one of 'micro-clusters', 'published'"),
    ({"n_micro": 9}, "n_micro=9 is not allowed; give a whole number ≥ 10"),
    ({"split": "yes"}, "split='yes' is not allowed; give True or False"),
    ({"max_clusters": 0}, "max_clusters=0 is not allowed"),
    ({"half_life": 0.5}, "half_life=0.5 is not allowed; give a finite number of rows ≥ 1 or None"),
    ({"half_life": np.inf}, "half_life=inf is not allowed"),
    ({"order": "shuffled"}, "order='shuffled' is not allowed"),
    ({"engine": "gpu"}, "give one of 'auto', 'native', 'reference'"),
    ({"n_threads": 0}, "n_threads=0 is not allowed"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    model = OnlineDPMeans(**({"lam": 1.0} | parameters))
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn([[1.0], [2.0]])


def test_settings_may_not_change_in_midstream():
    model = OnlineDPMeans(lam=1.0).partial_fit([[0.0]]).set_params(lam=2.0)
    for go_on in (lambda: model.partial_fit([[1.0]]), model.merge):
        with pytest.raises(ValueError, match="lam=2.0 is not allowed; give 1.0, the value at the start of this stream"):
            go_on()
    assert model.fit([[0.0]]).partial_fit([[5.0]]).lam_ == 2.0


UNBEGUN = {
    "predict": lambda model: model.predict([[1.0]]),
    "transform": lambda model: model.transform([[1.0]]),
    "score": lambda model: model.score([[1.0]]),
    "merge": lambda model: model.merge(),
    "centres": lambda model: model.cluster_centers_,
    "events": lambda model: model.events_,
}


@pytest.mark.parametrize("use", UNBEGUN)
def test_a_stream_that_has_not_begun(use):
    with pytest.raises(NotFittedError):
        UNBEGUN[use](OnlineDPMeans(lam=1.0))


@pytest.mark.parametrize("nothing", [np.empty((0, 3)), [], sp.csr_array((0, 3))], ids=["array", "list", "CSR"])
def test_an_empty_chunk(nothing, rng):
    X, _ = blobs(rng)
    plain = OnlineDPMeans(lam=4.0).partial_fit(X)
    model = OnlineDPMeans(lam=4.0).partial_fit(nothing)
    assert not hasattr(model, "labels_")
    model.partial_fit(X).partial_fit(nothing)
    assert len(model.labels_) == len(model.joined_ids_) == 0
    same_bits(model, plain)
    with pytest.raises(ValueError, match=r"0 sample\(s\)|1D array"):
        model.fit(nothing)


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, -3e300])
@pytest.mark.parametrize("settings", [{}, {"split": False}, {"half_life": 2}, {"max_clusters": 1}], ids=str)
def test_a_stream_of_identical_rows(value, settings):
    model = OnlineDPMeans(lam=1e-6, **settings)
    for _ in range(20):
        model.partial_fit(np.full((50, 2), value), sample_weight=np.linspace(0.1, 5, 50))
    assert model.n_clusters_ == 1
    assert model.cluster_centers_.tolist() == [[value, value]]
    assert model.lam_ == 1e-6


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_distances_that_overflow(engine, tmp_path):
    X = [[1e200], [-1e200], [0.0], [5e199]]
    with np.errstate(over="ignore"):
        assert OnlineDPMeans(lam=30.0, engine=engine).fit(X).n_clusters_ == 4  # infinitely far is farther than lam
        limited = OnlineDPMeans(lam=30.0, max_clusters=2, engine=engine).fit(X)
    assert limited.n_clusters_ == 2
    assert np.isfinite(limited.cluster_centers_).all()
    # The penalty doubles while rows are too far, and remains a number: a stream without one cannot be read back.
    assert np.isfinite(limited.lam_)
    if engine == "native":
        limited.save(tmp_path / "stream")
        same_bits(kfree.load(tmp_path / "stream"), limited)


def test_a_large_offset_changes_nothing(rng):
    X = np.round(blobs(rng)[0] * 64) / 64
    plain, far = OnlineDPMeans(lam=4.0).fit(X), OnlineDPMeans(lam=4.0).fit(X + 2.0**30)
    np.testing.assert_array_equal(far.labels_, plain.labels_)
    np.testing.assert_array_equal(far.joined_ids_, plain.joined_ids_)
    assert far.cost_ == plain.cost_


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("half_life", [None, 30])
def test_rows_of_no_weight_leave_no_trace(engine, half_life, rng):
    X, _ = blobs(rng)
    weight = np.where(np.arange(300) < 20, 0, rng.integers(0, 3, size=300))
    begin = OnlineDPMeans(lam=4.0, half_life=half_life, engine=engine)
    model = clone(begin).partial_fit(X[:10], sample_weight=weight[:10])
    assert (model.n_clusters_, model.n_rows_seen_, model.labels_.tolist()) == (0, 10, [-1] * 10)
    with pytest.raises(ValueError, match="no row of positive weight was given yet"):
        model.predict(X)
    model.partial_fit(X[10:], sample_weight=weight[10:])
    counted = clone(begin).partial_fit(X[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(model.joined_ids_[weight[10:] > 0], counted.joined_ids_)
    np.testing.assert_array_equal(model.cluster_centers_, counted.cluster_centers_)
    np.testing.assert_array_equal(model.weights_, counted.weights_)
    with pytest.raises(ValueError, match="all values of sample_weight are zero"):
        model.fit(X[:10], sample_weight=weight[:10])


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_stream_can_be_copied_and_stored(engine, rng):
    X, _ = blobs(rng)
    model = OnlineDPMeans(lam=4.0, max_clusters=12, half_life=50, engine=engine).partial_fit(X[:150])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    model.partial_fit(X[150:])
    for other in copies:
        assert other.n_rows_seen_ == 150
        same_bits(other.partial_fit(X[150:]), model)
    assert not hasattr(clone(model), "labels_")


def test_ctrl_c_leaves_the_stream_as_it_was():
    run(
        """
        import copy, signal
        import numpy as np
        from kfree import OnlineDPMeans
        X = np.random.default_rng(0).normal(size=(80_000, 32))
        model = OnlineDPMeans(lam=1e-3, search="published", split=False).partial_fit(X[:2000])
        before = copy.deepcopy(model)
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            model.partial_fit(X)
            raise SystemExit("the chunk was not interrupted")
        except KeyboardInterrupt:
            pass
        assert model.n_rows_seen_ == 2000 and model.n_events_ == before.n_events_
        model.partial_fit(X[:3000]), before.partial_fit(X[:3000])
        assert model.cluster_centers_.tobytes() == before.cluster_centers_.tobytes()
        """
    )
