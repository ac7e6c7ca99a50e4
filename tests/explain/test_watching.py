"""Progress, callbacks, Ctrl-C and why a search stopped."""

import os
import signal
import sys
import threading
import types
from contextlib import nullcontext
from html import escape

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    choose_k,
    lambda_path,
)
from kfree.core.progress import heard_by, tell
from kfree.engines.registry import open_engine
from kfree.estimators import _monitoring
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.path.lam_path import lam_path

ESTIMATORS = {
    "DPMeans": DPMeans(lam=2.0),
    "sweep": DPMeans(lam=2.0, search="sweep"),
    "target_k": DPMeans(target_k=5),
    "KMeans": KMeans(8, tol=0, random_state=0),
    "KernelDPMeans": KernelDPMeans(lam=2.0),
    "HardHDP": HardHDP(lam_local=2.0, lam_global=2.0),
    "HardHDP, sweep": HardHDP(lam_local=2.0, lam_global=2.0, search="sweep"),
    "GraphDPMeans": GraphDPMeans(lam=-0.6),
    "BayesianKMeans": BayesianKMeans(),
    "NestedDPMeans, sweep": NestedDPMeans(lam=2.0, lam_group=2.0, tau=1.0, search="sweep"),
}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 2)) + rng.integers(3, size=(120, 1)) * 6
    near = np.linalg.norm(X[:, None] - X, axis=2) < 1.0
    return {"rows": X, "graph": near.astype(float)}


def made(name, **settings):
    model = ESTIMATORS[name]
    return type(model)(**{**model.get_params(deep=False), **settings})


def rows_for(name, data):
    return data["graph" if name == "GraphDPMeans" else "rows"]


@pytest.fixture
def after_each_move(monkeypatch):
    """A list of what happens after each move, and a place for a function that is called then."""
    seen, hooks = [], []

    class Seen(_monitoring.Monitor):
        def report(self, descent):
            seen.append((descent.cost_history[-1], descent.state.n_clusters))
            super().report(descent)
            for hook in hooks:
                hook()

    monkeypatch.setattr(_monitoring, "Monitor", Seen)
    return seen, hooks


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_search_says_why_it_stopped(name, data, after_each_move):
    seen, _ = after_each_move
    model = made(name).fit(rows_for(name, data))
    assert (model.converged_, model.stop_reason_) == (True, "converged")
    assert len(seen) > 0
    assert seen[-1][1] == model.n_clusters_
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        short = made(name, max_iter=2).fit(rows_for(name, data))
    assert (short.converged_, short.stop_reason_) == (False, "max_iter")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_keeps_what_was_found(name, data, after_each_move):
    seen, hooks = after_each_move
    before = signal.getsignal(signal.SIGINT)
    hooks.append(lambda: os.kill(os.getpid(), signal.SIGINT) if len(seen) == 1 else None)
    model = made(name, on_interrupt="keep").fit(rows_for(name, data))
    assert (model.converged_, model.stop_reason_) == (False, "interrupt")
    assert len(seen) == 1
    assert len(model.labels_) == len(data["rows"])
    if hasattr(model, "predict") and name != "BayesianKMeans":
        np.testing.assert_array_equal(model.predict(data["rows"]), model.labels_)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("model", [DPMeans(lam=300.0, noise=0.1), KMeans(12, noise=0.1, random_state=0)])
def test_a_fit_with_noise_that_is_stopped_keeps_the_last_finished_search(model, rng, monkeypatch):
    """It went on with further searches, each of which began anew and ended at once."""
    centres = np.repeat(rng.uniform(-100, 100, size=(5, 2)), 9, axis=0)
    X = np.vstack([centres + rng.normal(size=centres.shape), rng.uniform(-300, 300, size=(5, 2))])
    costs, stop_after = [], [0]

    class Stopping(_monitoring.Monitor):
        def report(self, descent):
            if descent.n_iter == 2:
                costs.append([])
            costs[-1].append((descent.cost_history[-1], descent.state.n_clusters))
            super().report(descent)
            self.stopped_by = "callback" if sum(map(len, costs)) == stop_after[0] else self.stopped_by

    monkeypatch.setattr(_monitoring, "Monitor", Stopping)
    finished = clone(model).fit(X)
    searches = [list(one) for one in costs]
    assert len(searches) > 1
    assert finished.stop_reason_ == "converged"
    for number, moves in enumerate(searches):
        for place in {1, len(moves) - 1} - {0, len(moves)}:
            costs.clear()
            stop_after[0] = sum(map(len, searches[:number])) + place
            stopped = clone(model).fit(X)
            kept = moves[place - 1] if number == 0 else searches[number - 1][-1]
            assert (stopped.cost_history_[-1], stopped.n_clusters_) == kept
            assert (stopped.stop_reason_, stopped.converged_) == ("callback", False)
            assert np.count_nonzero(stopped.labels_ == -1) == (5 if number > 1 else 0)


@pytest.mark.parametrize("search", ["split-merge", "summary"])
def test_a_search_that_is_stopped_at_its_last_move_has_converged(search, data, monkeypatch):
    class Stopping(_monitoring.Monitor):
        def report(self, descent):
            super().report(descent)
            self.stopped_by = "callback" if descent.converged else None

    monkeypatch.setattr(_monitoring, "Monitor", Stopping)
    model = DPMeans(lam=2.0, search=search).fit(data["rows"])
    assert (model.converged_, model.stop_reason_) == (True, "converged")


UNWATCHED = {
    "AutoCluster": lambda X: AutoCluster().fit(X),
    "SpectralDPMeans": lambda X: SpectralDPMeans().fit(X),
    "AgglomerativeBayes": lambda X: AgglomerativeBayes().fit(X),
    "OnlineDPMeans": lambda X: OnlineDPMeans(lam=2.0).fit(X),
    "lambda_path": lambda X: lambda_path(X),
    "choose_k": lambda X: choose_k(X, range(1, 4)),
}


@pytest.mark.parametrize("name", UNWATCHED)
def test_an_interrupt_anywhere_raises_and_changes_nothing(name, data):
    """At some calls of Python functions, which are counted, so that it is the same places each time."""
    X, before, calls, at = data["rows"][:60], signal.getsignal(signal.SIGINT), [0], [0]

    def count(frame, event, _):
        calls[0] += event == "call"
        if event == "call" and calls[0] == at[0]:
            os.kill(os.getpid(), signal.SIGINT)

    def counted(place):
        calls[0], at[0] = 0, place
        sys.setprofile(count)
        try:
            return UNWATCHED[name](X)
        finally:
            sys.setprofile(None)

    expected, n_calls = repr(counted(0)), calls[0]
    for share in (0.2, 0.5, 0.8):
        with pytest.raises(KeyboardInterrupt):
            counted(int(share * n_calls))
        assert signal.getsignal(signal.SIGINT) is before
    assert repr(UNWATCHED[name](X)) == expected


def test_a_second_interrupt_or_the_default_raises(data, after_each_move):
    _, hooks = after_each_move
    hooks.append(lambda: os.kill(os.getpid(), signal.SIGINT))
    model = DPMeans(lam=2.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data["rows"])
    hooks.append(lambda: os.kill(os.getpid(), signal.SIGINT))
    model.set_params(on_interrupt="keep")
    with pytest.raises(KeyboardInterrupt):
        model.fit(data["rows"])
    assert not hasattr(model, "labels_")


def test_outside_the_main_thread_nothing_is_installed(data):
    done = []
    thread = threading.Thread(target=lambda: done.append(DPMeans(lam=2.0, on_interrupt="keep").fit(data["rows"])))
    thread.start()
    thread.join()
    assert done[0].stop_reason_ == "converged"


def test_a_budget_of_time_is_a_reason(data):
    with pytest.warns(ConvergenceWarning, match="time_budget"):
        assert DPMeans(lam=0.5, time_budget=1e-6).fit(data["rows"]).stop_reason_ == "time_budget"


def test_progress_is_shown(data, capsys):
    pytest.importorskip("rich")
    model = DPMeans(lam=2.0, verbose=1).fit(data["rows"])
    shown = capsys.readouterr().out
    assert f"cost {model.cost_:.6g}"[:8] in shown
    assert f"{model.n_clusters_} clusters" in shown
    DPMeans(lam=2.0).fit(data["rows"])
    assert capsys.readouterr().out == ""


def test_auto_cluster_tells_how_far_it_is(data, capsys, monkeypatch):
    pytest.importorskip("rich")
    heard = []
    with heard_by(lambda step, share: heard.append((step, share))):
        AutoCluster(verbose=1).fit(data["rows"])
    shares = [share for _, share in heard]
    assert {step for step, _ in heard} == {"clustering"}  # not the steps of models that are tried
    assert shares == sorted(shares)
    assert len(shares) > 8
    assert shares[-1] == pytest.approx(1.0)
    assert "AutoCluster: all rows, 100 %" in capsys.readouterr().out
    told, now = [], iter([0.0, 30.0])
    monkeypatch.setattr(_monitoring, "progress_line", lambda name: nullcontext(lambda *of: told.append(of)))
    with _monitoring.judging(AutoCluster(verbose=1), {"a": 0.5, "b": 0.5}, clock=lambda: next(now)):
        tell("b", 0.5)
    assert told == [("b, 75 %, about 10 s left", 0.75)]
    with pytest.raises(ValueError, match="verbose=2 is not allowed"):
        AutoCluster(verbose=2).fit(data["rows"])


def test_without_rich_the_error_names_the_command(data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r'pip install "kfree\[progress\]"'):
        KMeans(2, verbose=1).fit(data["rows"])


class Listener:
    """A callback of scikit-learn that notes what it hears and stops after some moves."""

    def __init__(self, most=10**9):
        self.heard, self.most, self.torn_down = [], most, 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **told):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None, **told):
        if context.task_name == "move":
            self.heard.append(metadata)
        return len(self.heard) >= self.most

    def teardown(self, estimator, context):
        self.torn_down += 1


@pytest.mark.parametrize("name", ESTIMATORS)
def test_callbacks_hear_of_every_move_and_can_stop(name, data):
    pytest.importorskip("sklearn.callback")
    listener = Listener()
    model = made(name).set_callbacks(listener).fit(rows_for(name, data))
    assert listener.heard[-1]["n_clusters"] == model.n_clusters_
    assert all(0 < heard["share_done"] <= 1 for heard in listener.heard)
    assert listener.torn_down == 1
    stopped = made(name).set_callbacks(Listener(most=1)).fit(rows_for(name, data))
    assert stopped.stop_reason_ == "callback"


class Failing(Listener):
    """A callback that raises: where it is set up, or at the begin or the end of a task with some name."""

    def __init__(self, place, task):
        super().__init__()
        self.place, self.task = place, task

    def _fail(self, place, context):
        if (place, context.task_name) == (self.place, self.task):
            raise RuntimeError("the callback fails")

    def on_fit_task_begin(self, estimator, context, **told):
        self._fail("begin", context)

    def on_fit_task_end(self, estimator, context, **told):
        self._fail("end", context)


@pytest.mark.parametrize(
    ("name", "task", "place"),
    [(name, "move", "end") for name in ESTIMATORS]
    + [("DPMeans", "move", "begin"), ("DPMeans", "fit", "begin"), ("DPMeans", "fit", "end")],
)
def test_a_callback_that_raises_leaves_the_estimator_as_it_was(name, task, place, data):
    pytest.importorskip("sklearn.callback")
    before, callback = signal.getsignal(signal.SIGINT), Failing(place, task)
    model = made(name, on_interrupt="keep").set_callbacks(callback)
    with pytest.raises(RuntimeError, match="the callback fails"):
        model.fit(rows_for(name, data))
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    assert signal.getsignal(signal.SIGINT) is before
    assert callback.torn_down == 1


def test_wrong_settings_are_refused(data):
    with pytest.raises(ValueError, match="verbose=3 is not allowed"):
        DPMeans(verbose=3).fit(data["rows"])
    with pytest.raises(ValueError, match="verbose=-1 is not allowed; give a whole number ≥ 0"):
        KMeans(2, verbose=-1).fit(data["rows"])
    with pytest.raises(ValueError, match="on_interrupt='kep' is not allowed.*did you mean 'keep'"):
        DPMeans(on_interrupt="kep").fit(data["rows"])


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_the_path_tells_what_it_does(far, data):
    told = []
    rows = np.vstack([data["rows"], np.full((1, 2), far)])
    engine = open_engine("auto", rows)
    lam_path(engine, DPMeansObjective(0.0), np.random.RandomState(0), tell=lambda *of: told.append(of))
    doing, shares = zip(*told, strict=True)
    assert doing[0] == "micro-clusters"
    assert "test of k = 3" in doing
    assert ("test of k = 3 without far rows" in doing) == (far > 0)
    once = [share for text, share in told if "far" not in text]
    assert once == sorted(once)
    assert all(0 <= share < 1 for share in shares)


def test_the_path_shows_its_progress(data, capsys):
    pytest.importorskip("rich")
    lambda_path(data["rows"], verbose=1)
    assert "lambda_path: path" in capsys.readouterr().out
    DPMeans(verbose=1).fit(data["rows"])
    out = capsys.readouterr().out
    assert "DPMeans: path" in out
    assert "DPMeans: cost" in out
    lambda_path(data["rows"])
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="verbose=2 is not allowed"):
        lambda_path(data["rows"], verbose=2)


def test_a_notebook_needs_neither_rich_nor_widgets(data, monkeypatch):
    """Stands for IPython in a kernel, without ipywidgets and without rich."""
    drawn = []

    class Handle:
        def update(self, page):
            drawn.append(page)

    shell = type("Shell", (), {"kernel": object()})()
    notebook = types.ModuleType("IPython.display")
    notebook.HTML, notebook.display = str, lambda page, display_id: Handle()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=notebook))
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(_monitoring, "_NOTEBOOK_INTERVAL", 0.0)
    model = DPMeans(verbose=1).fit(data["rows"])
    assert drawn[0].startswith('<progress max="1" value="0.000"></progress> DPMeans: path, micro-clusters')
    assert f"{model.n_clusters_} clusters" in drawn[-1]
    assert drawn[-1].count("<progress") == 2  # the path, and the search
    lambda_path(data["rows"], verbose=1)
    assert "lambda_path: path" in drawn[-1]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fitted_model_shows_clusters_sizes_and_how_sure_that_is(name, data):
    model = made(name)
    before = repr(model)
    assert "#" not in before
    model.fit(rows_for(name, data))
    sizes = ", ".join(str(size) for size in np.bincount(model.labels_)[:10].tolist())
    told = model.certainty().rstrip(".")
    assert repr(model).startswith(f"{before}  # {told}; sizes {sizes}")
    html = model._repr_mimebundle_()["text/html"]
    assert html.startswith(f"<p>{escape(told)}; sizes {sizes}")
    assert "sk-" in html  # and what scikit-learn shows


def test_paths_and_choices_are_tables_in_a_notebook(data):
    path = lambda_path(data["rows"])
    html = path._repr_html_()
    best = path.suggest()
    first = html.split("<tbody><tr>")[1].split("</tr>")[0]
    assert first.startswith(f"<td>{best.k}</td><td>{best.lam_low:.4g}</td>")
    assert first.endswith(f"<td>{best.evidence:.1f}</td>")
    found = choose_k(data["rows"], range(1, 5))
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + 4 + 1
    assert f"<td>{found.criteria['BIC'][1]:.5g}</td>" in html
