"""How many clusters? No parameter for anybody: number found, adjusted Rand index and time, on sets with a known answer.

HDBSCAN runs as scikit-learn ships it; BayesianGaussianMixture gets 60 components to switch off, and its k is the number
of components that hold rows. The public sets run where KFREE_DATA names their folder; all others are made here.
Seconds are processor time.
"""

import os
import time
import warnings

import numpy as np
from ratio import arguments, chosen, race, report
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from kfree import DPMeans, datasets

SHAPES = ["s1", "s2", "s3", "s4", "a1", "d31", "r15", "unbalance", "dim032"]


def shape(name):
    """A public set: rows and true labels."""
    data = datasets.load(name)
    return data.X, data.y


def apart(n, k, d, gap, seed=0, unlike=0.0):
    """k round Gaussians at least ``gap`` mean sigmas apart; sizes and sigmas differ by factors up to e^±unlike."""
    rng = np.random.default_rng(seed)
    sigma = np.exp(unlike * rng.uniform(-0.5, 0.5, size=k))
    side, centres = gap * k ** (1 / d), np.empty((0, d))
    while len(centres) < k:
        new = rng.uniform(0, side, size=d)
        reach = gap * (sigma[: len(centres)] + sigma[len(centres)]) / 2
        if (np.linalg.norm(centres - new, axis=1) > reach).all():
            centres = np.vstack([centres, new])
        side *= 1.001  # so that it ends
    share = np.exp(unlike * rng.uniform(-1, 1, size=k))
    y = rng.choice(k, size=n, p=share / share.sum())
    return centres[y] + sigma[y, None] * rng.normal(size=(n, d)), y


def grid(side, n, seed=0):
    """Clusters on a square grid, as in Birch's first set."""
    rng = np.random.default_rng(seed)
    y = rng.integers(side**2, size=n)
    return 6.0 * np.column_stack([y % side, y // side]) + rng.normal(size=(n, 2)), y


MADE = {
    "blobs 20,000 × 16, k=50": lambda: make_blobs(20_000, 16, centers=50, random_state=0),
    "grid 20,000 × 2, k=100": lambda: grid(10, 20_000),
    "35 of 150 rows each × 2": lambda: apart(35 * 150, 35, 2, 4.5),
    "50 of 150 rows each × 2": lambda: apart(50 * 150, 50, 2, 4.5),
    "unlike 4,000 × 3, k=20": lambda: apart(4000, 20, 3, 5.5, unlike=0.8),
    "unlike 500 × 8, k=5": lambda: apart(500, 5, 8, 5.5, unlike=0.8),
    "two 2,048 × 2": lambda: apart(2048, 2, 2, 3.5),
    "three 150 × 4": lambda: apart(150, 3, 4, 5.0),
    "16 of 1,024 × 128": lambda: apart(1024, 16, 128, 12.0),
    "eight 3,000 × 1": lambda: apart(3000, 8, 1, 6.0),
    "one Gaussian 5,000 × 2, long": lambda: (np.random.default_rng(0).normal(size=(5000, 2)) * [10, 1], np.zeros(5000)),
}


def kfree(X):
    return DPMeans().fit(X).labels_


def mixture(X):
    return BayesianGaussianMixture(n_components=min(60, len(X)), random_state=0, max_iter=200).fit_predict(X)


def main():
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    cases = {name: (lambda name=name: shape(name)) for name in SHAPES if "KFREE_DATA" in os.environ} | MADE
    rows = []
    for name, load in chosen(cases.items(), options):
        X, y = load()
        contestants = {
            "kfree": lambda X=X: kfree(X),
            "HDBSCAN": lambda X=X: HDBSCAN(copy=True).fit_predict(X),
            "BayesianGaussianMixture": lambda X=X: mixture(X),
        }

        def describe(_, labels, y=y):
            found, true = len(set(labels.tolist()) - {-1}), len(np.unique(y))
            verdict = "**exact**" if found == true else f"{found - true:+d}"
            return f"k = {found} of {true} ({verdict}), ARI {adjusted_rand_score(y, labels):.3f}"

        rows.append(race(name, contestants, options.rounds, notes=describe, clock=time.process_time))
    report("automatic_k", rows, "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
