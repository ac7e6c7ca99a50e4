"""Draws in proportion to masses: the compiled ones have the bits of the reference."""

import numpy as np
import pytest

from kfree.core.masses import MassTree
from kfree.native import _core

SIZES = [(1, 2048), (2048, 2048), (9 * 2048, 2048), (40_000, 2048), (5, 7), (1000, 7), (1003, 7)]


def targets_of(total, rng):
    """Anywhere, at both ends and beyond them."""
    return [*(rng.uniform(size=200) * total).tolist(), 0.0, float(np.nextafter(total, 0)), total, 2 * total]


@pytest.mark.parametrize(("n", "block"), SIZES)
def test_compiled_draws_have_the_bits_of_the_reference(rng, n, block):
    mass = rng.exponential(size=n) ** 9
    mass[rng.uniform(size=n) < 0.3] = 0.0
    found, expected = _core.Masses(mass, block), MassTree.of(mass, block)
    assert found.total == expected.total == pytest.approx(mass.sum())
    targets = targets_of(found.total, rng)
    assert found.rows_at(targets) == expected.rows_at(targets)


@pytest.mark.parametrize("n", [10, 5000])
def test_masses_that_overflow_or_are_all_zero_are_drawn_as_by_the_reference(rng, n):
    for mass in (np.zeros(n), np.full(n, 1e308), np.where(np.arange(n) == n // 2, np.inf, 1.0)):
        found, expected = _core.Masses(mass, 7), MassTree.of(mass, 7)
        assert found.total == expected.total
        targets = [0.0, 1.0, 0.5 * found.total, found.total]
        assert found.rows_at(targets) == expected.rows_at(targets)


def test_draws_follow_the_running_sum(rng):
    mass = rng.integers(0, 5, size=500).astype(float)
    rows = np.repeat(np.arange(500), mass.astype(int))
    assert _core.Masses(mass, 7).rows_at(np.arange(mass.sum()).tolist()) == rows.tolist()


def test_no_masses_are_refused():
    with pytest.raises(ValueError, match="mass"):
        _core.Masses(np.zeros(0))
