"""Settings that must come before the first import, options and marks, and the fixture that every test draws from."""

import os
import signal
from collections import defaultdict
from pathlib import Path
from zlib import crc32

# scikit-learn runs its array API checks only where SciPy was told so before its first import.
os.environ["SCIPY_ARRAY_API"] = "1"
# With a test on each processor, threads of BLAS wait for each other: small products take up to a hundred times as long.
# Threads of OpenMP, which scikit-learn has, sleep while they wait.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

import numpy as np
import pytest

# Tests press Ctrl-C. A shell that starts them in the background would have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--since", metavar="REF", help="of the mutants, only those in files that changed since REF")


def function_of(nodeid):
    return nodeid.partition("[")[0]


def read_times():
    """Seconds of processor time that all cases of a test function take, and their number, of those that take long."""
    lines = (Path(__file__).parent / "slow.txt").read_text().splitlines()
    return {function: (float(seconds), int(n)) for function, seconds, n in map(str.split, lines)}


# The quick tier has cases of such a function for at most this many seconds: those with the smallest hashes.
QUICK = 0.1


def slow_ones(function, items):
    """The slow cases of a test function."""
    seconds, n = TIMES[function]
    drawn = sorted(items, key=lambda item: crc32(item.nodeid.encode()))
    return drawn[int(QUICK * n / seconds) :]


TIMES = read_times()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is slow before pytest selects by marks. What is huge or a mutant is slow, too."""
    slow, timed = [], defaultdict(list)
    for item in items:
        if item.get_closest_marker("huge") or item.get_closest_marker("mutants"):
            slow.append(item)
        elif function_of(item.nodeid) in TIMES:
            timed[function_of(item.nodeid)].append(item)
    for function, cases in timed.items():
        slow += slow_ones(function, cases)
    for item in slow:
        item.add_marker("slow")


@pytest.fixture
def rng():
    return np.random.default_rng(20120626)
