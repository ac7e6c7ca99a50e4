"""Many threads at once: fits side by side, and matrices that another thread changes during a fit."""

import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from kfree import DPMeans, GraphDPMeans, KMeans, OnlineDPMeans
from kfree.core import sparse
from kfree.validation import graphs
from kfree.validation import rows as validation_of_rows
from tests.fuzz.fuzz_cases import Case
from tests.fuzz.fuzz_subjects import ESTIMATORS

N_THREADS = 11


def labels(name):
    case = Case(name, n_rows=30, values="blobs")
    extra = {"groups": case.groups()} if name.startswith("HardHDP") else {}
    model = ESTIMATORS[name].make(case).fit(ESTIMATORS[name].data(case), **extra)
    if hasattr(model, "predict"):
        model.predict(ESTIMATORS[name].data(case), **extra)
    return model.labels_


def test_eleven_threads_of_joblib_change_nothing():
    # Counts and bits need other rows.
    names = [name for name in ESTIMATORS if not name.endswith(("counts", "bits"))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [labels(name) for name in names]
        jobs = [name for name in names for _ in range(2)]
        found = joblib.Parallel(n_jobs=N_THREADS, backend="threading")(joblib.delayed(labels)(name) for name in jobs)
    different = {name for i, name in enumerate(jobs) if not np.array_equal(found[i], alone[i // 2])}
    assert not different


def changed_after_the_check(monkeypatch, where, X):
    """Give X other arrays as soon as its structure was found sound, as another thread might."""

    def check(matrix, name):
        sparse.require_structure(matrix, name)
        X.data = np.zeros_like(X.data)  # arrays of other sizes would end the process if they were read

    monkeypatch.setattr(where, "require_structure", check)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("model", [DPMeans(lam=1.0), KMeans(3, random_state=0), OnlineDPMeans(lam=1.0)], ids=repr)
def test_other_arrays_given_to_a_matrix_during_a_fit(model, kind, monkeypatch):
    rows = np.random.default_rng(0).integers(0, 4, size=(30, 3)).astype(float)
    expected, X = model.fit(sp.csr_array(rows)).labels_.copy(), kind(rows)
    changed_after_the_check(monkeypatch, validation_of_rows, X)
    assert np.array_equal(model.fit(X).labels_, expected)


def test_other_arrays_given_to_a_graph_during_a_fit(monkeypatch):
    ring = sp.csr_array(np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1))
    expected = GraphDPMeans(lam=-0.4).fit(ring).labels_
    changed_after_the_check(monkeypatch, graphs, ring)
    assert np.array_equal(GraphDPMeans(lam=-0.4).fit(ring).labels_, expected)
