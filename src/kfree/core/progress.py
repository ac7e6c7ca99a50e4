"""How far a long step has come, told to whoever listens in this context; nobody does by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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


def is_heard() -> bool:
    """Whether anybody listens."""
    return _hear.get() is not None


@contextmanager
def heard_by(hear: Hear | None) -> Iterator[None]:
    """What is told within is heard by this function, or by nobody."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)
