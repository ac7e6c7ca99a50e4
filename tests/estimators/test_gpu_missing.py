"""Without torch, ``engine="gpu"`` says what to install; other engines refuse rows on a GPU."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    lambda_path,
    open_rows,
)


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'engine="gpu" needs torch and Triton .* pip install "kfree\[gpu\]"'):
        DPMeans(lam=1.0, engine="gpu").fit(np.zeros((3, 2)))


class RowsOnDevice:
    """As an array of CuPy, whose values are on a GPU."""

    shape, ndim, device = (12, 2), 2, "<CUDA Device 0>"


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(60, 2)) + 9.0 * np.eye(3, 2)[np.arange(60) % 3]


ESTIMATORS = [AgglomerativeBayes(), AutoCluster(), BayesianKMeans(), DPMeans(), HardHDP(), KernelDPMeans()]
ESTIMATORS += [KMeans(3), NestedDPMeans((2, 3)), OnlineDPMeans(lam=9.0), SpectralDPMeans()]
METHODS = ["predict", "transform", "score", "predict_proba", "confidence", "nearest_two", "outlier_score", "summary"]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_rows_on_a_gpu_are_refused_by_all_methods(estimator, X, monkeypatch):
    model = estimator.fit(X)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=RowsOnDevice))
    engine = f"engine='{model.engine}'" if hasattr(model, "engine") else type(model).__name__
    for name in METHODS:
        if hasattr(model, name):
            with pytest.raises(TypeError, match=f"X is on a GPU .<CUDA Device 0>., and {engine} computes in memory"):
                getattr(model, name)(RowsOnDevice())


def test_functions_that_take_rows_in_memory_give_their_name(tmp_path, X, monkeypatch):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(TypeError, match="lambda_path takes no rows of files here"):
        lambda_path(open_rows(tmp_path / "rows.npy"))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=RowsOnDevice))
    with pytest.raises(TypeError, match="and lambda_path computes in memory"):
        lambda_path(RowsOnDevice())
