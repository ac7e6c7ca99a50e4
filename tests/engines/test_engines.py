"""Rows in one place on 1, 2 and 8 threads, and in seven uneven ranges, over all kinds of rows: the same bits."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from engines import checks
from engines.metering import Metered, RowsCrossed

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.contract import Rows
from kfree.engines.files.engine import Place, open_stream
from kfree.engines.local.rows import LocalRows
from kfree.engines.moves import _to_nearest
from kfree.engines.registry import open_engine
from kfree.native import _core

# Two ranges of one block each, one of three, and so on: the blocks at which ranges begin.
UNEVEN = [0, 1, 2, 5, 6, 8, 9]
FEW_ROWS = 2_500


def opened(rows, name="native", n_threads=1):
    X, weight, unit = rows
    return open_engine(name, X, weight=weight, unit=unit, n_threads=n_threads)


class RangedRows(Rows):
    """Rows in memory that are asked in ranges which begin at some ``blocks``."""

    def __init__(self, name, X, weight, n_threads, blocks, frame, scanned=None):
        super().__init__(name, frame, *X.shape, scanned)
        self._X, self._weight, self._n_threads, self._blocks = X, weight, n_threads, blocks

    def ask(self, question):
        return self.in_turn(question, self._ranges())

    def take(self, copies):
        return LocalRows.of(copies, self, self._n_threads)

    def _ranges(self):
        ends = [*(_core.BLOCK * block for block in self._blocks[1:]), self.n_rows]
        for begin, end in zip((_core.BLOCK * block for block in self._blocks), ends, strict=True):
            weight = None if self._weight is None else self._weight[begin:end]
            span = begin, self.n_rows
            yield LocalRows(self.name, self._X[begin:end], weight, self.frame, self._n_threads, span)


def ranged(rows, name, n_threads, blocks):
    X, weight, unit = rows
    if sp.issparse(X):  # which open_stream would centre
        return RangedRows(name, X, weight, n_threads, blocks, Frame.plain(X.shape[1]))
    return open_stream(
        Place(X.shape[1], lambda *seen: RangedRows(name, X, weight, n_threads, blocks, *seen)), unit=unit
    )


def rows_of(kind, n_rows=checks.N_ROWS):
    return checks.rows_of_all_kinds(np.random.default_rng(7), n_rows)[kind]


@cache
def expected(kind, n_rows=checks.N_ROWS):
    """What searches find on one thread."""
    rows = rows_of(kind, n_rows)
    return checks.found_by(opened(rows), rows[2])


def lam_of(rows):
    return 0.05 if rows[2] else 9.0


@cache
def answers(kind, n_rows=checks.N_ROWS):
    """What rows in one place answer on one thread."""
    rows = rows_of(kind, n_rows)
    return checks.answered_by(opened(rows), lam_of(rows))


@pytest.mark.parametrize(("kind", "n_threads"), [*((kind, 8) for kind in checks.KINDS), (checks.KINDS[0], 2)])
def test_same_bits_on_any_number_of_threads(kind, n_threads):
    rows = rows_of(kind)
    checks.check_same_bits(checks.found_by(opened(rows, n_threads=n_threads), rows[2]), expected(kind))


RANGED = [kind for kind in checks.KINDS if kind != "CSR"]


@pytest.mark.parametrize(
    ("kind", "n_threads"), [*((kind, 1) for kind in RANGED), ("weights, some zero", 8), ("many columns", 8)]
)
def test_same_bits_in_seven_uneven_ranges(kind, n_threads):
    rows = rows_of(kind)
    checks.check_same_bits(checks.answered_by(ranged(rows, "native", n_threads, UNEVEN), lam_of(rows)), answers(kind))


def test_sparse_rows_have_the_same_bits_in_ranges():
    X, *_ = rows = rows_of("CSR")
    found, one_place = ranged(rows, "native", 1, UNEVEN), opened(rows)
    sites = Sites.of(X[:9].toarray())
    for ask in (lambda rows: rows.nearest(sites), lambda rows: rows.sweep(sites, 9.0, None, 10_000)):
        ours, theirs = (ask(rows) for rows in (found, one_place))
        np.testing.assert_array_equal(ours.centres, theirs.centres)
        np.testing.assert_array_equal(ours.stats.sum, theirs.stats.sum)
        np.testing.assert_array_equal(found.labels(ours.assignment), one_place.labels(theirs.assignment))


REFERENCE = [kind for kind in checks.KINDS if kind not in ("CSR", "many columns")]


@pytest.mark.parametrize("kind", REFERENCE)
def test_the_reference_implementation_has_the_same_bits(kind):
    rows = rows_of(kind, FEW_ROWS)
    checks.check_same_bits(checks.found_by(opened(rows, "reference"), rows[2]), expected(kind, FEW_ROWS))


@pytest.mark.parametrize("kind", REFERENCE)
def test_the_reference_implementation_has_the_same_bits_in_two_ranges(kind):
    rows = rows_of(kind, FEW_ROWS)
    found = checks.answered_by(ranged(rows, "reference", 1, [0, 1]), lam_of(rows))
    checks.check_same_bits(found, answers(kind, FEW_ROWS))


@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize("kind", list(checks.KINDS))
def test_sums_of_some_clusters_are_theirs_among_all(kind, name):
    rows = opened(rows_of(kind, FEW_ROWS), name)
    done = rows.nearest(Sites.of(rows.rows(np.arange(9))))
    for clusters in (np.array([2]), np.array([0, 3, 8])):
        some, everyone = rows.sums_among(done.assignment, clusters), rows.sums(done.assignment)
        for part in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(some, part), getattr(everyone, part)[clusters])


def test_nothing_as_long_as_the_rows_crosses():
    rows = rows_of("weights, some zero")
    crossed = checks.check_nothing_as_long_as_the_rows_crosses(opened(rows), rows[2])
    assert crossed["nearest"] < 1_000


def test_the_meter_notices_rows(rng):
    engine = Metered(open_engine("native", rng.normal(size=(500, 2))), 500)
    done = engine.nearest(Sites.of(np.zeros((1, 2))))
    with pytest.raises(RowsCrossed, match="labels was asked for during a search"):
        engine.labels(done.assignment)
    with pytest.raises(RowsCrossed, match="rows moved an array of 998 elements"):
        engine.rows(np.arange(499))


@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize("small", [[0, 1, 3], [1, 3], [3]])
def test_the_nearest_small_cluster_is_another_than_the_own(small, name, rng):
    """Rows of the first of several small clusters had the distance to their own."""
    X, centres = rng.normal(size=(40, 2)), rng.normal(size=(4, 2))
    labels = rng.integers(4, size=40).astype(np.int32)
    rows = open_engine(name, X, frame=Frame.plain(2))
    found = _to_nearest(rows, np.array(small), np.arange(40), labels, centres)
    sq_dist = ((X[:, None] - centres[small]) ** 2).sum(axis=2)
    sq_dist[labels[:, None] == np.array(small)] = np.inf
    np.testing.assert_allclose(found, sq_dist.min(axis=1))
