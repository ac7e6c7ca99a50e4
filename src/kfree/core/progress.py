"""How far a long step has come, told to whoever listens in this context; nobody does by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Less than this is too little to estimate the time left.
_LEAST = 0.03

Hear = Callable[[str, float], object]
_hear: ContextVar[Hear | None] = ContextVar("hear", default=None)


def tell(step: str, share: float) -> None:
    """Say that this share of a step is done.

    Examples
    --------
    >>> from kfree.core.progress import heard_by, tell
    >>> with heard_by(print):
    ...     tell("reading", 0.5)
    reading 0.5
    >>> tell("reading", 1.0)
    """
    hear = _hear.get()
    if hear is not None:
        hear(step, share)


def listener() -> Hear | None:
    """Who listens."""
    return _hear.get()


def is_heard() -> bool:
    """Whether anybody listens."""
    return listener() is not None


def duration(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> from kfree.core.progress import duration
    >>> duration(0.2), duration(300), duration(9000)
    ('1 s', '5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def time_left(share: float, seconds: float) -> str:
    """How long the rest takes, if this share took so many seconds; nothing where little is done."""
    return f", about {duration(seconds * (1 - share) / share)} left" if share >= _LEAST else ""


@contextmanager
def heard_by(hear: Hear | None) -> Iterator[None]:
    """What is told within is heard by this function, or by nobody."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)
