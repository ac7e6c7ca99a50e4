"""What must hold for every subject and every input: it ends, and answers rightly or says what is wrong."""

import re
import signal
import warnings
from contextlib import contextmanager

import numpy as np
from scipy.sparse import SparseEfficiencyWarning
from sklearn.base import clone

from kfree import DPMeans, GraphDPMeans, KMeans, OnlineDPMeans
from tests.fuzz import fuzz_answers
from tests.fuzz.fuzz_cases import ODD
from tests.fuzz.fuzz_containers import BROKEN, hides_values, plain
from tests.fuzz.fuzz_subjects import ESTIMATORS, FUNCTIONS
from tests.oracles.graph import penalised_cut

# Seconds that a case of a few rows may take: of the processor, also under sanitizers, and of the clock, for what waits.
LIMIT, CLOCK_LIMIT = 30, 300
# An error speaks of one of these.
NAMES = re.compile(
    r"\bX\b|sample_weight|Sample weights|weights|\blam\b|\bcost\b|kernel|prior|affinit|n_clusters|\bk\b|array|"
    r"input|sample|column|metric|graph|edges|levels|linkage|k_range|\by\b|"
    r"n_rows|n_features|separation|missing|shuffled|random_state|data set|placement|narrowest"
)


@contextmanager
def time_limit(seconds, clock_seconds):
    """Raises TimeoutError where something takes longer: compiled code asks for signals too."""

    def stop(*_):
        raise TimeoutError(f"not done after {seconds} s of the processor or {clock_seconds} s")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, clock_seconds)}
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, limit) in timers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def check(case):
    """Raise AssertionError unless everything holds for the case. Returns what came out: "fitted" or "refused"."""
    with warnings.catch_warnings(), time_limit(LIMIT, CLOCK_LIMIT):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"sklearn|scipy|pandas|polars|matplotlib")
        warnings.simplefilter("ignore", SparseEfficiencyWarning)  # of a container with many columns
        # A loop that reached its bound says so.
        warnings.filterwarnings("ignore", message="nodes of the graph still moved", category=RuntimeWarning)
        return _check_function(case) if case.subject in FUNCTIONS else _check_estimator(case)


def _check_function(case):
    try:
        FUNCTIONS[case.subject](case)
    except (ValueError, TypeError) as error:
        return _refused(error)
    return _fitted(case)


def _check_estimator(case):
    subject = ESTIMATORS[case.subject]
    model, extra = subject.make(case), {}
    odd = _with_odd_parameter(model, case)
    if case.subject.startswith("HardHDP"):
        extra = {"groups": case.groups()}
    weight = {"sample_weight": case.weight()} if subject.weighted else {}
    try:
        model.fit(subject.data(case), **extra, **weight)
    except (ValueError, TypeError) as error:
        written = [name for name in vars(model) if name.endswith("_")]
        assert not written, f"a failed fit left {written} behind"
        return _refused(error, odd)
    if odd:
        return _fitted(case)
    _check_labels(model, case, subject)
    if subject.predicts_labels and hasattr(model, "predict"):
        same = np.array_equal(model.predict(subject.data(case), **extra), model.labels_)
        assert same, "predict does not give labels_"
    _check_cost(model, case)
    # What takes another fit or a file is done for some cases of each kind only.
    further = [_check_threads, *fuzz_answers.CHECKS]
    if case.seed % 8 < len(further):
        further[case.seed % 8](model, case, extra, weight)
    return _fitted(case)


def _with_odd_parameter(model, case):
    """Set the parameter that a case names, and return its name."""
    names = sorted(model.get_params())
    if not 0 <= case.odd_parameter < len(names):
        return ""
    name = names[case.odd_parameter]
    if name == "time_budget" and case.odd_value in ("huge", "beyond 64 bits"):  # it would be used up
        return ""
    model.set_params(**{name: ODD[case.odd_value]})
    return name


def _fitted(case):
    if case.subject in ("dendrogram_purity", "datasets"):  # take no rows
        return "fitted"
    assert case.container not in BROKEN, "a broken matrix was accepted"
    data = ESTIMATORS[case.subject].data(case) if case.subject in ESTIMATORS else case.X()
    assert case.subject == "TableEncoder" or not hides_values(data), "masked values were taken for values"
    return "fitted"


def _refused(error, odd=""):
    text = str(error)
    if "len()" in text:  # what a function that was given as a parameter raises is not changed
        return "refused"
    assert NAMES.search(text) or (odd and odd in text), f"an error names nothing that was given: {error!r}"
    return "refused"


def _check_labels(model, case, subject):
    labels = model.labels_
    n_rows = len(model.node_names_) if isinstance(model, GraphDPMeans) else case.n_rows
    assert labels.shape == (n_rows,), f"labels of shape {labels.shape}"
    k = len(model.cluster_centers_) if hasattr(model, "cluster_centers_") else model.n_clusters_
    assert labels.min() >= 0, "labels below zero"
    assert labels.max() < k, "labels beyond the clusters"
    assert not subject.all_used or len(set(labels.tolist())) == k, "labels are not contiguous"


def _check_cost(model, case):
    history = getattr(model, "cost_history_", getattr(model, "free_energy_history_", np.zeros(1)))
    assert (np.diff(history) <= 0).all(), "the cost rose"
    if isinstance(model, GraphDPMeans):
        _check_cut(model)
    elif isinstance(model, DPMeans | KMeans | OnlineDPMeans) and model.get_params().get("metric") != "cosine":
        _check_inertia(model, case)


def _check_inertia(model, case):
    rows = plain(case.X())
    weight = np.ones(case.n_rows) if case.weight() is None else case.weight()
    with np.errstate(over="ignore", invalid="ignore"):
        sq_dist = ((rows - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
        inertia = float(np.where(weight > 0, weight * sq_dist, 0.0).sum())
    if not np.isfinite(inertia):  # a sweep takes what is infinitely far off for a cluster of its own
        return
    # Centres are given in the user's coordinates, where a large offset costs digits.
    with np.errstate(over="ignore", invalid="ignore"):
        error = weight.sum() * (1e-15 * np.abs(rows).max()) ** 2 + 1e-6 * inertia
        error += 1e-15 * np.abs(rows).max() * float(weight @ np.sqrt(sq_dist)) * rows.shape[1]
    right = abs(model.inertia_ - inertia) / 8 <= error or not np.isfinite(error)
    assert right, f"inertia_ is {model.inertia_}, and should be {inertia}"


def _check_cut(model):
    links, labels = model.adjacency_.toarray(), model.labels_
    alone = ~links.any(axis=1)  # a node without links is a cluster that cuts nothing
    cost = penalised_cut(links[~alone][:, ~alone], labels[~alone], model.lam_, model.cut) + model.lam_ * alone.sum()
    scale = abs(model.cut_) + abs(model.lam_) * model.n_clusters_
    assert abs(model.cost_ - cost) <= 1e-9 * scale, f"cost_ is {model.cost_}, and should be {cost}"


def _check_threads(model, case, extra, weight):
    if "n_threads" not in model.get_params():
        return
    data = ESTIMATORS[case.subject].data
    other = clone(model).set_params(n_threads=2).fit(data(case), **extra, **weight)
    alone = clone(model).set_params(n_threads=1).fit(data(case), **extra, **weight)
    assert np.array_equal(alone.labels_, other.labels_), "labels depend on the number of threads"
