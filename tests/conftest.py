"""Settings that must come before the first import, options and marks, and the fixture that every test draws from."""

import os
import signal
from pathlib import Path
from zlib import crc32

# scikit-learn runs its array API checks only where SciPy was told so before its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

# Tests press Ctrl-C. A shell that starts them in the background would have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--since", metavar="REF", help="of the mutants, only those in files that changed since REF")


def function_of(nodeid):
    return nodeid.partition("[")[0]


# Test functions that take long, and the seconds of processor time that all their cases take (``tests/measure.py``).
LINES = (Path(__file__).parent / "slow.txt").read_text().splitlines()
SLOW = {function: float(seconds) for function, _, seconds in (line.rpartition(" ") for line in LINES)}
# The quick tier has cases of such a function for about this many seconds, drawn by their names.
SECONDS = 0.3


def is_slow(item):
    if item.get_closest_marker("huge") or item.get_closest_marker("mutants"):
        return True
    share = SECONDS / SLOW.get(function_of(item.nodeid), SECONDS)
    return crc32(item.nodeid.encode()) >= share * 2**32


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is slow before pytest selects by marks."""
    for item in items:
        if is_slow(item):
            item.add_marker("slow")


@pytest.fixture
def rng():
    return np.random.default_rng(20120626)
