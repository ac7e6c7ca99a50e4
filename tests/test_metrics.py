"""Dendrogram purity against all pairs of leaves."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from kfree.metrics import dendrogram_purity


def purity_of_all_pairs(tree, y):
    """Footnote 6 of Kurihara & Welling by definition: every i, every j of its class, the smallest subtree with both."""
    n = len(y)
    leaves = [{i} for i in range(n)]
    for left, right, *_ in tree:
        leaves.append(leaves[int(left)] | leaves[int(right)])
    drawn = [i for i in range(n) if np.sum(y == y[i]) > 1]
    total = 0.0
    for i in drawn:
        partners = [j for j in range(n) if j != i and y[j] == y[i]]
        for j in partners:
            together = min((node for node in leaves if {i, j} <= node), key=len)
            total += np.mean([y[leaf] == y[i] for leaf in together]) / (len(drawn) * len(partners))
    return total


@pytest.mark.parametrize(("n", "n_classes"), [(2, 1), (9, 2), (14, 5), (25, 12)])
@pytest.mark.parametrize("method", ["single", "average"])
def test_purity_is_that_of_all_pairs(n, n_classes, method, rng):
    tree = linkage(rng.normal(size=(n, 2)), method)
    y = rng.integers(n_classes, size=n)
    assert dendrogram_purity(tree, y) == pytest.approx(purity_of_all_pairs(tree, y), rel=1e-12)


def test_pure_trees_and_names(rng):
    y = np.repeat(["x", "y", "z"], 5)
    X = np.repeat([0.0, 100.0, 300.0], 5)[:, None] + rng.random((15, 1))
    assert dendrogram_purity(linkage(X), y) == pytest.approx(1.0)
    assert dendrogram_purity(linkage(X).tolist(), y.tolist()) == pytest.approx(1.0)


def test_leaves_alone_in_their_class_are_not_drawn(rng):
    tree = linkage(rng.normal(size=(8, 1)))
    y = np.array([0, 0, 0, 0, 1, 2, 3, 4])
    assert dendrogram_purity(tree, y) == pytest.approx(purity_of_all_pairs(tree, y))


@pytest.mark.parametrize(
    ("tree", "y", "message"),
    [
        (np.zeros((3, 4)), [0, 0], "shape \\(3, 4\\) and y \\(2,\\)"),
        (np.zeros((1, 3)), [0, 0], "one class for each leaf"),
        ([[0, 1, 1.0, 2]], [0, 1], "all of different classes"),
        ([[0, 5, 1.0, 2]], [0, 0], "not a tree"),
        ([[0, 3, 1.0, 2], [1, 2, 2.0, 3]], [0, 0, 1], "not a tree"),
    ],
)
def test_wrong_input(tree, y, message):
    with pytest.raises(ValueError, match=message):
        dendrogram_purity(tree, y)


def test_all_orders_of_three_leaves():
    tree = linkage(np.array([[0.0], [1.0], [5.0]]))
    for y in itertools.product([0, 1], repeat=3):
        assert dendrogram_purity(tree, y) == pytest.approx(purity_of_all_pairs(tree, np.array(y)))
