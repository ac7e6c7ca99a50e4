"""Rows on workers: the bits of rows in memory, whatever the number of workers and the partitioning."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from engines.checks import rows_of_all_kinds
from files.test_stream import KINDS, SEED, check_same, first_draw, outcomes

from kfree.core.sites import Sites
from kfree.engines.dask.cluster import Cluster
from kfree.engines.dask.collections import CollectionOnWorkers, CollectionRows
from kfree.engines.dask.part import OnWorkers
from kfree.engines.dask.place import FilesOnWorkers
from kfree.engines.files.engine import open_stream
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.registry import open_engine
from kfree.native import _core


@pytest.mark.parametrize("kind", KINDS)
def test_workers_have_the_bits_of_memory(kind, client, rng):
    X, weight, unit = rows_of_all_kinds(rng)[kind]
    lam = 0.05 if unit else 9.0
    expected = dict(outcomes(open_engine("native", X, weight=weight, unit=unit, n_threads=1), lam))
    workers = FilesOnWorkers(Cluster(client), ArrayRows(X, weight), Reading("native", None, _core.BLOCK))
    engine = open_stream(OnWorkers(workers), unit=unit, sample=(300, first_draw(SEED)))
    check_same(dict(outcomes(engine, lam)), expected)


# Chunks that blocks do not fit into, one that is shorter than a block, and one for all rows.
CHUNKS = [(5000, 5000, 100, 8416), (18516,)]


@pytest.mark.parametrize("sizes", CHUNKS, ids=["uneven chunks", "one chunk"])
def test_arrays_have_the_bits_of_memory(sizes, client, rng):
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    expected = dict(outcomes(open_engine("native", X, weight=weight, n_threads=1), 9.0))
    rows = CollectionRows.of(da.from_array(X, chunks=(sizes, (1, 2))), da.from_array(weight, chunks=7000))
    workers = CollectionOnWorkers(Cluster(client), rows, Reading("native", None, _core.BLOCK))
    engine = open_stream(OnWorkers(workers), sample=(300, first_draw(SEED)))
    check_same(dict(outcomes(engine, 9.0)), expected)


def test_dataframes_have_the_bits_of_memory(client, rng):
    X = rows_of_all_kinds(rng)["float32"][0]
    expected = open_engine("native", X)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    lengths_unknown = frame[frame.a > -np.inf]
    workers = CollectionOnWorkers(
        Cluster(client), CollectionRows.of(lengths_unknown), Reading("native", 1, _core.BLOCK)
    )
    engine, sites = open_stream(OnWorkers(workers)), Sites.of(np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(engine.frame.shift, expected.frame.shift)
    np.testing.assert_array_equal(engine.nearest(sites).stats.sum, expected.nearest(sites).stats.sum)


def test_many_chunks_are_joined_on_workers(client, rng):
    X = rng.normal(size=(80 * _core.BLOCK, 2))
    workers = CollectionOnWorkers(
        Cluster(client), CollectionRows.of(da.from_array(X, chunks=(_core.BLOCK, 2))), Reading("native", 1, _core.BLOCK)
    )
    engine, expected, sites = open_stream(OnWorkers(workers)), open_engine("native", X), Sites.of(np.eye(2))
    np.testing.assert_array_equal(engine.nearest(sites).stats.sum, expected.nearest(sites).stats.sum)
