"""Growth: time per row and sweep from 10⁵ to 10⁷ rows, memory per row, and what a second thread brings.

scikit-learn's own gain from two threads says whether the machine or the code is the limit. ``growth_shapes.py``
measures the growth of all estimators, and shapes that people have.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
from k_means import blobs
from ratio import Row, peak_bytes, race, report
from sklearn.cluster import KMeans as SklearnKMeans
from threadpoolctl import threadpool_limits

from kfree import DPMeans, KMeans

N_SITES = 50


def plane(n):
    """Rows made in place, so that the peak of memory before a fit is X itself."""
    X = np.empty((n, 2), dtype=np.float32)
    np.random.default_rng(0).standard_normal(out=X, dtype=np.float32)
    return X


def sweeps(X):
    return DPMeans(lam=1e9, search="sweep", init=X[:N_SITES], max_iter=10).fit(X)


def seconds_per_row_and_sweep(n, rounds=5):
    X, best = plane(n), np.inf
    for _ in range(rounds):
        started = time.perf_counter()
        model = sweeps(X)
        best = min(best, (time.perf_counter() - started) / (n * model.n_iter_))
    return best


def print_bytes_per_row(n):
    """To be run in a process of its own, because a peak does not come down again."""
    X = plane(n)
    sweeps(X[:5000])
    before = peak_bytes()
    sweeps(X)
    print((peak_bytes() - before) / n)


def growth():
    first = None
    for n in (100_000, 1_000_000, 10_000_000):
        seconds = seconds_per_row_and_sweep(n)
        first = first or seconds
        command = [sys.executable, __file__, "--memory", str(n)]
        memory = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        pace = f"{seconds * 1e9:.1f} ns per row and sweep, {seconds / first:.2f} of that for 10⁵ rows"
        note = f"{pace}, {memory:.0f} bytes a row"
        yield Row(f"sweep {n:,} × 2, k={N_SITES}", {"kfree": seconds * n}, {"kfree": note})


def threads():
    X = blobs(200_000, 16, 500)
    init = X[:500]

    def ours(n_threads):
        return KMeans(500, init=init, tol=0, max_iter=10, n_threads=n_threads).fit(X)

    def theirs(n_threads):
        with threadpool_limits(n_threads):
            return SklearnKMeans(500, init=init, n_init=1, tol=0, max_iter=10).fit(X)

    contestants = {
        "kfree": lambda: ours(2),
        "kfree, one thread": lambda: ours(1),
        "scikit-learn": lambda: theirs(2),
        "scikit-learn, one thread": lambda: theirs(1),
    }
    return race("blobs 200,000 × 16, k=500, 10 iterations, two threads", contestants)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=int, metavar="ROWS", help="only print the bytes per row of one fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        print_bytes_per_row(options.memory)
    else:
        report("growth", [*growth(), threads()], "scikit-learn", "numpy")


if __name__ == "__main__":
    main()
