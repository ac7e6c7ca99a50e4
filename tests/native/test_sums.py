"""Sums over rows: the fixed tree of blocks, for any number of threads and any cut of the rows into parts."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from kfree.core.sum_tree import join, nodes_covering
from kfree.native import _core
from kfree.native.reference import passes as reference

BLOCK, K = reference.BLOCK, 12
# With WIDE columns and MANY clusters, rows are added up cluster by cluster.
WIDE, MANY = 257, 520
# An odd number of blocks, so that the last one meets nodes of higher levels.
N_BLOCKS = 13
N_ROWS = (N_BLOCKS - 1) * BLOCK + 77
# Where parts end, in blocks; the last one takes the rest.
CUTS = [[], [8], [1, 2, 5, 12]]


def plain_total(values, begin, end, level=20, index=0):
    """Σ of the blocks begin…end−1 of ``values``, as the definition of the tree says; None where there are none."""
    first, last = max(begin, index << level), min(end, (index + 1) << level)
    if first >= last:
        return None
    if level == 0:
        return np.add.accumulate(values[first * BLOCK : last * BLOCK])[-1]
    left, right = (plain_total(values, begin, end, level - 1, 2 * index + side) for side in (0, 1))
    if left is None or right is None:
        return right if left is None else left
    return left + right


class Case:
    def __init__(self, d, kind, rng, k=K):
        # Sizes that differ so much that the order of additions shows in many digits.
        self.X = rng.normal(size=(N_ROWS, d)) * np.exp(3 * rng.normal(size=(N_ROWS, 1)))
        self.weight = rng.exponential(size=N_ROWS)
        self.k = k
        self.label = rng.integers(0, k, N_ROWS).astype(np.int32)
        self.label[3 * BLOCK : 9 * BLOCK] %= k // 2  # clusters that many blocks do not touch
        self.sq_dist = rng.exponential(size=N_ROWS)
        self.pairs = self.X[rng.choice(N_ROWS, 2 * k)]
        self.listed = np.sort(rng.choice(N_ROWS, N_ROWS // 3, replace=False))
        self.listed = self.listed[(self.listed < 4 * BLOCK) | (self.listed > 7 * BLOCK)]  # blocks without listed rows
        self.kind = kind

    def rows(self, passes, begin, end):
        X, weight, zero = self.X[begin:end], self.weight[begin:end], np.zeros(self.X.shape[1])
        if self.kind == "dense":
            return passes.dense_rows(X, zero, zero, False, weight, "baseline", begin)
        S = sp.csr_array(X)
        return passes.csr_rows(S.data, S.indices, S.indptr, X.shape[1], False, weight, begin)

    def passes_over(self, passes, rows, begin, end, n_threads, lead):
        """Every pass that adds up rows, over the part begin…end−1; arrays of sums begin with the axes ``lead``."""
        d, sizes = self.X.shape[1], (2 * self.k, self.k)
        wide, narrow = ((np.empty((*lead, k)), np.empty((*lead, k, d)), np.empty((*lead, k))) for k in sizes)
        own = self.listed[(self.listed >= begin) & (self.listed < end)]
        cluster, side = self.label[own], np.empty(len(own), np.int32)
        if self.k == K:  # with many sites the reference would take minutes
            yield from self.nearest(passes, rows, end - begin, n_threads, lead)
        passes.accumulate(rows, self.label[begin:end], self.sq_dist[begin:end], n_threads, *narrow)
        yield from (part.copy() for part in narrow)
        passes.choose(rows, own - begin, cluster, self.pairs, n_threads, side, *wide)
        yield from wide
        passes.scatter_product(rows, own - begin, cluster, self.pairs, n_threads, *narrow)
        yield from narrow[:2]

    def nearest(self, passes, rows, n, n_threads, lead):
        k, d = self.pairs.shape
        stats = np.empty((*lead, k)), np.empty((*lead, k, d)), np.empty((*lead, k))
        out = np.empty(n, np.int32), np.empty(n), *stats, None
        passes.nearest(rows, self.pairs, np.arange(k), np.inf, n_threads, passes.Bounds(n), *out)
        return stats

    def joined(self, passes, cuts, n_threads):
        """The same, by parts whose nodes are joined."""
        bounds, nodes, sums = [0, *[cut * BLOCK for cut in cuts], N_ROWS], [], []
        for begin, end in itertools.pairwise(bounds):
            rows = self.rows(passes, begin, end)
            nodes += rows.nodes
            sums.append(list(self.passes_over(passes, rows, begin, end, n_threads, (len(rows.nodes),))))
        return [join(nodes, np.concatenate(parts)) for parts in zip(*sums, strict=True)]


@pytest.fixture(params=[(2, "dense"), (WIDE, "dense"), (2, "csr")], ids=lambda param: "{}-columns-{}".format(*param))
def case(request, rng):
    d, kind = request.param
    return Case(d, kind, rng, MANY if d == WIDE else K)


@pytest.mark.parametrize("passes", [_core, reference], ids=["native", "reference"])
def test_sums_are_those_of_the_tree(case, passes):
    """One cluster and one column, by the definition; both have rows of all blocks, and rows of some."""
    stats = np.empty(1), np.empty((1, case.X.shape[1])), np.empty(1)
    rows = case.rows(passes, 0, N_ROWS)
    passes.accumulate(rows, np.zeros(N_ROWS, np.int32), case.sq_dist, 1, *stats)
    expected = plain_total(case.weight[:, None] * np.column_stack([np.ones(N_ROWS), case.X, case.sq_dist]), 0, N_BLOCKS)
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in stats]), expected)


def test_no_cut_and_no_number_of_threads_shows_in_a_sum(case):
    """Few columns, and so many that rows are added up cluster by cluster."""
    rows = case.rows(reference, 0, N_ROWS)
    expected = list(case.passes_over(reference, rows, 0, N_ROWS, 1, ()))
    for n_threads in (1, 2, 8):
        whole = case.passes_over(_core, case.rows(_core, 0, N_ROWS), 0, N_ROWS, n_threads, ())
        for parts in (whole, *(case.joined(_core, cuts, n_threads) for cuts in CUTS)):
            for found, wanted in zip(parts, expected, strict=True):
                if case.kind == "dense":
                    np.testing.assert_array_equal(found, wanted)
                else:
                    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_sparse_sums_do_not_depend_on_parts_and_threads_either(rng):
    case = Case(WIDE, "csr", rng, MANY)
    expected = case.joined(_core, [], 1)
    for cuts in CUTS:
        for found, wanted in zip(case.joined(_core, cuts, 8), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_runs_of_blocks_do_not_depend_on_where_a_part_begins(rng):
    """So many blocks that a thread adds up two or four at a time, cluster by cluster."""
    n_rows, d = 33 * BLOCK, WIDE - 1
    indices = np.column_stack([rng.integers(0, d // 2, n_rows), rng.integers(d // 2, d, n_rows)]).astype(np.int32)
    data = rng.normal(size=(n_rows, 2)) * np.exp(3 * rng.normal(size=(n_rows, 1)))
    label, sq_dist = rng.integers(0, MANY, n_rows).astype(np.int32), rng.exponential(size=n_rows)

    def sums(cuts):
        nodes, found = [], []
        for begin, end in itertools.pairwise([0, *[cut * BLOCK for cut in cuts], n_rows]):
            ends = np.arange(0, 2 * (end - begin) + 1, 2, dtype=np.int32)
            rows = _core.csr_rows(data[begin:end].ravel(), indices[begin:end].ravel(), ends, d, False, None, begin)
            lead = len(rows.nodes), MANY
            found.append((np.empty(lead), np.empty((*lead, d)), np.empty(lead)))
            nodes += rows.nodes
            _core.accumulate(rows, label[begin:end], sq_dist[begin:end], 1, *found[-1])
        return [join(nodes, np.concatenate(parts)) for parts in zip(*found, strict=True)]

    whole = sums([])
    for cuts in ([1], [3, 20]):
        for found, wanted in zip(sums(cuts), whole, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_parts_of_the_reference_join_too(rng):
    case = Case(2, "dense", rng)
    expected = case.passes_over(reference, case.rows(reference, 0, N_ROWS), 0, N_ROWS, 1, ())
    for found, wanted in zip(case.joined(reference, CUTS[-1], 1), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (0, 13), (3, 11), (5, 8), (7, 64)])
def test_nodes_cover_each_block_once(begin, end):
    nodes = nodes_covering(begin, end)
    covered = [block for level, index in nodes for block in range(index << level, (index + 1) << level)]
    assert covered == list(range(begin, end))
    assert len(nodes) <= 2 * np.log2(end - begin) + 1
    X, zero = np.zeros((BLOCK * (end - begin) - 5, 1)), np.zeros(1)
    for passes in (_core, reference):
        assert passes.dense_rows(X, zero, zero, False, None, "baseline", begin * BLOCK).nodes == nodes


@pytest.mark.parametrize("passes", [_core, reference], ids=["native", "reference"])
def test_wrong_parts_and_lists_are_refused(passes, rng):
    case = Case(2, "dense", rng)
    with pytest.raises(ValueError, match=f"first_row=7 must be a multiple of BLOCK={BLOCK}"):
        passes.dense_rows(case.X, np.zeros(2), np.zeros(2), False, None, "baseline", 7)
    rows = case.rows(passes, 0, N_ROWS)
    stats = np.empty(2 * K), np.empty((2 * K, 2)), np.empty(2 * K)
    for wrong in ([5, 5], [2 * BLOCK, 3], [3 * BLOCK, 3 * BLOCK + 2, 3 * BLOCK + 1], [9, BLOCK, 8, 5 * BLOCK]):
        row, cluster = np.array(wrong), np.zeros(len(wrong), np.int32)
        with pytest.raises(ValueError, match="ascending"):
            passes.choose(rows, row, cluster, case.pairs, 1, cluster.copy(), *stats)


def test_arrays_without_room_for_every_node_are_refused(rng):
    case = Case(2, "dense", rng)
    rows = case.rows(_core, 0, N_ROWS)
    stats = np.empty((2, K)), np.empty((2, K, 2)), np.empty((2, K))
    with pytest.raises(ValueError, match="one more of length 3, the number of nodes"):
        _core.accumulate(rows, case.label, case.sq_dist, 1, *stats)
