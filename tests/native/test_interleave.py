"""Columns that become rows: compiled code writes what the reference implementation does."""

import kfree.native._core as _core
import numpy as np
import pytest

from kfree.native.reference.rows import interleave


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (63, 2), (64, 5), (1000, 17)])
def test_columns_with_any_strides_become_rows(shape, dtype, rng):
    table = rng.normal(size=(shape[0], 2 * shape[1])).astype(dtype)
    columns = [np.ascontiguousarray(table[:, j]) if j % 4 else table[:, j] for j in range(0, 2 * shape[1], 2)]
    found, expected = np.full(shape, np.nan, dtype), np.full(shape, np.nan, dtype)
    _core.interleave(columns, found)
    interleave(columns, expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, table[:, ::2])


def test_columns_of_other_lengths_or_types_are_refused():
    with pytest.raises(ValueError, match="columns must have shape"):
        _core.interleave([np.zeros(3), np.zeros(4)], np.zeros((4, 2)))
    with pytest.raises(ValueError, match="X must have shape"):
        _core.interleave([np.zeros(4)], np.zeros((4, 2)))
    with pytest.raises(TypeError):
        _core.interleave([np.zeros(4, np.float32)], np.zeros((4, 1)))
