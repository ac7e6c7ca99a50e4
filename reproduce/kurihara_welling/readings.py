"""What the authors may have used: Eq. 21 by two readings, and Gaussians that are more alike in width than ours.

"d_small is computed by determining the closest neighbor for 10% of the data-cases and averaging over the 3 closest
pairs." That does not say whether neighbours are looked for among all rows or within the tenth. Nor does the paper say
how standard deviations were drawn: ours are uniform between 0 and a fifth of the cube's side.
"""

import warnings
from functools import partial

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.baselines import CollapsedGibbsDPMixture, VariationalMixture
from kfree.datasets import make_gaussians
from kfree.objectives.priors import informed_by_data, smallest_distance
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.prior import free_energy_of
from reproduce.kurihara_welling.published import CLUSTERS_FOUND
from reproduce.kurihara_welling.table1 import FIRST_SEED, N_CLUSTERS, name
from reproduce.result import Result
from reproduce.table import Line

N_SETS, QUICK_SETS, QUICK_CASES = 5, 1, 1
CASES = [(2.0, 100, 32), (2.0, 100, 64)]
LARGEST_STD = 0.2
# Few sweeps are enough: with 100 rows the number of clusters settles within the first twenty.
MODELS = {
    "BKM": lambda prior: BayesianKMeans(prior=prior, n_threads=1),
    "VBMG": lambda prior: VariationalMixture(prior=prior),
    "CGibbs": lambda prior: CollapsedGibbsDPMixture(
        2.0, prior=prior, n_burn_in=100, n_samples=10, thin=5, random_state=0
    ),
}


def among_all(rows):
    return smallest_distance(rows, np.random.RandomState(0))


def within_the_tenth(rows):
    tenth = rows[np.random.RandomState(0).choice(len(rows), len(rows) // 10, replace=False)]
    return np.sort(pdist(tenth))[:3].mean()


# How d_small is read, and how narrow a Gaussian may be as a share of the widest; None: as narrow as in Table 1.
VARIANTS = {
    "equal widths": (among_all, 1.0),
    "widths within a factor of 2": (among_all, 0.5),
    "widths within a factor of 4": (among_all, 0.25),
    "neighbours within the tenth": (within_the_tenth, None),
}


def result(quick):
    """Numbers of clusters by variant and method, where there are fewer rows than columns in a cluster."""
    cells = Cells(
        "kurihara-welling-table1-readings",
        ["variant", "tau", "n_rows", "n_features", "seed"],
        ["d_small", "gain", *(f"{what}, {method}" for method in MODELS for what in ("k", "NMI"))],
    )
    cases, n_sets = CASES[: QUICK_CASES if quick else None], QUICK_SETS if quick else N_SETS
    found = {}
    for variant in VARIANTS:
        for case in cases:
            seeds = range(FIRST_SEED[case[0]], FIRST_SEED[case[0]] + n_sets)
            made = [cells.get(partial(measured, variant, *case, seed), variant, *case, seed) for seed in seeds]
            found[case, variant] = several(made, N_SETS, "data sets")
    shown = [(case, method, variant) for case in cases for method in MODELS for variant in reversed(VARIANTS)]
    return Result([line(*key, *found[key[0], key[2]]) for key in shown if found[key[0], key[2]][0]])


def measured(variant, tau, n_rows, n_features, seed):
    """d_small, free energy of the ten Gaussians above what BKM found, clusters and agreement by method."""
    X, y = make_gaussians(n_rows, n_features, N_CLUSTERS, separation=tau, random_state=seed)
    read, narrowest = VARIANTS[variant]
    if narrowest is not None:
        X = rescaled(X, y, np.random.RandomState(seed).uniform(narrowest, 1.0, N_CLUSTERS) * LARGEST_STD)
    rows = X - X.mean(axis=0)
    model, _ = informed_by_data(rows, np.random.RandomState(0))
    d_small = read(rows)
    prior = {"B0": model.B0 * (d_small / among_all(rows)) ** 2}
    found = {"d_small": d_small}
    for method, make in MODELS.items():
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = make(prior).fit(X)
        if method == "BKM":
            found["gain"] = free_energy_of(fitted, X, y) - fitted.free_energy_
        trace = getattr(fitted, "trace_", None)
        found[f"k, {method}"] = fitted.n_clusters_ if trace is None else trace["n_clusters"].mean()
        found[f"NMI, {method}"] = normalized_mutual_info_score(y, fitted.labels_)
    return found


def rescaled(X, y, stds):
    """The rows of each Gaussian about their mean, with this standard deviation in a column on average."""
    X = X.copy()
    for c in np.unique(y):
        gap = X[y == c] - X[y == c].mean(axis=0)
        X[y == c] += (stds[c] / np.sqrt(np.square(gap).mean()) - 1) * gap
    return X


def line(case, method, variant, sets, few):
    found = np.array([one[f"k, {method}"] for one in sets])
    paper, spread = CLUSTERS_FOUND[case][method]
    note = f"NMI {np.mean([one[f'NMI, {method}'] for one in sets]):.2f}" + (f"; {few}" if few else "")
    if method == "BKM":
        note += f"; free energy of the ten Gaussians at least {min(one['gain'] for one in sets):.3g} above"
    return Line(
        case=name(case),
        method=f"{method}, {variant}",
        quantity="clusters",
        paper=paper,
        paper_spread=spread,
        ours=found.mean(),
        spread=found.std(ddof=1) if len(found) > 1 else None,
        n=len(found),
        spread_is="deviation",
        goal=None,
        decimals=1,
        note=note,
    )
