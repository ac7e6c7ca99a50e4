"""Table 1: how many of ten Gaussians each method finds.

Fits are kept in ``table1.json`` beside this file as soon as they are made, so a run may be stopped and started again;
without that file everything is made anew.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.baselines import CollapsedGibbsDPMixture, GaussianMixtureBIC, GMeans, KMeansBIC, VariationalMixture
from kfree.datasets import make_gaussians
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS
from reproduce.result import Result
from reproduce.table import Line

KEPT = Path(__file__).with_name("table1.json")
N_CLUSTERS, N_SETS, QUICK_SETS = 10, 10, 2
# What a quick run makes: cases of at most so many numbers, and Bayesian k-means on all.
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


def fit(method, tau, n_rows, n_features, seed):
    """One data set: clusters found (for a sampler, the mean over samples), and processor seconds in one thread."""
    X, _ = make_gaussians(n_rows, n_features, N_CLUSTERS, separation=tau, random_state=seed)
    started = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[method]().fit(X)
    trace = getattr(model, "trace_", None)
    clusters = model.n_clusters_ if trace is None else float(trace["n_clusters"].mean())
    return {"clusters": clusters, "seconds": round(time.process_time() - started, 3)}


def completed(method, case, kept, n_sets):
    """The fits of a case that are kept, and those that are missing up to ``n_sets``, made now."""
    fits = kept.setdefault(method, {}).setdefault(name(case), [])
    while len(fits) < n_sets:
        fits.append(fit(method, *case, seed=FIRST_SEED[case[0]] + len(fits)))
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return fits


def result(quick):
    """All columns; all want to be near ten. A quick run makes a few fits of the small cases and shows what is kept."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    lines = []
    for case in CLUSTERS_FOUND:
        for method in METHODS:
            wanted = (QUICK_SETS if case[1] * case[2] <= QUICK_SIZE else 0) if quick else N_SETS
            fits = completed(method, case, kept, wanted)
            if fits:
                lines.append(line(method, case, fits))
    return Result(lines)


def line(method, case, fits):
    found = np.array([one["clusters"] for one in fits])
    paper, spread = CLUSTERS_FOUND[case][method]
    return Line(
        case=name(case),
        method=method,
        quantity="clusters",
        paper=paper,
        paper_spread=spread,
        ours=found.mean(),
        spread=found.std(ddof=1) if len(found) > 1 else None,
        seconds=float(np.mean([one["seconds"] for one in fits])),
        # Baselines are meant to be like the paper's, kfree's own method near the truth.
        goal=float(N_CLUSTERS) if method == "BKM" else None,
        digits=2 if found.mean() < 9.95 else 3,  # one after the point, as in the paper
        note="" if len(fits) == N_SETS else f"{len(fits)} of {N_SETS} data sets",
    )


def name(case):
    tau, n_rows, n_features = case
    return f"τ={tau:g}, N={n_rows}, D={n_features}"
