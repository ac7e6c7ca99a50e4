"""Settings that must come before the first import, options and marks, and the fixture that every test draws from."""

import os
import signal

# scikit-learn runs its array API checks only where SciPy was told so before its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

# Tests press Ctrl-C. A shell that starts them in the background would have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--since", metavar="REF", help="of the mutants, only those in files that changed since REF")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is huge or a mutant is slow, too. Marks come before pytest selects by them."""
    for item in items:
        if item.get_closest_marker("huge") or item.get_closest_marker("mutants"):
            item.add_marker("slow")


@pytest.fixture
def rng():
    return np.random.default_rng(20120626)
