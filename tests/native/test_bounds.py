"""Bounds never show: passes on one engine, with sites that are born, die, move and change places, against NumPy."""

import itertools
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from common import INSTRUCTION_SETS

from kfree import KMeans
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine

N_PASSES = 12


class Drifting:
    """Sites that change between passes as a search might change them, and in ways that no search would."""

    def __init__(self, rng, centres, scale=1.0):
        self.rng, self.sites, self.scale = rng, Sites.of(centres), scale

    def move(self):
        k = len(self.sites.uids)
        pace = 10.0 ** self.rng.integers(-6, 1)
        steps = pace * self.scale * self.rng.normal(size=self.sites.centres.shape)
        steps[self.rng.random(k) < 0.5] = 0  # some stay
        fast = self.rng.random(k) < 0.05
        self.sites = self.sites.moved(
            self.sites.centres + steps + 3 * fast[:, None] * self.rng.normal(size=steps.shape)
        )

    def death(self):
        keep = self.rng.random(len(self.sites.uids)) < 0.9
        keep[0] = True
        self.sites = self.sites.kept(keep)

    def birth(self):
        n_born = self.rng.integers(1, 6)
        newborn = self.sites.centres[
            self.rng.integers(len(self.sites.uids), size=n_born)
        ] + self.scale * self.rng.normal(size=(n_born, self.sites.centres.shape[1]))
        self.sites = self.sites.born(np.vstack([self.sites.centres, newborn]))

    def swap(self):
        order = self.rng.permutation(len(self.sites.uids))
        self.sites = Sites(self.sites.centres[order], self.sites.uids[order], self.sites.next_uid)

    def coincide(self):
        """Two sites in one place: every row that they share is a tie."""
        a, b = self.rng.integers(len(self.sites.uids), size=2)
        centres = self.sites.centres.copy()
        centres[b] = centres[a]
        self.sites = self.sites.moved(centres)

    def rest(self):
        pass


CHANGES = ["move", "death", "birth", "swap", "coincide", "rest"]
ROWS = {
    "separated": lambda rng, d: rng.normal(size=(40, d))[rng.integers(40, size=1500)] * 8 + rng.normal(size=(1500, d)),
    "overlapping": lambda rng, d: rng.normal(size=(1500, d)),
    "grid": lambda rng, d: rng.integers(-2, 3, size=(1500, d)).astype(float),
}


KINDS = {"f8": np.asarray, "f4": lambda X: X.astype(np.float32), "csr": sp.csr_array}


# Sparse rows are the same for all instruction sets.
@pytest.mark.parametrize(
    ("kind", "isa"), [*itertools.product(("f8", "f4"), INSTRUCTION_SETS), ("csr", INSTRUCTION_SETS[0])]
)
@pytest.mark.parametrize(
    ("data", "d", "k"),
    [
        *itertools.product(ROWS, [2, 9], [3, 80]),
        *[("separated", 9, 300), ("separated", 20, 30), ("grid", 20, 30)],
        *itertools.product(("overlapping", "grid"), [130], [30, 80]),  # so many columns are not parted by speed
    ],
)
def test_any_history_of_sites_gives_the_labels_of_a_first_pass(data, d, k, kind, isa, rng, monkeypatch):
    monkeypatch.setenv("KFREE_ISA", isa)
    run_through_a_history(KINDS[kind](ROWS[data](rng, d)), k, data != "grid", rng)


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1e15, 1e25, 1e60, 1e140])
def test_histories_beyond_the_range_of_float32(scale, rng):
    run_through_a_history(ROWS["separated"](rng, 3) * scale, 80, True, rng, scale)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_of_sites_in_one_place_the_oldest_wins(kind, rng):
    X = rng.integers(-2, 3, size=(200, 3)).astype(float)
    centres = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    engine = open_engine("native", kind(X))
    expected = np.where(((X - centres[0]) ** 2).sum(axis=1) <= ((X - centres[1]) ** 2).sum(axis=1), 0, 1)
    for copies in (1, 2, 20):
        sites = Sites.of(np.vstack([engine.frame.inward(centres)] * copies))
        np.testing.assert_array_equal(labels_of(engine, sites), expected)


def test_a_site_that_moves_out_of_sight():
    """Squared distances to it are infinite, which must not be taken for a row without a site."""
    X = np.array([[0.0], [1.0], [2.0]])
    engine = open_engine("native", X)
    sites = Sites.of(np.array([[4.0], [-1.0]]))
    engine.nearest(sites)
    assert labels_of(engine, sites.moved(np.array([[4.0], [1e200]]))).tolist() == [0, 0, 0]
    only = sites.moved(np.array([[4.0], [1e200]])).kept(np.array([False, True]))
    assert labels_of(engine, only).tolist() == [0, 0, 0]
    assert labels_of(engine, only.moved(np.array([[0.0]]))).tolist() == [0, 0, 0]


def test_bounds_do_not_overflow():
    """A second-nearest site beyond the range of float32 would be out of reach for ever."""
    X = np.array([[0.0], [1e50], [1e51], [1.1e51]])
    model = KMeans(2, init=[[0.0], [1e50]], tol=0).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_a_move_whose_square_underflows_is_a_move():
    """Few sites of many columns have moved: rows are compared with these alone."""
    d, step = 129, 1e-155
    X, centres = np.zeros((4, d)), np.zeros((80, d))
    X[3, 0] = 1.0
    centres[:, 0] = np.arange(1, 81)
    centres[-2:, :2] = [[0.0, step], [0.0, step * (1 + 1e-8)]]
    moved = centres.copy()
    moved[-1, 1] = step * (1 - 1e-8)
    engine, sites = open_engine("native", X, frame=Frame.plain(d)), Sites.of(centres)
    assert labels_of(engine, sites).tolist() == [78, 78, 78, 0]
    assert labels_of(engine, sites.moved(moved)).tolist() == [79, 79, 79, 0]


def test_rows_are_not_compared_with_sites_that_creep(rng):
    """Of the third of the sites that has moved, a few have moved far."""
    k, d = 900, 160
    engine = open_engine("native", rng.normal(size=(k, d)).repeat(4, axis=0) + rng.normal(size=(4 * k, d)))
    sites = Sites.of(engine.rows(np.arange(0, 4 * k, 4)))
    engine.nearest(sites)
    for _ in range(3):
        before, centres, moved = engine.n_distances, sites.centres.copy(), rng.choice(k, 290, replace=False)
        centres[moved] += 1e-7 * rng.normal(size=(290, d))
        centres[moved[:10]] += 0.3 * rng.normal(size=(10, d))
        sites = sites.moved(centres)
        engine.nearest(sites)
    assert engine.n_distances - before < 60 * 4 * k  # 200 with all that have moved


def labels_of(engine, sites):
    return engine.labels(engine.nearest(sites).assignment)


def run_through_a_history(X, k, jitter, rng, scale=1.0):
    native, reference = open_engine("native", X, n_threads=3), open_engine("reference", X)
    start = native.rows(rng.choice(1500, k, replace=False))
    drifting = Drifting(rng, start + 0.1 * scale * jitter * rng.normal(size=start.shape), scale)
    for _ in range(N_PASSES):
        found, expected = native.nearest(drifting.sites), reference.nearest(drifting.sites)
        labels, centres = native.labels(found.assignment), drifting.sites.centres
        if sp.issparse(X):  # the twin adds in another order, so it may see other ties
            own = np.take_along_axis(reference.sq_distances(centres), labels[:, None], axis=1)[:, 0]
            nearest = reference.sq_dists(expected.assignment, centres)
            np.testing.assert_allclose(own, nearest, rtol=1e-11, atol=1e-12)
        else:
            np.testing.assert_array_equal(labels, reference.labels(expected.assignment))
            np.testing.assert_array_equal(found.stats.sse, expected.stats.sse)
            np.testing.assert_array_equal(found.stats.sum, expected.stats.sum)
        for change in rng.choice(CHANGES, size=rng.integers(1, 3)):
            getattr(drifting, change)()


@pytest.mark.parametrize(("kind", "weighted"), [("f4", False), ("f4", True), ("csr", False)])
def test_sums_and_distances_of_the_last_pass_are_those_of_a_first_one(kind, weighted, rng):
    """With so many columns and sites, clusters that no row came to or left keep their sums."""
    X = KINDS[kind](np.round(ROWS["separated"](rng, 300).repeat(3, axis=0) + rng.normal(size=(4500, 300)), 3))
    weight = rng.integers(0, 3, size=X.shape[0]).astype(float) if weighted else None
    engine = open_engine("native", X, weight=weight, n_threads=2)
    drifting = Drifting(rng, engine.points(rng.choice(4500, 450, replace=False)))
    assert drifting.sites.centres.size > 1 << 17  # fewer sums are not kept
    changes = ["move", "rest", "move", "swap", "rest", "death", "birth", "rest", "rest"]
    for change in changes:
        first = open_engine("native", X, weight=weight, n_threads=1)
        found, expected = engine.nearest(drifting.sites), first.nearest(drifting.sites)
        for one in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(found.stats, one), getattr(expected.stats, one))
        labels, centres, before = found.assignment.labels, drifting.sites.centres, engine.n_distances
        np.testing.assert_array_equal(labels, expected.assignment.labels)
        own = engine.sq_dists(found.assignment, centres)
        assert engine.n_distances == before  # they were measured
        np.testing.assert_array_equal(own, first.distances_to_own(np.arange(len(labels)), labels, centres))
        others = (labels + np.int32(1)) % np.int32(len(centres))
        away = engine.distances_to_own(np.arange(len(labels)), others, centres)
        assert engine.n_distances == before + len(labels)
        np.testing.assert_array_equal(away, np.take_along_axis(first.sq_distances(centres), others[:, None], 1)[:, 0])
        getattr(drifting, change)()
        if change == "move":  # means, as k-means has them
            drifting.sites = drifting.sites.moved(found.stats.sum / np.maximum(found.stats.n, 1.0)[:, None])


def test_sums_of_the_last_pass_in_runs_of_several_blocks(rng):
    """One thread has eight runs of two blocks each here."""
    X = ROWS["separated"](rng, 256).repeat(22, axis=0).astype(np.float32)
    engine = open_engine("native", X, n_threads=1)
    sites = Sites.of(engine.points(np.arange(0, 11_440, 22)))
    for _ in range(3):
        found, expected = engine.nearest(sites).stats, open_engine("native", X, n_threads=2).nearest(sites).stats
        for one in ("n", "sum", "sse"):
            np.testing.assert_array_equal(getattr(found, one), getattr(expected, one))
        centres = sites.centres.copy()
        centres[::5] += 0.1 * rng.normal(size=centres[::5].shape)
        sites = sites.moved(centres)


def test_a_resting_clustering_costs_one_distance_a_row(rng):
    X = ROWS["separated"](rng, 9)
    engine = open_engine("native", X)
    sites = Sites.of(engine.rows(np.arange(100)))
    engine.nearest(sites)
    before = engine.n_distances
    engine.nearest(sites)
    assert engine.n_distances - before < 3 * len(X)  # of 100 for each row


def test_the_count_of_distances_does_not_depend_on_threads(rng):
    X = rng.normal(size=(6000, 5))
    counts = set()
    for n_threads in (1, 2, 8):
        engine = open_engine("native", X, n_threads=n_threads)
        drifting = Drifting(np.random.default_rng(0), engine.rows(np.arange(70)))
        for _ in range(5):
            engine.nearest(drifting.sites)
            drifting.move()
        counts.add(engine.n_distances)
    assert len(counts) == 1


def test_an_interrupted_pass_leaves_nothing_behind(rng):
    """Some rows would carry bounds for the new places of the sites, the others for the old ones."""
    X = rng.normal(size=(400_000, 8)).astype(np.float32)
    engine = open_engine("native", X, n_threads=1)
    before = Sites.of(engine.rows(np.arange(3000)))
    after = before.moved(before.centres[::-1])
    engine.nearest(before)

    def press(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.05)  # the pass takes about ten times as long
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.nearest(after)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    np.testing.assert_array_equal(labels_of(engine, after), labels_of(open_engine("native", X), after))
