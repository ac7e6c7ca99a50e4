"""Real tables with classes: the number of clusters and the adjusted Rand index, raw and through TableEncoder.

kfree beside HDBSCAN, k-means with the best silhouette, a Bayesian mixture of scikit-learn and kfree's BayesianKMeans.
Sets that are not at hand are left out; of larger ones 1,500 rows are drawn. Cells that are there already are kept.
"""

import argparse
import json
import warnings

import numpy as np
from ratio import RESULTS, versions
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture

from kfree import BayesianKMeans, DPMeans, TableEncoder, datasets

SETS = [
    "iris",
    "wine",
    "breast-cancer-diagnostic",
    "soybean-small",
    "soybean-large",
    "vehicle",
    "digits",
    "pendigits",
    "satimage",
    "ecoli",
]
MOST_ROWS, MOST_CLUSTERS = 1500, 15


def by_silhouette(X):
    fits = [KMeans(k, n_init=3, random_state=0).fit(X).labels_ for k in range(2, MOST_CLUSTERS + 1)]
    return max(fits, key=lambda labels: silhouette_score(X, labels, sample_size=1000, random_state=0))


def by_mixture(X):
    return BayesianGaussianMixture(n_components=MOST_CLUSTERS, covariance_type="diag", random_state=0).fit_predict(X)


METHODS = {
    "DPMeans": lambda X: DPMeans(random_state=0).fit_predict(X),
    "BayesianKMeans": lambda X: BayesianKMeans(random_state=0).fit_predict(X),
    "HDBSCAN": lambda X: HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit_predict(X),
    "k-means, silhouette": by_silhouette,
    "BayesianGaussianMixture": by_mixture,
}
ROWS = {"raw": lambda X: X, "TableEncoder": lambda X: TableEncoder().fit_transform(X)}


def table_of(name):
    """Rows and classes, or None if the set is not at hand."""
    try:
        data = datasets.load(name)
    except (OSError, ValueError):
        return None
    some = np.random.default_rng(0).permutation(len(data.X))[:MOST_ROWS]
    return np.asarray(data.X, dtype=np.float64)[some], data.y[some]


def cell(X, y, method):
    """k and ARI; rows that a method calls noise are a cluster of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = METHODS[method](X)
        except ValueError:  # missing values
            return None
    return {"k": len(set(labels) - {-1}), "ari": round(adjusted_rand_score(y, labels), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="compute all cells again")
    options = parser.parse_args()
    file = RESULTS / "real_tables.json"
    cells = {} if options.anew or not file.exists() else json.loads(file.read_text())["cells"]
    for name in SETS:
        table = table_of(name)
        for way in ROWS if table else ():
            row = cells.setdefault(f"{name} ({len(set(table[1]))} classes), {way}", {})
            X = None
            for method in METHODS:
                if method not in row:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        X = ROWS[way](table[0]) if X is None else X
                    row[method] = cell(X, table[1], method)
                    write(file, cells)


def write(file, cells):
    """JSON and a table of k and ARI."""
    facts = versions("kfree", "scikit-learn", "numpy")
    file.write_text(json.dumps({"versions": facts, "cells": cells}, indent=1) + "\n")
    lines = [
        ", ".join(f"{key} {value}" for key, value in facts.items()),
        "\nNumber of clusters and adjusted Rand index.\n",
        "| table | " + " | ".join(METHODS) + " |",
        "|---" * (1 + len(METHODS)) + "|",
    ]
    for name, row in cells.items():
        found = [row.get(method) for method in METHODS]
        lines.append(f"| {name} | " + " | ".join(f"{c['k']}, {c['ari']:.2f}" if c else "–" for c in found) + " |")
    file.with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
