"""§10, Fig. 5: how many comparisons a kd-tree leaves for counts (multinomial ME), by exact bounds on boxes.

The labelling cost of counts is linear in a row, so the difference of two costs over a box has its extremes at corners
that take O(D) to find: no bound on a box is sharper. What is counted are comparisons of a box or a row with a cluster,
which take the same time each; the bound of a speed-up is (rows × clusters) / comparisons.
"""

import numpy as np

from kfree import BayesianKMeans
from reproduce.result import Result
from reproduce.table import Line

N_CLUSTERS, N_EVENTS = 5, 100
# The paper varies one of N and D at a time.
CASES = [(2_500, 8), (10_000, 8), (40_000, 8), (10_000, 2), (10_000, 32), (10_000, 128)]
QUICK_CASES = [(2_500, 8), (2_500, 32)]
# Below so many rows a box is a leaf, and its rows are compared one by one.
LEAF = 20


def counts(n_rows, n_features, seed=0):
    """Rows of 100 events from five multinomials, whose probabilities are drawn from a flat Dirichlet distribution."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_features), N_CLUSTERS)
    y = rng.integers(N_CLUSTERS, size=n_rows)
    return np.array([rng.multinomial(N_EVENTS, shares[c]) for c in y], dtype=np.float64)


def comparisons(X, slopes, offsets):
    """Comparisons with a cluster when boxes are given to owners, clusters that can own no row of a box set aside."""
    total, left = 0, [(np.arange(len(X)), np.arange(len(offsets)))]
    while left:
        rows, clusters = left.pop()
        total += len(clusters)
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        best = clusters[np.argmin(slopes[clusters] @ ((low + high) / 2) + offsets[clusters])]
        gap = slopes[clusters] - slopes[best]
        least = np.minimum(gap * low, gap * high).sum(axis=1) + offsets[clusters] - offsets[best]
        clusters = clusters[least <= 0]  # the others cost more than the best anywhere in the box
        if len(clusters) == 1:
            continue
        if len(rows) <= LEAF or (low == high).all():
            total += len(rows) * len(clusters)
            continue
        widest = int(np.argmax(high - low))
        order = rows[np.argsort(X[rows, widest], kind="stable")]
        left += [(order[: len(order) // 2], clusters), (order[len(order) // 2 :], clusters)]
    return total


def result(quick):
    """The bound of the speed-up for each case."""
    lines = []
    for n_rows, n_features in QUICK_CASES if quick else CASES:
        X = counts(n_rows, n_features)
        rule = BayesianKMeans("multinomial").fit(X)._model_.labelling
        unit = np.vstack([np.zeros(n_features), np.eye(n_features)])
        costs = rule.costs(unit)  # offsets, and slopes added to them
        offsets, slopes = costs[0], (costs[1:] - costs[0]).T
        bound = n_rows * len(offsets) / comparisons(X, slopes, offsets)
        case = f"N={n_rows}, D={n_features}"
        note = f"{len(offsets)} clusters; comparisons alone, without the tree's own time"
        lines.append(Line(case, "MME + kd-tree", "bound of the speed-up", None, bound, goal=None, note=note))
    return Result(lines)
