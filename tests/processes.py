"""Processes that begin with kfree and what it needs already imported, which takes longer than many a test."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["kfree.estimators.dp_means", "pyarrow.csv", "pyarrow.parquet"])


def apart(function, *arguments):
    """What a function returns in a process of its own, forked from one that has no threads."""
    with ProcessPoolExecutor(1, _SERVER) as process:
        return process.submit(function, *arguments).result()
