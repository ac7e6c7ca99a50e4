"""confidence_ is the confidence of the rows of fit while these are in memory, and an AttributeError otherwise."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kfree
from kfree import DPMeans, GraphDPMeans, HardHDP, KMeans, OnlineDPMeans
from tests.explain.test_plot import ESTIMATORS

# Rows that predictions need are kept in memory by the model.
KEEP_ROWS = {"KernelDPMeans", "SpectralDPMeans"}
GONE = "no longer in memory. Use confidence"


@pytest.fixture
def X(rng):
    centres = np.array([[0.0, 0.0, 0.0], [15.0, 0.0, 0.0], [0.0, 15.0, 5.0]])
    return np.vstack([rng.normal(size=(n, 3)) + c for n, c in zip([30, 20, 25], centres, strict=True)])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_confidence_of_the_rows_of_fit(name, X):
    model = clone(ESTIMATORS[name]).fit(X)
    np.testing.assert_array_equal(model.confidence_, model.confidence(X))
    assert model.confidence_ is model.confidence_
    other = X[::-1].copy()
    model.fit(other)
    np.testing.assert_array_equal(model.confidence_, model.confidence(other))
    rows = other.copy()
    del other
    np.testing.assert_array_equal(model.confidence_, model.confidence(rows))  # was computed before
    again = clone(model).fit(rows.copy())
    if name not in KEEP_ROWS:
        with pytest.raises(AttributeError, match=GONE):
            again.confidence_  # noqa: B018


def test_it_is_the_margin_between_distances(X):
    model = KMeans(3, random_state=0).fit(X)
    nearest = np.sort(model.transform(X), axis=1)
    np.testing.assert_allclose(model.confidence_, 1 - nearest[:, 0] / nearest[:, 1])


def test_a_graph_keeps_its_nodes():
    model = GraphDPMeans(lam=-0.4).fit([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d")])
    np.testing.assert_array_equal(model.confidence_, model.confidence())


def test_frames_groups_and_rows_left_out(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = DPMeans(lam=150.0, noise=0.1).fit(frame)
    assert (model.labels_ < 0).any()
    np.testing.assert_array_equal(model.confidence_, model.confidence(frame))
    model = HardHDP(lam_local=30.0, lam_global=30.0).fit(X, groups=np.arange(75) % 3)
    assert model.confidence_.shape == (75,)
    further = X[:20] + 0.1
    model.partial_fit(further, groups=np.full(20, 7))
    assert model.confidence_.shape == (20,)


def test_rows_that_are_gone_or_changed(X, tmp_path):
    with pytest.raises(NotFittedError):
        DPMeans().confidence_  # noqa: B018
    model = DPMeans(lam=150.0).fit(X.tolist())
    with pytest.raises(AttributeError, match=GONE):
        model.confidence_  # noqa: B018
    assert not hasattr(model, "confidence_")
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(X)
    assert not hasattr(pipeline[-1], "confidence_")
    model = DPMeans(lam=150.0).fit(X)
    X *= -0.2
    with pytest.raises(AttributeError, match="differ from labels_"):
        model.confidence_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'confidence__'"):
        model.confidence__  # noqa: B018


def test_copies_and_files_have_no_rows(X, tmp_path):
    model = DPMeans(lam=150.0).fit(X)
    expected = model.confidence_
    loaded = kfree.load(tmp_path / "m.kfree") if model.save(tmp_path / "m.kfree") else None
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded):
        assert not hasattr(other, "confidence_")
        np.testing.assert_array_equal(other.confidence(X), expected)
    assert model.confidence_ is expected


def test_a_fit_in_passes_forgets_the_rows_of_the_one_before(X):
    model = DPMeans(lam=150.0).fit(X)
    assert hasattr(model, "confidence_")
    model.set_params(memory="1GB").fit(np.vstack([X, X]))
    assert not hasattr(model, "confidence_")


def test_a_stream_has_that_of_its_last_chunk(X):
    model = OnlineDPMeans(lam=150.0).fit(X)
    chunk = X[:40].copy()
    model.partial_fit(chunk)
    np.testing.assert_array_equal(model.labels_, model.predict(chunk))
    np.testing.assert_array_equal(model.confidence_, model.confidence(chunk))
    model.merge()
    np.testing.assert_array_equal(model.confidence_, model.confidence(chunk))
    model.partial_fit(np.empty((0, 3)))
    assert not hasattr(model, "confidence_")


def test_a_display_of_the_model_does_not_compute_it(X):
    model = DPMeans(lam=150.0).fit(X)
    assert "confidence_" not in dict(inspect.getmembers(model))
    assert "confidence_" not in model._repr_html_()
    assert not model._rows_of_fit_.known


@pytest.mark.parametrize("model", [DPMeans(lam=300.0), KMeans(3, random_state=0)], ids=["DPMeans", "KMeans"])
def test_exemplars_are_the_rows_nearest_to_the_centres(model, rng):
    X = rng.normal(size=(90, 2)) + 20.0 * np.eye(3, 2)[np.arange(90) % 3]
    model = model.fit(X)
    expected = [
        min(np.flatnonzero(model.labels_ == c), key=lambda row: np.linalg.norm(X[row] - model.cluster_centers_[c]))
        for c in range(3)
    ]
    assert model.exemplars_.tolist() == expected
    with pytest.raises(AttributeError, match=r"exemplars_ needs the rows of fit.*Use summary\(X\)"):
        _ = clone(model).fit(X + 1.0).exemplars_  # rows that nothing keeps
