"""Settings that must come before the first import, and the fixture that every test draws from."""

import os
import signal

# scikit-learn runs its array API checks only where SciPy was told so before its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

# Tests press Ctrl-C. A shell that starts them in the background would have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(20120626)
