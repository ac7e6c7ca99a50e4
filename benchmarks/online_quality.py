"""Clusters of a stream beside those that DPMeans finds on the same rows, all in memory, with the same penalty.

Four streams in chunks of 1,000 rows: blobs, blobs of unlike sizes, clusters that drift, and clusters that come and go
while old rows are forgotten. There DPMeans has the weights that the stream remembers.
"""

import argparse
import time

import numpy as np
from ratio import RESULTS, keep_cells

from kfree import DPMeans, OnlineDPMeans

CHUNK = 1000


def blobs(rng, n=20_000, d=10, k=12):
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] * 6 + rng.normal(size=(n, d))


def unlike_sizes(rng, n=20_000, k=20):
    share = 0.8 ** np.arange(k)
    return rng.uniform(-60, 60, size=(k, 2))[rng.choice(k, n, p=share / share.sum())] + rng.normal(size=(n, 2))


def drift(rng, n=20_000, k=6):
    start, way = rng.uniform(-40, 40, size=(2, k, 3))
    label = rng.integers(k, size=n)
    return start[label] + np.linspace(0, 0.3, n)[:, None] * way[label] + rng.normal(size=(n, 3))


def come_and_go(rng, n=20_000, k=10):
    centres = rng.uniform(-50, 50, size=(k, 4))
    first = np.arange(n) * (k - 4) // n  # four clusters at a time
    return centres[first + rng.integers(4, size=n)] + rng.normal(size=(n, 4))


# The rows, and the half-life.
STREAMS = {
    "blobs": (blobs, None),
    "unlike sizes": (unlike_sizes, None),
    "drift": (drift, None),
    "come and go": (come_and_go, 2000),
}


def result(stream, lam, seed):
    """Cost and number of clusters as multiples of those of DPMeans, and processor time."""
    make, half_life = STREAMS[stream]
    X = make(np.random.default_rng(seed))
    model = OnlineDPMeans(lam=lam, half_life=half_life)
    started = time.process_time()
    for begin in range(0, len(X), CHUNK):
        model.partial_fit(X[begin : begin + CHUNK])
    k = model.n_clusters_
    seconds = time.process_time() - started
    weight = None if half_life is None else 2.0 ** (-np.arange(len(X))[::-1] / half_life)
    best = DPMeans(lam=model.lam_).fit(X, sample_weight=weight)
    cost = -model.score(X, sample_weight=weight)
    unowned = k - len(set(model.predict(X)))
    return {
        "lam": f"{lam}",
        "cost": cost / best.cost_,
        "k": k,
        "k of DPMeans": best.n_clusters_,
        "centres without rows": unowned,
        "rows a second": len(X) / seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    cells = {}
    for stream in STREAMS:
        for lam in ("auto", 3000.0, 300.0):
            draws = [result(stream, lam, seed) for seed in range(options.seeds)]
            cells[f"{stream}, lam = {lam}"] = {
                "highest cost / DPMeans": round(max(d["cost"] for d in draws), 4),
                "highest k / DPMeans": round(max(d["k"] / d["k of DPMeans"] for d in draws), 3),
                "k": [d["k"] for d in draws],
                "k of DPMeans": [d["k of DPMeans"] for d in draws],
                "centres without rows": sum(d["centres without rows"] for d in draws),
                "rows a second": round(min(d["rows a second"] for d in draws), -2),
            }
            print(stream, lam, cells[f"{stream}, lam = {lam}"], flush=True)
    columns = list(next(iter(cells.values())))
    lines = [
        "\n`OnlineDPMeans` in chunks of 1,000 rows beside `DPMeans` on the same 20,000 rows with the same penalty.\n",
        "| stream | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
        *(f"| {name} | " + " | ".join(str(cell[c]) for c in columns) + " |" for name, cell in cells.items()),
    ]
    keep_cells(RESULTS / "online_quality.json", cells, lines, "numpy")


if __name__ == "__main__":
    main()
