"""Progress of a search: a progress line, scikit-learn's callbacks, and Ctrl-C that keeps the best state."""

import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from importlib import import_module

from kfree.search.path.lam_path import silent
from kfree.validation.parameters import require, require_choice

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing, where scikit-learn has no callbacks."""

    def with_callbacks(method):
        """The method itself, where scikit-learn has no callbacks."""
        return method


__all__ = ["INTERRUPTS", "Watch", "Watched", "n_clusters_of", "with_callbacks"]
INTERRUPTS = ["raise", "keep"]


class Watch:
    """Reports of a search, and whether it may continue. ``stopped_by`` is None, "interrupt" or "callback".

    ``has_state`` says that there is a state to keep when Ctrl-C ends the search.
    """

    def __init__(self):
        self.stopped_by, self.has_state = None, True
        self.listeners = []

    def may_go_on(self):
        return self.stopped_by is None

    def passing(self, number, share, n_bytes):
        """Called after every chunk of a pass over rows that are streamed."""
        for listener in self.listeners:
            if hasattr(listener, "passing"):
                listener.passing(number, share, n_bytes)

    def report(self, descent):
        """Called after every move."""
        for listener in self.listeners:
            if listener(descent):
                self.stopped_by = "callback"


class Watched(CallbackSupportMixin):
    """For estimators with the parameters ``verbose``, ``on_interrupt`` and ``max_iter``."""

    def _check_watching(self):
        require(self.verbose in (0, 1), "verbose", self.verbose, "0 or 1")
        require_choice("on_interrupt", self.on_interrupt, INTERRUPTS)

    @contextmanager
    def _watching(self):
        """A context that watches the searches of a fit."""
        watch = Watch()
        with ExitStack() as stack:
            if self.verbose:
                watch.listeners.append(stack.enter_context(_progress(self)))
            if getattr(self, "_skl_callbacks", None):
                watch.listeners.append(stack.enter_context(_callbacks(self)))
            if self.on_interrupt == "keep" and threading.current_thread() is threading.main_thread():
                stack.enter_context(_kept(watch))
            yield watch

    def _stop_reason(self, descent, watch):
        """Why a search ended: "converged", "max_iter", "time_budget", "interrupt" or "callback"."""
        if descent.converged:
            return "converged"
        if watch.stopped_by is not None:
            return watch.stopped_by
        return "max_iter" if descent.n_iter >= self.max_iter else "time_budget"


def n_clusters_of(state):
    """The number of clusters of a state of any search."""
    stats = state.stats if hasattr(state, "stats") else state.clusters
    return len(stats.n) if hasattr(stats, "n") else stats.n_nodes


def _share_done(estimator, descent, begun):
    """The share of the maximum number of moves, or of the time budget, that is used; the search may end earlier."""
    by_moves = descent.n_iter / estimator.max_iter
    budget = getattr(estimator, "time_budget", None)
    return min(1.0, by_moves if budget is None else max(by_moves, (time.monotonic() - begun) / budget))


@contextmanager
def _line(begin):
    """A progress line by rich; yields a function of a text and of the share done."""
    try:
        progress = import_module("rich.progress")
    except ImportError as error:
        raise ImportError('verbose=1 needs rich: pip install "kfree[progress]"') from error
    columns = [progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TimeElapsedColumn()]
    with progress.Progress(*columns) as display:
        task = display.add_task(begin, total=1.0)
        yield lambda text, share: display.update(task, description=text, completed=share)


@contextmanager
def _progress(estimator):
    """A line that follows the search."""
    with _line(f"{type(estimator).__name__}: search") as show:
        yield _SearchLine(show, estimator, time.monotonic())


class _SearchLine:
    """Cost and clusters after every move, and where rows are streamed the pass and its bytes."""

    def __init__(self, show, estimator, begun):
        self._write, self._estimator, self._begun = show, estimator, begun
        self._found, self._pass, self._done = "search", "", 0.0

    def __call__(self, descent):
        self._found = f"cost {descent.cost_history[-1]:.6g}, {n_clusters_of(descent.state)} clusters"
        self._done = _share_done(self._estimator, descent, self._begun)
        self._show()

    def passing(self, number, share, n_bytes):
        unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
        read = f"{share * n_bytes / unit:.2f} of {n_bytes / unit:.2f} {name}" if n_bytes else f"{share:.0%}"
        self._pass = f"; pass {number}, {read}"
        self._show()

    def _show(self):
        self._write(f"{type(self._estimator).__name__}: {self._found}{self._pass}", self._done)


@contextmanager
def path_progress(name, verbose):
    """What a lam path tells of its progress: a line that follows it where ``verbose`` is 1."""
    if not verbose:
        yield silent
        return
    with _line(f"{name}: path") as show:
        yield lambda doing, share: show(f"{name}: path, {doing}", share)
        show(f"{name}: path", 1.0)


@contextmanager
def _callbacks(estimator):
    """scikit-learn's callbacks: one task per move, with its cost, number of clusters and share of the work done.

    ``with_callbacks`` around ``fit`` tears them down. A fit that searches again goes on in the same context.
    """
    begun = time.monotonic()
    root = getattr(estimator, "_callback_fit_ctx", None)
    if root is None:
        root = estimator._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=estimator)

    def call(descent):
        told = {
            "cost": descent.cost_history[-1],
            "n_clusters": n_clusters_of(descent.state),
            "share_done": _share_done(estimator, descent, begun),
        }
        task = root.subcontext(task_name="move")
        task.call_on_fit_task_begin(estimator=estimator, metadata=told)
        return task.call_on_fit_task_end(estimator=estimator, metadata=told)

    yield call
    root.call_on_fit_task_end(estimator=estimator)


@contextmanager
def _kept(watch):
    """Ctrl-C ends the search after the current move. A second one raises KeyboardInterrupt, and so does the first one
    while there is no state yet.
    """

    def stop(number, frame):
        if watch.stopped_by == "interrupt" or not watch.has_state:
            raise KeyboardInterrupt
        watch.stopped_by = "interrupt"

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
