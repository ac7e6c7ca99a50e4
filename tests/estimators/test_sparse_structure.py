"""Sparse matrices of all formats: those that lie about their structure are refused, sound ones are not copied."""

import numpy as np
import pytest
import scipy.sparse as sp

from kfree import DPMeans
from kfree.core.sparse import canonical_csr, require_structure

COUNTS = np.random.default_rng(0).poisson(1.0, size=(20, 6)).astype(np.float64)
COUNTS[:, 0] += 1.0  # no row is all zero


@pytest.mark.parametrize("value", [-1, 10**6])
@pytest.mark.parametrize("axis", [0, 1])
def test_coordinates_are_checked(value, axis):
    X = sp.coo_array(COUNTS)
    X.coords[axis][-1] = value
    with pytest.raises(ValueError, match=rf"coords\[{axis}\] of {value}, outside of 0 to"):
        DPMeans(lam=9.0).fit(X)


def test_lists_of_entries_are_checked():
    X = sp.lil_array(COUNTS)
    X.rows[2][0] = 10**6
    with pytest.raises(ValueError, match="indices of 1000000"):
        DPMeans(lam=9.0).fit(X)


def test_diagonals_without_offsets():
    X = sp.dia_array(np.eye(4))
    X.offsets = np.array([0, 1, 2])
    with pytest.raises(ValueError, match="3 offsets and 1 diagonals"):
        DPMeans(lam=9.0).fit(X)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.bsr_array, sp.coo_array, sp.dia_array])
def test_sound_matrices_pass(kind):
    X = kind(COUNTS)
    require_structure(X, "X")
    np.testing.assert_array_equal(DPMeans(lam=9.0).fit(X).labels_, DPMeans(lam=9.0).fit(sp.csr_array(COUNTS)).labels_)


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
