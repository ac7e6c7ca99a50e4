"""Shared data and machine facts."""

import os

# scikit-learn runs its array API checks only where SciPy was told so before its first import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

from kfree.native import _core

INSTRUCTION_SETS = _core.instruction_sets()
real_data = pytest.mark.skipif(not os.environ.get("KFREE_DATA"), reason="KFREE_DATA is not set")


@pytest.fixture
def rng():
    return np.random.default_rng(20120626)


def blobs(rng, n=300, d=3, k=5, spread=6.0):
    """Gaussian blobs: rows and the blob that each came from."""
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d)), y
