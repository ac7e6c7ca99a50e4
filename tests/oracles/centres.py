"""Slow and obvious versions of what kfree computes, written from the formulas and sharing no code with it."""

import math

import numpy as np


def canonical(X, weight=None):
    """z = (x − x₀) − m of the specification, for up to 1024 rows (one block of summation)."""
    X = np.asarray(X, dtype=np.float64)
    w = [1.0] * len(X) if weight is None else [float(v) for v in weight]
    anchor = X[next(i for i, v in enumerate(w) if v > 0)]
    return (X - anchor) - weighted_mean(X - anchor, w, range(len(X)))


def sq_dist(a, b):
    """Σ_t (a_t − b_t)², t in order."""
    total = 0.0
    for s, t in zip(a.tolist(), b.tolist(), strict=True):
        total += (s - t) * (s - t)
    return total


def weighted_mean(Z, w, members):
    total, mass = [0.0] * Z.shape[1], 0.0
    for i in members:
        mass += w[i]
        for t, value in enumerate(Z[i].tolist()):
            total[t] += w[i] * value
    return np.array([v / mass for v in total])


def mean_direction(Z, w, members):
    total = np.array([math.fsum(w[i] * Z[i, t] for i in members) for t in range(Z.shape[1])])
    return total / math.sqrt(math.fsum(total * total))


def serial_dp_means(Z, lam, weight=None, order=None, centres=None, mean=weighted_mean, max_clusters=math.inf):
    """Algorithm 1 of Kulis & Jordan (2012), one row at a time. Returns labels, centres, costs."""
    w = [1.0] * len(Z) if weight is None else [float(v) for v in weight]
    centres = [mean(Z, w, range(len(Z)))] if centres is None else list(centres)
    labels, costs = None, []
    while True:
        previous, labels, n_start = labels, [None] * len(Z), len(centres)
        for i in range(len(Z)) if order is None else order:
            gaps = [sq_dist(Z[i], c) for c in centres]
            labels[i] = int(np.argmin(gaps))
            if w[i] * min(gaps) > lam and len(centres) < max_clusters:
                centres.append(Z[i])
                labels[i] = len(centres) - 1
        inertia = math.fsum(w[i] * sq_dist(Z[i], centres[labels[i]]) for i in range(len(Z)))
        costs.append(inertia + lam * len(centres))
        if labels == previous and len(centres) == n_start:
            return labels, centres, costs
        members = [[i for i in range(len(Z)) if labels[i] == j] for j in range(len(centres))]
        alive = [j for j in range(len(centres)) if sum(w[i] for i in members[j]) > 0]
        centres = [mean(Z, w, members[j]) for j in alive]
        # Numbers of dead clusters are given up; a row left in one is nowhere, which no later label equals.
        labels = [alive.index(j) if j in alive else None for j in labels]


def partition_cost(X, labels, lam, weight=None):
    """J of a partition around its means, straight from the definition."""
    X, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    clusters = [labels == j for j in np.unique(labels)]
    sse = 0.0
    for members in clusters:
        mean = np.average(X[members], axis=0, weights=w[members])
        sse += float((w[members] * ((X[members] - mean) ** 2).sum(axis=1)).sum())
    return sse + lam * len(clusters)


def all_partitions(n):
    """Labels of every partition of n things (restricted growth strings)."""
    if n == 1:
        yield [0]
        return
    for head in all_partitions(n - 1):
        for label in range(max(head) + 2):
            yield [*head, label]


def lowest_sum(n, cost):
    """The least Σ cost(cluster) over all partitions of n things; a cluster is a list of things.

    The cluster of the first thing may hold any of the others, and what is left is parted at the least cost.
    """
    lowest = {0: 0.0}
    of_cluster = {s: cost([i for i in range(n) if s >> i & 1]) for s in range(1, 1 << n)}
    for wanted in range(1, 1 << n):
        first = wanted & -wanted
        rest = others = wanted ^ first
        candidates = []
        while True:
            candidates.append(of_cluster[first | others] + lowest[rest ^ others])
            if others == 0:
                break
            others = (others - 1) & rest
        lowest[wanted] = min(candidates)
    return lowest[(1 << n) - 1]


def lowest_cost(X, lam, weight=None):
    """The true minimum of J over all partitions."""
    X, w = np.asarray(X, dtype=np.float64), np.ones(len(X)) if weight is None else np.asarray(weight)
    return lowest_sum(len(X), lambda rows: partition_cost(X[rows], [0] * len(rows), lam, w[rows]))


def farthest_first(X, k, weight=None):
    """Kulis & Jordan (2012), §6.1."""
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    taken = [np.average(X, axis=0, weights=w)]
    for _ in range(k):
        saving = [w[i] * min(float(((x - t) ** 2).sum()) for t in taken) for i, x in enumerate(X)]
        taken.append(X[int(np.argmax(saving))])
    return max(saving)
