"""Table 1: how many of ten Gaussians Bayesian k-means finds.

Fits are kept in ``table1.json`` beside this file as soon as they are made, so a run may be stopped and started again;
without that file everything is made anew.
"""

import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.datasets import make_gaussians
from reproduce.kurihara_welling.published import CLUSTERS_FOUND
from reproduce.table import Line

KEPT = Path(__file__).with_name("table1.json")
N_CLUSTERS, N_SETS = 10, 10
# Where nothing binds, as in many columns, data of one seed are the same for every τ; so each has seeds of its own.
FIRST_SEED = {0.1: 0, 0.5: 10, 2.0: 20}


def fit(tau, n_rows, n_features, seed):
    """One data set: the number of clusters found, and processor seconds in one thread."""
    X, _ = make_gaussians(n_rows, n_features, N_CLUSTERS, separation=tau, random_state=seed)
    started = time.process_time()
    with threadpool_limits(1):
        model = BayesianKMeans(n_threads=1).fit(X)
    return {"clusters": model.n_clusters_, "seconds": round(time.process_time() - started, 3)}


def completed(case, kept):
    """The ten fits of a case, of which those that are missing are made now."""
    fits = kept.setdefault(name(case), [])
    while len(fits) < N_SETS:
        fits.append(fit(*case, seed=FIRST_SEED[case[0]] + len(fits)))
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return fits


def lines():
    """The column BKM, ours beside it; both want to be near ten."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return [line(case, completed(case, kept)) for case in CLUSTERS_FOUND]


def line(case, fits):
    found = np.array([one["clusters"] for one in fits])
    paper, spread = CLUSTERS_FOUND[case]
    return Line(
        case=name(case),
        method="BKM",
        quantity="clusters",
        paper=paper,
        paper_spread=spread,
        ours=found.mean(),
        spread=found.std(ddof=1),
        seconds=float(np.mean([one["seconds"] for one in fits])),
        goal=float(N_CLUSTERS),
        digits=2 if found.mean() < 9.95 else 3,  # one after the point, as in the paper
    )


def name(case):
    tau, n_rows, n_features = case
    return f"τ={tau:g}, N={n_rows}, D={n_features}"
