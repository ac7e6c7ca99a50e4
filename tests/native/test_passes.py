"""Every compiled pass against its NumPy twin: kinds of rows, all instruction sets, several thread counts."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from common import INSTRUCTION_SETS, sampled

from kfree.native import _core
from kfree.native.reference import passes as reference

THREADS = [1, 2, 4, 8]
N_ROWS, N_FEATURES, N_SITES = 2 * reference.BLOCK + 77, 5, 37
UIDS = np.arange(N_SITES)


def dense(passes, X, weight, unit, isa):
    anchor, shift = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if not unit:
        anchor, shift = X[0].astype(np.float64), np.linspace(-1, 1, X.shape[1])
    return passes.dense_rows(X, anchor, shift, unit, weight, isa)


def csr(passes, X, weight, unit, isa):
    S = sp.csr_array(X * (np.abs(X) > 0.7) + 1e-3)
    S.data[::3] = 0  # stored zeros are values like others
    return passes.csr_rows(S.data, S.indices, S.indptr, S.shape[1], unit, weight)


def csr64(passes, X, weight, unit, isa):
    S = sp.csr_array(X)
    indices, indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return passes.csr_rows(S.data, indices, indptr, S.shape[1], unit, weight)


LAYOUTS = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "rows apart": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns reversed": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "read-only": lambda X: _read_only(X),
}
KINDS = [
    *[(dense, layout, dtype) for layout, dtype in itertools.product(LAYOUTS, [np.float32, np.float64])],
    *[(make, "C", dtype) for make, dtype in itertools.product([csr, csr64], [np.float32, np.float64])],
]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


class Case:
    """The same rows held by the compiled passes and by their twins."""

    def __init__(self, kind, unit, weighted, rng):
        make, layout, dtype = kind
        self.exact = make is dense
        X = LAYOUTS[layout]((rng.normal(size=(N_ROWS, N_FEATURES)) * 3).astype(dtype))
        self.weight = rng.integers(0, 4, N_ROWS).astype(float) if weighted else None
        self.twin = make(reference, X, self.weight, unit, "baseline")
        # Sparse rows are the same for all instruction sets.
        self.native = [make(_core, X, self.weight, unit, isa) for isa in INSTRUCTION_SETS[: None if self.exact else 1]]
        self.centres = self.twin.z(rng.choice(N_ROWS, N_SITES)) + 0.1
        self.centres[5] = self.centres[3]  # ties

    def same(self, a, b):
        if self.exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.fixture
def case(request, rng):
    return Case(*request.param, rng)


def cases(n=None):
    """Kinds of rows, with and without unit length and weights: all, or ``n`` of them for a test that takes long."""
    drawn = sampled(n or 4 * len(KINDS), KINDS, [False, True], [False, True])
    return pytest.mark.parametrize("case", drawn, ids=map(named, drawn), indirect=True)


def named(drawn):
    (make, layout, dtype), unit, weighted = drawn
    lengths, weights = "unit" if unit else "plain", "weighted" if weighted else "unweighted"
    return f"{make.__name__}-{layout}-{np.dtype(dtype)}-{lengths}-{weights}"


def outputs(k=N_SITES):
    stats = np.empty(k), np.empty((k, N_FEATURES)), np.empty(k)
    return np.empty(N_ROWS, np.int32), np.empty(N_ROWS), *stats, np.empty(N_ROWS, bool)


def runs(case, threads=THREADS):
    """Rows and numbers of threads. Which rows a thread is given does not depend on the instruction set."""
    return [*((case.native[0], n) for n in threads), *((rows, threads[-1]) for rows in case.native[1:])]


def test_blocks_agree():
    assert _core.BLOCK == reference.BLOCK


@cases()
def test_nearest(case):
    expected, lam = outputs(), 0.1 if len(case.twin.lengths) else 4.0
    reference.nearest(case.twin, case.centres, UIDS, lam, 1, None, *expected)
    assert 0 < expected[-1].sum() < N_ROWS
    for rows, n_threads in runs(case):
        found = outputs()
        _core.nearest(rows, case.centres, UIDS, lam, n_threads, _core.Bounds(N_ROWS), *found)
        np.testing.assert_array_equal(found[0], expected[0])
        for a, b in zip(found[1:], expected[1:], strict=True):
            case.same(a, b)


@cases()
def test_nearest_labels(case):
    expected, found = np.empty(N_ROWS, np.int32), np.empty(N_ROWS, np.int32)
    numbers = np.arange(N_SITES, dtype=np.int32)[::-1].copy()
    reference.nearest_labels(case.twin, case.centres, numbers, 1, expected)
    for rows, n_threads in runs(case):
        _core.nearest_labels(rows, case.centres, numbers, n_threads, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("order", "room"), [("random", 1000), ("given", 3)])
@cases(8)
def test_found_and_adopt(case, order, room, rng):
    order = rng.permutation(N_ROWS) if order == "random" else None
    lam, k = 0.4 if len(case.twin.lengths) else 1.5, 4

    def sweep(passes, rows, n_threads):
        label, sq_dist, *rest = outputs(k)
        passes.nearest(rows, case.centres[:k], UIDS[:k], lam, n_threads, passes.Bounds(N_ROWS), label, sq_dist, *rest)
        far = np.flatnonzero(rest[-1])
        places = far if order is None else np.flatnonzero(np.isin(order, far))
        far = far if order is None else order[places]
        founders, n_refused = passes.open_clusters(rows, far, k, lam, room, n_threads, label, sq_dist)
        newborn = np.empty((len(founders), N_FEATURES))
        passes.copy(rows, far[founders], newborn)
        passes.join_newborn(rows, order, newborn, places[founders], k, n_threads, label, sq_dist)
        return founders, newborn, label, sq_dist, n_refused

    expected = sweep(reference, case.twin, 1)
    assert len(expected[0]) == min(room, len(expected[0])) > 1
    for rows, n_threads in runs(case, [1, 4]):
        found = sweep(_core, rows, n_threads)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[2], expected[2])
        case.same(found[1], expected[1])
        case.same(found[3], expected[3])
        assert found[4] == expected[4]
        assert room > 3 or found[4] > 0


@cases()
def test_accumulate_approach_candidates_distances(case, rng):
    label = rng.integers(0, N_SITES, N_ROWS).astype(np.int32)
    sq_dist = rng.exponential(size=N_ROWS)

    def everything(passes, rows, n_threads):
        stats = outputs()[2:5]
        passes.accumulate(rows, label, sq_dist, n_threads, *stats)
        nearer = sq_dist.copy()
        passes.approach(rows, case.centres[7:8], n_threads, nearer)
        table = np.empty((N_ROWS, N_SITES))
        # Few candidates; more than a panel; after one that is far, some that tie, which no estimate tells apart.
        lists = case.centres[20:28], case.centres, np.vstack([case.centres[:1] + 1e3, case.centres[[5, 3, 5]]])
        best = np.array([passes.best_candidate(rows, few.copy(), sq_dist, n_threads) for few in lists])
        passes.distances(rows, case.centres, n_threads, table)
        return *stats, nearer, best, table, rows.lengths

    expected = everything(reference, case.twin, 1)
    for rows, n_threads in runs(case):
        for a, b in zip(everything(_core, rows, n_threads), expected, strict=True):
            case.same(a, b)


@cases()
def test_passes_for_moves(case):
    """Bisection, second-nearest sites, deletions and exchanges, on lists of rows."""
    listed = np.flatnonzero(np.arange(N_ROWS) % 7 != 3)
    cluster = (listed % (N_SITES // 2)).astype(np.int32)
    pairs = case.centres[: N_SITES // 2 * 2].copy()
    # Clusters of many rows, and some so small that several share a tile, at both ends of the list.
    start = np.where(np.arange(N_ROWS) % 3 < 2, 7, np.arange(N_ROWS) % N_SITES).astype(np.int32)
    others = np.where(listed % 3 == 0, -1, (listed + 1) % N_SITES).astype(np.int32)

    def everything(passes, rows, n_threads):
        side, second, label = np.empty(len(listed), np.int32), np.empty(len(listed), np.int32), start.copy()
        halves = np.empty(len(pairs)), np.empty(pairs.shape), np.empty(len(pairs))
        product = np.empty(len(pairs) // 2), np.empty((len(pairs) // 2, N_FEATURES)), np.empty(len(pairs) // 2)
        own, away = np.empty(len(listed)), np.empty(len(listed))
        stats = np.empty(N_SITES), np.empty(case.centres.shape), np.empty(N_SITES)
        passes.choose(rows, listed, cluster, pairs, n_threads, side, *halves)
        passes.scatter_product(rows, listed, cluster, pairs, n_threads, *product)
        passes.second_nearest(rows, listed, start[listed], case.centres, n_threads, second, away)
        passes.distances_to_own(rows, listed, cluster, case.centres, n_threads, own)
        deletion, fingerprints = np.empty(N_SITES), np.empty(N_SITES, np.uint64)
        passes.deletion_costs(rows, listed, start[listed], second, case.centres, n_threads, deletion)
        passes.fingerprints(rows, start, n_threads, fingerprints)
        passes.accumulate(rows, start, np.zeros(N_ROWS), n_threads, *stats)
        clusters = *stats[:2], case.centres.copy(), np.zeros(N_SITES)
        exchange = passes.Exchange(rows, listed[:120], others[:120], 0.1, n_threads, label, *clusters)
        n_moved = [exchange.round(label, *clusters) for _ in range(3)]
        moved = label, *clusters[:3], np.array(n_moved)
        return side, *halves, *product[:2], second, away, own, deletion, fingerprints, *moved

    expected = everything(reference, case.twin, 1)
    assert expected[-1][0] > 0
    for rows, n_threads in runs(case):
        for a, b in zip(everything(_core, rows, n_threads), expected, strict=True):
            case.same(a, b)


@pytest.mark.parametrize(("kind", "isa"), [("csr", ""), *(("dense", isa) for isa in INSTRUCTION_SETS)])
def test_the_oldest_of_several_second_nearest_sites(kind, isa, rng):
    """Corners of a cube: many sites are as near, and young ones take the places of those that are left out."""
    X, sites = (rng.integers(0, 2, size=(size, 6)).astype(float) for size in (300, N_SITES))
    zero, everyone = np.zeros(6), np.arange(len(X))
    rows = csr64(_core, X, None, False, isa) if kind == "csr" else _core.dense_rows(X, zero, zero, False, None, isa)
    expected = ((X[:, None] - sites) ** 2).sum(axis=2)
    own = expected.argmin(axis=1).astype(np.int32)
    expected[everyone, own] = np.inf
    second, sq_dist = np.empty(len(X), np.int32), np.empty(len(X))
    _core.second_nearest(rows, everyone, own, sites, 2, second, sq_dist)
    np.testing.assert_array_equal(second, expected.argmin(axis=1))
    np.testing.assert_array_equal(sq_dist, expected.min(axis=1))


def rounds_of_exchange(passes, X, start, joining, n_threads):
    """Labels after each of four rounds between two clusters; after the first, rows of another part join the first."""
    rows = passes.dense_rows(X, np.zeros(1), np.zeros(1), False, None, "baseline")
    label, n = start.copy(), np.bincount(start, minlength=2).astype(float)
    sums = np.array([X[start == 0].sum(axis=0), X[start == 1].sum(axis=0)])
    centres, path_length = sums / n[:, None], np.zeros(2)
    clusters = n, sums, centres, path_length
    exchange = passes.Exchange(rows, np.arange(len(X)), 1 - start, 1e-9, n_threads, label, *clusters)
    for i in range(4):
        exchange.round(label, *clusters)
        yield label.copy()
        if i == 0:
            n[0], sums[0] = n[0] + len(joining), sums[0] + joining.sum()
            path_length[0] += 1.000001 * abs(sums[0, 0] / n[0] - centres[0, 0])
            centres[0] = sums[0] / n[0]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_move_sets_others_in_motion_in_the_same_round(n_threads):
    """Threads set aside rows that cannot move, until a move has gone beyond what they allowed for."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, middle = np.sort(rng.random((14, 1)), axis=0), rng.integers(2, 12)
        start = (np.arange(14) >= middle).astype(np.int32)
        joining = 2 * rng.random(rng.integers(1, 4)) - 0.5
        ours, theirs = (list(rounds_of_exchange(one, X, start, joining, n_threads)) for one in (_core, reference))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("passes", [_core, reference], ids=["native", "reference"])
def test_rows_of_the_only_cluster_stay(passes):
    X, label = np.array([[0.0], [1.0], [5.0]]), np.zeros(3, dtype=np.int32)
    rows = passes.dense_rows(X, np.zeros(1), np.zeros(1), False, None, "baseline")
    clusters = np.array([3.0]), X.sum(axis=0, keepdims=True), X.mean(axis=0, keepdims=True), np.zeros(1)
    exchange = passes.Exchange(rows, np.arange(3), np.full(3, -1, dtype=np.int32), 1e-9, 1, label, *clusters)
    assert [exchange.round(label, *clusters) for _ in range(2)] == [0, 0]
    assert label.tolist() == [0, 0, 0]


def nearest_of_both(X, centres, isa):
    """Labels and squared distances by the compiled pass and by its twin."""
    found = []
    for passes in (_core, reference):
        rows = passes.dense_rows(X, np.zeros(X.shape[1]), np.zeros(X.shape[1]), False, None, isa)
        label, sq_dist = np.empty(len(X), np.int32), np.empty(len(X))
        stats = np.empty(len(centres)), np.empty(centres.shape), np.empty(len(centres))
        uids, bounds = np.arange(len(centres)), passes.Bounds(len(X))
        passes.nearest(rows, centres, uids, np.inf, 1, bounds, label, sq_dist, *stats, None)
        found.append((label, sq_dist))
    return found


@pytest.mark.parametrize("isa", INSTRUCTION_SETS)
@pytest.mark.parametrize("scale", [1e-30, 1e-18, 1.0, 1e15, 1e19, 1e60])
@pytest.mark.parametrize("spread", [1e-7, 1e-3, 1.0])
def test_labels_are_exact_at_any_scale(scale, spread, isa, rng):
    """Tight clusters, where float32 cannot tell the sites apart, and values outside float32's range."""
    centres = rng.normal(size=(20, 3))
    centres[10:] = centres[:10] + spread * rng.normal(size=(10, 3))
    X = centres[rng.integers(20, size=500)] + 0.5 * spread * rng.normal(size=(500, 3))
    found, expected = nearest_of_both(X * scale, centres * scale, isa)
    np.testing.assert_array_equal(found, expected)


def rows_within_a_sphere_of_sites(rng):
    centres = rng.normal(size=(40, 8))
    return 1e-7 * rng.normal(size=(2000, 8)), centres / np.linalg.norm(centres, axis=1)[:, None]


def rows_far_from_a_little_cloud_of_sites(rng):
    return 1e4 * rng.normal(size=(2000, 8)), rng.normal(size=8) + 3e-8 * rng.normal(size=(40, 8))


@pytest.mark.parametrize("isa", INSTRUCTION_SETS)
@pytest.mark.parametrize("make", [rows_within_a_sphere_of_sites, rows_far_from_a_little_cloud_of_sites])
def test_labels_are_exact_where_all_sites_are_nearly_as_near(make, isa, rng):
    """What float32 can be off by depends on the length of the site in one case, on that of the row in the other."""
    found, expected = nearest_of_both(*make(rng), isa)
    np.testing.assert_array_equal(found, expected)


def test_sparse_labels_are_exact_where_float32_cannot_tell(rng):
    centres = rng.normal(size=(20, 6))
    centres[10:] = centres[:10] + 1e-5 * rng.normal(size=(10, 6))
    S = sp.csr_array(centres[rng.integers(20, size=500)] + 1e-5 * rng.normal(size=(500, 6)))
    labels = []
    for passes in (_core, reference):
        rows = passes.csr_rows(S.data, S.indices, S.indptr, 6, False, None)
        label, sq_dist = np.empty(500, np.int32), np.empty(500)
        stats = np.empty(20), np.empty((20, 6)), np.empty(20)
        passes.nearest(rows, centres, np.arange(20), np.inf, 1, passes.Bounds(500), label, sq_dist, *stats, None)
        labels.append(label)
    np.testing.assert_array_equal(*labels)


def nearest_of_sparse(rows, n, sites):
    """Labels after a pass with bounds from one in which the sites were in reverse order."""
    bounds, (k, d) = _core.Bounds(n), sites.shape
    label, stats = np.empty(n, np.int32), (np.empty(k), np.empty((k, d)), np.empty(k))
    for centres in (sites[::-1].copy(), sites):
        _core.nearest(rows, centres, np.arange(k), np.inf, 1, bounds, label, np.empty(n), *stats, None)
    return label


def test_sparse_rows_of_millions_of_terms_go_to_sites_that_exist():
    """Float32 knows nothing of such sums, and must not prefer the unused places of a panel."""
    data, n = np.zeros(2**22), 2**22
    data[0] = 1.0
    rows = _core.csr_rows(data, np.zeros(n, np.int32), np.array([0, n], np.int32), 1, False, None)
    assert nearest_of_sparse(rows, 1, -np.arange(2.0, 17.0)[:, None]).tolist() == [0]


def test_directions_of_rows_that_are_nearly_zero():
    """The inverse of such a length is infinite."""
    rows = _core.csr_rows(np.full(1, 1e-310), np.zeros(1, np.int32), np.array([0, 1], np.int32), 2, True, None)
    angle = np.append(np.linspace(1.7, 4.6, 15), 0.5)
    assert nearest_of_sparse(rows, 1, np.column_stack([np.cos(angle), np.sin(angle)])).tolist() == [15]


@pytest.mark.parametrize("isa", INSTRUCTION_SETS)
@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 33])
@pytest.mark.parametrize("d", [1, 2, 3, 16, 65, 300])
def test_labels_are_exact_for_any_shape(k, d, isa, rng):
    """Rows about the origin, nearer to nothing than to any site: the unused places of a panel must not win."""
    X, centres = 1e-3 * rng.normal(size=(130, d)), rng.normal(size=(k, d))
    found, expected = nearest_of_both(X, centres, isa)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrong", ["dtype", "order", "read-only output"])
def test_arrays_are_taken_as_they_are_or_refused(wrong, rng):
    rows = _core.dense_rows(rng.normal(size=(10, 2)), np.zeros(2), np.zeros(2), False, None, "baseline")
    centres, sq_dist = np.zeros((1, 2)), np.zeros(10)
    if wrong == "dtype":
        centres = centres.astype(np.float32)
    elif wrong == "order":
        centres = np.zeros((2, 3)).T[:2]
    else:
        sq_dist.flags.writeable = False
    with pytest.raises(TypeError):
        _core.approach(rows, centres, 1, sq_dist)
