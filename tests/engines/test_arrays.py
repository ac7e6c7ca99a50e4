"""Operations on arrays of one kind."""

import numpy as np
import pytest

from kfree.core.arrays import NUMPY


@pytest.mark.parametrize("size", [0, 1, 7, 50, 99, 100, 101])
@pytest.mark.parametrize("n_distinct", [1, 5, 1000])
def test_largest_values_come_in_order_and_equal_ones_as_they_stand(n_distinct, size, rng):
    values = rng.integers(n_distinct, size=100) / 7
    values[values == values.max()] = np.inf
    np.testing.assert_array_equal(NUMPY.largest(values, size), np.argsort(-values, kind="stable")[:size])
