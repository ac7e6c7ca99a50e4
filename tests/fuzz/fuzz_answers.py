"""What a fitted model must answer: every method, a file that is read back, rows that come in two chunks."""

import inspect
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from kfree import OnlineDPMeans, load
from tests.fuzz.fuzz_containers import plain
from tests.fuzz.fuzz_subjects import ESTIMATORS

# Methods that take rows, and answer with as many rows.
OF_ROWS = [
    "transform",
    "score_samples",
    "predict_proba",
    "outlier_score",
    "confidence",
    "nearest_two",
    "predict_nodes",
]


def check_methods(model, case, extra, weight):
    """Every method answers, or says that it cannot for these rows."""
    data = ESTIMATORS[case.subject].data(case)
    if case.subject == "GraphDPMeans, edges":
        data = model.adjacency_
    for name in [*OF_ROWS, "score", "summary"]:
        method = getattr(model, name, None)
        if method is None:
            continue
        given = extra if "groups" in inspect.signature(method).parameters else {}
        try:
            answer = method(data, **given)
        except ValueError as error:
            if "to the clusters overflow float64" in str(error):
                continue
            raise
        if name == "summary":
            assert str(answer), "an empty summary"
            continue
        for values in answer if isinstance(answer, tuple) else (answer,):
            assert not np.isnan(np.asarray(values)).any(), f"{name} answers with NaN"
            assert name == "score" or len(values) == len(model.labels_), f"{name} answers with {len(values)} rows"


def check_saved(model, case, extra, weight):
    """A model read back has the same labels, and a damaged file is refused."""
    if not hasattr(model, "save"):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kfree"
        model.save(path)
        again = load(path)
        assert np.array_equal(again.labels_, model.labels_), "labels were not saved"
        if ESTIMATORS[case.subject].predicts_labels and hasattr(model, "predict"):
            same = np.array_equal(again.predict(case.X(), **extra), model.labels_)
            assert same, "a loaded model predicts something else"
        content = bytearray(path.read_bytes())
        place = case.seed * 7919 % len(content)
        content[place] ^= 1 + case.seed % 255
        path.write_bytes(content)
        try:
            load(path)
        except ValueError:
            return
        raise AssertionError(f"a file with byte {place} changed was accepted")


def check_chunks(model, case, extra, weight):
    """A stream that came in two chunks is that of one."""
    if not isinstance(model, OnlineDPMeans) or case.n_rows < 2:
        return
    rows, weights, middle = plain(case.X()), weight["sample_weight"], case.n_rows // 2
    parts = [slice(0, middle), slice(middle, None)]
    if weights is not None and not (weights[:middle] > 0).any():
        return
    whole, halves = clone(model).partial_fit(rows, **weight), clone(model)
    for part in parts:
        halves.partial_fit(rows[part], sample_weight=None if weights is None else weights[part])
    assert np.array_equal(halves.cluster_centers_, whole.cluster_centers_), "chunks change the centres"


CHECKS = [check_methods, check_saved, check_chunks]
