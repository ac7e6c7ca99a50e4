"""Data without clusters must give one cluster: the share of draws for which lambda_path suggests k = 1.

Families: a round Gaussian; one with an axis ten times as long as the others; two with decaying spectra; a uniform cube.
"""

import argparse
import json

import numpy as np
from joblib import Parallel, delayed
from ratio import RESULTS, keep_cells

from kfree import lambda_path

# Standard deviations of the columns.
GAUSSIANS = {
    "round": np.ones,
    "one long axis": lambda d: np.append(10.0, np.ones(d - 1)),
    "spectrum 1/j": lambda d: 1 / np.arange(1.0, d + 1),
    "spectrum 1 to 1/100": lambda d: np.geomspace(1.0, 0.01, d),
}
FAMILIES = [*GAUSSIANS, "uniform cube"]
COLUMNS = [2, 4, 16, 64]
# Number of rows → draws per cell.
ROWS = {100: 60, 1000: 20, 10_000: 10, 100_000: 5}


def draw(family, n, d, rng):
    """n rows of d columns that hold no clusters."""
    if family == "uniform cube":
        return rng.uniform(size=(n, d))
    return rng.normal(size=(n, d)) * GAUSSIANS[family](d)


def share_of_one(family, n, d, draws):
    """The cell, the share of draws that give one cluster, and the other answers."""
    seeds = [[FAMILIES.index(family), n, d, seed] for seed in range(draws)]
    found = [lambda_path(draw(family, n, d, np.random.default_rng(seed))).suggest().k for seed in seeds]
    return f"{family} | {n} | {d}", found.count(1) / draws, sorted(k for k in found if k > 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="numbers of rows (default: all)")
    parser.add_argument("--draws", type=int, help="draws per cell (default: fewer where there are more rows)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: one, with all threads)")
    options = parser.parse_args()
    file = RESULTS / "no_clusters.json"
    cells = json.loads(file.read_text())["cells"] if file.exists() else {}
    for n in options.rows:
        draws = options.draws or ROWS[n]
        todo = [delayed(share_of_one)(family, n, d, draws) for family in FAMILIES for d in COLUMNS]
        for name, share, others in Parallel(options.jobs, return_as="generator_unordered")(todo):
            cells[name] = {"draws": draws, "k = 1": share, "other k": others}
            print(f"{name}: {share:.0%} of {draws}", *others, flush=True)
        write(file, cells)


def write(file, cells):
    """JSON and a table: one line per family and number of rows, one column per number of columns."""
    lines = [
        "\nShare of draws without clusters for which `lambda_path` suggests k = 1 (goal: at least 95 %).\n",
        "| family | rows | draws | " + " | ".join(f"{d} columns" for d in COLUMNS) + " |",
        "|---" * (3 + len(COLUMNS)) + "|",
    ]
    for family in FAMILIES:
        for n in ROWS:
            row = [cells.get(f"{family} | {n} | {d}") for d in COLUMNS]
            if all(row):
                shares = " | ".join(f"{cell['k = 1']:.0%}" for cell in row)
                lines.append(f"| {family} | {n:,} | {row[0]['draws']} | {shares} |")
    keep_cells(file, cells, lines, "numpy")


if __name__ == "__main__":
    main()
