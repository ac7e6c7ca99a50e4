"""NaN and infinite values are found wherever they are, as by the reference implementation."""

import kfree.native._core as _core
import numpy as np
import pytest

from kfree.native.reference import passes

LAYOUTS = {
    "rows": lambda X: X,
    "columns": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
}


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bad_values_are_found_in_any_layout(dtype, layout, n_threads, rng):
    # The largest numbers are finite, though their sum is not.
    X = np.full((4000, 19), np.finfo(dtype).max, dtype)
    assert _core.all_finite(LAYOUTS[layout](X), n_threads)
    for bad in (np.nan, np.inf, -np.inf):
        for place in [(0, 0), (3999, 18), tuple(rng.integers(X.shape))]:
            spoiled = X.copy()
            spoiled[place] = bad
            found = _core.all_finite(LAYOUTS[layout](spoiled), n_threads)
            assert not found
            assert not passes.all_finite(spoiled, n_threads)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_empty_and_single_values(shape):
    assert _core.all_finite(np.zeros(shape), 2)
    assert _core.all_finite(np.full(shape, np.nan), 2) == (0 in shape)
