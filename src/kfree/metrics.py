"""How good a tree is when the classes of its leaves are known."""

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray


def dendrogram_purity(linkage: ArrayLike, y: ArrayLike) -> float:
    """How pure the smallest subtrees are that hold two leaves of one class (Kurihara & Welling 2009, footnote 6).

    Draw a leaf whose class has at least two members, and another leaf of the same class; of the leaves in the smallest
    subtree that holds both, a share is of this class. The purity is the expected value of that share: 1 if every class
    has a subtree of its own.

    Parameters
    ----------
    linkage : array-like of shape (n_leaves - 1, 4)
        A tree as ``scipy.cluster.hierarchy`` and ``AgglomerativeBayes.linkage_`` have it; heights do not matter.
    y : array-like of shape (n_leaves,)
        Classes of the leaves.

    Returns
    -------
    purity : float
        Above 0, at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.cluster.hierarchy import linkage
    >>> from kfree.metrics import dendrogram_purity
    >>> tree = linkage(np.array([[0.0], [1.0], [10.0], [12.0]]))
    >>> dendrogram_purity(tree, ["a", "a", "b", "b"])
    1.0
    >>> round(dendrogram_purity(tree, ["a", "b", "b", "a"]), 3)
    0.5
    """
    merges, classes = _validated(linkage, y)
    class_size = Counter(classes)
    n_drawn = sum(size for size in class_size.values() if size > 1)
    # By node: how many leaves of each class it holds. The smaller table is merged into the larger one, so that a count
    # is moved at most log n times.
    inside = [Counter([c]) for c in classes]
    shares = []
    for left, right, _, size in merges:
        small, large = sorted((inside[int(left)], inside[int(right)]), key=len)
        for c, in_small in small.items():
            in_large = large[c]
            if in_large:
                # Each pair of leaves may be drawn in two orders.
                chance = 2 * in_small * in_large / (n_drawn * (class_size[c] - 1))
                shares.append(chance * (in_small + in_large) / size)
            large[c] = in_large + in_small
        inside.append(large)
    return float(np.sum(shares))


def _validated(linkage: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], list[int]]:
    merges, leaves = np.asarray(linkage, dtype=np.float64), np.asarray(y)
    if leaves.ndim != 1 or merges.shape != (len(leaves) - 1, 4):
        raise ValueError(
            f"linkage has shape {merges.shape} and y {leaves.shape}; a tree of n leaves has a linkage of shape "
            "(n − 1, 4) and one class for each leaf."
        )
    nodes, n_known = merges[:, :2], len(leaves) + np.arange(len(merges))
    if not np.array_equal(np.sort(nodes, axis=None), np.arange(2 * len(merges))) or (n_known <= nodes.T).any():
        raise ValueError(
            "linkage is not a tree: its first two columns must name every leaf, and every node but the last, once, and "
            "only after row t has made node n + t."
        )
    classes = np.unique(leaves, return_inverse=True)[1].tolist()
    if len(set(classes)) == len(classes):
        raise ValueError(f"y has {len(classes)} leaves, all of different classes; purity is about leaves of one class.")
    return merges, classes
