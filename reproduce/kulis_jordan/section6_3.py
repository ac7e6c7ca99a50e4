"""§6.3: fifty small data sets that share fifteen Gaussians, 20 random repetitions.

Where the fifteen means fall decides how well any method can do, and the paper drew them once: methods are compared
within a repetition.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from kfree import DPMeans, HardHDP, KMeans, farthest_first_lambda, plot
from reproduce.result import Result
from reproduce.table import Line, half_width

QUICK_REPETITIONS = 2
N_REPETITIONS, N_SETS, N_GAUSSIANS, N_CHOSEN, N_ROWS = 20, 50, 15, 5, 5
DEFAULT, PRINTED = "HardHDP()", "HardHDP, Algorithm 2 and the paper's penalties"
SAME_PENALTIES = "HardHDP, the paper's penalties"
PUBLISHED_NMI = {
    PRINTED: 0.81,
    SAME_PENALTIES: 0.81,
    DEFAULT: 0.81,
    "k-means, k=15, pooled": 0.77,
    "DP-means, pooled": 0.73,
    "k-means, k=5, separate": 0.79,
    "DP-means, separate": 0.79,
}
PUBLISHED_SECONDS = {PRINTED: 28.8, "k-means, k=15, pooled": 2.7}
PUBLISHED_GLOBAL, PUBLISHED_LOCAL = 17, 4.4


def data_sets(seed):
    """Rows, their Gaussians and their data sets: means uniform in the unit square, covariance 0.01·I."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(size=(N_GAUSSIANS, 2))
    y = np.concatenate([np.repeat(rng.choice(N_GAUSSIANS, N_CHOSEN, replace=False), N_ROWS) for _ in range(N_SETS)])
    return means[y] + 0.1 * rng.normal(size=(len(y), 2)), y, np.repeat(np.arange(N_SETS), N_CHOSEN * N_ROWS)


def _separate(make):
    """A model for each data set of its own."""

    def labels(X, group):
        found = np.empty(len(X), dtype=int)
        for g in range(N_SETS):
            found[group == g] = make().fit(X[group == g]).labels_
        return found

    return labels


def paper_penalties(X, group):
    """§6.1: farthest-first within groups for λ_ℓ; for λ_g the distance of a group to T is a sum over its rows.

    The text leaves open which point of the farthest group joins T: here its farthest row.
    """
    local = np.mean([farthest_first_lambda(X[group == g], N_CHOSEN) for g in range(N_SETS)])
    nearest = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    for _ in range(N_GAUSSIANS):
        sums = np.bincount(group, weights=nearest)
        candidates = np.flatnonzero(group == sums.argmax())
        chosen = X[candidates[nearest[candidates].argmax()]]
        nearest = np.minimum(nearest, ((X - chosen) ** 2).sum(axis=1))
    return {"lam_local": float(local), "lam_global": float(sums.max())}


# Penalties for a wished number of clusters by farthest-first, as in the paper, where DP-means needs one.
METHODS = {
    PRINTED: lambda X, group: _hdp(X, group, search="sweep", **paper_penalties(X, group)),
    SAME_PENALTIES: lambda X, group: _hdp(X, group, **paper_penalties(X, group)),
    DEFAULT: lambda X, group: _hdp(X, group),
    "k-means, k=15, pooled": lambda X, group: KMeans(N_GAUSSIANS, n_init=10, random_state=0).fit(X).labels_,
    "DP-means, pooled": lambda X, group: _dp_means(N_GAUSSIANS).fit(X).labels_,
    "k-means, k=5, separate": _separate(lambda: KMeans(N_CHOSEN, n_init=10, random_state=0)),
    "DP-means, separate": _separate(lambda: _dp_means(N_CHOSEN)),
}


def _hdp(X, group, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return HardHDP(**settings).fit(X, groups=group).labels_


def _dp_means(k):
    return DPMeans(lam="farthest-first", target_k=k, search="sweep")


def nmi(y, labels, group):
    """Mean over the data sets of the NMI within each."""
    return np.mean([normalized_mutual_info_score(y[group == g], labels[group == g]) for g in range(N_SETS)])


def result(quick):
    """NMI of all methods, and how many clusters HardHDP finds."""
    found = {method: [] for method in METHODS}
    seconds = {method: [] for method in METHODS}
    clusters = {method: [] for method in (PRINTED, SAME_PENALTIES, DEFAULT)}
    for seed in range(QUICK_REPETITIONS if quick else N_REPETITIONS):
        X, y, group = data_sets(seed)
        for method, run in METHODS.items():
            started = time.process_time()
            labels = run(X, group)
            seconds[method].append(time.process_time() - started)
            found[method].append(nmi(y, labels, group))
            if method in clusters:
                n_local = len(np.unique(group * N_ROWS * len(X) + labels)) / N_SETS
                clusters[method].append((len(np.unique(labels)), n_local))
    ours = np.array(found[DEFAULT])
    lines = [
        *(_line(method, "NMI", PUBLISHED_NMI[method], found[method], seconds[method], ours) for method in METHODS),
    ]
    for method, pairs in clusters.items():
        n_global, n_local = np.transpose(pairs)
        lines.append(_line(method, "global clusters", PUBLISHED_GLOBAL, n_global))
        lines.append(_line(method, "local clusters", PUBLISHED_LOCAL, n_local))
    return Result(lines)


def figure2d(quick):
    """One of the fifty data sets, coloured by the Gaussian that a row came from; the other sets in grey."""
    X, y, group = data_sets(0)
    ax, one = plot.axes(), group == 0
    ax.scatter(*X[~one].T, color="0.9", s=8)
    ax.scatter(*X[one].T, c=plot.colours(N_GAUSSIANS)[y[one]], s=40)
    ax.set_title("25 rows of one data set, the other 49 in grey")
    return Result(figure=ax.figure)


def _line(method, quantity, published, values, seconds=None, ours=None):
    """Mean over the repetitions with a 95 % confidence interval; what HardHDP gains is compared within a repetition."""
    values = np.asarray(values, dtype=float)
    gain = None if ours is None or method == DEFAULT else ours - values
    return Line(
        case=f"{N_SETS} sets of {N_CHOSEN * N_ROWS} rows",
        method=method,
        quantity=quantity,
        paper=published,
        ours=values.mean(),
        spread=half_width(values),
        n=len(values),
        paper_seconds=None if seconds is None else PUBLISHED_SECONDS.get(method),
        seconds=None if seconds is None else float(np.mean(seconds)),
        goal="highest" if quantity == "NMI" else None,
        decimals=2,
        note="" if gain is None else f"{DEFAULT} gains {gain.mean():+.3f} ± {half_width(gain):.3f}",
    )
