"""Checks of what generators of data are given: errors name the parameter, its value and what is allowed."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state, check_scalar

# More numbers than any memory holds; beyond 64 bits NumPy raises errors that name nothing.
_MOST = 2**40


def require_count(name, value):
    """Raise unless ``value`` is a whole number from one on."""
    if isinstance(value, bool):  # NumPy takes it for one in some places only
        raise TypeError(f"{name}={value} must be a whole number from 1 on.")
    check_scalar(value, name, Integral, min_val=1, max_val=_MOST)


def require_between(name, value, low, high):
    """Raise unless ``value`` is a number from ``low`` to ``high``."""
    check_scalar(value, name, Real)
    if not low <= value <= high:  # NaN is refused too
        raise ValueError(f"{name} == {value}, must be a number from {low} to {high}.")


def require_choice(name, value, choices):
    """Raise unless ``value`` is one of the choices."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}.")


def generator(random_state):
    """The random generator that ``random_state`` stands for."""
    try:
        return check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"random_state={random_state!r} is no seed; give an integer from 0 to 2³² − 1, a "
            f"{np.random.RandomState.__name__} or None."
        ) from error
