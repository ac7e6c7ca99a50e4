"""Why Table 1's lines of few rows in many columns differ: what Eq. 21 rewards, and what a user can do instead.

For each data set: the free energy of what was found against that of the ten Gaussians, whose labels are updated until
nothing changes. Where what was found is cheaper, the search has done its work and the prior is at fault.
"""

import warnings
from functools import partial

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score

from kfree import BayesianKMeans, DPMeans
from kfree.datasets import make_gaussians
from kfree.models.bayesian_rows import GaussianData
from kfree.objectives.priors import by_neighbours, smallest_distance
from kfree.search.evidence.hard_labels import Update, clustering_by
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.table1 import FIRST_SEED, N_CLUSTERS, name
from reproduce.result import Result
from reproduce.table import Line

CASES = [(0.1, 100, 32), (0.5, 100, 64), (2.0, 100, 32), (2.0, 1000, 2), (2.0, 1000, 64), (2.0, 5000, 2)]
N_SETS, QUICK_SETS, QUICK_CASES = 5, 1, 1


def printed(X):
    """Eq. 21 as printed."""
    return BayesianKMeans().fit(X)


def typical_neighbours(X):
    """Eq. 21 with the median distance to the nearest neighbour in place of the three smallest."""
    rows = X - X.mean(axis=0)
    n_features = X.shape[1]
    sample = np.random.RandomState(0)
    median_sq = by_neighbours(rows, sample)[0].B0[0, 0] * n_features
    S = np.cov(rows, rowvar=False, bias=True)
    return BayesianKMeans(prior={"B0": median_sq * n_features * S / np.trace(S)}).fit(X)


def stiff(X):
    """Covariances near the spherical one of typical neighbours, with a weight of 2·D rows."""
    n_features = X.shape[1]
    variance = by_neighbours(X - X.mean(axis=0), np.random.RandomState(0))[0].B0[0, 0] / 2
    prior = {"xi0": 0.01, "eta0": 2.0 * n_features, "B0": variance * n_features * np.eye(n_features)}
    return BayesianKMeans(prior=prior).fit(X)


def projected(X):
    """Eq. 21 as printed, in at most nine principal components."""
    return BayesianKMeans().fit(PCA(min(9, X.shape[1]), random_state=0).fit_transform(X))


def dp_means(X):
    """Spherical clusters, their penalty by the lam path."""
    return DPMeans().fit(X)


REMEDIES = {
    "Eq. 21 as printed": printed,
    "Eq. 21, median neighbour distance": typical_neighbours,
    "spherical prior of 2·D rows": stiff,
    "Eq. 21 in 9 principal components": projected,
    "DPMeans()": dp_means,
}


def result(quick):
    """For each case, by how much the ten Gaussians cost more than what was found, and what each remedy finds."""
    values = ["found", "truth", "share", *(f"{what}, {method}" for method in REMEDIES for what in ("k", "NMI"))]
    cells = Cells("kurihara-welling-table1-prior", ["tau", "n_rows", "n_features", "seed"], values)
    n_sets, lines = QUICK_SETS if quick else N_SETS, []
    for case in CASES[: QUICK_CASES if quick else None]:
        seeds = range(FIRST_SEED[case[0]], FIRST_SEED[case[0]] + n_sets)
        sets, few = several(
            [cells.get(partial(measured, *case, seed), *case, seed) for seed in seeds], N_SETS, "data sets"
        )
        if sets:
            mean = {name: np.mean([one[name] for one in sets]) for name in values}
            lines += lines_of(name(case), mean, min(one["truth"] - one["found"] for one in sets), few)
    return Result(lines)


def lines_of(case, mean, least_gain, few):
    few = f"; {few}" if few else ""
    note = f"least {least_gain:.3g}; d_small is {mean['share']:.2g} of the median distance to the nearest neighbour"
    what = "free energy of the ten Gaussians above what was found"
    gain = mean["truth"] - mean["found"]
    yield Line(case, "Eq. 21 as printed", what, None, gain, goal=None, note=note + few)
    for method in REMEDIES:
        note = f"NMI {mean[f'NMI, {method}']:.2f}{few}"
        yield Line(case, method, "clusters", None, mean[f"k, {method}"], goal=None, note=note)


def measured(tau, n_rows, n_features, seed):
    """Free energies found and of the truth, d_small as a share, and clusters and NMI by remedy."""
    X, y = make_gaussians(n_rows, n_features, N_CLUSTERS, separation=tau, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {method: fit(X) for method, fit in REMEDIES.items()}
    plain = models["Eq. 21 as printed"]
    rows = X - X.mean(axis=0)
    median = np.sqrt(by_neighbours(rows, np.random.RandomState(0))[0].B0[0, 0] * n_features)
    share = smallest_distance(rows, np.random.RandomState(0)) / median
    found = {"found": plain.free_energy_, "truth": free_energy_of(plain, X, y), "share": share}
    for method, model in models.items():
        found[f"k, {method}"] = model.n_clusters_
        found[f"NMI, {method}"] = normalized_mutual_info_score(y, model.labels_)
    return found


def free_energy_of(model, X, y):
    """Of given classes under a fitted model's prior, labels updated until nothing changes."""
    engine = GaussianData(X, model, model._model_.frame).open("auto", "brute", 1)
    labels = np.unique(y, return_inverse=True)[1].astype(np.int32)
    start = clustering_by(engine.assignment(labels, labels.max() + 1), engine, model._model_.objective)
    return Update()(start, engine, model._model_.objective).cost
