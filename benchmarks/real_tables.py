"""Real tables with classes: number of clusters, adjusted Rand index and processor seconds, no parameter for anybody.

AutoCluster and DPMeans beside EVoC (pip install evoc; unit rows only), HDBSCAN, k-means with the best silhouette, a
Gaussian mixture with the best BIC, and k-means that is told the number of classes. All rows count: the index of methods
that leave out noise is given twice, with noise as a class of its own, and with each noise row in the cluster of the
nearest mean. Sets are those of scikit-learn, those of ``kfree.datasets`` and every ``real/*.npz`` (arrays X, y) of the
folder that KFREE_DATA names. They are in two halves by a hash of their names: the judge was tuned on the first. Of
larger sets 2,000 rows are drawn. Cells that are there already are kept; ``--methods … --again`` computes some anew.
"""

import argparse
import hashlib
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from ratio import RESULTS, commit, keep_cells
from sklearn import datasets as bundled
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

from kfree import AutoCluster, BayesianKMeans, DPMeans, datasets

FILE = RESULTS / "real_tables.json"
BUNDLED = ["iris", "wine", "breast_cancer", "digits"]
OTHERS = ["soybean-small", "soybean-large", "vehicle", "pendigits", "satimage", "ecoli"]
MOST_ROWS = 2000
# Numbers of clusters for criteria that compare: all to 12, then a coarse grid.
GRID = [*range(2, 13), 15, 20, 25, 30, 40, 50, 65, 80, 100, 125, 160, 200]
# Sets that are directions, and names that must not be in both halves.
DIRECTIONS = ("wordllama", "moco")
TOGETHER = ("olive_", "deepdpm_mnist_", "penguins")


def by_silhouette(X, unit, k):
    numbers = [number for number in GRID if number <= len(X) // 8]
    fits = [KMeans(number, n_init=1, random_state=0).fit(X).labels_ for number in numbers]
    return max(fits, key=lambda labels: silhouette_score(X, labels, sample_size=1000, random_state=0))


def by_bic(X, unit, k):
    kind = "full" if X.shape[1] <= 12 else "diag"
    numbers = [number for number in GRID if number <= min(len(X) // 8, 30)]
    fits = [GaussianMixture(number, covariance_type=kind, random_state=0).fit(X) for number in numbers]
    return min(fits, key=lambda fit: fit.bic(X)).predict(X)


def evoc(X, unit, k):
    from evoc import EVoC

    return EVoC(random_state=0).fit_predict(X.astype(np.float32)) if unit else None


def of_kfree(estimator):
    return lambda X, unit, k: estimator(metric="cosine" if unit else "euclidean", random_state=0).fit_predict(X)


METHODS = {
    "AutoCluster": of_kfree(AutoCluster),
    "DPMeans": of_kfree(DPMeans),
    "BayesianKMeans": lambda X, unit, k: None if unit else BayesianKMeans(random_state=0).fit_predict(X),
    "EVoC": evoc,
    "HDBSCAN": lambda X, unit, k: HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit_predict(X),
    "k-means, silhouette": by_silhouette,
    "mixture, BIC": by_bic,
    "k-means told k": lambda X, unit, k: KMeans(k, n_init=1, random_state=0).fit_predict(X),
}


def half_of(name, names):
    """ "tuned" or "reported"."""
    for start in TOGETHER:
        if name.startswith(start):
            name = min(other for other in names if other.startswith(start))
    return "reported" if hashlib.sha256(name.encode()).digest()[0] % 2 else "tuned"


def tables():
    """(name, half, rows, classes, whether rows are directions) of all sets at hand."""
    folder = Path(os.environ.get("KFREE_DATA", "")) / "real"
    files = sorted(folder.glob("*.npz"))
    names = [file.stem for file in files]
    for file in files:
        data = np.load(file)
        unit = file.stem.endswith(DIRECTIONS) or "_moco" in file.stem
        yield (file.stem, half_of(file.stem, names), *drawn(data["X"].astype(np.float64), data["y"], unit))
    for name in BUNDLED:
        yield (name, "tuned", *drawn(*getattr(bundled, f"load_{name}")(return_X_y=True), False))
    for name in OTHERS:
        try:
            data = datasets.load(name)
        except (OSError, ValueError):
            continue
        yield (name, "other", *drawn(np.asarray(data.X, dtype=np.float64), data.y, False))


def drawn(X, y, unit):
    """Some rows, of length one or with columns of standard deviation one."""
    if len(X) > MOST_ROWS:
        some = np.sort(np.random.default_rng(1).choice(len(X), MOST_ROWS, replace=False))
        X, y = X[some], y[some]
    X = X[:, X.std(axis=0) > 0]
    if np.isnan(X).any():
        return None, y, unit
    return (X / np.linalg.norm(X, axis=1, keepdims=True) if unit else (X - X.mean(axis=0)) / X.std(axis=0)), y, unit


def filled(X, labels):
    """Labels with each row of noise in the cluster of the nearest mean."""
    noise, kept = labels == -1, np.unique(labels[labels >= 0])
    if not noise.any() or not len(kept):
        return labels
    means = np.stack([X[labels == label].mean(axis=0) for label in kept])
    dist = (
        ((X[noise][:, None, :] - means) ** 2).sum(axis=2)
        if X.shape[1] < 20
        else -2 * X[noise] @ means.T + (means**2).sum(axis=1)
    )
    new = labels.copy()
    new[noise] = kept[dist.argmin(axis=1)]
    return new


def cell(X, y, unit, method):
    """k, the index without and with filled noise, and processor seconds."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = METHODS[method](X, unit, len(set(y.tolist())))
    if labels is None:
        return None
    found = [round(float(adjusted_rand_score(y, some)), 3) for some in (labels, filled(X, np.asarray(labels)))]
    seconds = round(time.process_time() - started, 2)
    k = len(set(labels.tolist()) - {-1})
    return {"k": k, "ari": found[0], "filled": found[1], "seconds": seconds, "commit": commit()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="compute all cells again")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="default: all")
    parser.add_argument("--again", action="store_true", help="compute the cells of these methods again")
    options = parser.parse_args()
    cells = {} if options.anew or not FILE.exists() else json.loads(FILE.read_text())["cells"]
    for row in cells.values() if options.again else ():
        for method in options.methods:
            row["methods"].pop(method, None)
    for name, half, X, y, unit in tables():
        row = cells.setdefault(name, {"half": half, "classes": len(set(y.tolist())), "cosine": unit, "methods": {}})
        for method in options.methods if X is not None else ():
            if method not in row["methods"]:
                try:
                    row["methods"][method] = cell(X, y, unit, method)
                except ImportError:
                    continue
                print(name, method, row["methods"][method], flush=True)
                write(cells)


def write(cells):
    """JSON, and a table of k and the index with filled noise; means over the sets of each half."""
    lines = [
        f"\nCells are of {commits(cells)}.",
        "\nNumber of clusters and adjusted Rand index, noise rows in the nearest cluster (in brackets: as a class).\n",
        "| table | half | classes | " + " | ".join(METHODS) + " |",
        "|---" * (3 + len(METHODS)) + "|",
    ]
    for name, row in sorted(cells.items(), key=lambda item: (item[1]["half"], item[0])):
        found = " | ".join(shown(row["methods"].get(method)) for method in METHODS)
        lines.append(f"| {name} | {row['half']} | {row['classes']} | {found} |")
    for title, chosen in groups(cells).items():
        lines.append(f"| **{title}** | | | " + " | ".join(mean(chosen, method) for method in METHODS) + " |")
    keep_cells(FILE, cells, lines, "scikit-learn", "numpy")


def commits(cells):
    """The commits at which cells were computed, with the methods."""
    found = {}
    for method in METHODS:
        cells_of = [row["methods"].get(method) for row in cells.values()]
        for name in sorted({one["commit"] for one in cells_of if one}):
            found.setdefault(name, []).append(method)
    return "; ".join(f"commit {name} ({' · '.join(methods)})" for name, methods in found.items())


def groups(cells):
    """Sets that means are taken over."""
    halves = {f"mean, {half}": [row for row in cells.values() if row["half"] == half] for half in ("tuned", "reported")}
    return halves | {"mean, cosine": [row for row in cells.values() if row["cosine"]]}


def shown(found):
    if not found:
        return "–"
    unfilled = "" if found["ari"] == found["filled"] else f" ({found['ari']:.2f})"
    return f"{found['k']}, {found['filled']:.2f}{unfilled}, {found['seconds']:.1f} s"


def mean(rows, method):
    """The mean index over sets that the method has, with their number."""
    found = [row["methods"][method] for row in rows if row["methods"].get(method)]
    return f"{np.mean([one['filled'] for one in found]):.3f} ({len(found)})" if found else "–"


if __name__ == "__main__":
    main()
