"""Does a new sample have the same number of clusters, and is that within the stated interval?

AutoCluster on all sets of real_tables.py and some made ones, at most 2,000 rows of each: on all rows, on two random
subsamples of 70 % of them, and on two disjoint halves. Subsamples count where all rows show the number of classes;
``k_interval_`` of all rows should contain the numbers of both halves. Sets that are there already are kept.
"""

import argparse
import json
import warnings
import zlib

import numpy as np
from ratio import RESULTS, keep_cells
from real_tables import tables
from sklearn.datasets import make_circles, make_moons

from kfree import AutoCluster

FILE = RESULTS / "subsamples.json"
MOST_ROWS, SHARE = 2000, 0.7
HALVES = ("made", "tuned", "reported", "other")


def made():
    """The same tuples as ``tables``."""
    rng = np.random.default_rng(5)
    yield "moons", "made", *make_moons(400, noise=0.07, random_state=1), False
    yield "circles", "made", *make_circles(400, noise=0.05, factor=0.4, random_state=1), False
    for name, n, d, k, apart in (("five round", 500, 4, 5, 5), ("four close", 400, 10, 4, 1.2)):
        y = rng.integers(k, size=n)
        yield name, "made", rng.normal(scale=apart, size=(k, d))[y] + rng.normal(size=(n, d)), y, False
    y = rng.integers(3, size=300)
    yield "one column", "made", (6.0 * y + rng.normal(size=300))[:, None], y, False
    yield "Gaussian", "made", rng.normal(size=(400, 5)), np.zeros(400), False
    yield "uniform", "made", rng.uniform(size=(400, 2)), np.zeros(400), False


def cell(name, X, y, unit):
    """The numbers of clusters of all rows, of subsamples and of halves, and the interval of all rows."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    some = rng.permutation(len(X))[:MOST_ROWS]
    X, y = X[some], y[some]
    subsamples = [rng.permutation(len(X))[: int(SHARE * len(X))] for _ in range(2)]
    halves = np.array_split(rng.permutation(len(X)), 2)

    def fitted(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AutoCluster(metric="cosine" if unit else "euclidean", random_state=0).fit(X[rows])

    model = fitted(slice(None))
    return {
        "rows": len(X),
        "classes": len(set(y.tolist())),
        "k": model.n_clusters_,
        "interval": [int(k) for k in model.k_interval_],
        "subsamples": [fitted(rows).n_clusters_ for rows in subsamples],
        "halves": [fitted(rows).n_clusters_ for rows in halves],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="compute all sets again")
    options = parser.parse_args()
    cells = {} if options.anew or not FILE.exists() else json.loads(FILE.read_text())["cells"]
    for name, half, X, y, unit in (*made(), *tables()):
        if X is not None and name not in cells:
            cells[name] = {"half": half, **cell(name, X, y, unit)}
            print(name, cells[name], flush=True)
            write(cells)


def write(cells):
    """JSON, a table of all sets, and the shares for each half."""
    lines = ["\nNumbers of clusters: of all rows, of two subsamples of 70 %, of two disjoint halves.\n"]
    lines += ["| set | half | rows | classes | k | subsamples | k_interval_ | halves |", "|---" * 8 + "|"]
    for name, row in sorted(cells.items(), key=lambda item: (HALVES.index(item[1]["half"]), item[0])):
        low, high = row["interval"]
        subsamples, halves = (", ".join(map(str, row[key])) for key in ("subsamples", "halves"))
        values = (name, row["half"], row["rows"], row["classes"], row["k"], subsamples, f"{low} to {high}", halves)
        lines.append("| " + " | ".join(map(str, values)) + " |")
    lines += ["\n| half | the same k, where k is right | within k_interval_ | its median width |", "|---" * 4 + "|"]
    groups = {half: [row for row in cells.values() if row["half"] == half] for half in HALVES}
    for title, rows in (groups | {"all": list(cells.values())}).items():
        if rows:
            lines.append(f"| {title} | {same(rows)} | {covered(rows)} | {np.median([width(row) for row in rows]):g} |")
    keep_cells(FILE, cells, lines, "scikit-learn", "numpy")


def same(rows):
    return counted([k == row["k"] for row in rows if row["k"] == row["classes"] for k in row["subsamples"]])


def covered(rows):
    return counted([row["interval"][0] <= k <= row["interval"][1] for row in rows for k in row["halves"]])


def width(row):
    return row["interval"][1] - row["interval"][0]


def counted(found):
    return f"{sum(found)} of {len(found)}"


if __name__ == "__main__":
    main()
