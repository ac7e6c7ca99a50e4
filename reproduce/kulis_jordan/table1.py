"""Table 1: NMI with the classes of eight UCI sets, ten random splits 30/70 for validation and clustering.

NMI grows with the number of clusters whatever the classes are. So each line also has the adjusted mutual information
(0 by chance), the number of clusters, and the NMI of the same clusters with shuffled classes.
"""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score
from sklearn.model_selection import train_test_split

from kfree import DPMeans, KMeans
from kfree.baselines import GibbsDPMixture, select_by_validation
from kfree.datasets import load
from reproduce.cells import Cells, several
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line, half_width

# DP-means, k-means, Gibbs
PUBLISHED = {
    "wine": (0.41, 0.43, 0.42),
    "iris": (0.75, 0.76, 0.73),
    "pima": (0.02, 0.03, 0.02),
    "soybean": (0.72, 0.66, 0.73),
    "car": (0.07, 0.05, 0.15),
    "balance-scale": (0.17, 0.11, 0.14),
    "breast-cancer-ljubljana": (0.04, 0.03, 0.04),
    "vehicle": (0.18, 0.18, 0.17),
}
METHODS = ("DP-means", "k-means", "Gibbs")
MEASURES = ("NMI", "AMI", "k", "shuffled")
# UCI has two sets of soybean diseases, and the paper does not say which it used; nor what it did about a tenth of the
# values of the large one, which are unknown.
SOYBEAN = {
    "soybean-large": ("soybean-large", False),
    "soybean-large, unknown as a value": ("soybean-large", True),
    "soybean-small": ("soybean-small", False),
}
CASES = {
    case: (paper, *rows)
    for paper in PUBLISHED
    for case, rows in (SOYBEAN if paper == "soybean" else {paper: (paper, False)}).items()
}
N_SPLITS, QUICK_SPLITS, QUICK_CASES = 10, 1, 2
# Sweeps before the first sample, samples, sweeps per sample.
CHAIN, QUICK_CHAIN = (1000, 500, 10), (50, 10, 5)
# On the validation set as many sweeps, and a tenth of the samples.
FEWER = 10
ALPHAS = [0.01, 1.0, 100.0]
# σ as shares of the mean variance of the columns.
SIGMAS = [0.03, 0.1, 0.3, 1.0]
# Of a chain, AMI and shuffled classes are computed for every tenth sample.
EVERY = 10


def result(quick):
    """A line for each set and method."""
    n_splits, chain = (QUICK_SPLITS, QUICK_CHAIN) if quick else (N_SPLITS, CHAIN)
    values = [*(f"{measure}, {method}" for method in METHODS for measure in MEASURES), "alpha", "sigma_share"]
    cells = Cells("kulis-jordan-table1", ["case", "burn_in", "samples", "thin", "split"], values)
    cases, made = list(CASES)[: QUICK_CASES if quick else None], {}
    for seed in range(n_splits):  # all cases before the second split, for runs limited in time
        for case in cases:
            one = cells.get(partial(scores, case, seed, chain), case, *chain, seed)
            made.setdefault(case, []).append(one)
    return Result([line for case in cases for line in lines_of(case, *several(made[case], N_SPLITS, "splits"))])


def lines_of(case, splits, note):
    """A line for each method."""
    for method, paper in zip(METHODS, PUBLISHED[CASES[case][0]], strict=True):
        found = {measure: np.array([one[f"{measure}, {method}"] for one in splits]) for measure in MEASURES}
        yield Line(
            case=case,
            method=method,
            quantity="NMI",
            paper=paper,
            ours=found["NMI"].mean() if splits else None,
            spread=half_width(found["NMI"]),
            n=len(splits),
            goal="highest",
            decimals=2,
            note=remark(found, note) if splits else OUT_OF_TIME,
        )


def remark(found, note):
    mean = {measure: float(values.mean()) for measure, values in found.items()}
    said = f"AMI {mean['AMI']:.3f}; {mean['k']:.1f} clusters; NMI with shuffled classes {mean['shuffled']:.3f}"
    return said + (f"; {note}" if note else "")


def complete_rows(case):
    """Rows as they are, unknown values replaced by the most frequent one of their column, or by −1."""
    _, name, own_value = CASES[case]
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64).copy()
    for column in X.T:
        known, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        column[np.isnan(column)] = -1.0 if own_value else known[np.argmax(counts)]
    return X, data.y


def scores(case, seed, chain):
    """The three methods on 70 % of the rows; the other 30 % choose α and σ, for Gibbs alone."""
    X, held_out, y, classes = train_test_split(*complete_rows(case), test_size=0.3, random_state=seed)
    n_burn_in, n_samples, thin = chain
    few, all_samples = {"n_samples": n_samples // FEWER, "thin": thin * FEWER}, {"n_samples": n_samples, "thin": thin}
    sampler = GibbsDPMixture(prior_mean=X.mean(axis=0), n_burn_in=n_burn_in, keep_samples=True, random_state=seed)
    variance = float(X.var(axis=0).mean())
    grid = {"alpha": ALPHAS, "sigma": [share * variance for share in SIGMAS]}
    chosen, _ = select_by_validation(sampler.set_params(**few), held_out, classes, grid)
    samples = chosen.set_params(**all_samples).fit(X).label_samples_
    found = {method: measures(y, [labels]) for method, labels in by_distance(X, y, seed).items()}
    found["Gibbs"] = measures(y, samples)
    flat = {f"{measure}, {method}": value for method, one in found.items() for measure, value in one.items()}
    return flat | {"alpha": chosen.alpha, "sigma_share": chosen.sigma / variance}


def by_distance(X, y, seed):
    """Labels of DP-means and k-means, which take the number of classes and need no validation."""
    k = len(np.unique(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [DPMeans(lam="farthest-first", target_k=k, search="sweep"), KMeans(k, n_init=10, random_state=seed)]
        return {method: model.fit(X).labels_ for method, model in zip(METHODS, models, strict=False)}


def measures(y, samples):
    """Means over samples of labels."""
    shuffled = np.random.default_rng(0).permutation(y)
    some = samples[::EVERY]
    return {
        "NMI": np.mean([normalized_mutual_info_score(y, labels) for labels in samples]),
        "AMI": np.mean([adjusted_mutual_info_score(y, labels) for labels in some]),
        "k": np.mean([len(np.unique(labels)) for labels in samples]),
        "shuffled": np.mean([normalized_mutual_info_score(shuffled, labels) for labels in some]),
    }
