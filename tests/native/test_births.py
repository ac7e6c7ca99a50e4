"""Births that come in bursts: blocks of far rows grow while there are none, and end early when there are many."""

import numpy as np
import pytest

from kfree.native import _core
from kfree.native.processor import chosen_instruction_set
from kfree.native.reference import passes as reference


def bursts(n_features, rng):
    """Long stretches of rows at two places, and short ones of rows that are far from all others."""
    places = rng.normal(size=(2, n_features))
    calm = [places[rng.integers(2, size=n)] + rng.normal(scale=0.01, size=(n, n_features)) for n in (3000, 5000, 900)]
    wild = [rng.normal(scale=30.0, size=(n, n_features)) for n in (40, 600)]
    return np.concatenate([calm[0], wild[0], calm[1], wild[1], calm[2]])


@pytest.mark.parametrize("n_features", [2, 5])
@pytest.mark.parametrize("room", [10_000, 200], ids=["room for all", "little room"])
def test_bursts(n_features, room, rng):
    X = bursts(n_features, rng)
    anchor, shift = X[0], np.zeros(n_features)

    def opened(passes, n_threads):
        isa = chosen_instruction_set(passes.instruction_sets())
        rows = passes.dense_rows(X, anchor, shift, False, None, isa)
        label, sq_dist = np.zeros(len(X), np.int32), np.full(len(X), 1e6)
        far = np.arange(len(X))
        founders, n_refused = passes.open_clusters(rows, far, 1, 4.0, room, n_threads, label, sq_dist)
        return founders, n_refused, label, sq_dist

    expected = opened(reference, 1)
    assert len(expected[0]) > 150
    for n_threads in (1, 4):
        for a, b in zip(opened(_core, n_threads), expected, strict=True):
            np.testing.assert_array_equal(a, b)
