"""Who listens to a fit: a progress line, scikit-learn's callbacks, and Ctrl-C that keeps the best state."""

import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from html import escape
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from kfree.core.optional import optional
from kfree.core.progress import heard_by, is_heard, listener, tell, time_left
from kfree.search.monitor import Listener, Monitor

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing, where scikit-learn has no callbacks."""


def with_callbacks(method: Method) -> Method:
    """A ``fit`` that tells scikit-learn's callbacks; the method itself, where scikit-learn has none."""
    return method if _with_callbacks is None else _with_callbacks(method)


# What the lam path takes of a fit, and seconds between two drawings in a notebook.
_PATH_SHARE, _NOTEBOOK_INTERVAL = 0.7, 0.2

__all__ = ["CallbackSupportMixin", "judging", "monitored", "progress_line", "with_callbacks"]


@contextmanager
def monitored(estimator):
    """A monitor of the searches of a fit, for the parameters ``verbose``, ``on_interrupt`` and ``max_iter``."""
    monitor = Monitor()
    with monitor.resources as stack:
        if estimator.verbose:
            show = stack.enter_context(progress_line(type(estimator).__name__))
            monitor.listeners.append(_SearchLine(show, estimator))
        if is_heard():
            monitor.listeners.append(_Teller())
        if vars(estimator).get("_skl_callbacks"):
            monitor.listeners.append(stack.enter_context(_callbacks(estimator)))
        if estimator.on_interrupt == "keep" and threading.current_thread() is threading.main_thread():
            stack.enter_context(_kept(monitor))
        yield monitor


@contextmanager
def judging(estimator, steps, clock=time.monotonic):
    """Progress of an estimator that fits many models: ``steps`` have their share of the whole, in order.

    What these models tell of their own progress is heard by nobody else, nor are steps that a later one repeats.
    """
    with progress_line(type(estimator).__name__) if estimator.verbose else nullcontext(None) as show:
        begun, ends = clock(), dict(zip(steps, np.cumsum(list(steps.values())).tolist(), strict=True))
        farthest = 0.0

        def hear(step, share):
            nonlocal farthest
            if step not in steps:
                return
            done = ends[step] - (1 - share) * steps[step]
            if done < farthest:
                return
            farthest = done
            if outer is not None:
                outer("clustering", done)
            if show is not None:
                show(f"{step}, {100 * done:.0f} %{time_left(done, clock() - begun)}", done)

        outer = listener()
        with heard_by(hear):
            yield


@contextmanager
def progress_line(name):
    """Progress lines; yields a function of a text, of the share done, and of the line, a name.

    They are drawn by rich, and in a notebook by the notebook, where rich would need ipywidgets.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        yield _notebook_line(import_module("IPython.display"), name)
        return
    progress = optional("rich.progress", 'verbose=1 needs rich: pip install "kfree[progress]"')
    columns = [progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TimeElapsedColumn()]
    with progress.Progress(*columns) as display:
        lines = {}

        def show(text, share, line="search"):
            if line not in lines:
                lines[line] = display.add_task(name, total=1.0)
            display.update(lines[line], description=f"{name}: {text}", completed=share)

        yield show


def _notebook_line(notebook, name, clock=time.monotonic):
    """The same function for a notebook, by the module that displays there."""
    lines, handle, drawn = {}, notebook.display(notebook.HTML(""), display_id=True), -np.inf

    def show(text, share, line="search"):
        nonlocal drawn
        lines[line] = f'<progress max="1" value="{share:.3f}"></progress> {escape(f"{name}: {text}")}'
        if clock() - drawn >= _NOTEBOOK_INTERVAL or share >= 1:
            drawn = clock()
            handle.update(notebook.HTML("<br>".join(lines.values())))

    return show


class _Teller(Listener):
    """Tells how far a fit has come: the path takes most of it, and the number of moves is not known before."""

    def __init__(self):
        self._begun, self._n_moves = 0.0, 0

    def path(self, doing, share):
        self._begun = _PATH_SHARE
        tell("clustering", _PATH_SHARE * share)

    def moved(self, descent):
        self._n_moves += 1
        self._tell(1 - 0.9**self._n_moves)
        return False

    def passing(self, number, share, n_bytes):
        self._tell((number - 1 + share) / (number + 1))

    def _tell(self, share):
        tell("clustering", self._begun + (1 - self._begun) * share)


class _Timed(Listener):
    """A listener that knows which share of the moves, or of the time budget, is used; a search may end earlier."""

    def __init__(self, estimator) -> None:
        self._estimator, self._begun = estimator, time.monotonic()

    def begins(self):
        self._begun = time.monotonic()

    def _share_done(self, descent):
        by_moves = descent.n_iter / self._estimator.max_iter
        budget = getattr(self._estimator, "time_budget", None)
        return min(1.0, by_moves if budget is None else max(by_moves, (time.monotonic() - self._begun) / budget))


class _SearchLine(_Timed):
    """Cost and clusters after every move, and where rows are streamed the pass and its bytes."""

    def __init__(self, show, estimator) -> None:
        super().__init__(estimator)
        self._write = show
        self._found, self._pass, self._done = "search", "", 0.0

    def path(self, doing, share):
        self._write(f"path, {doing}", share, line="path")

    def moved(self, descent):
        self._found = f"cost {descent.cost_history[-1]:.6g}, {descent.state.n_clusters} clusters"
        self._done = self._share_done(descent)
        self._show()
        return False

    def passing(self, number, share, n_bytes):
        unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
        read = f"{share * n_bytes / unit:.2f} of {n_bytes / unit:.2f} {name}" if n_bytes else f"{share:.0%}"
        self._pass = f"; pass {number}, {read}"
        self._show()

    def _show(self):
        self._write(f"{self._found}{self._pass}", self._done)


class _Callbacks(_Timed):
    """scikit-learn's callbacks: one task per move, with its cost, number of clusters and share of the work done."""

    def __init__(self, estimator, root) -> None:
        super().__init__(estimator)
        self._root = root

    def moved(self, descent):
        told = {
            "cost": descent.cost_history[-1],
            "n_clusters": descent.state.n_clusters,
            "share_done": self._share_done(descent),
        }
        task = self._root.subcontext(task_name="move")
        task.call_on_fit_task_begin(estimator=self._estimator, metadata=told)
        return task.call_on_fit_task_end(estimator=self._estimator, metadata=told)


@contextmanager
def _callbacks(estimator):
    """``with_callbacks`` around ``fit`` tears them down. A fit that searches again goes on in the same context."""
    root = getattr(estimator, "_callback_fit_ctx", None)
    if root is None:
        root = estimator._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=estimator)
    yield _Callbacks(estimator, root)
    root.call_on_fit_task_end(estimator=estimator)


@contextmanager
def _kept(monitor):
    """Ctrl-C ends the search after the current move. A second one raises KeyboardInterrupt, and so does the first one
    while there is no state yet.
    """

    def stop(number, frame):
        if monitor.stopped_by == "interrupt" or not monitor.has_state:
            raise KeyboardInterrupt
        monitor.stopped_by = "interrupt"

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
