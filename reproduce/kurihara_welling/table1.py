"""Table 1: how many of ten Gaussians each method finds, on data in which τ binds.

The paper: "we sampled K centroids and stds. such that no two clusters are closer than τ × (the sum of two stds.)/2".
How they were sampled is not said. Here the closest pair is exactly τ·√D mean deviations apart, and deviations differ
by a factor of five at most: one of several readings in ``generators.py`` that come about equally near to the paper.
Uniform centres that are only drawn again if they are too close ignore τ in many columns (``well_separated.py``).
"""

import time
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.baselines import CollapsedGibbsDPMixture, GaussianMixtureBIC, GMeans, KMeansBIC, VariationalMixture
from kfree.datasets import make_gaussians
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.published import CLUSTERS_FOUND
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line

N_CLUSTERS, N_SETS, QUICK_SETS = 10, 10, 1
# A quick run has the cases of at most so many numbers.
QUICK_SIZE = 3_200
# Each τ has seeds of its own, so that no two lines share their data.
FIRST_SEED = {0.1: 0, 0.5: 10, 2.0: 20}
# Deviations are uniform between this share of the largest and that.
NARROWEST = 0.2
BOX = "BKM, published search"
# α = φ0 of Eq. 21: the model of Bayesian k-means. The paper does not say how long the sampler ran.
MODELS = {
    "G-means": partial(GMeans, n_threads=1),
    "k-means+BIC": KMeansBIC,
    "MoG+BIC": GaussianMixtureBIC,
    "BKM": partial(BayesianKMeans, n_threads=1),
    BOX: partial(BayesianKMeans, search="published", n_threads=1),
    "VBMG": VariationalMixture,
    "CGibbs": partial(CollapsedGibbsDPMixture, 2.0, n_burn_in=200, n_samples=20, thin=5, random_state=0),
}
KEYS = ["method", "tau", "n_rows", "n_features", "seed"]


def fit(make, tau, n_rows, n_features, seed, placement="closest-pair", narrowest=NARROWEST):
    """One data set of a case of Table 1."""
    settings = {"separation": tau, "placement": placement, "narrowest": narrowest}
    return fitted(make, make_gaussians(n_rows, n_features, N_CLUSTERS, random_state=seed, **settings)[0])


def fitted(make, X):
    """Clusters found (for a sampler, the mean over samples), and processor seconds in one thread."""
    started = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X)
    trace = getattr(model, "trace_", None)
    clusters = model.n_clusters_ if trace is None else float(trace["n_clusters"].mean())
    return {"clusters": clusters, "seconds": time.process_time() - started}


def result(quick):
    """All columns. Small cases come first, for runs limited in time; a quick run has one data set of these."""
    cells = Cells("kurihara-welling-table1", KEYS, ["clusters", "seconds"])
    cases = sorted(CLUSTERS_FOUND, key=lambda case: case[1] * case[2])
    made = {}
    for case in [case for case in cases if not quick or case[1] * case[2] <= QUICK_SIZE]:
        seeds = range(FIRST_SEED[case[0]], FIRST_SEED[case[0]] + (QUICK_SETS if quick else N_SETS))
        for method, make in MODELS.items():
            made[method, case] = [cells.get(partial(fit, make, *case, seed), method, *case, seed) for seed in seeds]
    shown = [(method, case) for case in CLUSTERS_FOUND for method in MODELS if (method, case) in made]
    return Result([line(*key, *several(made[key], N_SETS, "data sets")) for key in shown])


def line(method, case, fits, note):
    found = np.array([one["clusters"] for one in fits])
    paper, spread = CLUSTERS_FOUND[case][method.split(",")[0]]
    return Line(
        case=name(case),
        method=method,
        quantity="clusters",
        paper=paper,
        paper_spread=spread,
        paper_n=N_SETS,
        ours=found.mean() if fits else None,
        spread=found.std(ddof=1) if len(found) > 1 else None,
        n=len(found),
        spread_is="deviation",
        seconds=float(np.mean([one["seconds"] for one in fits])) if fits else None,
        # Baselines are meant to be like the paper's, Bayesian k-means near the truth.
        goal=float(N_CLUSTERS) if method in ("BKM", BOX) else None,
        decimals=1,
        note=note if fits else OUT_OF_TIME,
    )


def name(case):
    tau, n_rows, n_features = case
    return f"τ={tau:g}, N={n_rows}, D={n_features}"
