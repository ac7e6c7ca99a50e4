"""What travels: per worker and pass a few times the size of the centres, the sample once, and never labels."""

import time
from collections import Counter

import distributed
import numpy as np
import pytest
from engines.checks import SEED
from files.test_stream import first_draw
from workers.counting import CountingCluster
from workers.test_dask_engine import on_workers

from kfree.core.sites import Sites
from kfree.core.sum_tree import nodes_covering
from kfree.engines.dask.cluster import Cluster
from kfree.engines.dask.rows import FilesOnWorkers
from kfree.engines.dask.shares import LEAST_BALANCE, balance, shares
from kfree.engines.files.engine import open_stream
from kfree.engines.files.source import ArrayRows, Reading
from kfree.native import _core

# The last share is seven eighths of a node: blocks that are absent make no further nodes.
K, D, N_BLOCKS, SAMPLE = 200, 16, 15, 1000


@pytest.fixture
def engine(client, rng):
    # Most rows are around a few centres; the last ones are far off.
    X = rng.normal(size=(N_BLOCKS * _core.BLOCK, D)).astype(np.float32)
    X[-40:] *= 100.0
    cluster = CountingCluster(client)
    place = on_workers(FilesOnWorkers(cluster, ArrayRows(X), Reading("native", 1, _core.BLOCK)))
    return open_stream(place, sample=(SAMPLE, first_draw(SEED)))


def test_a_pass_moves_at_most_three_times_the_centres(engine):
    sample = engine.sample(SAMPLE, np.random.RandomState(SEED), Sites.of(np.zeros((1, D))))
    sites = Sites.of(sample.rows(np.arange(K)))
    begun = len(engine.cluster.traffic)
    engine.nearest(sites)
    engine.sweep(sites, np.inf, None, 0)
    swept = engine.sweep(sites, 1e4, None, 20)
    assert len(swept.centres) > K
    passes = engine.cluster.traffic[begun:]
    assert [one.name for one in passes] == ["sums", "births", "sums", "births", "sums"]
    assert len(passes[0].returned) == 2  # both workers
    nearest, found, unborn, newborn, after = (one.n_bytes for one in passes)
    for n_bytes, k in ((nearest, K), (found + unborn, K), (newborn, K), (after, len(swept.centres))):
        assert 8 * k * D <= n_bytes <= 3 * 8 * k * (D + 3)


def test_the_first_pass_moves_the_sample_once(engine):
    (look,) = (one for one in engine.cluster.traffic if one.name == "look")
    row = 4 * D + 8 + 8  # the data, the number and the key
    assert SAMPLE * row <= look.returned.total() <= 1.5 * SAMPLE * row


def _sleep(number):
    time.sleep(0.25)  # Dask looks for tasks to move once a second
    return number


def test_tasks_of_a_busy_worker_are_not_taken_by_an_idle_one(client):
    cluster = Cluster(client)
    worker, _ = cluster.workers()
    tasks = [None]
    for number in range(8):
        tasks.append(cluster.submit(_sleep, number, key=("kfree-sleep", number), worker=worker, after=tasks[-1]))
    distributed.wait(tasks[1:])
    assert {holder for holders in client.who_has(tasks[1:]).values() for holder in holders} == {worker}
    assert cluster.results("sleep", tasks[1:]) == list(range(8))


@pytest.mark.parametrize("n_workers", [1, 2, 3, 5, 8, 100])
def test_shares_are_few_nodes_of_fair_size(n_workers):
    for n_blocks in (1, 7, 8, 100, 801, 4883, 48_829):
        dealt = shares(n_blocks, n_workers)
        assert [block for one in dealt for block in range(one.begin, one.end)] == list(range(n_blocks))
        for begin, end, _ in dealt:
            size = 1 << (end - begin - 1).bit_length()
            assert begin % size == 0
            assert end == n_blocks or nodes_covering(begin, end) == [(size.bit_length() - 1, begin // size)]
        if n_blocks >= 8 * n_workers:
            assert balance(dealt, n_workers) >= LEAST_BALANCE
            assert max(Counter(one.worker for one in dealt).values()) <= 3
