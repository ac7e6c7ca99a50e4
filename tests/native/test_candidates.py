"""The best of several candidates for a seed: estimates in float32 decide as the canonical sums do, or not at all."""

import numpy as np
import pytest
from common import INSTRUCTION_SETS

from kfree.native import _core
from kfree.native.reference import passes as reference


def rows_of(passes, X, weight, isa):
    zeros = np.zeros(X.shape[1])
    return passes.dense_rows(X, zeros, zeros, False, weight, isa)


def draw_case(rng):
    """Rows, weights, candidates and what rows have: of any size, weights over many decades, candidates nearly equal."""
    n, d, k = int(rng.integers(1, 150)), int(rng.choice([1, 2, 3, 5, 8, 9, 40])), int(rng.integers(1, 17))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    weight = None if rng.uniform() < 0.3 else rng.exponential(size=n) ** 6
    candidates = X[rng.integers(n, size=k)].copy()
    if rng.uniform() < 0.6:  # closer together than float32 tells apart
        candidates[:] = candidates[0] * (1 + 1e-9 * rng.normal(size=candidates.shape))
    sq_dist = ((X - X[0]) ** 2).sum(axis=1) * rng.choice([0.01, 1.0, 3.0])
    return X, weight, candidates, sq_dist


@pytest.mark.parametrize("isa", INSTRUCTION_SETS)
def test_the_best_candidate_is_that_of_the_canonical_sums(isa, rng):
    for _ in range(400):
        X, weight, candidates, sq_dist = draw_case(rng)
        expected = reference.best_candidate(rows_of(reference, X, weight, isa), candidates, sq_dist, 1)
        assert _core.best_candidate(rows_of(_core, X, weight, isa), candidates, sq_dist, 1) == expected
