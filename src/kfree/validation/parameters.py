"""Validation of parameters. Errors state what was given, what is allowed and what to do."""

import difflib
import math
import sys
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kfree.core.memory import memory_bytes

# Maximum number of threads; starting more would take longer than a fit.
_MOST_THREADS = 4096


def require(ok: bool, name: str, value: Any, allowed: str) -> None:
    """Raise unless ``ok``, naming the parameter, its value and what is allowed."""
    if not ok:
        raise ValueError(f"{name}={shown(value)} is not allowed; give {allowed}.")


def shown(value: Any) -> str:
    """The repr of a value without NumPy's types: 0 and not np.int64(0)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of the choices, with a guess at what was meant."""
    if isinstance(value, str) and value in choices:
        return
    guess = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f" (did you mean {guess[0]!r}?)" if guess else ""
    require(False, name, value, "one of " + ", ".join(map(repr, choices)) + hint)


def require_count(name: str, value: Any, or_none: bool = False, least: int = 1) -> None:
    """Raise unless ``value`` is a whole number of at least ``least`` that compiled code can hold."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    ok = is_whole and least <= int(value) <= sys.maxsize
    too_large = isinstance(value, Integral) and int(value) > sys.maxsize
    allowed = f"a whole number ≥ {least}" + (" and < 2**63" if too_large else "") + (" or None" if or_none else "")
    require(ok or (or_none and value is None), name, value, allowed)


def whole(value: Any) -> Any:
    """A whole number as Python's int, or None: products of NumPy's narrow numbers, such as np.uint8(10), overflow."""
    return None if value is None else int(value)


def require_false_alarms(value: Any) -> None:
    """Raise unless ``false_alarms`` is a share of the rows between 0 and 1."""
    require(is_positive_number(value) and value < 1, "false_alarms", value, "a share of rows between 0 and 1")


def random_generator(random_state: Any, if_none: int | None = None) -> np.random.RandomState:
    """A generator of random numbers from a seed, as :func:`sklearn.utils.check_random_state` makes it.

    ``if_none`` is the seed where ``random_state`` is None; without it, the generator is that of NumPy.
    """
    try:
        return check_random_state(if_none if random_state is None else random_state)
    except (TypeError, ValueError):
        allowed = f"None, a whole number from 0 to {2**32 - 1} or a numpy.random.RandomState"
        raise ValueError(f"random_state={shown(random_state)} is not allowed; give {allowed}.") from None


def random_seed(random_state: Any) -> int:
    """A seed from ``random_state``; 0 if that is None."""
    return 0 if random_state is None else int(random_generator(random_state).randint(2**31))


def require_threads(n_threads: Any) -> None:
    """Raise unless ``n_threads`` is None or a number of threads that a machine may have."""
    require_count("n_threads", n_threads, or_none=True)
    ok = n_threads is None or n_threads <= _MOST_THREADS
    require(ok, "n_threads", n_threads, f"a whole number from 1 to {_MOST_THREADS} or None")


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number in float64 (a bool is not a number here)."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number that float64 does not reach
        return False


def is_positive_number(value: Any) -> bool:
    """Whether ``value`` is a finite number above zero."""
    return is_number(value) and value > 0


def is_auto(value: Any) -> bool:
    """Whether ``value`` is the text "auto"; an array is compared with nothing."""
    return isinstance(value, str) and value == "auto"


# A constraint raises if an estimator's parameters violate it. Tables of them are checked in order.
Constraint = Callable[[Any], None]


def check(estimator: Any, constraints: Sequence[Constraint]) -> None:
    """Raise unless the parameters of an estimator fulfil all constraints."""
    for constraint in constraints:
        constraint(estimator)


def rule(name: str, holds: Callable[[Any], bool], allowed: str | Callable[[Any], str]) -> Constraint:
    """The parameter ``name`` is right if ``holds(estimator)``; ``allowed`` says what is."""

    def constraint(estimator: Any) -> None:
        if not holds(estimator):
            require(False, name, getattr(estimator, name), allowed if isinstance(allowed, str) else allowed(estimator))

    return constraint


def choice(name: str, choices: Sequence[str]) -> Constraint:
    """The parameter is one of the choices."""
    return lambda estimator: require_choice(name, getattr(estimator, name), choices)


def count(name: str, or_none: bool = False, least: int = 1) -> Constraint:
    """The parameter is a whole number."""
    return lambda estimator: require_count(name, getattr(estimator, name), or_none, least)


def threads(estimator: Any) -> None:
    """``n_threads`` is a number of threads or None."""
    require_threads(estimator.n_threads)


def is_noise(noise: Any) -> bool:
    """Whether ``noise`` is a share of the rows that leaves some."""
    return (isinstance(noise, int | float) and noise == 0) or (is_positive_number(noise) and noise < 1)


NOISE = rule("noise", lambda e: is_noise(e.noise), "the share of rows to leave out, at least 0 and below 1")
ON_INTERRUPT = choice("on_interrupt", ["raise", "keep"])
VERBOSE = rule("verbose", lambda e: e.verbose in (0, 1), "0 or 1")
WATCHING = (VERBOSE, ON_INTERRUPT)
TIME_BUDGET = rule(
    "time_budget",
    lambda e: e.time_budget is None or is_positive_number(e.time_budget),
    "a number of seconds > 0 or None",
)


def memory_limit(memory: Any) -> int:
    """Bytes of a limit such as 500_000_000 or "500MB"."""
    allowed = "a number of bytes, a text such as '500MB' or '2GB', or None"
    if not isinstance(memory, str):
        require(is_positive_number(memory), "memory", memory, allowed)
        return int(memory)
    try:
        return memory_bytes(memory)
    except ValueError:
        raise ValueError(f"memory={memory!r} is not allowed; give {allowed}.") from None
