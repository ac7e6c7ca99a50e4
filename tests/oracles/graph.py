"""Graphs, slow and obvious: cuts by their definition, all partitions, weighted kernel k-means."""

import numpy as np


def penalised_cut(A, labels, lam, cut="normalized"):
    """Σ_c links(c, rest) / degree(c) or size(c), plus lam for each cluster."""
    total = 0.0
    for c in np.unique(labels):
        inside = labels == c
        leaving = A[inside][:, ~inside].sum()
        total += leaving / (A[inside].sum() if cut == "normalized" else inside.sum()) + lam
    return total


def partitions(n):
    """All partitions of n things, as labels."""

    def extend(labels, used):
        if len(labels) == n:
            yield labels
            return
        for c in range(used + 1):
            yield from extend([*labels, c], max(used, c + 1))

    return np.array(list(extend([], 0)), dtype=np.int32)


def lowest_cut(A, lam, cut, all_partitions):
    """The lowest penalised cut of all."""
    best = np.inf
    weight = A.sum(axis=1) if cut == "normalized" else np.ones(len(A))
    for k in range(1, len(A) + 1):
        some = all_partitions[all_partitions.max(axis=1) == k - 1]
        member = (some[:, :, None] == np.arange(k)).astype(float)
        volume = np.einsum("pnc,n->pc", member, weight)
        inside = np.einsum("pnc,nm,pmc->pc", member, A, member, optimize=True)
        degree = np.einsum("pnc,n->pc", member, A.sum(axis=1))
        best = min(best, (((degree - inside) / volume).sum(axis=1) + lam * k).min())
    return best


def kernel_k_means(K, w, labels):
    """Σ_c Σ_{i∈c} w_i ‖φ(i) − mean of c‖² in the feature space of K."""
    total = 0.0
    for c in np.unique(labels):
        inside = np.flatnonzero(labels == c)
        share = w[inside] / w[inside].sum()
        block = K[np.ix_(inside, inside)]
        total += (w[inside] * (np.diag(block) - 2 * block @ share + share @ block @ share)).sum()
    return total


def one_step_better(A, labels, lam, cut):
    """What a single node that moves, two clusters that merge, or one that is parted in two can still gain."""
    here, best = penalised_cut(A, labels, lam, cut), 0.0
    k = labels.max() + 1
    for i in range(len(A)):
        for c in range(k + 1):
            new = labels.copy()
            new[i] = c
            best = max(best, here - penalised_cut(A, new, lam, cut))
    for a in range(k):
        for b in range(a):
            best = max(best, here - penalised_cut(A, np.where(labels == a, b, labels), lam, cut))
        members = np.flatnonzero(labels == a)
        for code in range(1, 2 ** (len(members) - 1)):
            new = labels.copy()
            new[members[1:][(code >> np.arange(len(members) - 1)) & 1 == 1]] = k
            best = max(best, here - penalised_cut(A, new, lam, cut))
    return best


def random_graph(rng, n, density=0.4, weights="whole", loops=False):
    """A symmetric matrix in which every node has a link."""
    A = np.zeros((n, n))
    links = np.triu(rng.random((n, n)) < density, 0 if loops else 1)
    A[links] = rng.integers(1, 4, size=links.sum()) if weights == "whole" else rng.exponential(size=links.sum())
    for i in range(n):
        if not (A + A.T)[i].any():
            j = (i + 1 + rng.integers(n - 1)) % n
            A[min(i, j), max(i, j)] = 1.0
    return A + A.T - np.diag(np.diag(A))
