"""Sums of masses by block: the compiled ones have the bits of the reference."""

import numpy as np
import pytest

from kfree.core.masses import block_sums
from kfree.native import _core


@pytest.mark.parametrize(("n", "block"), [(1, 2048), (2048, 2048), (9 * 2048, 2048), (40_000, 2048), (5, 7), (1000, 7)])
def test_compiled_sums_have_the_bits_of_the_reference(rng, n, block):
    mass = rng.exponential(size=n) ** 9
    found, expected = np.empty((2, -(-n // block)))
    _core.block_sums(mass, block, found)
    block_sums(mass, block, expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(expected.sum(), mass.sum())


def test_sums_of_another_length_are_refused(rng):
    with pytest.raises(ValueError, match="sum"):
        _core.block_sums(rng.exponential(size=10), 4, np.empty(2))
