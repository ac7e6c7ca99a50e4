"""Sparse matrices whose arrays were changed after they were made: refused before anything reads beyond an array."""

import numpy as np
import pytest
import scipy.sparse as sp

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    farthest_first_lambda,
    lambda_path,
)
from kfree.core.sparse import canonical_csr, require_structure

COUNTS = np.random.default_rng(0).poisson(1.0, size=(20, 6)).astype(np.float64)
COUNTS[:, 0] += 1.0  # no row is all zero
GRAPH = sp.csr_array(COUNTS[:6] + COUNTS[:6].T)


def change(name, value):
    def broken(X):
        array = getattr(X, name).copy()
        array[-1] = value
        setattr(X, name, array)

    return broken


def replace(name, values):
    return lambda X: setattr(X, name, values(getattr(X, name)))


def fall(indptr):
    indptr = indptr.copy()
    indptr[3], indptr[4] = indptr[4], indptr[3]
    return indptr


BREAKAGES = {
    "column too large": (change("indices", 10**6), "indices of 1000000"),
    "column negative": (change("indices", -1), "indices of -1"),
    "indptr too large": (change("indptr", 10**7), "indptr up to 10000000"),
    "indptr falls": (replace("indptr", fall), "indptr that falls"),
    "indptr begins late": (replace("indptr", lambda p: np.concatenate([[2], p[1:]])), "begins with 2 instead of 0"),
    "indptr too short": (replace("indptr", lambda p: p[:-2]), "values in indptr instead of"),
    "few values": (replace("data", lambda v: v[:3]), "and 3 values"),
    "values in a table": (replace("data", lambda v: v[:, None]), r"data of \d dimension"),
    "few columns": (replace("indices", lambda i: i[:3]), "3 indices and"),
    "columns that are no whole numbers": (replace("indices", lambda i: i + 0.5), "indices of 1 dimension.* float64"),
}
ESTIMATORS = {
    "DPMeans": lambda: DPMeans(9.0),
    "DPMeans, cosine": lambda: DPMeans(0.3, metric="cosine"),
    "KMeans": lambda: KMeans(3, random_state=0),
    "OnlineDPMeans": lambda: OnlineDPMeans(9.0),
    "HardHDP": lambda: HardHDP(9.0, 9.0),
    "KernelDPMeans": lambda: KernelDPMeans(0.5),
    "SpectralDPMeans": lambda: SpectralDPMeans(),
    "BayesianKMeans": lambda: BayesianKMeans("multinomial"),
    "AgglomerativeBayes": lambda: AgglomerativeBayes("multinomial"),
}
every = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
each_class = pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
each_breakage = pytest.mark.parametrize("breakage", BREAKAGES)


def broken(breakage, kind=sp.csr_array, values=COUNTS):
    X = kind(values)
    BREAKAGES[breakage][0](X)
    return X


def refused(breakage):
    return pytest.raises(ValueError, match=BREAKAGES[breakage][1])


@every
@each_class
@each_breakage
def test_fit_refuses(make, kind, breakage):
    model = make()
    with refused(breakage):
        model.fit(broken(breakage, kind))
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("make", [ESTIMATORS[n] for n in ("DPMeans", "KMeans", "OnlineDPMeans", "HardHDP")])
@pytest.mark.parametrize("method", ["predict", "transform", "score", "partial_fit"])
@each_breakage
def test_fitted_models_refuse(make, method, breakage):
    model = make().fit(sp.csr_array(COUNTS))
    if not hasattr(model, method):
        pytest.skip(f"has no {method}")
    with refused(breakage):
        getattr(model, method)(broken(breakage))


@each_breakage
def test_functions_refuse(breakage):
    with refused(breakage):
        farthest_first_lambda(broken(breakage), 3)
    with refused(breakage):
        lambda_path(broken(breakage))


@each_breakage
def test_graphs_refuse(breakage):
    with refused(breakage):
        GraphDPMeans(-0.4).fit(broken(breakage, values=GRAPH))
    model = GraphDPMeans(-0.4).fit(GRAPH)
    with refused(breakage):
        model.predict_nodes(broken(breakage, values=GRAPH))


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix, sp.bsr_array])
@each_breakage
def test_other_formats_are_checked_before_they_are_converted(kind, breakage):
    X = kind(COUNTS)
    BREAKAGES[breakage][0](X)
    with refused(breakage):
        DPMeans(9.0).fit(X)


@pytest.mark.parametrize("value", [-1, 10**6])
@pytest.mark.parametrize("axis", [0, 1])
def test_coordinates_are_checked(value, axis):
    X = sp.coo_array(COUNTS)
    X.coords[axis][-1] = value
    with pytest.raises(ValueError, match=rf"coords\[{axis}\] of {value}, outside of 0 to"):
        DPMeans(9.0).fit(X)


def test_lists_of_entries_are_checked():
    X = sp.lil_array(COUNTS)
    X.rows[2][0] = 10**6
    with pytest.raises(ValueError, match="indices of 1000000"):
        DPMeans(9.0).fit(X)


def test_diagonals_without_offsets():
    X = sp.dia_array(np.eye(4))
    X.offsets = np.array([0, 1, 2])
    with pytest.raises(ValueError, match="3 offsets and 1 diagonals"):
        DPMeans(9.0).fit(X)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.bsr_array, sp.coo_array, sp.dia_array])
def test_sound_matrices_pass(kind):
    X = kind(COUNTS)
    require_structure(X, "X")
    np.testing.assert_array_equal(DPMeans(9.0).fit(X).labels_, DPMeans(9.0).fit(sp.csr_array(COUNTS)).labels_)


def test_a_remembered_order_is_not_believed():
    """SciPy goes on saying that columns are sorted after they were shuffled in place."""
    X = sp.csr_array(COUNTS)
    assert X.has_canonical_format
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[begin:end], X.data[begin:end] = X.indices[begin:end][::-1].copy(), X.data[begin:end][::-1].copy()
    assert X.has_canonical_format
    made = canonical_csr(X)
    np.testing.assert_array_equal(made.indices, sp.csr_array(COUNTS).indices)
    np.testing.assert_array_equal(made.toarray(), COUNTS)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sound_rows_are_not_copied(index):
    X = sp.csr_array(COUNTS)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    made = canonical_csr(X)
    assert made is not X
    assert all(getattr(made, name) is getattr(X, name) for name in ("data", "indices", "indptr"))
