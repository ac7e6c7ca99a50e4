"""Small data: KMeans and DPMeans beside scikit-learn's KMeans with one start, whole calls with default parameters.

The aim is half of scikit-learn's time for KMeans, and ten times it for DPMeans, which finds the number of clusters.
"""

import numpy as np
from ratio import arguments, race, report
from sklearn.cluster import KMeans as Peer

from kfree import DPMeans, KMeans

ROUNDS = 40


def blobs(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-10, 10, size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def main():
    options = arguments(__doc__)
    small, larger = blobs(1_000, 8, 8), blobs(10_000, 8, 8)
    rows = [
        race(
            "KMeans(8), 10,000 × 8",
            {
                "kfree": lambda: KMeans(8, random_state=0).fit(larger),
                "scikit-learn": lambda: Peer(8, n_init=1, random_state=0).fit(larger),
            },
            max(options.rounds, ROUNDS),
            notes=lambda name, model: f"inertia {model.inertia_:.6g}, {model.n_iter_} iterations",
        ),
        race(
            "DPMeans(), 1,000 × 8",
            {
                "kfree": lambda: DPMeans(random_state=0).fit(small),
                "scikit-learn, KMeans(8)": lambda: Peer(8, n_init=1, random_state=0).fit(small),
            },
            max(options.rounds, ROUNDS),
            notes=lambda name, model: f"inertia {model.inertia_:.6g}, k={len(model.cluster_centers_)}",
        ),
    ]
    report("small", rows, "numpy", "scikit-learn", only=options.only)


if __name__ == "__main__":
    main()
