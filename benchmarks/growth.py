"""Growth: time per row and sweep from 10⁵ to 10⁷ rows, memory per row, and what a second thread brings.

The ratio to scikit-learn's own gain from two threads says whether the machine or the code is the limit.
"""

import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from k_means import blobs
from ratio import Row, report
from sklearn.cluster import KMeans as SklearnKMeans
from threadpoolctl import threadpool_limits

from kfree import DPMeans, KMeans


def seconds_per_row_and_sweep(n, rounds=5):
    X = blobs(n, 2, 50)
    init = X[:50].astype(np.float64)
    best = np.inf
    for _ in range(rounds):
        started = time.perf_counter()
        model = DPMeans(lam=1e9, init=init, max_iter=10).fit(X)
        best = min(best, (time.perf_counter() - started) / (n * model.n_iter_))
    return best


def bytes_per_row(n):
    """Measured in a process of its own, because a peak does not come down again."""
    X = blobs(n, 2, 50)
    DPMeans(lam=1e9, init=X[:50]).fit(X[:5000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    DPMeans(lam=1e9, init=X[:50], max_iter=10).fit(X)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / n)


def gain_from_two_threads(fit, rounds=5):
    best = {}
    for _ in range(rounds):
        for n_threads in (1, 2):
            started = time.perf_counter()
            fit(n_threads)
            best[n_threads] = min(best.get(n_threads, np.inf), time.perf_counter() - started)
    return best[1] / best[2]


def main():
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        return bytes_per_row(int(sys.argv[1]))
    rows, first = [], None
    for n in (100_000, 1_000_000, 10_000_000):
        seconds = seconds_per_row_and_sweep(n)
        first = first or seconds
        memory = subprocess.run([sys.executable, __file__, str(n)], capture_output=True, text=True, check=True).stdout
        pace = f"{seconds * 1e9:.1f} ns per row and sweep, {seconds / first:.2f} of that for 10⁵ rows"
        note = f"{pace}, {float(memory):.0f} bytes a row"
        rows.append(Row(f"sweep {n:,} × 2, k=50", {"kfree": seconds * n}, {"kfree": note}))

    X = blobs(200_000, 16, 500)
    init = X[:500]

    def sklearn(n_threads):
        with threadpool_limits(n_threads):
            SklearnKMeans(500, init=init, n_init=1, tol=0, max_iter=10).fit(X)

    ours = gain_from_two_threads(lambda t: KMeans(500, init=init, tol=0, max_iter=10, n_threads=t).fit(X))
    theirs = gain_from_two_threads(sklearn)
    note = f"two threads bring {ours:.2f}×, scikit-learn {theirs:.2f}×"
    rows.append(Row("threads, blobs 200,000 × 16, k=500", {"kfree": 1.0}, {"kfree": note}))
    report("growth", rows, "scikit-learn", "numpy")


if __name__ == "__main__":
    main()
