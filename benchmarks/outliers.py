"""Far rows among clusters: precision and recall of ``predict(X, allow_new=True)`` beside two peers.

Twenty data sets get 1, 3 and 10 % rows that lie far from all others. Every contestant has its default parameters and
sees all rows. None is told which rows are far, or how many. The constants of ``kfree.explain.spread`` were chosen on
other sets, those of ``python benchmarks/outliers.py --tuning``. The sets of this table, among the made ones also their
seeds and their numbers of clusters and columns, are none of those.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas
from sklearn.cluster import HDBSCAN
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.decomposition import PCA
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from kfree import BayesianKMeans, DPMeans, TableEncoder
from kfree.datasets import load_archipelago, make_customers

SHARES = [0.01, 0.03, 0.1]


def data_sets():
    """Name → rows without far ones: the sets of the table."""
    sets = _made(
        round_=[(2, 2), (6, 2), (4, 5), (7, 6), (12, 12)],
        unequal=[(3, 3), (5, 5), (8, 8)],
        stretched=[(3, 3), (5, 5), (7, 6)],
        sizes=[(900, 200, 60), (600, 400, 150, 80)],
        n_columns=4,
        first_seed=1000,
    )
    rng = np.random.default_rng(1000)
    centres = rng.uniform(-15, 15, size=(4, 3))
    own = centres[rng.integers(4, size=1500)]
    sets["4 clusters of Student's t with 5 degrees of freedom in 3 columns"] = own + rng.standard_t(5, size=own.shape)
    sets["4 uniform cubes in 3 columns"] = own + rng.uniform(-2, 2, size=own.shape)
    sets["4 skewed clusters (exponential) in 3 columns"] = own + rng.exponential(size=own.shape)
    sets["two moons"] = make_moons(1500, noise=0.05, random_state=1000)[0]
    sets["settlements on islands"] = load_archipelago()
    customers = pandas.DataFrame(make_customers(random_state=1000)[0])
    sets["customers, encoded"] = np.asarray(TableEncoder().fit_transform(customers))
    sets["diabetes"] = StandardScaler().fit_transform(load_diabetes().data)
    return sets


def tuning_sets():
    """The sets on which constants were chosen."""
    sets = _made(
        round_=[(1, 2), (3, 2), (8, 2), (5, 3), (5, 8), (10, 8), (4, 20), (20, 10)],
        unequal=[(4, 2), (6, 4), (5, 10)],
        stretched=[(4, 2), (6, 4), (5, 8)],
        sizes=[(1000, 100, 50), (700, 300, 200, 100, 50)],
        n_columns=3,
        first_seed=0,
    )
    for name, load in {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}.items():
        sets[name] = StandardScaler().fit_transform(load().data)
    sets["digits, 10 components"] = PCA(10, random_state=0).fit_transform(load_digits().data)
    return sets


def _made(round_, unequal, stretched, sizes, n_columns, first_seed):
    """Gaussian clusters: round, of unequal width, stretched, and of unequal size."""
    sets = {}
    for k, d in round_:
        sets[f"{k} round clusters in {d} columns"] = make_blobs(
            1500, d, centers=k, center_box=(-15, 15), random_state=first_seed + k + d
        )[0]
    for seed, (k, d) in enumerate(unequal, first_seed):
        sets[f"{k} clusters of unequal width in {d} columns"] = make_blobs(
            1500, d, centers=k, center_box=(-20, 20), cluster_std=np.geomspace(0.3, 2.0, k), random_state=seed
        )[0]
    for seed, (k, d) in enumerate(stretched, first_seed):
        sets[f"{k} stretched clusters in {d} columns"] = _stretched(k, d, seed)
    for seed, some in enumerate(sizes, first_seed):
        rows = make_blobs(list(some), n_columns, center_box=(-15, 15), random_state=seed)[0]
        sets[f"sizes {', '.join(map(str, some))} in {n_columns} columns"] = rows
    return sets


def _stretched(k, d, seed):
    """Gaussians with axes of lengths 1 to 3 in random directions."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(1500, d, centers=k, center_box=(-25, 25), random_state=seed)
    for c in range(k):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        centre = X[y == c].mean(axis=0)
        X[y == c] = (X[y == c] - centre) * np.linspace(1, 3, d) @ turn + centre
    return X


def with_far_rows(X, share, seed):
    """X and far rows, uniform in twice the box of X and beyond twice the usual distance to a fifth neighbour."""
    rng = np.random.default_rng(seed)
    neighbours = NearestNeighbors(n_neighbors=6).fit(X)
    limit = 2 * np.quantile(neighbours.kneighbors(X)[0][:, 5], 0.99)
    middle, half = (X.max(axis=0) + X.min(axis=0)) / 2, (X.max(axis=0) - X.min(axis=0)) / 2
    n_far, far = round(share * len(X) / (1 - share)), np.empty((0, X.shape[1]))
    while len(far) < n_far:
        drawn = middle + 2 * half * rng.uniform(-1, 1, size=(4 * n_far + 20, X.shape[1]))
        far = np.vstack([far, drawn[neighbours.kneighbors(drawn, n_neighbors=1)[0].ravel() > limit]])
    rows = np.vstack([X, far[:n_far]])
    order = rng.permutation(len(rows))
    return rows[order], (np.arange(len(rows)) >= len(X))[order]


CONTESTANTS = {
    "DPMeans": lambda X: DPMeans().fit(X).predict(X, allow_new=True) == -1,
    "BayesianKMeans": lambda X: BayesianKMeans().fit(X).predict(X, allow_new=True) == -1,
    "HDBSCAN": lambda X: HDBSCAN(copy=True).fit_predict(X) == -1,
    "LocalOutlierFactor": lambda X: LocalOutlierFactor().fit_predict(X) == -1,
}


def precision_and_recall(found, far):
    hits = int((found & far).sum())
    return hits / found.sum() if found.any() else 1.0, hits / far.sum()


def main():
    """Every contestant on every set, the mean over the sets for each share of far rows, and a table of all."""
    tuning = "--tuning" in sys.argv
    rows = []
    for name, X in (tuning_sets() if tuning else data_sets()).items():
        for share in SHARES:
            noisy, far = with_far_rows(X, share, seed=20)
            for contestant, find in CONTESTANTS.items():
                precision, recall = precision_and_recall(find(noisy), far)
                rows.append(
                    {"set": name, "share": share, "contestant": contestant, "precision": precision, "recall": recall}
                )
        print(name, file=sys.stderr, flush=True)
    print(table(rows))
    if not tuning:
        folder = Path(__file__).parent / "results"
        (folder / "outliers.json").write_text(json.dumps({"versions": versions(), "rows": rows}, indent=1) + "\n")
        (folder / "outliers.md").write_text(table(rows))


def versions():
    import sklearn

    import kfree

    return {"kfree": kfree.__version__, "scikit-learn": sklearn.__version__}


def table(rows):
    """Means over the sets first, then each set; a cell is precision / recall."""
    head = "| far rows | data | " + " | ".join(CONTESTANTS) + " |\n" + "|---" * (2 + len(CONTESTANTS)) + "|\n"
    lines = [_line(share, "mean of all sets", [r for r in rows if r["share"] == share]) for share in SHARES]
    for name in dict.fromkeys(row["set"] for row in rows):
        lines += [_line(share, name, [r for r in rows if r["share"] == share and r["set"] == name]) for share in SHARES]
    about = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{about}; precision / recall of far rows\n\n{head}" + "".join(lines)


def _line(share, name, rows):
    cells = []
    for contestant in CONTESTANTS:
        own = [row for row in rows if row["contestant"] == contestant]
        cells.append(f"{np.mean([r['precision'] for r in own]):.2f} / {np.mean([r['recall'] for r in own]):.2f}")
    return f"| {share:.0%} | {name} | " + " | ".join(cells) + " |\n"


if __name__ == "__main__":
    main()
