"""Reference implementation of compiled merging by free energy and by inner products, in NumPy.

Functions, arguments and trees are the same. Each keeps the cost of all pairs in a table, of which the first smallest
entry is merged; ``conga`` and ``n_threads`` change nothing. In ``pairs`` a < b became one cluster, called a from then
on, which added ``cost``.
"""

import numpy as np
from scipy.special import gammaln


def merge_gaussians(rows, xi0, eta0, size_terms, pairs, cost, conga, n_threads):
    """In rows (n, d) where m0 = 0 and B0 = I, size_terms (n+1,); out pairs (n−1, 2), cost (n−1,)."""

    def energy(n, mean, scatter):
        """size_term(n) + (η0 + n)/2·log det B with B = I + S + n·ξ0/(ξ0 + n)·mean·meanᵀ."""
        pull = (n * xi0 / (xi0 + n))[:, None, None] * (mean[:, :, None] * mean[:, None, :])
        log_det = np.linalg.slogdet(np.eye(mean.shape[1]) + scatter + pull)[1]
        return size_terms[n.astype(int)] + (eta0 + n) / 2 * log_det

    def joined(one, others):
        n_one, mean_one, scatter_one = one
        n, mean, scatter = others
        gap, total = mean - mean_one, n + n_one
        between = (n * n_one / total)[:, None, None] * (gap[:, :, None] * gap[:, None, :])
        middle = (n[:, None] * mean + n_one * mean_one) / total[:, None]
        return total, middle, scatter + scatter_one + between

    n_rows, n_features = rows.shape
    clusters = np.ones(n_rows), rows.copy(), np.zeros((n_rows, n_features, n_features))
    return _merge_all(clusters, energy, joined, 1.0, pairs, cost)


def merge_multinomials(indptr, indices, counts, n_features, prior, size_terms, unit, pairs, cost, conga, n_threads):
    """In CSR counts; out as above. Evidences are whole multiples of ``unit``, so that equal costs are equal."""

    def energy(n, sums):
        words = _log_gammas(n_features * prior, sums.sum(axis=1), unit)
        return _units(size_terms, unit)[n] + words - _log_gammas(prior, sums, unit).sum(axis=1)

    return _merge_all(_clusters_of_counts(indptr, indices, counts, n_features), energy, _added, unit, pairs, cost)


def merge_bernoullis(indptr, indices, counts, n_features, prior, size_terms, unit, pairs, cost, conga, n_threads):
    """In CSR zeros and ones; out as above."""

    def energy(n, ones):
        columns = _log_gammas(prior, ones, unit) + _log_gammas(prior, n[:, None] - ones, unit)
        return _units(size_terms, unit)[n] - columns.sum(axis=1)

    return _merge_all(_clusters_of_counts(indptr, indices, counts, n_features), energy, _added, unit, pairs, cost)


def merge_by_gram(n, gram, directions, pairs, cost):
    """In n (k,), gram (k, k): weights of clusters and inner products of their sums, both spoilt; out as above.

    The cost is 2(‖S_a‖ + ‖S_b‖ − ‖S_a + S_b‖) if centres are directions, else n_a n_b/(n_a + n_b)·‖μ_a − μ_b‖².
    """
    k, alive = len(n), np.ones(len(n), dtype=bool)

    def look(a):
        """The costs of cluster a with all others; infinite where there is none, or where they overflow."""
        costs = _gram_costs(a, n, np.diagonal(gram), gram[a], directions)
        return np.where(alive & (np.arange(k) != a) & ~np.isnan(costs), costs, np.inf)

    table = np.array([look(a) for a in range(k)])
    table[np.tril_indices(k)] = np.inf
    best = table.min(axis=1)  # of each cluster with those after it
    for t in range(k - 1):
        a = int(np.flatnonzero(alive)[np.argmin(best[alive])])
        later = np.flatnonzero(alive)[np.flatnonzero(alive) > a]
        b = int(later[np.argmin(table[a, later])])
        pairs[t], cost[t] = (a, b), table[a, b]
        n[a] += n[b]
        gram[a] += gram[b]
        gram[:, a] += gram[:, b]
        alive[b], table[b], table[:, b] = False, np.inf, np.inf
        costs = look(a)
        table[a, a + 1 :], table[:a, a] = costs[a + 1 :], costs[:a]
        best = table.min(axis=1)


def cheapest_pair(n, sq_sum, products, directions):
    """The cheapest pair a < b with a < m, the first one on ties, and its cost; (0, 0) if none has a cost.

    In n, sq_sum (k,): weights of clusters and inner products of their sums with themselves; products (m, k), with all.
    """
    best = 0, 0, np.inf
    for a in range(min(len(products), len(n) - 1)):
        costs = _gram_costs(a, n, sq_sum, products[a], directions)[a + 1 :]
        b = int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))
        if costs[b] < best[2]:
            best = a, a + 1 + b, float(costs[b])
    return best


@np.errstate(over="ignore", invalid="ignore")  # as in compiled code
def _gram_costs(a, n, sq_sum, products, directions):
    """What merging cluster a with each one costs, from inner products of the clusters' sums."""
    if directions:
        length = np.sqrt(np.maximum(sq_sum, 0.0))
        joined = np.sqrt(np.maximum(sq_sum + sq_sum[a] + 2 * products, 0.0))
        return 2 * np.maximum(length + length[a] - joined, 0.0)
    inverse = 1 / np.where(n > 0, n, 1.0)
    sq_norm, both = sq_sum * (inverse * inverse), n + n[a]
    shared = n * n[a] / np.where(both > 0, both, 1.0)
    return shared * np.maximum(sq_norm + sq_norm[a] - 2 * (products * inverse * inverse[a]), 0.0)


def _merge_all(clusters, energy, joined, unit, pairs, cost):
    """Greedy merging; returns the number of pairs evaluated, all of them in full."""
    own, n_rows, n_looks = energy(*clusters), len(clusters[0]), 0
    table = np.full((n_rows, n_rows), np.inf)
    alive = np.ones(n_rows, dtype=bool)

    def look(a):
        others = np.flatnonzero(alive & (np.arange(n_rows) != a))
        merged = joined([part[a] for part in clusters], [part[others] for part in clusters])
        costs = unit * (energy(*merged) - (own[others] + own[a]))
        table[np.minimum(a, others), np.maximum(a, others)] = costs
        return len(others)

    for a in range(n_rows):
        n_looks += look(a)
    for t in range(n_rows - 1):
        a, b = divmod(int(np.argmin(table)), n_rows)
        pairs[t], cost[t] = (a, b), table[a, b]
        both = joined([part[a] for part in clusters], [part[[b]] for part in clusters])
        for part, new in zip(clusters, both, strict=True):
            part[a] = new[0]
        own[a] = energy(*both)[0]
        alive[b] = False
        table[b], table[:, b] = np.inf, np.inf
        n_looks += look(a)
    return n_looks


def _clusters_of_counts(indptr, indices, counts, n_features):
    n_rows = len(indptr) - 1
    sums = np.zeros((n_rows, n_features), dtype=np.int64)
    sums[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = counts
    return np.ones(n_rows, dtype=np.int64), sums


def _added(one, others):
    return [theirs + ours for ours, theirs in zip(one, others, strict=True)]


def _log_gammas(prior, counts, unit):
    """log Γ(prior + count) − log Γ(prior), in units."""
    return _units(gammaln(prior + counts) - gammaln(prior), unit)


def _units(values, unit):
    return np.rint(values / unit).astype(np.int64)
