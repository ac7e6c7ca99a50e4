"""What a search tells while it runs, and whether it may go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from kfree.search.loop import Descent, Watch

# Called with what is being done and the share of the work that is done, for progress.
Tell = Callable[[str, float], None]


class Listener:
    """Hears of a search. ``moved`` returns whether the search is to end."""

    def path(self, doing: str, share: float) -> None:
        """The lam path does this, and this share of it is done."""

    def begins(self) -> None:
        """The penalty is known, and the search begins; of several searches, the first."""

    def moved(self, descent: Descent[Any]) -> bool:
        """A move was tried, or a pass was made."""
        return False

    def passing(self, number: int, share: float, n_bytes: int) -> None:
        """A chunk of a pass over streamed rows was read."""


silent: Tell = Listener().path


class Monitor(Watch):
    """Passes on what a search tells, and says whether it may go on.

    ``stopped_by`` is None, "interrupt" or "callback". ``has_state`` says that there is a state to keep when Ctrl-C ends
    the search; there is none before the search itself begins, at ``begun_at`` (time.monotonic()). What a fit must give
    back however it ends, such as the lock of a checkpoint, is pushed on ``resources``.
    """

    def __init__(self, *listeners: Listener) -> None:
        self.stopped_by: str | None = None
        self.has_state, self.begun_at = False, 0.0
        self.listeners = list(listeners)
        self.resources = ExitStack()

    def may_go_on(self) -> bool:
        return self.stopped_by is None

    def path(self, doing: str, share: float) -> None:
        for listener in self.listeners:
            listener.path(doing, share)

    def begins(self) -> None:
        """A search begins; time is counted from the first of a fit."""
        if self.has_state:
            return
        self.has_state, self.begun_at = True, time.monotonic()
        for listener in self.listeners:
            listener.begins()

    def report(self, descent: Descent[Any]) -> None:
        for listener in self.listeners:
            if listener.moved(descent):
                self.stopped_by = "callback"

    def passing(self, number: int, share: float, n_bytes: int) -> None:
        for listener in self.listeners:
            listener.passing(number, share, n_bytes)

    def stop_reason(self, descent: Descent[Any], most: int, limit: str = "max_iter") -> str:
        """Why a search ended: "converged", also if it was stopped then; "interrupt" or "callback"; the name of the
        ``limit`` that allows ``most`` moves; or "time_budget"."""
        if descent.converged:
            return "converged"
        if self.stopped_by is not None:
            return self.stopped_by
        return limit if descent.n_iter >= most else "time_budget"
