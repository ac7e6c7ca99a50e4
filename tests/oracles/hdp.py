"""Slow and obvious versions of hard HDP, written from Kulis & Jordan (2012), §4, and sharing no code with kfree."""

import itertools
import math

import numpy as np

from oracles.centres import lowest_sum, sq_dist, weighted_mean


def serial_hard_hdp(Z, group, lam_local, lam_global, weight=None, with_step_5=True):
    """Algorithm 2, one row at a time: groups in the order of their numbers. Returns labels, centres, costs.

    A local cluster is a pair (group, global cluster), so that v_jc needs no table of its own.
    """
    n, w = len(Z), [1.0] * len(Z) if weight is None else [float(v) for v in weight]
    centres, labels, costs = [weighted_mean(Z, w, range(n))], [0] * n, []
    order = sorted(range(n), key=lambda i: (group[i], i))
    previous = None
    while True:
        n_start = len(centres)
        uses = {(group[i], labels[i]) for i in range(n)}
        for i in order:
            costs_i = [
                w[i] * sq_dist(Z[i], c) + (0.0 if (group[i], p) in uses else lam_local) for p, c in enumerate(centres)
            ]
            labels[i] = int(np.argmin(costs_i))
            if min(costs_i) > lam_local + lam_global:
                centres.append(Z[i])
                labels[i] = len(centres) - 1
            uses.add((group[i], labels[i]))
        if with_step_5:
            _reassign_local_clusters(Z, w, group, labels, centres, lam_global)
        inertia = math.fsum(w[i] * sq_dist(Z[i], centres[labels[i]]) for i in range(n))
        n_local = len({(group[i], labels[i]) for i in range(n)})
        costs.append(inertia + lam_local * n_local + lam_global * len(centres))
        if labels == previous and len(centres) == n_start:
            return labels, centres, costs
        members = [[i for i in range(n) if labels[i] == p] for p in range(len(centres))]
        alive = [p for p in range(len(centres)) if members[p]]
        centres = [weighted_mean(Z, w, members[p]) for p in alive]
        labels = [alive.index(p) for p in labels]
        previous = list(labels)


def _reassign_local_clusters(Z, w, group, labels, centres, lam_global):
    """Step 5, in the order of groups and, within a group, of the ages of global clusters."""
    local = sorted({(group[i], labels[i]) for i in range(len(Z))})
    rows = {pair: [i for i in range(len(Z)) if (group[i], labels[i]) == pair] for pair in local}
    for pair in local:
        mean, mass = weighted_mean(Z, w, rows[pair]), sum(w[i] for i in rows[pair])
        # Σ‖x − μ_p‖² is n·‖mean − μ_p‖² more than Σ‖x − mean‖².
        off = [mass * sq_dist(mean, c) for c in centres]
        if min(off) > lam_global:
            centres.append(mean)
            off.append(0.0)
        for i in rows[pair]:
            labels[i] = int(np.argmin(off))


def partition_cost(X, group, labels, lam_local, lam_global, weight=None):
    """J of a partition around its means, straight from Eq. 2: Σ w‖x‖² − Σ_p ‖Σ w x‖²/Σ w is its first part."""
    X, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    member = w * (labels == np.unique(labels)[:, None])
    sse = (w[:, None] * X**2).sum() - ((member @ X) ** 2 / member.sum(axis=1, keepdims=True)).sum()
    n_local = len(set(zip(np.asarray(group).tolist(), labels.tolist(), strict=True)))
    return float(sse) + lam_local * n_local + lam_global * len(member)


def lowest_cost(X, group, lam_local, lam_global, weight=None):
    """The true minimum of J over all partitions."""
    X, group = np.asarray(X, dtype=np.float64), np.asarray(group)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)

    def cost(rows):
        return partition_cost(X[rows], group[rows], [0] * len(rows), lam_local, lam_global, w[rows])

    return lowest_sum(len(X), cost)


def best_choice(gaps, weight, penalty):
    """The least cost of a group that may use any of the sites: all subsets are tried. gaps (rows, sites)."""
    k = gaps.shape[1]
    subsets = (list(s) for size in range(1, k + 1) for s in itertools.combinations(range(k), size))
    return min(float((weight * gaps[:, s].min(axis=1)).sum()) + penalty * len(s) for s in subsets)
