"""Small data: KMeans and DPMeans beside scikit-learn's KMeans with one start, whole calls with default parameters.

Seconds are those of processors. The aim is half of scikit-learn's for KMeans, and ten times them for DPMeans, which
finds the number of clusters. KFREE_NUM_THREADS and OMP_NUM_THREADS set the threads of both.
"""

import os
import time

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
    n_threads = os.environ.get("OMP_NUM_THREADS", "all")
    place = "one thread" if n_threads == "1" else f"{n_threads} threads"
    rows = [
        race(
            f"KMeans(8), 10,000 × 8, {place}",
            {
                "kfree": lambda: KMeans(8, random_state=0).fit(larger),
                "scikit-learn": lambda: Peer(8, n_init=1, random_state=0).fit(larger),
            },
            max(options.rounds, ROUNDS),
            notes=lambda name, model: f"inertia {model.inertia_:.6g}, {model.n_iter_} iterations",
            clock=time.process_time,
        ),
        race(
            f"DPMeans(), 1,000 × 8, {place}",
            {
                "kfree": lambda: DPMeans(random_state=0).fit(small),
                "scikit-learn, KMeans(8)": lambda: Peer(8, n_init=1, random_state=0).fit(small),
            },
            max(options.rounds, ROUNDS),
            notes=lambda name, model: f"inertia {model.inertia_:.6g}, k={len(model.cluster_centers_)}",
            clock=time.process_time,
        ),
    ]
    report("small", rows, "numpy", "scikit-learn", only=options.only)


if __name__ == "__main__":
    main()
