"""What tests share: blobs, the instruction sets of this machine, and a mark for tests on public data."""

import os

import pytest

from kfree.native import _core

INSTRUCTION_SETS = _core.instruction_sets()
real_data = pytest.mark.skipif(not os.environ.get("KFREE_DATA"), reason="KFREE_DATA is not set")


def blobs(rng, n=300, d=3, k=5, spread=6.0):
    """Gaussian blobs: rows and the blob that each came from."""
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d)), y
