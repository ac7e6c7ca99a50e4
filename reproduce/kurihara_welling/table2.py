"""Table 2: dendrogram purity of agglomerative Bayesian clustering (ABC) and of linkages by distance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.random_projection import GaussianRandomProjection

from kfree import AgglomerativeBayes
from kfree.metrics import dendrogram_purity
from reproduce.data import load
from reproduce.kurihara_welling.newsgroups import binary_words
from reproduce.kurihara_welling.published import PURITY
from reproduce.result import Result
from reproduce.table import Line

N_SUBSETS, QUICK_SUBSETS = 10, 3
LINKAGES = ["single", "complete", "average"]
# The paper's prior (Eq. 22) is for Gaussians only.
ABC = {"gaussian": {"ABC": "neighbours", "ABC, prior of Eq. 22": "data"}, "bernoulli": {"ABC": "neighbours"}}


@dataclass(frozen=True)
class Case:
    """Where rows and classes come from, how many make a subset, what is done to it, and what stands in for the set."""

    rows: Callable
    n_rows: int
    model: str
    prepare: Callable = lambda rows, seed: rows
    shown: str | None = None


def rows_of(name):
    data = load(name)
    return np.asarray(data.X, dtype=np.float64), data.y


def above_median():
    """Spambase in zeros and ones: for most words, whether they occur at all."""
    rows, y = rows_of("spambase")
    return (rows > np.median(rows, axis=0)).astype(np.float64), y


def projected(rows, seed):
    return GaussianRandomProjection(50, random_state=seed).fit_transform(rows)


CASES = {
    "pendigits": Case(lambda: rows_of("pendigits"), 100, "gaussian"),
    "CEDAR": Case(lambda: rows_of("usps"), 100, "gaussian", shown="USPS averaged to 8 × 8, for CEDAR"),
    "MNIST": Case(lambda: rows_of("mnist"), 100, "gaussian", projected),
    "spambase": Case(above_median, 200, "bernoulli"),
    "20 newsgroups": Case(binary_words, 240, "bernoulli"),
}


def result(quick):
    """All rows of the table, the paper's numbers beside ours, and who is highest of ours."""
    n_subsets = QUICK_SUBSETS if quick else N_SUBSETS
    return Result([line for name in CASES for line in lines_of(name, n_subsets)])


def lines_of(name, n_subsets=N_SUBSETS):
    purity = {method: np.array(found) for method, found in purities(CASES[name], n_subsets).items()}
    highest = max(purity, key=lambda method: purity[method].mean())
    return [
        Line(
            case=CASES[name].shown or name,
            method=method,
            quantity="purity",
            paper=PURITY[name][method.split(",")[0]][0],
            paper_spread=PURITY[name][method.split(",")[0]][1],
            paper_n=N_SUBSETS,
            ours=found.mean(),
            spread=found.std(ddof=1),
            n=len(found),
            spread_is="deviation",
            goal="highest",
            note="highest" if method == highest else "",
        )
        for method, found in purity.items()
    ]


def purities(case, n_subsets):
    """By method, the purity on each random subset."""
    X, y = case.rows()
    found = {method: [] for method in [*ABC[case.model], *LINKAGES]}
    for seed in range(n_subsets):
        chosen = np.random.default_rng(seed).choice(len(X), case.n_rows, replace=False)
        rows = case.prepare(X[chosen], seed)
        for method, prior in ABC[case.model].items():
            tree = AgglomerativeBayes(case.model, prior=prior).fit(rows).linkage_
            found[method].append(dendrogram_purity(tree, y[chosen]))
        for method in LINKAGES:
            found[method].append(dendrogram_purity(linkage(rows, method), y[chosen]))
    return found
