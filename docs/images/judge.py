"""Draws docs/images/judge.png: rows, what surrogates look like, and the score for each number of clusters."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from kfree import AutoCluster
from kfree.search.judge.surrogates import GaussianCopula


def main():
    X = make_moons(500, noise=0.06, random_state=0)[0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AutoCluster().fit(X)
    left, middle, right = Figure(figsize=(12, 3.8), layout="constrained").subplots(1, 3)
    left.scatter(*X.T, c=model.labels_, s=8, cmap="coolwarm")
    left.set_title(f"rows: {model.n_clusters_} clusters, {model.model_name_}")
    middle.scatter(*GaussianCopula.of(X).draw(np.random.default_rng(0)).T, s=8, color="grey")
    middle.set_title("a surrogate: same columns, no clusters")
    for name, curve in model.curves_.items():
        right.plot(curve["k"], curve["score"], "o-", markersize=3, label=name)
    right.axhline(0.055, color="grey", linestyle="--", label="rows without clusters")
    right.set(xscale="log", xlabel="number of clusters", title="score")
    right.legend(frameon=False)
    left.figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
