"""AgglomerativeBayes and input that is wrong, or merely odd."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import is_valid_linkage

from kfree import AgglomerativeBayes

REFUSED = {
    "model": ({"model": "gausian"}, "did you mean 'gaussian'"),
    "mixture": ({"mixture": "infinite"}, "one of 'finite', 'dirichlet-process'"),
    "prior": ({"prior": "uninformative"}, "'neighbours', 'data' or a dict: single rows need a proper prior"),
    "prior key": ({"prior": {"xi": 1.0}}, "some of the keys xi0, m0, eta0, B0, phi0"),
    "prior not positive definite": ({"prior": {"B0": [[1.0, 2.0], [2.0, 1.0]]}}, "smallest eigenvalue is -1"),
    "prior far too narrow": ({"prior": {"B0": 1e-100 * np.eye(2)}}, "times as wide as a cluster under B0"),
    "closest pairs": ({"closest_pairs": "conga"}, "did you mean 'conga-line'"),
    "engine": ({"engine": "gpu"}, "'auto', 'native', 'reference'"),
    "threads": ({"n_threads": 0}, "a whole number ≥ 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_parameters(case):
    parameters, message = REFUSED[case]
    tree = AgglomerativeBayes(**parameters)
    with pytest.raises(ValueError, match=message):
        tree.fit(np.arange(20.0).reshape(10, 2) ** 2)
    assert not hasattr(tree, "labels_")


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        ("multinomial", -1.0, "the first is -1 in row 2, column 1"),
        ("multinomial", 0.5, "whole numbers ≥ 0; .* 0.5 in row 2, column 1"),
        ("bernoulli", 2.0, "takes zeros and ones; .* 2 in row 2, column 1"),
    ],
)
@pytest.mark.parametrize("as_given", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_wrong_values(model, value, message, as_given):
    X = np.eye(4)
    X[2, 1] = value
    with pytest.raises(ValueError, match=message):
        AgglomerativeBayes(model).fit(as_given(X))


ODD = {
    "a constant column": ("gaussian", np.column_stack([np.arange(12.0) ** 2, np.full(12, 3.0)])),
    "fewer rows than columns": ("gaussian", np.random.default_rng(0).normal(size=(5, 9))),
    "duplicates in plenty": ("gaussian", np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], 20, axis=0)),
    "all rows equal": ("gaussian", np.full((30, 2), 7.0)),
    "a single row": ("gaussian", np.array([[1.0, 2.0]])),
    "large and small numbers": ("gaussian", np.array([[1e-9, 1e9], [2e-9, 1e9], [3e-9, -1e9], [1e-9, 2e9]])),
    "rows that are nearly equal": ("gaussian", np.array([[0.0], [1e-200], [3e-200], [1.0]])),
    "documents without words": ("multinomial", np.array([[0, 0], [3, 1], [0, 0], [1, 4], [0, 0]])),
    "no words at all": ("multinomial", np.zeros((6, 3))),
    "one document": ("multinomial", np.array([[1, 2]])),
    "a column of ones": ("bernoulli", np.column_stack([np.ones(8), np.arange(8) % 2])),
    "rows of zeros": ("bernoulli", np.zeros((5, 4))),
}


@pytest.mark.parametrize("closest_pairs", ["plain", "conga-line"])
@pytest.mark.parametrize("case", ODD)
def test_odd_data_work(case, closest_pairs):
    model, X = ODD[case]
    tree = AgglomerativeBayes(model, closest_pairs=closest_pairs).fit(X)
    assert np.isfinite(tree.free_energy_path_).all()
    assert tree.linkage_.shape == (len(X) - 1, 4)
    assert len(X) == 1 or is_valid_linkage(tree.linkage_)
    assert tree.refine(X).gained >= -1e-9


def test_duplicates_are_one_cluster():
    tree = AgglomerativeBayes().fit(ODD["duplicates in plenty"][1])
    assert np.array_equal(tree.labels_, np.repeat([0, 1, 2], 20))


def test_one_row_has_no_picture():
    with pytest.raises(ValueError, match="no merges to draw"):
        AgglomerativeBayes().fit([[1.0]]).plot_dendrogram()
