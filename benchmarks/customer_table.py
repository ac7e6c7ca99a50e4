"""A table of customers with four planted segments: how often their number is found, and one where there are none.

Numbers, two categories, 5 % missing; through TableEncoder, and as scikit-learn's scalers and one-hot columns make it.
"""

import argparse
import json
import warnings

import numpy as np
import pandas as pd
from ratio import RESULTS, keep_cells
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kfree import DPMeans, TableEncoder
from kfree.datasets import make_customers
from kfree.exceptions import DataAdvice

WAYS = {
    "TableEncoder": TableEncoder,
    "StandardScaler and OneHotEncoder": lambda: make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)),  # a missing value is a level
        sparse_threshold=0,
    ),
}
GOOD = 0.9


def result(way, seed, shuffled):
    """The number of clusters, and the adjusted Rand index with the planted segments."""
    table, segment = make_customers(shuffled=shuffled, random_state=seed)
    rows = WAYS[way]().fit_transform(pd.DataFrame(table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)
        model = DPMeans(random_state=0).fit(rows)
    return model.n_clusters_, adjusted_rand_score(segment, model.labels_)


def summary(found):
    """How many draws are right, planted and shuffled."""
    planted, shuffled = found["planted"], found["shuffled"]
    return {
        "draws": len(planted),
        "k = 4 and ARI ≥ 0.9": sum(k == 4 and ari >= GOOD for k, ari in planted),
        "lowest ARI": round(min(ari for _, ari in planted), 3),
        "shuffled: k = 1": sum(k == 1 for k, _ in shuffled),
        "other k": sorted([k for k, _ in planted if k != 4] + [k for k, _ in shuffled if k != 1]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--anew", action="store_true", help="draws that are there already are made again")
    options = parser.parse_args()
    file = RESULTS / "customer_table.json"
    cells = {} if options.anew or not file.exists() else json.loads(file.read_text())["cells"]
    for way in WAYS:
        found = cells.setdefault(way, {"planted": [], "shuffled": []})
        for kind, draws in found.items():
            for seed in range(len(draws), options.draws):
                draws.append(result(way, seed, kind == "shuffled"))
                write(file, cells)


def write(file, cells):
    told = {way: summary(found) for way, found in cells.items() if found["planted"]}
    columns = list(told["TableEncoder"])
    lines = [
        "\n`DPMeans()` on customers of four segments, and on the same columns shuffled.\n",
        "| columns made by | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
        *(f"| {way} | " + " | ".join(str(row[c]) for c in columns) + " |" for way, row in told.items()),
    ]
    keep_cells(file, cells, lines, "scikit-learn", "pandas")


if __name__ == "__main__":
    main()
