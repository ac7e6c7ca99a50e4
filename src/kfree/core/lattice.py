"""Values on a lattice, such as whole numbers or answers on a scale."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats

# How far from a lattice rounding takes a value, in steps.
_ROUNDING = 1e-6


def step_of(values: Floats) -> float:
    """The step of the lattice that several ascending values are on, 0 if they are on none."""
    step = float(np.diff(values).min())
    place = (values - values[0]) / step
    return step if np.abs(place - np.round(place)).max() < _ROUNDING else 0.0
