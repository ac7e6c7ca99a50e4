"""All kinds of containers for every estimator, files that change, and numbers that make no sense."""

import contextlib
import os
from functools import partial

import numpy as np
import pandas as pd
import pytest
from common import sampled

from kfree import DPMeans, GraphDPMeans, HardHDP, KernelDPMeans, OnlineDPMeans, TableEncoder, choose_k
from kfree.baselines import GibbsDPMixture, GMeans
from kfree.report import write_report
from tests.fuzz.fuzz_cases import Case
from tests.fuzz.fuzz_containers import CONTAINERS
from tests.fuzz.fuzz_subjects import ESTIMATORS

# Of each estimator one way to make it.
ONE_EACH = sorted({name.split(",")[0] for name in ESTIMATORS} - {"GraphDPMeans"})
SAME_ROWS = ["list", "fortran", "frame", "nullable frame", "polars", "arrow", "masked, nothing hidden"]
SPARSE = ["csr_matrix", "csr_array", "CSR, 64-bit"]
TAKES_SPARSE = ["DPMeans", "KMeans", "OnlineDPMeans", "HardHDP", "KernelDPMeans"]


def fitted(name, X, n_rows=12):
    """A model, and the arguments that its predict takes besides rows."""
    extra = {"groups": np.arange(n_rows) % 3} if name == "HardHDP" else {}
    return ESTIMATORS[name].make(Case(name, n_rows=n_rows)).fit(X, **extra), extra


def rows():
    """Numbers that float16 holds exactly, none of them 1, which the nullable frame would take for missing."""
    return np.random.default_rng(0).integers(-40, 40, size=(12, 2)) / 8 + 0.0625


DENSE = [*SAME_ROWS, "float16", "longdouble"]
# DPMeans with all containers, and each estimator with some: what reads containers is the same function.
PAIRS = [("DPMeans", container) for container in [*DENSE, *SPARSE]]
PAIRS += sampled(2 * len(ONE_EACH), [name for name in ONE_EACH if name != "DPMeans"], DENSE)
PAIRS += sampled(5, TAKES_SPARSE[1:], SPARSE)


@pytest.mark.filterwarnings("ignore:AutoCluster judges at least 24 distinct rows")
@pytest.mark.parametrize(("name", "container"), PAIRS)
def test_rows_in_any_container_give_the_same_labels(name, container):
    X = rows()
    held = X.astype(container) if container in ("float16", "longdouble") else CONTAINERS[container](X)
    model, extra = fitted(name, held)
    usual, _ = fitted(name, CONTAINERS["csr_array"](X) if container in SPARSE else X)
    assert np.array_equal(model.labels_, usual.labels_)
    if hasattr(model, "predict"):
        assert np.array_equal(model.predict(held, **extra), usual.predict(X, **extra))


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_frames_of_sparse_columns_are_sparse_rows(name):
    frame = pd.DataFrame(rows()).astype(pd.SparseDtype("float64", 0.0))
    model, extra = fitted(name, frame)
    np.testing.assert_array_equal(model.labels_, fitted(name, frame.sparse.to_coo())[0].labels_)
    np.testing.assert_array_equal(model.predict(frame, **extra), model.labels_)


def test_masked_values_of_a_table_are_missing():
    table = np.ma.masked_array([[1.0, 5.0], [2.0, 6.0], [9.0, 7.0], [4.0, 8.0]], mask=np.eye(4, 2, k=-2, dtype=bool))
    plain = np.where(np.ma.getmaskarray(table), np.nan, table.data)
    assert np.array_equal(TableEncoder().fit_transform(table), TableEncoder().fit_transform(plain))


@pytest.mark.parametrize("part", ["rows", "view", "data of CSR"])
def test_a_file_that_was_cut_is_refused(part, tmp_path):
    # Reading it would end the process.
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(4000, 4)))
    X = np.load(path, mmap_mode="r")
    model = DPMeans(lam=10.0).fit(X[:100])
    os.truncate(path, 4096)
    if part == "view":
        X = X[100:2000, ::2]
    elif part == "data of CSR":
        sparse = CONTAINERS["csr_array"](np.ones((4000, 4)))
        sparse.data = X.reshape(-1)
        X = sparse
    for refuse in (DPMeans(lam=10.0).fit, OnlineDPMeans(lam=10.0).partial_fit, model.predict):
        with pytest.raises(ValueError, match="X is mapped to a file of 4096 bytes"):
            refuse(X)


@pytest.mark.filterwarnings("ignore:KMeans found 1 clusters")
def test_equal_rows_have_no_silhouette():
    with pytest.warns(UserWarning, match="X has 1 distinct rows"):
        assert "silhouette" not in choose_k(np.ones((10, 2)), range(1, 4), n_init=1, n_references=2).chosen


def test_large_values_in_baselines():
    X = rows()
    with pytest.raises(ValueError, match="X holds .*sums of squares overflow"):
        GibbsDPMixture(n_burn_in=1, n_samples=1).fit(X * 1e200)
    assert np.array_equal(GMeans().fit(X * 1e100).labels_, GMeans().fit(X).labels_)


@pytest.mark.filterwarnings("ignore:max_clusters=2 was reached")
def test_a_penalty_far_too_low_is_doubled_in_few_steps(monkeypatch):
    n_fits, fit = [], DPMeans.fit

    def counted(self, *args, **kwargs):
        n_fits.append(self.lam)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(DPMeans, "fit", counted)
    model = OnlineDPMeans(lam=1e-300, max_clusters=2).fit(rows())
    assert model.n_clusters_ <= 2
    assert np.log2(model.lam_ / 1e-300) == pytest.approx(round(np.log2(model.lam_ / 1e-300)))
    assert len(n_fits) < 40


GRAPHS = {
    "nodes beyond 2**53": (np.array([[1e300, 2.0, 1.0], [3.0, 4.0, 1.0]] * 2), "beyond 2..53"),
    "a tiny weight": (np.array([[0, 1e-200], [1e-200, 0]]), "weight.s. such as 1e-200"),
    "texts in a matrix": ([["a", 1.0, 2.0, 3.0]] * 4, "the graph"),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_that_make_no_sense_are_refused(kind):
    graph, message = GRAPHS[kind]
    with pytest.raises(ValueError, match=message):
        GraphDPMeans().fit(graph)


@pytest.mark.parametrize("container", ["arrow", "polars", "frame"])
def test_graphs_in_frames(container):
    edges = np.array([[0, 1, 1.0], [1, 2, 1.0], [0, 2, 1.0], [2, 3, 0.1], [3, 4, 1.0], [4, 5, 1.0], [3, 5, 1.0]])
    found = GraphDPMeans(lam=-0.4).fit(CONTAINERS[container](edges))
    assert found.labels_.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("field", ["centres", "order"])
def test_a_model_that_lost_its_sites_raises(field, rng):
    """Compiled code read, or wrote, beyond what was there."""
    X, groups = rng.normal(size=(60, 3)), np.arange(60) % 4
    for model, given in (
        (DPMeans(lam=20.0).fit(X), {}),
        (HardHDP(lam_local=20.0, lam_global=20.0).fit(X, groups=groups), {"groups": groups}),
    ):
        vars(model._model_)[field] = getattr(model._model_, field)[:0]
        with contextlib.suppress(ValueError, IndexError):
            model.predict(X, **given)
        with contextlib.suppress(ValueError, IndexError):
            model.score(X, **given)


def test_coefficients_that_lie_about_their_shape_are_refused(rng):
    X = rng.normal(size=(40, 2))
    model = KernelDPMeans(lam=5.0).fit(X)
    model._model_.coefficients._shape = (10**6, model._model_.coefficients.shape[1])
    with pytest.raises(ValueError, match="coefficients"):
        model.predict(X)


@pytest.mark.parametrize("array", ["indices", "indptr"])
def test_links_that_lead_nowhere_are_refused(array, tmp_path):
    """SciPy read beyond the arrays of a damaged graph."""
    model = GraphDPMeans().fit(np.kron(np.eye(3), np.ones((6, 6))))
    setattr(model.adjacency_, array, getattr(model.adjacency_, array) + 10**6)
    for use in (model.outlier_score, model.summary, model.plot, partial(write_report, tmp_path / "report.html", model)):
        with pytest.raises(ValueError, match="adjacency_"):
            use()
