"""Rows on workers: the bits of rows in memory, whatever the number of workers and the partitioning."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from engines.checks import SEED, answered_by, check_same_bits, rows_of_all_kinds
from files.test_stream import first_draw

from kfree.core.sites import Sites
from kfree.engines.dask.cluster import Cluster
from kfree.engines.dask.collections import CollectionOnWorkers, CollectionRows
from kfree.engines.dask.rows import DaskRows, FilesOnWorkers
from kfree.engines.files.engine import Place, open_stream
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.registry import open_engine
from kfree.native import _core


def on_workers(workers):
    """The place of rows of workers."""
    return Place(workers.source.n_features, lambda *seen: DaskRows(workers, *seen))


@pytest.mark.parametrize("kind", ["float32", "weights, some zero", "ties", "heavy tails", "cosine"])
def test_workers_have_the_bits_of_memory(kind, client, rng):
    X, weight, unit = rows_of_all_kinds(rng)[kind]
    lam = 0.05 if unit else 9.0
    expected = answered_by(open_engine("native", X, weight=weight, unit=unit, n_threads=1), lam)
    workers = FilesOnWorkers(Cluster(client), ArrayRows(X, weight), Reading("native", None, _core.BLOCK))
    engine = open_stream(on_workers(workers), unit=unit, sample=(300, first_draw(SEED)))
    check_same_bits(answered_by(engine, lam), expected)


# Chunks that blocks do not fit into, one that is shorter than a block, and one for all rows.
CHUNKS = [(5000, 5000, 100, 8416), (18516,)]


@pytest.mark.parametrize("sizes", CHUNKS, ids=["uneven chunks", "one chunk"])
def test_arrays_have_the_bits_of_memory(sizes, client, rng):
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    expected = answered_by(open_engine("native", X, weight=weight, n_threads=1), 9.0)
    rows = CollectionRows.of(da.from_array(X, chunks=(sizes, (1, 2))), da.from_array(weight, chunks=7000))
    workers = CollectionOnWorkers(Cluster(client), rows, Reading("native", None, _core.BLOCK))
    engine = open_stream(on_workers(workers), sample=(300, first_draw(SEED)))
    check_same_bits(answered_by(engine, 9.0), expected)


def test_dataframes_have_the_bits_of_memory(client, rng):
    X = rows_of_all_kinds(rng)["float32"][0]
    expected = open_engine("native", X)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    lengths_unknown = frame[frame.a > -np.inf]
    workers = CollectionOnWorkers(
        Cluster(client), CollectionRows.of(lengths_unknown), Reading("native", 1, _core.BLOCK)
    )
    engine, sites = open_stream(on_workers(workers)), Sites.of(np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(engine.frame.shift, expected.frame.shift)
    np.testing.assert_array_equal(engine.nearest(sites).stats.sum, expected.nearest(sites).stats.sum)


def test_many_chunks_are_joined_on_workers(client, rng):
    X = rng.normal(size=(80 * _core.BLOCK, 2))
    workers = CollectionOnWorkers(
        Cluster(client), CollectionRows.of(da.from_array(X, chunks=(_core.BLOCK, 2))), Reading("native", 1, _core.BLOCK)
    )
    engine, expected, sites = open_stream(on_workers(workers)), open_engine("native", X), Sites.of(np.eye(2))
    np.testing.assert_array_equal(engine.nearest(sites).stats.sum, expected.nearest(sites).stats.sum)


@pytest.mark.parametrize("known", [(0, 0), (300, first_draw(SEED))], ids=["drawn later", "drawn at first"])
def test_samples_have_the_bits_of_memory_where_most_rows_do_not_count(known, client, rng):
    X = rng.normal(size=(5 * _core.BLOCK, 2))
    weight = (rng.random(len(X)) < 0.05).astype(float)
    expected = open_engine("native", X, weight=weight)
    workers = FilesOnWorkers(Cluster(client), ArrayRows(X, weight), Reading("native", 1, _core.BLOCK))
    engine, start = open_stream(on_workers(workers), sample=known), Sites.of(np.zeros((1, 2)))
    found, right = (one.sample(300, np.random.RandomState(SEED), start) for one in (engine, expected))
    np.testing.assert_array_equal(found.rows(np.arange(300)), right.rows(np.arange(300)))


def test_far_rows_that_are_too_many_to_be_kept_are_read_again(client, rng, monkeypatch):
    monkeypatch.setattr(FilesOnWorkers, "most_far_bytes", 1000)
    X = rng.normal(size=(5 * _core.BLOCK, 2))
    workers = FilesOnWorkers(Cluster(client), ArrayRows(X), Reading("native", 1, _core.BLOCK))
    engines = open_stream(on_workers(workers)), open_engine("native", X)
    found, expected = (engine.sweep(Sites.of(np.zeros((1, 2))), 4.0, None, 99) for engine in engines)
    assert len(expected.centres) > 2
    np.testing.assert_array_equal(found.centres, expected.centres)
    np.testing.assert_array_equal(found.stats.sum, expected.stats.sum)
