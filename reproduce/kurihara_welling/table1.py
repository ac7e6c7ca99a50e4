"""Table 1: how many of ten Gaussians each method finds."""

import time
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.baselines import CollapsedGibbsDPMixture, GaussianMixtureBIC, GMeans, KMeansBIC, VariationalMixture
from kfree.datasets import make_gaussians
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line

N_CLUSTERS, N_SETS, QUICK_SETS = 10, 10, 2
# A quick run has the cases of at most so many numbers.
QUICK_SIZE = 10_000
# Where nothing binds, as in many columns, data of one seed are the same for every τ; so each has seeds of its own.
FIRST_SEED = {0.1: 0, 0.5: 10, 2.0: 20}
# α = φ0 of Eq. 21: the model of Bayesian k-means. The paper does not say how long the sampler ran.
MODELS = {
    "G-means": lambda: GMeans(n_threads=1),
    "k-means+BIC": KMeansBIC,
    "MoG+BIC": GaussianMixtureBIC,
    "BKM": lambda: BayesianKMeans(n_threads=1),
    "VBMG": VariationalMixture,
    "CGibbs": lambda: CollapsedGibbsDPMixture(2.0, n_burn_in=200, n_samples=20, thin=5, random_state=0),
}
# Of a fit per number in X, roughly.
RELATIVE_SECONDS = {"G-means": 1, "BKM": 5, "VBMG": 10, "MoG+BIC": 50, "k-means+BIC": 300, "CGibbs": 1000}


def fit(method, tau, n_rows, n_features, seed):
    """One data set: clusters found (for a sampler, the mean over samples), and processor seconds in one thread."""
    X, _ = make_gaussians(n_rows, n_features, N_CLUSTERS, separation=tau, random_state=seed)
    started = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[method]().fit(X)
    trace = getattr(model, "trace_", None)
    clusters = model.n_clusters_ if trace is None else float(trace["n_clusters"].mean())
    return {"clusters": clusters, "seconds": time.process_time() - started}


def result(quick):
    """All columns. A quick run has a few data sets of the small cases.

    Every line gets its first data set before any gets its second, and fast fits come first, for runs limited in time.
    """
    cells = Cells("kurihara-welling-table1", ["method", "tau", "n_rows", "n_features", "seed"], ["clusters", "seconds"])
    cases = [case for case in CLUSTERS_FOUND if not quick or case[1] * case[2] <= QUICK_SIZE]
    made = {(method, case): [] for case in cases for method in METHODS}
    for place in range(QUICK_SETS if quick else N_SETS):
        for method, case in sorted(made, key=_expense):
            seed = FIRST_SEED[case[0]] + place
            made[method, case].append(cells.get(partial(fit, method, *case, seed), method, *case, seed))
    found = {key: several(fits, N_SETS) for key, fits in made.items()}
    return Result([line(*key, *found[key]) for key in found])


def _expense(key):
    method, (_, n_rows, n_features) = key
    return RELATIVE_SECONDS[method] * n_rows * n_features


def line(method, case, fits, note):
    found = np.array([one["clusters"] for one in fits])
    paper, spread = CLUSTERS_FOUND[case][method]
    note = f"{note} data sets" if note and fits else OUT_OF_TIME if note else ""
    return Line(
        case=name(case),
        method=method,
        quantity="clusters",
        paper=paper,
        paper_spread=spread,
        ours=found.mean() if fits else None,
        spread=found.std(ddof=1) if len(found) > 1 else None,
        seconds=float(np.mean([one["seconds"] for one in fits])) if fits else None,
        # Baselines are meant to be like the paper's, kfree's own method near the truth.
        goal=float(N_CLUSTERS) if method == "BKM" else None,
        decimals=1,
        note=note,
    )


def name(case):
    tau, n_rows, n_features = case
    return f"τ={tau:g}, N={n_rows}, D={n_features}"
