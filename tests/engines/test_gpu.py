"""The GPU engine has the bits of the CPU. Without a GPU, kernels are interpreted on few rows (TRITON_INTERPRET=1)."""

import gc
import os
import weakref

import numpy as np
import pytest
from engines import checks
from engines.test_engines import answers, expected, lam_of, rows_of

from kfree.core.row_costs import MeanRowCosts
from kfree.core.sites import Sites
from kfree.core.stats import Stats
from kfree.engines.drawing import Region
from kfree.engines.files.engine import open_stream, streamed
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.local.rows import LocalRows
from kfree.engines.questions import DeferredLabels, SumsOf
from kfree.engines.registry import open_engine
from kfree.native import _core
from kfree.search.centres.seeding import greedy_k_means_plus_plus

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not IS_INTERPRETED and not torch.cuda.is_available():
    pytest.skip("there is no GPU, and Triton does not interpret", allow_module_level=True)
# Triton's interpreter makes numbers of arrays with one element.
pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning")
needs_gpu = pytest.mark.skipif(IS_INTERPRETED, reason="takes hours when interpreted")
DENSE = [kind for kind in checks.KINDS if kind != "CSR"]


@needs_gpu
@pytest.mark.parametrize("kind", DENSE)
def test_all_searches_have_the_bits_of_the_cpu(kind):
    X, weight, unit = rows_of(kind)
    engine = open_engine("gpu", X, weight=weight, unit=unit)
    checks.check_same_bits(checks.found_by(engine, unit), expected(kind))


@needs_gpu
@pytest.mark.parametrize("chunk_rows", [_core.BLOCK, 4 * _core.BLOCK])
@pytest.mark.parametrize("kind", DENSE)
def test_rows_streamed_through_the_device_have_the_bits_of_the_cpu(kind, chunk_rows):
    X, weight, unit = rows = rows_of(kind)
    stream = open_stream(streamed(ArrayRows(X, weight), Reading("gpu", None, chunk_rows)), unit=unit)
    checks.check_same_bits(checks.answered_by(stream, lam_of(rows)), answers(kind))


def test_a_range_of_rows_has_the_sums_of_the_cpu():
    from kfree.engines.gpu.engine import uploaded

    X, weight, unit, rows = rows_and_sites((300, 13, 5), "weights, some zero")
    frame = open_engine("native", X, weight=weight, unit=unit).frame
    for first, n_rows in ((0, 10), (3, 4), (3, 10)):
        span = first * _core.BLOCK, n_rows * _core.BLOCK if n_rows == 10 else first * _core.BLOCK + len(X)
        ranges = uploaded(X, weight, frame, span), LocalRows("native", X, weight, frame, span=span)
        sites = Sites.of(ranges[1].rows(rows))
        ours, theirs = (one.ask(SumsOf(DeferredLabels.of(sites))) for one in ranges)
        assert list(ours.nodes) == list(theirs.nodes)
        for name in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@needs_gpu
def test_nothing_as_long_as_the_rows_crosses():
    X, weight, unit = rows_of("float32")
    checks.check_nothing_as_long_as_the_rows_crosses(open_engine("gpu", X, weight=weight, unit=unit), unit)


SHAPES = {
    "few sites": (150, 2, 5),
    "one column": (150, 1, 80),
    "forty columns": (120, 40, 9),
    "columns in two chunks": (70, 130, 6),
    "one row": (1, 3, 1),
    "as many sites as rows": (60, 13, 60),
}
# Every kernel and most kinds of rows once.
INTERPRETED = [
    ("few sites", "ties"),
    ("forty columns", "weights, some zero"),
    ("columns in two chunks", "float32"),
    ("as many sites as rows", "cosine"),
    ("one row", "float32"),
]
LARGE = {
    "many sites": (50_000, 16, 3_000),
    "many columns": (3_000, 4_200, 40),
    "many blocks": (700_000, 4, 50),
}


def rows_and_sites(shape, kind):
    rng = np.random.default_rng(len(kind))
    n, d, k = shape
    centres = 4.0 * rng.normal(size=(max(2, k // 2), d))
    X = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))
    kinds = {
        "float32": (X.astype(np.float32), None, False),
        "weights, some zero": (X, rng.integers(0, 3, n) + (np.arange(n) == 0) * 1.0, False),
        "far from the origin": (X + 1e6, None, False),
        "ties": (np.round(X), None, False),
        "heavy tails": (rng.standard_cauchy(size=(n, d)), None, False),
        "cosine": (X + 9.0, None, True),
        "tiny": (X * 1e-150, None, False),
    }
    return *kinds[kind], rng.choice(n, size=min(n, k), replace=False)


def check_passes(shape, kind):
    """All passes over rows in memory, on the GPU and by the reference implementation."""
    X, weight, unit, rows = rows_and_sites(shape, kind)
    ours, theirs = (open_engine(name, X, weight=weight, unit=unit) for name in ("gpu", "reference"))
    np.testing.assert_array_equal(ours.frame.shift, theirs.frame.shift)
    points = theirs.rows(rows)
    points[1:2] += 1e3 * np.abs(points).max()  # beyond all rows
    sites, found = Sites.of(points), []
    for engine in (ours, theirs):
        done = engine.nearest(sites)
        found.append(list(results(engine, sites, done)))
    for mine, reference in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, reference)


def results(engine, sites, done):
    """What each pass returns after rows went to the nearest site."""
    k, stats, assignment = len(sites.centres), done.stats, done.assignment
    yield from (stats.n, stats.sum, stats.sse, engine.labels(assignment), assignment.fingerprints)
    yield engine.sq_dists(assignment, sites.centres)
    some = engine.sums_among(assignment, np.arange(0, k, 2))
    yield from (some.n, some.sum)
    halves = engine.bisection(assignment, np.arange(k, dtype=np.int32), k)
    pairs = np.repeat(sites.centres, 2, axis=0) + np.tile([[0.5], [-0.5]], (k, 1))
    yield from engine.bisection(assignment, np.arange(k, dtype=np.int32), k).scatter_product(pairs)
    sides, n_changed = halves.choose(pairs, np.ones(k, dtype=bool))
    yield from (halves.n_rows, sides.n, sides.sum, sides.sse, n_changed)
    yield engine.labels(halves.divided(np.arange(k, 2 * k, dtype=np.int32)))
    if k > 1:
        deletion = engine.deletion_costs()
        deletion.update(assignment, sites)
        yield from (deletion.costs(), (deletion.neighbours() != 0).toarray())
        centres = stats.sum / np.where(stats.n > 0, stats.n, 1.0)[:, None]
        picks = engine.best_departures(assignment, centres, stats, MeanRowCosts, 1e-9)
        yield from (picks.row, picks.gain, picks.points)
        exchanged = engine.exchange(assignment, centres, stats, MeanRowCosts, 1e-9)
        yield engine.labels(assignment if exchanged is None else exchanged)
    seeding = engine.seeding()
    seeding.approach(sites.centres[0])
    yield from (seeding.draw(np.array([0.1, 0.7])), seeding.best(sites.centres[:3]), seeding.farthest()[1])
    yield from (engine.sq_distances(sites.centres[:3]), engine.rows(np.arange(1)), engine.row_weights())
    sample = engine.sample(20, np.random.RandomState(1), Sites.of(sites.centres[:1]))
    yield sample.rows(np.arange(sample.n_rows))
    region = Region(np.arange(k) % 3 == 0, engine.n_counting // 2 + 1, 1, 1.0, border=True)
    _, rows, is_all = engine.nearest_drawing(sites, region)
    yield from (np.empty(0) if rows is None else rows.rows(np.arange(rows.n_rows)), is_all)


@pytest.mark.parametrize("steps", [(0.0,), (0.0, 1e-9, -1e-9)], ids=["apart", "float32 cannot tell them apart"])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_rows_of_few_columns_go_to_the_nearest_site(d, steps):
    from kfree.core.frame import Frame
    from kfree.engines.gpu.assign import nearest
    from kfree.engines.gpu.device import require_device
    from kfree.engines.gpu.rows import DeviceRows

    generator = torch.Generator().manual_seed(d)
    X, some = (torch.randn((n, d), generator=generator).to(require_device()) for n in (150, 120 // len(steps)))
    centres = torch.cat([some.double() * (1 + step) for step in steps])
    rows = DeviceRows(X, Frame(np.full(d, 0.3), np.full(d, -0.1)))
    sq_dist = torch.empty(len(X), dtype=torch.float64, device=X.device)
    labels, at_least = nearest(rows, centres, sq_dist=sq_dist)
    expected = ((rows.points(torch.arange(len(X), device=X.device))[:, None] - centres) ** 2).sum(dim=2)
    assert (labels == expected.argmin(dim=1)).all()
    assert ((at_least > 0).sum() > 100) == (len(steps) == 1)  # most rows are decided by their ranks, or none
    torch.testing.assert_close(sq_dist, expected.amin(dim=1), rtol=1e-14, atol=0.0)
    second, _ = nearest(rows, centres, torch.arange(len(X), device=X.device), labels)
    expected[torch.arange(len(X)), labels.long()] = torch.inf
    assert (second == expected.argmin(dim=1)).all()
    assert (at_least <= expected.amin(dim=1).sqrt()).all()


@pytest.mark.parametrize("kind", ["float32", "weights, some zero", "ties", "cosine", "tiny"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_passes_have_the_bits_of_the_reference(shape, kind):
    if IS_INTERPRETED and (shape, kind) not in INTERPRETED:
        pytest.skip("interpreted kernels are slow")
    n_rows, d, k = SHAPES[shape]
    # Two blocks of wide rows are enough: their time goes into columns.
    check_passes((min(n_rows, 40) if IS_INTERPRETED and d >= 40 else n_rows, d, k), kind)


@needs_gpu
@pytest.mark.parametrize("kind", ["float32", "weights, some zero", "far from the origin", "heavy tails"])
@pytest.mark.parametrize("shape", list(LARGE))
def test_large_passes_have_the_bits_of_the_cpu(shape, kind):
    X, weight, unit, rows = rows_and_sites(LARGE[shape], kind)
    engines = [open_engine(name, X, weight=weight, unit=unit) for name in ("gpu", "native")]
    sites = Sites.of(engines[1].rows(rows))
    found = [list(results(engine, sites, engine.nearest(sites))) for engine in engines]
    for mine, reference in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, reference)


def iterations_of(engine, sites, n_iter):
    """Passes of k-means, then one for which a single site moves; labels and statistics of each."""
    for i in range(n_iter + 1):
        done = engine.nearest(sites)
        yield from (engine.labels(done.assignment).copy(), done.stats.n, done.stats.sum, done.stats.sse)
        centres, moving = sites.centres.copy(), done.stats.n > 0
        centres[moving] = done.stats.sum[moving] / done.stats.n[moving, None]
        if i == n_iter - 1:
            centres = sites.centres.copy()
            centres[0] += 0.1 * (centres[1] - centres[0])
        sites = sites.moved(centres)


@pytest.mark.parametrize("few_rows", [0, 1 << 20], ids=["started one by one", "recorded"])
@pytest.mark.parametrize("kind", ["float32", "weights, some zero", "cosine"])
def test_passes_over_moving_sites_have_the_bits_of_the_reference(kind, few_rows, monkeypatch):
    from kfree.engines.gpu import recorded

    shape = (300, 13, 12) if IS_INTERPRETED else (200_000, 16, 30)
    if IS_INTERPRETED and (kind, few_rows) != ("weights, some zero", 0):
        pytest.skip("interpreted kernels are slow")
    monkeypatch.setattr(recorded, "FEW_ROWS", few_rows)
    X, weight, unit, _ = rows_and_sites(shape, kind)
    ours = open_engine("gpu", X, weight=weight, unit=unit)
    theirs = open_engine("native", X, weight=weight, unit=unit)
    # One site more than there are blobs: most rows are far from all sites but their own, and some are not.
    seeds = greedy_k_means_plus_plus(theirs, shape[2] // 2 + 1, np.random.RandomState(0))
    sites, n_iter = Sites.of(seeds), 3 if IS_INTERPRETED else 25
    for mine, reference in zip(*(iterations_of(one, sites, n_iter) for one in (ours, theirs)), strict=True):
        np.testing.assert_array_equal(mine, reference)


def test_an_interrupted_pass_leaves_nothing_behind(monkeypatch):
    from kfree.engines.gpu.cluster_sums import ClusterSums
    from kfree.engines.gpu.history import History

    def interrupted(*_):
        raise KeyboardInterrupt

    X, *_ = rows_and_sites((300, 13, 12), "float32")
    ours, theirs = (open_engine(name, X) for name in ("gpu", "native"))
    sites = Sites.of(greedy_k_means_plus_plus(theirs, 6, np.random.RandomState(0)))
    ours.nearest(sites)
    for place, step in ((History, "_again"), (ClusterSums, "_totals_of_pass")):
        sites = sites.moved(sites.centres + 0.02 * np.arange(6)[:, None])
        with monkeypatch.context() as patch:
            patch.setattr(place, step, interrupted)
            with pytest.raises(KeyboardInterrupt):
                ours.nearest(sites)
        mine, reference = (engine.nearest(sites) for engine in (ours, theirs))
        np.testing.assert_array_equal(ours.labels(mine.assignment), theirs.labels(reference.assignment))
        np.testing.assert_array_equal(mine.stats.sum, reference.stats.sum)
        np.testing.assert_array_equal(mine.stats.sse, reference.stats.sse)


def test_rows_are_freed_without_the_garbage_collector():
    """Memory of a device is scarce, and Python does not collect cycles for its sake."""
    X, *_ = rows_and_sites((300, 13, 12), "float32")
    engine = open_engine("gpu", X)
    sites = Sites.of(X[:5].astype(np.float64))
    for _ in range(3):
        engine.nearest(sites)
    rows = weakref.ref(engine._rows)
    gc.disable()
    try:
        del engine
        assert rows() is None
    finally:
        gc.enable()


def test_sums_follow_the_tree_of_blocks():
    """Some rows of five blocks, of which one is not full: groups of blocks must not change a bit."""
    from kfree.engines.gpu import sums
    from kfree.engines.gpu.device import require_device
    from kfree.engines.gpu.rows import DeviceRows

    device = require_device()
    n = 4 * sums.BLOCK + 7
    X = np.random.default_rng(0).normal(size=(n, 1)) * 10.0 ** np.arange(n)[:, None] ** 0.2
    listed = np.append(np.arange(0, n, 97), n - 1)
    engine = open_engine("reference", X, weight=np.isin(np.arange(n), listed) * 1.0)
    labels = (np.arange(n) % 3 == 0).astype(np.int32)
    rows = DeviceRows(torch.from_numpy(X).to(device), engine.frame)
    expected_sums = engine.sums(
        engine.moved(engine.nearest(Sites.of(np.zeros((2, 1)))).assignment, np.arange(n), labels)
    )
    listed_rows, listed_labels = (torch.from_numpy(one).to(device) for one in (listed, labels[listed]))
    for levels in (0, 2, 8):
        groups = sums.Segments(rows, 0, listed_rows, listed_labels, 2, levels).sums(None, None)
        found = sums.total(groups, 0).cpu()
        np.testing.assert_array_equal(found[:, :1], expected_sums.sum)
        np.testing.assert_array_equal(found[:, -1], expected_sums.n)
        # A column of them is not contiguous.
        np.testing.assert_array_equal(sums.total(groups[..., 0], 0).cpu(), expected_sums.sum[:, 0])


@pytest.mark.parametrize("moved", [0.0, 0.5])
@pytest.mark.parametrize("empties", [False, True])
def test_a_pass_that_has_begun_is_used_only_at_the_means(moved, empties):
    """The host may go elsewhere than where the device was told that it will."""
    X, weight, unit, rows = rows_and_sites((150, 3, 8), "weights, some zero")
    ours, theirs = (open_engine(name, X, weight=weight, unit=unit) for name in ("gpu", "reference"))
    points = theirs.rows(rows)
    points[2] += 1e3 * empties
    sites = Sites.of(points)
    ours.nearest(sites)
    stats, changed = theirs.nearest(sites).stats, None
    assert (stats.n > 0).all() != empties
    if empties:  # cluster 2 gets the rows of cluster 0, which keeps them too: only the means count here
        changed = np.array([2]), Stats(stats.n[:1], stats.sum[:1], stats.sse[:1])
        stats.n[2], stats.sum[2] = stats.n[0], stats.sum[0]
    sites = sites.moved(stats.sum / stats.n[:, None] + moved)
    ours.expect_means(changed)
    found, reference = ours.nearest(sites), theirs.nearest(sites)
    assert ours._history.was_begun == (moved == 0.0)
    np.testing.assert_array_equal(ours.labels(found.assignment), theirs.labels(reference.assignment))
    for name in ("n", "sum", "sse"):
        np.testing.assert_array_equal(getattr(found.stats, name), getattr(reference.stats, name))


def test_passes_ahead_of_a_search_change_nothing():
    """From the second pass at means on, the next one begins before the host has seen the sums."""
    X, weight, unit, rows = rows_and_sites((150, 3, 8), "weights, some zero")
    ours, theirs = (open_engine(name, X, weight=weight, unit=unit) for name in ("gpu", "reference"))
    points = theirs.rows(rows)
    points[5] = points[4] + 1e-9  # nearly all of its rows are nearer to the other, so that it may lose the last one
    sites, begun = Sites.of(points), []
    for step in range(9):
        ours.expect_means()
        labels, sq_dist, found, _ = ours.assign(sites, np.inf)
        begun.append(ours._history.was_begun)
        assert ours._history.is_ahead == begun[-1]
        reference = theirs.nearest(sites)
        np.testing.assert_array_equal(ours.arrays.to_numpy(labels), theirs.labels(reference.assignment))
        np.testing.assert_array_equal(
            ours.arrays.to_numpy(sq_dist), theirs.sq_dists(reference.assignment, sites.centres)
        )
        stats = found.total()
        for name in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(stats, name), getattr(reference.stats, name))
        alive = stats.n > 0
        means = np.where(alive[:, None], stats.sum / np.where(alive, stats.n, 1.0)[:, None], sites.centres)
        sites = sites.moved(means + 0.5 * (step == 4))  # elsewhere once
    assert begun[1:4] == [True] * 3
    assert not begun[5]
    assert begun[-1]


def test_a_site_that_has_no_mean_stays_where_it_is():
    X, weight, unit, rows = rows_and_sites((150, 3, 8), "weights, some zero")
    ours, theirs = (open_engine(name, X, weight=weight, unit=unit) for name in ("gpu", "reference"))
    sites = Sites.of(theirs.rows(rows))
    ours.nearest(sites)
    totals = np.column_stack([2.0 * sites.centres, np.zeros(8), np.full(8, 2.0)])
    totals[2, -1], totals[3, 0] = 0.0, np.inf
    ours._history.begin(ours.arrays.of(totals))
    labels = ours.labels(ours.nearest(sites).assignment)
    assert ours._history.was_begun
    np.testing.assert_array_equal(labels, theirs.labels(theirs.nearest(sites).assignment))
