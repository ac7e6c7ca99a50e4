"""A table of customers with four planted segments: how often their number is found, and one where there are none.

Numbers, two categories, 5 % missing; through TableEncoder, and as scikit-learn's scalers and one-hot columns make it.
"""

import argparse
import json

import numpy as np
import pandas as pd
from ratio import RESULTS, versions
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kfree import DPMeans, TableEncoder
from kfree.datasets import make_customers

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
    model = DPMeans(random_state=0).fit(rows)
    return model.n_clusters_, adjusted_rand_score(segment, model.labels_)


def summary(way, draws):
    """How many draws are right, planted and shuffled."""
    planted = [result(way, seed, False) for seed in range(draws)]
    shuffled = [result(way, seed, True) for seed in range(draws)]
    return {
        "draws": draws,
        "k = 4 and ARI ≥ 0.9": sum(k == 4 and ari >= GOOD for k, ari in planted),
        "lowest ARI": round(min(ari for _, ari in planted), 3),
        "shuffled: k = 1": sum(k == 1 for k, _ in shuffled),
        "other k": sorted([k for k, _ in planted if k != 4] + [k for k, _ in shuffled if k != 1]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    cells = {way: summary(way, options.draws) for way in WAYS}
    facts = versions("kfree", "scikit-learn", "pandas")
    (RESULTS / "customer_table.json").write_text(json.dumps({"versions": facts, "cells": cells}, indent=1) + "\n")
    columns = list(cells["TableEncoder"])
    lines = [
        ", ".join(f"{key} {value}" for key, value in facts.items()),
        "\n`DPMeans()` on customers of four segments, and on the same columns shuffled.\n",
        "| columns made by | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
        *(f"| {way} | " + " | ".join(str(cell[c]) for c in columns) + " |" for way, cell in cells.items()),
    ]
    (RESULTS / "customer_table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[2:]))


if __name__ == "__main__":
    main()
