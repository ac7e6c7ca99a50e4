"""Graphs with known groups, of any size: planted partitions, and LFR graphs (Lancichinetti, Fortunato & Radicchi 2008).

networkx draws LFR graphs node by node, which takes too long for 10⁶ links. Here the same model (degrees and sizes of
groups from power laws, a share ``mixing`` of the links of every node leads to other groups) is drawn by matching stubs
at random, inside each group and between groups; links from a node to itself and repeated ones are dropped. Links
"between" that fall into one group by chance are kept, so that real mixing is a little lower where groups are few.
"""

import numpy as np
import scipy.sparse as sp

MEAN_DEGREE = 20


def planted(n_links, mixing, group=100, seed=0):
    """Groups of about ``group`` nodes; a link leads anywhere with probability ``mixing``, else stays in its group."""
    rng = np.random.default_rng(seed)
    n = 2 * n_links // MEAN_DEGREE
    y = rng.integers(max(n // group, 2), size=n)
    members, first = np.argsort(y, kind="stable"), np.searchsorted(np.sort(y), np.arange(y.max() + 2))
    a = rng.integers(n, size=n_links)
    room = first[y[a] + 1] - first[y[a]]
    inside = members[first[y[a]] + (rng.random(n_links) * room).astype(np.int64)]
    b = np.where(rng.random(n_links) < mixing, rng.integers(n, size=n_links), inside)
    return symmetric(a, b, n), y


def lfr(n_links, mixing, seed=0):
    """Degrees from a power law of exponent 2.5 up to 100, groups of 50 to 500 nodes from one of exponent 1.5."""
    rng = np.random.default_rng(seed)
    n = 2 * n_links // MEAN_DEGREE
    degree = power_law(rng, 2.5, 8.6, 100, n)  # mean about 20
    sizes = group_sizes(rng, n)
    within = rng.binomial(degree, 1 - mixing)
    y = placed(rng, within, sizes)
    ends = [matched(rng, np.repeat(np.arange(n), degree - within))]
    stubs = np.repeat(np.arange(n), within)
    stubs = stubs[np.lexsort((rng.random(len(stubs)), y[stubs]))]
    for group in np.split(stubs, np.searchsorted(y[stubs], np.arange(1, len(sizes)))):
        ends.append(group[: len(group) // 2 * 2].reshape(2, -1))
    a, b = np.concatenate(ends, axis=1)
    return symmetric(a, b, n), y


def power_law(rng, exponent, low, high, n):
    """Whole numbers whose density falls with ``exponent``, by inversion."""
    power = 1 - exponent
    uniform = rng.random(n)
    return ((low**power + uniform * (high**power - low**power)) ** (1 / power)).astype(np.int64)


def group_sizes(rng, n):
    sizes = power_law(rng, 1.5, 50, 500, n // 50 + 1)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n) + 1]
    sizes[-1] -= sizes.sum() - n
    return sizes if sizes[-1] >= 50 or len(sizes) == 1 else np.append(sizes[:-2], sizes[-2:].sum())


def placed(rng, within, sizes):
    """A group for each node, larger than the node's degree inside; the largest degrees choose first."""
    by_size = np.argsort(-sizes, kind="stable")
    slots = np.repeat(by_size, sizes[by_size]).tolist()
    room = np.cumsum(sizes[by_size])
    y = np.empty(len(within), dtype=np.int64)
    for n_taken, node in enumerate(np.argsort(-within, kind="stable")):
        large = np.searchsorted(-sizes[by_size], -within[node])  # groups with more members than that
        reach = max(int(room[large - 1]) if large else 0, n_taken + 1)
        pick = int(rng.integers(n_taken, reach))
        slots[n_taken], slots[pick] = slots[pick], slots[n_taken]
        y[node] = slots[n_taken]
    return y


def matched(rng, stubs):
    stubs = rng.permutation(stubs)
    return stubs[: len(stubs) // 2 * 2].reshape(2, -1)


def symmetric(a, b, n):
    keep = a != b
    A = sp.coo_array((np.ones(keep.sum()), (a[keep], b[keep])), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    return A
