"""Streamed rows, from arrays and files of any partitioning: the bits of rows in memory."""

import numpy as np
import pytest
from engines.checks import SEED, answered_by, check_same_bits, drawn_by, rows_of_all_kinds
from engines.metering import Metered

from kfree.core.hashing import hashed
from kfree.core.sites import Sites
from kfree.engines.drawing import Region
from kfree.engines.files.engine import open_stream, streamed
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.registry import open_engine
from kfree.files import open_rows
from kfree.native import _core
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import assigned
from kfree.search.loop import Descent
from kfree.search.summary.exact import descended, merged_means
from kfree.search.summary.micro import summarised
from kfree.search.summary.plan import Plan

KINDS = [
    "float64",
    "float32",
    "weights, some zero",
    "far from the origin",
    "ties",
    "one column",
    "heavy tails",
    "cosine",
]
# Chunks of one block, and chunks that are no power of two.
CHUNKS = [_core.BLOCK, 3 * _core.BLOCK]


def first_draw(seed):
    return int(np.random.RandomState(seed).randint(2**31))


@pytest.mark.parametrize("kind", ["float32", "weights, some zero", "cosine"])
def test_rows_of_a_region_are_drawn_by_their_keys(kind, rng):
    X, weight, unit = rows_of_all_kinds(rng)[kind]
    engine = open_engine("native", X, weight=weight, unit=unit, n_threads=1)
    start = Sites.of(engine.first_point()[None, :])
    sites = Sites.of(engine.sample(9, np.random.RandomState(SEED), start).rows(np.arange(9)))
    labels, counts = engine.labels(engine.nearest(sites).assignment), np.ones(len(X)) if weight is None else weight
    found = dict(drawn_by(engine, sites))
    inside = np.flatnonzero((labels % 3 == 0) & (counts > 0))
    keys = hashed(0, len(X), SEED)
    by_key = np.flatnonzero(counts > 0)
    by_key = np.sort(by_key[np.argsort(keys[by_key])[:500]])
    everything = engine.among(np.arange(len(X)))
    for name, rows, is_all in (("few clusters", inside, True), ("a sample", by_key, False)):
        np.testing.assert_array_equal(found[name][0], everything.rows(rows), err_msg=name)
        np.testing.assert_array_equal(found[name][1], counts[rows], err_msg=name)
        assert found[name][2] == is_all


@pytest.mark.parametrize("kind", ["float32", "weights, some zero"])
def test_rows_beyond_the_border_are_those_that_change_over_most_easily(kind, rng):
    X, weight, _ = rows_of_all_kinds(rng)[kind]
    engine = open_engine("native", X, weight=weight, n_threads=1)
    everything = engine.among(np.arange(len(X)))
    sites = Sites.of(everything.rows(np.arange(9)))
    wanted, counts = np.arange(9) % 3 == 0, np.ones(len(X)) if weight is None else weight
    sq_dist = everything.sq_distances(sites.centres)
    labels = np.argmin(sq_dist, axis=1)
    inside = wanted[labels] & (counts > 0)
    closeness = sq_dist.min(axis=1) / np.maximum(sq_dist[:, wanted].min(axis=1), 1e-300)
    others = np.flatnonzero(~wanted[labels] & (counts > 0) & (closeness > 0.5))
    for room in (0, 40, len(others) + 10):
        region = Region(wanted, int(inside.sum()) + room, SEED, 100.0, border=True)
        _, rows, is_all = engine.nearest_drawing(sites, region)
        nearest = others[np.argsort(-closeness[others], kind="stable")[:room]]
        expected = np.union1d(np.flatnonzero(inside), nearest)
        np.testing.assert_array_equal(rows.rows(np.arange(rows.n_rows)), everything.rows(expected))
        assert is_all


@pytest.mark.parametrize("chunk_rows", CHUNKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_has_the_bits_of_memory(kind, chunk_rows, rng):
    X, weight, unit = rows_of_all_kinds(rng)[kind]
    lam = 0.05 if unit else 9.0
    expected = answered_by(open_engine("native", X, weight=weight, unit=unit, n_threads=1), lam)
    assert len(expected["births"][0]) > 9
    place = streamed(ArrayRows(X, weight), Reading("native", 2, chunk_rows))
    for sample in ((300, first_draw(SEED)), (0, 0)):
        stream = open_stream(place, unit=unit, sample=sample)
        check_same_bits(answered_by(stream, lam), expected)


@pytest.mark.parametrize("cuts", [[], [1], [100, 5000, 5001, 11_000]], ids=["one file", "two files", "five files"])
def test_files_of_any_partitioning_have_the_bits_of_memory(cuts, tmp_path, rng):
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    table = np.column_stack([X, weight])
    for number, rows in enumerate(np.split(table, cuts)):
        np.save(tmp_path / f"{number}.npy", rows)
    expected = answered_by(open_engine("native", X, weight=weight), 9.0)
    rows = open_rows(tmp_path / "*.npy", columns=[0, 1, 2], weight=3)
    stream = open_stream(streamed(rows, Reading("native", None, _core.BLOCK)))
    check_same_bits(answered_by(stream, 9.0), expected)


def test_a_sample_that_was_drawn_in_the_first_pass_needs_no_other(rng):
    X = rng.normal(size=(3 * _core.BLOCK, 2))
    rows = open_stream(streamed(ArrayRows(X), Reading("native", 1, _core.BLOCK)), sample=(50, first_draw(SEED)))
    rows.ask = None
    assert rows.sample(50, np.random.RandomState(SEED), Sites.of(np.zeros((1, 2)))).n_rows == 50


def test_nothing_as_long_as_the_rows_crosses(rng):
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    metered = Metered(open_stream(streamed(ArrayRows(X, weight), Reading("native", 1, _core.BLOCK))), len(X))
    objective = DPMeansObjective(100.0)
    summary = summarised(metered, objective, Plan.of(3_000_000, X.shape[1], _core.BLOCK), None, 0, 1)
    found = split_merge(summary.rows, objective, None, 50, None, Budget(np.random.RandomState(0)))
    descended(metered, Descent.at(assigned(found.state.sites, metered, objective)), objective, merged_means)
    assert metered.largest["sweep"] < len(X) / 2
    assert metered.largest["nearest"] < 1000
