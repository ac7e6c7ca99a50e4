"""Columns that become rows: compiled code writes and finds what the reference implementation does."""

import kfree.native._core as _core
import numpy as np
import pytest

from kfree.native.reference.rows import interleave

SHAPES = [(0, 3), (1, 1), (3, 4), (63, 2), (64, 5), (130, 8), (1000, 17)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_with_any_strides_become_rows(shape, dtype, rng):
    table = rng.normal(size=(shape[0], 2 * shape[1])).astype(dtype)
    columns = [np.ascontiguousarray(table[:, j]) if j % 4 else table[:, j] for j in range(0, 2 * shape[1], 2)]
    found, expected = np.full(shape, np.nan, dtype), np.full(shape, np.nan, dtype)
    assert _core.interleave(columns, found)
    assert interleave(columns, expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, table[:, ::2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4), (130, 6)])
def test_a_value_that_is_no_number_is_found_wherever_it_is(shape, dtype):
    # The largest numbers are finite, though their sum is not.
    values = np.full(shape[::-1], np.finfo(dtype).max, dtype)
    X = np.empty(shape, dtype)
    assert _core.interleave(list(values), X)
    for place in np.ndindex(values.shape):
        for bad in (np.nan, np.inf, -np.inf):
            spoiled = values.copy()
            spoiled[place] = bad
            assert not _core.interleave(list(spoiled), X)
            assert not interleave(list(spoiled), X)


def test_columns_of_other_lengths_or_types_are_refused():
    with pytest.raises(ValueError, match="columns must have shape"):
        _core.interleave([np.zeros(3), np.zeros(4)], np.zeros((4, 2)))
    with pytest.raises(ValueError, match="X must have shape"):
        _core.interleave([np.zeros(4)], np.zeros((4, 2)))
    with pytest.raises(TypeError):
        _core.interleave([np.zeros(4, np.float32)], np.zeros((4, 1)))
