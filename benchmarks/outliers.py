"""Far rows among clusters: precision and recall of ``predict(X, allow_new=True)`` beside two peers.

Twenty data sets get 1, 3 and 10 % rows that lie far from all others. Every contestant sees all rows, without being told
which are far or how many.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from kfree import BayesianKMeans, DPMeans

SHARES = [0.01, 0.03, 0.1]


def data_sets():
    """Name → rows without far ones."""
    sets = {}
    for k, d in [(1, 2), (3, 2), (8, 2), (5, 3), (5, 8), (10, 8), (4, 20), (20, 10)]:
        sets[f"{k} round clusters in {d} columns"] = make_blobs(
            1500, d, centers=k, center_box=(-15, 15), random_state=k + d
        )[0]
    for seed, (k, d) in enumerate([(4, 2), (6, 4), (5, 10)]):
        spreads = np.geomspace(0.3, 2.0, k)
        sets[f"{k} clusters of unequal width in {d} columns"] = make_blobs(
            1500, d, centers=k, center_box=(-20, 20), cluster_std=spreads, random_state=seed
        )[0]
    for seed, (k, d) in enumerate([(4, 2), (6, 4), (5, 8)]):
        sets[f"{k} stretched clusters in {d} columns"] = _stretched(k, d, seed)
    for seed, sizes in enumerate([(1000, 100, 50), (700, 300, 200, 100, 50)]):
        rows = make_blobs(list(sizes), 3, center_box=(-15, 15), random_state=seed)[0]
        sets[f"sizes {', '.join(map(str, sizes))} in 3 columns"] = rows
    for name, load in {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}.items():
        sets[name] = StandardScaler().fit_transform(load().data)
    sets["digits, 10 components"] = PCA(10, random_state=0).fit_transform(load_digits().data)
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
    "DPMeans": lambda X, share: DPMeans().fit(X).predict(X, allow_new=True) == -1,
    "DPMeans(noise=share)": lambda X, share: DPMeans(noise=share).fit(X).labels_ == -1,
    "BayesianKMeans": lambda X, share: BayesianKMeans().fit(X).predict(X, allow_new=True) == -1,
    "HDBSCAN": lambda X, share: HDBSCAN(copy=True).fit_predict(X) == -1,
    "LocalOutlierFactor": lambda X, share: LocalOutlierFactor().fit_predict(X) == -1,
}


def precision_and_recall(found, far):
    hits = int((found & far).sum())
    return hits / found.sum() if found.any() else 1.0, hits / far.sum()


def main():
    """Every contestant on every set, the mean over the sets for each share of far rows, and a table of all."""
    rows = []
    for name, X in data_sets().items():
        for share in SHARES:
            noisy, far = with_far_rows(X, share, seed=20)
            for contestant, find in CONTESTANTS.items():
                precision, recall = precision_and_recall(find(noisy, share), far)
                rows.append(
                    {"set": name, "share": share, "contestant": contestant, "precision": precision, "recall": recall}
                )
        print(name, file=sys.stderr, flush=True)
    folder = Path(__file__).parent / "results"
    (folder / "outliers.json").write_text(json.dumps({"versions": versions(), "rows": rows}, indent=1) + "\n")
    (folder / "outliers.md").write_text(table(rows))
    print(table(rows))


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
