"""Validation of parameters. Errors state what was given, what is allowed and what to do."""

import difflib
import math
import sys
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

# Maximum number of threads; starting more would take longer than a fit.
_MOST_THREADS = 4096


def require(ok, name, value, allowed):
    """Raise unless ``ok``, naming the parameter, its value and what is allowed."""
    if not ok:
        raise ValueError(f"{name}={shown(value)} is not allowed; give {allowed}.")


def shown(value):
    """The repr of a value without NumPy's types: 0 and not np.int64(0)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def require_choice(name, value, choices):
    """Raise unless ``value`` is one of the choices, with a guess at what was meant."""
    if isinstance(value, str) and value in choices:
        return
    guess = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f" (did you mean {guess[0]!r}?)" if guess else ""
    require(False, name, value, "one of " + ", ".join(map(repr, choices)) + hint)


def require_count(name, value, or_none=False, least=1):
    """Raise unless ``value`` is a whole number of at least ``least`` that compiled code can hold."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    ok = is_whole and least <= int(value) <= sys.maxsize
    too_large = isinstance(value, Integral) and int(value) > sys.maxsize
    allowed = f"a whole number ≥ {least}" + (" and < 2**63" if too_large else "") + (" or None" if or_none else "")
    require(ok or (or_none and value is None), name, value, allowed)


def require_share(name, value):
    """Raise unless ``value`` is a share of the rows between 0 and 1."""
    require(is_positive_number(value) and value < 1, name, value, "a share of rows between 0 and 1")


def random_generator(random_state):
    """A generator of random numbers from a seed, as :func:`sklearn.utils.check_random_state` makes it."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        allowed = f"None, a whole number from 0 to {2**32 - 1} or a numpy.random.RandomState"
        raise ValueError(f"random_state={shown(random_state)} is not allowed; give {allowed}.") from None


def require_threads(n_threads):
    """Raise unless ``n_threads`` is None or a number of threads that a machine may have."""
    require_count("n_threads", n_threads, or_none=True)
    ok = n_threads is None or n_threads <= _MOST_THREADS
    require(ok, "n_threads", n_threads, f"a whole number from 1 to {_MOST_THREADS} or None")


def is_number(value):
    """Whether ``value`` is a finite number in float64 (a bool is not a number here)."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number that float64 does not reach
        return False


def is_positive_number(value):
    """Whether ``value`` is a finite number above zero."""
    return is_number(value) and value > 0
