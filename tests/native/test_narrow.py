"""Rows of few columns are ranked with a row in each lane, those of many from all scores: as by the reference."""

import kfree.native._core as _core
import numpy as np
import pytest

from kfree.native.reference import passes


def assigned(module, X, centres, isa):
    n, k, zero = len(X), len(centres), np.zeros(X.shape[1])
    rows = module.dense_rows(X, zero, zero, False, None, isa)
    label, sq_dist = np.empty(n, np.int32), np.empty(n)
    stats = np.empty(k), np.empty((k, X.shape[1])), np.empty(k)
    bounds, found = module.Bounds(n), []
    for shift in (0.0, 0.125, 0.125):  # a first pass, and later ones that compare some rows with the fastest sites
        centres = centres + shift * (np.arange(k) % 7 == 0)[:, None]
        module.nearest(rows, centres, np.arange(k), np.inf, 1, bounds, label, sq_dist, *stats, None)
        found += [label.copy(), sq_dist.copy(), *(one.copy() for one in stats)]
    return found


# Below and above half a panel, a panel, a tile, and the most sites for which rows are in lanes; whole numbers tie.
@pytest.mark.parametrize("values", ["random", "ties"])
@pytest.mark.parametrize("k", [2, 8, 9, 16, 17, 24, 25, 100, 128, 129])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("isa", _core.instruction_sets())
def test_few_columns_as_by_the_reference(isa, d, k, values, rng):
    for n in (1, 47, 48, 300):
        X, centres = rng.normal(size=(n, d)).astype(np.float32), rng.normal(size=(k, d))
        if values == "ties":
            X, centres = np.round(2 * X), np.round(2 * centres)
        for ours, theirs in zip(assigned(_core, X, centres, isa), assigned(passes, X, centres, isa), strict=True):
            np.testing.assert_array_equal(ours, theirs)


# Pieces of 512 rows: one in which sites move far, so that its rows are ranked without lists, one of rows that stay, and
# both in one piece, whose first rows do not tell what the rest is like.
@pytest.mark.parametrize("values", ["random", "ties"])
@pytest.mark.parametrize("d", [4, 8])
@pytest.mark.parametrize("isa", _core.instruction_sets())
def test_bounds_that_hold_for_some_pieces(isa, d, values, rng):
    n, k = 1600, 21
    centres = rng.normal(size=(k, d)) + 100.0 * (np.arange(k) % 7 != 0)[:, None]
    near = np.where((np.arange(n) // 400) % 2, 0, 1 + rng.integers(6, size=n))
    X = (centres[near] + rng.normal(size=(n, d))).astype(np.float32)
    if values == "ties":
        X, centres = np.round(X), np.round(centres)
    for ours, theirs in zip(assigned(_core, X, centres, isa), assigned(passes, X, centres, isa), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# Half the squared distances to two sites differ by less than float32 sees, or by nothing, far from the origin.
@pytest.mark.parametrize("d", [4, 8])
@pytest.mark.parametrize("isa", _core.instruction_sets())
def test_sites_that_float32_cannot_tell_apart(isa, d, rng):
    X = (1000.0 + rng.normal(size=(300, d))).astype(np.float32)
    centres = 1000.0 + np.repeat(rng.normal(size=(10, d)), 2, axis=0) + 1e-4 * rng.normal(size=(20, d))
    for ours, theirs in zip(assigned(_core, X, centres, isa), assigned(passes, X, centres, isa), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("values", ["random", "ties"])
@pytest.mark.parametrize("k", [2, 17, 40])
@pytest.mark.parametrize("isa", _core.instruction_sets())
def test_many_columns_as_by_the_reference(isa, k, values, rng):
    X, centres = rng.normal(size=(60, 520)).astype(np.float32), rng.normal(size=(k, 520))
    if values == "ties":
        X, centres = X.round(), np.repeat(centres[: (k + 1) // 2].round(), 2, axis=0)[:k]
    for ours, theirs in zip(assigned(_core, X, centres, isa), assigned(passes, X, centres, isa), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_without_columns():
    label = assigned(_core, np.zeros((50, 0), np.float32), np.zeros((3, 0)), _core.instruction_sets()[-1])[0]
    assert not label.any()
