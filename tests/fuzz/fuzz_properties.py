"""What must hold for every estimator and every input: it ends, and answers rightly or says what is wrong."""

import re
import signal
import warnings
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from fuzz_containers import BROKEN
from sklearn.base import clone

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    farthest_first_lambda,
    lambda_path,
)

# Seconds that a case of a few rows may take, also on a machine that does other things and under sanitizers.
LIMIT = 60
ESTIMATORS = {
    "DPMeans": lambda case: DPMeans(case.penalty),
    "DPMeans, auto": lambda case: DPMeans(),
    "DPMeans, sweep": lambda case: DPMeans(case.penalty, search="sweep"),
    "DPMeans, cosine": lambda case: DPMeans(10.0 ** (case.log_penalty / 6), metric="cosine"),
    "DPMeans, reference": lambda case: DPMeans(case.penalty, engine="reference", max_iter=50),
    "KMeans": lambda case: KMeans(min(3, case.n_rows), random_state=0),
    "OnlineDPMeans": lambda case: OnlineDPMeans(case.penalty),
    "OnlineDPMeans, split": lambda case: OnlineDPMeans(case.penalty, split=True, max_clusters=5),
    "OnlineDPMeans, forgetting": lambda case: OnlineDPMeans(case.penalty, half_life=5.0),
    "HardHDP": lambda case: HardHDP(case.penalty, case.penalty),
    "HardHDP, sweep": lambda case: HardHDP(case.penalty, case.penalty, search="sweep"),
    "HardHDP, kernel": lambda case: HardHDP(0.5, 0.5, kernel="rbf"),
    "KernelDPMeans": lambda case: KernelDPMeans(10.0 ** (case.log_penalty / 6)),
    "KernelDPMeans, linear": lambda case: KernelDPMeans(case.penalty, kernel="linear"),
    "SpectralDPMeans": lambda case: SpectralDPMeans(),
    "SpectralDPMeans, neighbours": lambda case: SpectralDPMeans(affinity="nearest_neighbors", n_neighbors=3),
    "BayesianKMeans": lambda case: BayesianKMeans(),
    "BayesianKMeans, counts": lambda case: BayesianKMeans("multinomial"),
    "BayesianKMeans, bits": lambda case: BayesianKMeans("bernoulli"),
    "AgglomerativeBayes": lambda case: AgglomerativeBayes(),
    "AgglomerativeBayes, counts": lambda case: AgglomerativeBayes("multinomial"),
    "AgglomerativeBayes, bits": lambda case: AgglomerativeBayes("bernoulli"),
    "farthest_first_lambda": lambda case: None,
    "lambda_path": lambda case: None,
}
UNWEIGHTED = ("SpectralDPMeans", "BayesianKMeans", "AgglomerativeBayes")
# An error speaks of one of these.
NAMES = re.compile(
    r"\bX\b|sample_weight|Sample weights|weights|\blam\b|\bcost\b|kernel|prior|affinit|n_clusters|\bk\b|array|"
    r"input|sample|column|metric"
)


@contextmanager
def time_limit(seconds):
    """Raises TimeoutError where something takes longer: compiled code asks for signals too."""

    def stop(*_):
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(case):
    """Raise AssertionError unless everything holds for the case. Returns what came out: "fitted" or "refused"."""
    with warnings.catch_warnings(), time_limit(LIMIT):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"sklearn|scipy|pandas|polars")
        if case.estimator in ("farthest_first_lambda", "lambda_path"):
            return _check_function(case)
        return _check_estimator(case)


def _check_function(case):
    try:
        if case.estimator == "lambda_path":
            path = lambda_path(case.X(), sample_weight=case.weight())
            assert path.suggest().k >= 1, "a path suggests no number of clusters"
        else:
            lam = farthest_first_lambda(case.X(), min(3, case.n_rows), sample_weight=case.weight())
            assert np.isfinite(lam), f"lam={lam} is no penalty"
    except (ValueError, TypeError) as error:
        return _refused(error)
    return _fitted(case)


def _check_estimator(case):
    model, extra = ESTIMATORS[case.estimator](case), {}
    if case.estimator.startswith("HardHDP"):
        extra = {"groups": case.groups()}
    weight = {} if model.__class__.__name__ in UNWEIGHTED else {"sample_weight": case.weight()}
    try:
        model.fit(case.X(), **extra, **weight)
    except (ValueError, TypeError) as error:
        written = [name for name in vars(model) if name.endswith("_")]
        assert not written, f"a failed fit left {written} behind"
        return _refused(error)
    _check_labels(model, case)
    _check_predict(model, case, extra)
    _check_cost(model, case)
    _check_threads(model, case, extra, weight)
    return _fitted(case)


def _fitted(case):
    assert case.container not in BROKEN or case.n_rows * case.n_columns == 0, "a broken matrix was accepted"
    return "fitted"


def _refused(error):
    assert NAMES.search(str(error)), f"an error names nothing that was given: {error}"
    return "refused"


def _check_labels(model, case):
    labels = model.labels_
    assert labels.shape == (case.n_rows,), f"labels of shape {labels.shape}"
    k = len(model.cluster_centers_) if hasattr(model, "cluster_centers_") else model.n_clusters_
    assert labels.min() >= 0, "labels below zero"
    assert labels.max() < k, "labels beyond the clusters"
    all_used = isinstance(model, DPMeans | HardHDP | KernelDPMeans | BayesianKMeans | AgglomerativeBayes)
    assert not all_used or len(set(labels.tolist())) == k, "labels are not contiguous"


def _check_predict(model, case, extra):
    # SpectralDPMeans places new rows by a formula that rounds; two rows at once may be a tie.
    if not hasattr(model, "predict") or isinstance(model, SpectralDPMeans | AgglomerativeBayes):
        return
    assert np.array_equal(model.predict(case.X(), **extra), model.labels_), "predict does not give labels_"


def _check_cost(model, case):
    history = getattr(model, "cost_history_", np.zeros(1))
    assert (np.diff(history) <= 0).all(), "the cost rose"
    if not isinstance(model, DPMeans | KMeans | OnlineDPMeans) or model.get_params().get("metric") == "cosine":
        return
    rows = _plain(case.X())
    weight = np.ones(case.n_rows) if case.weight() is None else case.weight()
    with np.errstate(over="ignore"):
        sq_dist = ((rows - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
        inertia = float(np.where(weight > 0, weight * sq_dist, 0.0).sum())
    if not np.isfinite(inertia):  # a sweep takes what is infinitely far off for a cluster of its own
        return
    # Centres are given in the user's coordinates, where a large offset costs digits.
    error = weight.sum() * (1e-15 * np.abs(rows).max()) ** 2 + 1e-6 * inertia
    error += 1e-15 * np.abs(rows).max() * float(weight @ np.sqrt(sq_dist)) * rows.shape[1]
    assert abs(model.inertia_ - inertia) <= 8 * error, f"inertia_ is {model.inertia_}, and should be {inertia}"


def _check_threads(model, case, extra, weight):
    if "n_threads" not in model.get_params():
        return
    other = clone(model).set_params(n_threads=2).fit(case.X(), **extra, **weight)
    alone = clone(model).set_params(n_threads=1).fit(case.X(), **extra, **weight)
    assert np.array_equal(alone.labels_, other.labels_), "labels depend on the number of threads"


def _plain(X):
    if sp.issparse(X):
        return X.toarray().astype(np.float64)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    return np.asarray(X, dtype=np.float64)
