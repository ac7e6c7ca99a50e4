"""The paper's four algorithms and kfree's default, all as functions of rows and penalty."""

import time
import warnings
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, OnlineDPMeans


def batch(X, lam):
    """Algorithm 1, for 300 sweeps at most as in the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DPMeans(lam=lam, search="sweep", max_iter=300).fit(X)


def online(X, lam):
    """Algorithm 2."""
    return OnlineDPMeans(lam=lam, search="published", split=False).partial_fit(X)


def split(X, lam):
    """Algorithm 3."""
    return OnlineDPMeans(lam=lam, search="published", split=True).partial_fit(X)


def split_merge(X, lam):
    """Algorithm 3, then Algorithm 4."""
    return split(X, lam).merge()


def default(X, lam):
    """What kfree does with this penalty when nothing else is said."""
    return DPMeans(lam=lam).fit(X)


DEFAULT = "kfree default"
ALGORITHMS = {"BD": batch, "OD": online, "SD": split, "SMD": split_merge, DEFAULT: default}


@dataclass(frozen=True)
class Run:
    cost: float
    n_clusters: int
    seconds: float


def run(algorithm, X, lam):
    """One fit, with processor seconds. The cost is Eq. 1, by a pass over all rows after the fit, which is not timed."""
    started = time.process_time()
    model = algorithm(X, lam)
    seconds = time.process_time() - started
    return Run(-model.score(X), len(model.cluster_centers_), seconds)
