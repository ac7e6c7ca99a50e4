"""What goes in: parameters that are refused by name, and odd data that must work. Malformed rows: test_malformed.py."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from common import INSTRUCTION_SETS, blobs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kfree import AutoCluster, DPMeans, HardHDP, KMeans, farthest_first_lambda
from kfree.exceptions import DataAdvice
from kfree.native import _core

ESTIMATORS = {"DPMeans": lambda: DPMeans(lam=30.0), "KMeans": lambda: KMeans(3, random_state=0)}
both = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_squared_distances_that_overflow(as_input):
    X = as_input([[1e200], [-1e200], [0.0], [5e199]])
    with pytest.raises(ValueError, match=r"the cost overflows float64: .* Divide X by a constant"):
        KMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"the cost overflows float64: .* Divide X by a constant"):
        DPMeans(lam=30.0).fit(X)
    with pytest.raises(ValueError, match=r"the cost overflows float64: .* Divide X by a constant"):
        farthest_first_lambda(X, 2)
    swept = DPMeans(lam=30.0, search="sweep").fit(X)
    assert swept.n_clusters_ == 4  # infinitely far is farther than lam


@pytest.mark.parametrize(("model", "size"), [(AutoCluster(), 1e-160), (HardHDP(), 1e-100)])
def test_differences_that_underflow(model, size, rng):
    X = rng.normal(size=(60, 2)) + 9.0 * (np.arange(60) % 3)[:, None]
    with pytest.raises(ValueError, match=r"values of X differ by about .* Multiply X by a constant"):
        model.fit(X * size)


BAD_PARAMETERS = [
    (DPMeans, {"lam": 0}, "lam=0 is not allowed; give a finite number > 0"),
    (DPMeans, {"lam": -1.0}, "lam=-1.0 is not allowed"),
    (DPMeans, {"lam": np.nan}, "lam=nan is not allowed"),
    (DPMeans, {"lam": np.inf}, "lam=inf is not allowed"),
    (DPMeans, {"lam": True}, "lam=True is not allowed"),
    (DPMeans, {"lam": 10**400}, "lam=10*0 is not allowed; give a finite number > 0"),
    (DPMeans, {"lam": "farthest_first"}, "lam='farthest_first' is not allowed; give .* 'farthest-first'"),
    (DPMeans, {"lam": [1.0]}, r"lam=\[1.0\] is not allowed"),
    (DPMeans, {"target_k": 0}, "target_k=0 is not allowed; give a whole number ≥ 1"),
    (DPMeans, {"target_k": 11}, "target_k=11 is more than the 10 distinct rows of X; give at most that many"),
    (DPMeans, {"target_k": 5, "max_clusters": 4}, "max_clusters=4 is not allowed; give None or at least target_k=5"),
    (DPMeans, {"target_k": 11, "lam": "farthest-first"}, "cannot find 11 clusters"),
    (DPMeans, {"target_k": 3, "lam": 1.0}, "target_k=3 is not allowed; give None with a lam that is a number"),
    (DPMeans, {"lam": "farthest-first"}, "target_k=None is not allowed; give the number of clusters to aim at"),
    (DPMeans, {"search": "sweeps"}, r"search='sweeps' is not allowed; .* \(did you mean 'sweep'\?\)"),
    (DPMeans, {"search": "summary", "noise": 0.1}, "noise=0.1 is not allowed; give 0 with search='summary'"),
    (DPMeans, {"search": "summary", "time_budget": 3}, "time_budget=3 is not allowed; give None with search='summary'"),
    (
        DPMeans,
        {"search": "summary", "lam": "farthest-first", "target_k": 2},
        "lam='farthest-first' is not allowed; give 'auto' or a number with search='summary'",
    ),
    (DPMeans, {"order": "shuffled"}, "order='shuffled' is not allowed; give one of 'given', 'random'"),
    (DPMeans, {"metric": "cosin"}, "did you mean 'cosine'"),
    (DPMeans, {"engine": "cuda"}, "give one of 'auto', 'native', 'reference', 'gpu', 'dask'"),
    (DPMeans, {"n_threads": 0}, "n_threads=0 is not allowed; give a whole number ≥ 1 or None"),
    (DPMeans, {"max_iter": 2.5}, "max_iter=2.5 is not allowed"),
    (DPMeans, {"max_clusters": 0}, "max_clusters=0 is not allowed"),
    (DPMeans, {"lam": 1.0, "init": np.zeros((2, 3))}, "init has 3 columns and X has 2"),
    (DPMeans, {"lam": 1.0, "init": "k-means++"}, r"init='k-means\+\+' is not allowed; give centres of shape"),
    (DPMeans, {"lam": 1.0, "init": np.zeros((4, 2)), "max_clusters": 3}, "at least the 4 centres of init"),
    (KMeans, {"n_clusters": 0}, "n_clusters=0 is not allowed"),
    (KMeans, {"n_clusters": 11}, "n_samples=10 should be >= n_clusters=11"),
    (KMeans, {"init": "randm"}, r"init='randm' is not allowed; give 'k-means\+\+', 'random', centres"),
    (KMeans, {"init": np.zeros((2, 2))}, "give the number of centres in init, 2"),
    (KMeans, {"tol": -1e-3}, "tol=-0.001 is not allowed; give a finite number ≥ 0"),
]


@pytest.mark.parametrize(("estimator", "parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(estimator, parameters, message):
    X = np.arange(20.0).reshape(10, 2) ** 1.5
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X)


@pytest.mark.parametrize(("k", "metric"), [(0, "euclidean"), (2, "manhattan"), (1.5, "euclidean"), (9, "cosine")])
def test_bad_arguments_of_farthest_first(k, metric):
    with pytest.raises(ValueError, match="is not allowed|cannot find"):
        farthest_first_lambda([[1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], k, metric=metric)


@both
def test_wrong_number_of_features_in_predict(make, rng):
    model = make().fit(rng.normal(size=(20, 3)))
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="4 features, but .* is expecting 3 features"):
            method(np.zeros((2, 4)))


@both
def test_an_unfitted_model_says_so(make):
    for method in ("predict", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(make(), method)([[1.0]])


@both
def test_a_failed_fit_loses_nothing(make, rng):
    X, _ = blobs(rng)
    model = make().fit(X)
    before = model.labels_.copy()
    for bad in (np.full((5, 2), np.nan), np.empty((0, 7))):
        with pytest.raises(ValueError, match=r"NaN or inf|0 sample\(s\)"):
            model.fit(bad)
    with pytest.raises(ValueError, match="3 values for 2 rows"):
        model.fit([[1.0], [2.0]], sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="init has 3 columns"):
        clone(model).set_params(init=X[:3], **{"lam": 1.0} if isinstance(model, DPMeans) else {}).fit(X[:, :2])
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_features_in_ == 3


CONTAINERS = {
    "F order": np.asfortranarray,
    "strided view": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed view": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "numeric objects": lambda X: X.astype(object),
    "big-endian": lambda X: X.astype(">f8"),
    "unaligned": lambda X: _unaligned(X),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "CSR": sp.csr_matrix,
    "CSR unsorted": lambda X: _unsorted(X),
    "COO": sp.coo_array,
}


def _unaligned(X):
    memory = np.empty(X.nbytes + 1, dtype=np.uint8)
    view = memory[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


def _unsorted(X):
    """Columns in reverse, each value stored as two halves."""
    n, d = X.shape
    values, columns = np.repeat(X[:, ::-1], 2, axis=1) / 2, np.tile(np.repeat(np.arange(d)[::-1], 2), n)
    return sp.csr_array((values.ravel(), columns, np.arange(n + 1) * 2 * d), shape=X.shape)


# All containers go through the same function, so KMeans is tried with a few.
IN_CONTAINERS = [("DPMeans", container) for container in CONTAINERS]
IN_CONTAINERS += [("KMeans", container) for container in ["F order", "polars", "unaligned", "CSR unsorted"]]


@pytest.mark.filterwarnings("ignore:X (has|does not have).*feature names")
@pytest.mark.parametrize(("name", "container"), IN_CONTAINERS)
def test_containers_give_the_same_answer(name, container, rng):
    make, (X, _) = ESTIMATORS[name], blobs(rng)
    plain = make().fit(X)
    held = CONTAINERS[container](X)
    model = make().fit(held)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-9, atol=1e-9)
    assert model.cost_ == pytest.approx(plain.cost_, rel=1e-9)
    np.testing.assert_array_equal(model.predict(held), plain.labels_)
    np.testing.assert_array_equal(plain.predict(held), plain.labels_)
    np.testing.assert_array_equal(model.predict(X), plain.labels_)


@both
def test_memory_maps_and_frames_keep_their_names(make, rng, tmp_path):
    X = blobs(rng)[0].astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(make().fit(mapped).labels_, make().fit(X).labels_)
    for frame in (pd.DataFrame(X, columns=["u", "v", "w"]), pl.DataFrame(X, schema=["u", "v", "w"])):
        model = make().set_output(transform="pandas").fit(frame)
        assert model.feature_names_in_.tolist() == ["u", "v", "w"]
        distances = model.transform(frame)
        assert distances.columns.tolist() == model.get_feature_names_out().tolist()
        assert distances.shape == (len(X), len(model.cluster_centers_))


@both
def test_a_contiguous_array_is_not_copied(make, rng, monkeypatch):
    held = []
    original = _core.dense_rows
    monkeypatch.setattr(_core, "dense_rows", lambda X, *rest: held.append(X) or original(X, *rest))
    for dtype in (np.float32, np.float64):
        for order in "CF":
            X = np.asarray(blobs(rng)[0], dtype=dtype, order=order)
            make().fit(X)
            # After the search, spreads are read off a copy of a few rows of each cluster.
            *searched, _ = [rows for rows in held if len(rows) == len(X)]
            assert searched
            assert all(np.shares_memory(X, rows) and rows.dtype == dtype for rows in searched)
            held.clear()


@both
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_all_rows_equal(make, as_input):
    X = np.full((7, 2), 3.25)
    model = make()
    if isinstance(model, KMeans):
        model.set_params(n_clusters=1)
    model.fit(as_input(X))
    assert model.labels_.tolist() == [0] * 7
    assert model.inertia_ == 0
    assert model.cluster_centers_.tolist() == [[3.25, 3.25]]


def test_all_rows_equal_has_no_farthest_row():
    with pytest.raises(ValueError, match="after 0 round.s. every row of X .* coincides"):
        DPMeans(lam="farthest-first", target_k=4).fit(np.ones((5, 2)))
    with pytest.warns(DataAdvice, match="X has 5 rows, too few"):
        assert DPMeans().fit(np.ones((5, 2))).n_clusters_ == 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1)])
def test_one_row_and_one_column(shape, metric, rng):
    X = rng.normal(size=shape) + 3
    model = DPMeans(lam=1e-6, metric=metric).fit(X)
    assert model.n_clusters_ == (1 if metric == "cosine" or shape[0] == 1 else 5)
    assert KMeans(1, metric=metric).fit(X).labels_.tolist() == [0] * shape[0]


@both
def test_offset_data_in_float32(make, rng):
    A = blobs(rng, spread=20.0)[0].astype(np.float32) + np.float32(1e6)
    exact = A - np.float32(1e6)
    model, shifted = make().fit(A), make().fit(exact)
    np.testing.assert_array_equal(model.labels_, shifted.labels_)
    assert model.cost_ == shifted.cost_
    np.testing.assert_array_equal(make().fit(exact.astype(np.float64)).labels_, model.labels_)


@both
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_sparse_rows_equal_dense_ones_within_1e_9(make, offset, rng):
    """Far from the origin ‖c‖² − 2x·c + ‖x‖² alone would lose all digits."""
    X, _ = blobs(rng, spread=20.0)
    X += offset
    dense, sparse = make().fit(X), make().fit(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.cost_, dense.cost_, rtol=1e-9)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), rtol=1e-9)


@both
def test_bits_do_not_depend_on_threads_or_instruction_set(make, rng, monkeypatch):
    X, weight = rng.normal(size=(5000, 7)).astype(np.float32), rng.exponential(size=5000)
    settings = {"lam": 150.0} if isinstance(make(), DPMeans) else {"n_clusters": 40}
    # Which rows a thread is given does not depend on the instruction set, and sparse rows are the same for all of them.
    threads, others = [(INSTRUCTION_SETS[0], n) for n in (1, 2, 4, 8)], [(isa, 8) for isa in INSTRUCTION_SETS[1:]]
    for rows, runs in ((X, threads + others), (sp.csr_array(X), threads)):
        fits = []
        for isa, n in runs:
            monkeypatch.setenv("KFREE_ISA", isa)
            model = make().set_params(n_threads=n, random_state=0, **settings)
            fits.append(model.fit(rows, sample_weight=weight))
        assert len(fits[0].cluster_centers_) > 20
        for model in fits[1:]:
            assert model.cluster_centers_.tobytes() == fits[0].cluster_centers_.tobytes()
            assert model.labels_.tobytes() == fits[0].labels_.tobytes()
            assert model.cost_ == fits[0].cost_


def test_the_reference_engine_does_not_care_for_instruction_sets(monkeypatch):
    monkeypatch.setenv("KFREE_ISA", "avx512")
    assert DPMeans(lam=1.0, engine="reference").fit([[1.0], [5.0]]).n_clusters_ == 2


def test_an_unknown_instruction_set_is_refused(monkeypatch):
    monkeypatch.setenv("KFREE_ISA", "mmx")
    with pytest.raises(ValueError, match=r"KFREE_ISA='mmx' does not run on this machine; set it to one of \['base"):
        DPMeans(lam=1.0).fit([[1.0]])


@pytest.mark.huge
def test_more_values_than_fit_in_31_bits():
    rng = np.random.default_rng(0)
    X = np.empty((2_200_000, 1000), dtype=np.float32)
    for begin in range(0, len(X), 100_000):
        X[begin : begin + 100_000] = rng.standard_normal(size=(100_000, 1000), dtype=np.float32) * 0.1
    X[-1] += 50  # beyond the reach of a 32-bit index
    model = DPMeans(lam=1000.0).fit(X)
    assert model.n_clusters_ == 2
    assert np.flatnonzero(model.labels_).tolist() == [len(X) - 1]
    np.testing.assert_array_equal(model.predict(X[-5:]), model.labels_[-5:])


def test_values_and_weights_that_are_lists_are_named():
    lists = pd.DataFrame({"a": [1.0, 2.0], "b": [[1, 2], [3, 4]]})
    with pytest.raises(ValueError, match=r"X holds lists or arrays as values in 1 column\(s\): 'b'"):
        DPMeans().fit(lists)
    dates = pd.DataFrame({"a": [1.0, 2.0], "b": [datetime.date(2024, 1, 1)] * 2})
    with pytest.raises(TypeError, match=r"holds no numbers in 1 column\(s\): 'b'"):
        DPMeans().fit(dates)
    with pytest.raises(ValueError, match="sample_weight holds lists"):
        DPMeans().fit(np.eye(3), sample_weight=[[1], [2, 3], 1])
    with pytest.raises(ValueError, match="sample_weight has 0 values for 3 rows of X"):
        DPMeans().fit(np.eye(3), sample_weight=[])
