"""Table 1: NMI with the classes of eight UCI sets, ten random splits 30/70 for validation and clustering."""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split

from kfree import DPMeans, KMeans
from kfree.baselines import GibbsDPMixture, select_by_validation
from kfree.baselines.validation import agreement
from kfree.datasets import load
from reproduce.cells import Cells, several
from reproduce.result import Result
from reproduce.table import Line, half_width

# DP-means, k-means, Gibbs
PUBLISHED = {
    "wine": (0.41, 0.43, 0.42),
    "iris": (0.75, 0.76, 0.73),
    "pima": (0.02, 0.03, 0.02),
    "soybean-large": (0.72, 0.66, 0.73),
    "car": (0.07, 0.05, 0.15),
    "balance-scale": (0.17, 0.11, 0.14),
    "breast-cancer-ljubljana": (0.04, 0.03, 0.04),
    "vehicle": (0.18, 0.18, 0.17),
}
METHODS = ("DP-means", "k-means", "Gibbs")
# A tenth of its values are unknown, and the paper does not say what was done about these.
UNKNOWN_VALUES = "soybean-large"
N_SPLITS, QUICK_SPLITS = 10, 4
# Sweeps before the first sample, samples, sweeps per sample.
CHAIN, QUICK_CHAIN = (1000, 500, 10), (100, 20, 5)
VALIDATION_CHAIN = (50, 10, 2)
ALPHAS = [0.01, 1.0, 100.0]
# σ as shares of the mean variance of the columns.
SIGMAS = [0.03, 0.1, 0.3, 1.0]


def result(quick):
    """A line for each set and method."""
    n_splits, chain = (QUICK_SPLITS, QUICK_CHAIN) if quick else (N_SPLITS, CHAIN)
    cells = Cells("kulis-jordan-table1", ["set", "burn_in", "samples", "thin", "split"], METHODS)
    lines = []
    for name, published in PUBLISHED.items():
        rows = complete_rows(name)
        made = [cells.get(partial(scores, *rows, seed, chain), name, *chain, seed) for seed in range(n_splits)]
        lines += lines_of(name, published, *several(made, N_SPLITS))
        if name == UNKNOWN_VALUES:
            rows = complete_rows(name, own_value=True)
            made = [
                dict(zip(METHODS, by_distance(*split(*rows, seed)[:2], seed), strict=False)) for seed in range(n_splits)
            ]
            lines += lines_of(f"{name}, unknown as a value", published, *several(made, N_SPLITS))
    return Result(lines)


def lines_of(name, published, splits, note):
    """A line for each method; none without a split."""
    found = {method: np.array([one[method] for one in splits]) for method in METHODS if splits and method in splits[0]}
    return [
        Line(
            case=name,
            method=method,
            quantity="NMI",
            paper=paper,
            ours=nmi.mean(),
            spread=half_width(nmi),
            goal="highest",
            decimals=2,
            note=note and f"{note} splits",
        )
        for (method, nmi), paper in zip(found.items(), published, strict=False)
    ]


def complete_rows(name, own_value=False):
    """Rows as they are, unknown values replaced by the most frequent one of their column, or by −1."""
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64).copy()
    for column in X.T:
        known, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        column[np.isnan(column)] = -1.0 if own_value else known[np.argmax(counts)]
    return X, data.y


def split(X, y, seed):
    """70 % of rows and classes to cluster, and the others for validation."""
    X, held_out, y, classes = train_test_split(X, y, test_size=0.3, random_state=seed)
    return X, y, held_out, classes


def scores(X, y, seed, chain):
    """NMI of the three methods on 70 % of the rows; the other 30 % choose α and σ for Gibbs alone."""
    X, y, held_out, classes = split(X, y, seed)
    sampler = GibbsDPMixture(prior_mean=X.mean(axis=0), keep_samples=True, random_state=seed)
    grid = {"alpha": ALPHAS, "sigma": [share * float(X.var(axis=0).mean()) for share in SIGMAS]}
    chosen, _ = select_by_validation(_with_chain(sampler, VALIDATION_CHAIN), held_out, classes, grid)
    gibbs = agreement(_with_chain(chosen, chain).fit(X), y)
    return dict(zip(METHODS, [*by_distance(X, y, seed), gibbs], strict=True))


def by_distance(X, y, seed):
    """NMI of DP-means and k-means, which take the number of classes and need no validation."""
    k = len(np.unique(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [DPMeans("farthest-first", target_k=k, search="sweep"), KMeans(k, n_init=10, random_state=seed)]
        return [normalized_mutual_info_score(y, model.fit(X).labels_) for model in models]


def _with_chain(sampler, chain):
    n_burn_in, n_samples, thin = chain
    return sampler.set_params(n_burn_in=n_burn_in, n_samples=n_samples, thin=thin)
