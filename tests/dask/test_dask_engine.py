"""Rows on workers: the bits of rows in memory, whatever the number of workers and the partitioning."""

import numpy as np
import pytest
from engines.checks import rows_of_all_kinds
from files.test_stream import KINDS, SEED, check_same, first_draw, outcomes

from kfree.engines.dask.cluster import Cluster
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
