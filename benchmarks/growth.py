"""Growth: time per row and sweep from 10⁵ to 10⁷ rows, memory per row, and what a second thread brings.

scikit-learn's own gain from two threads says whether the machine or the code is the limit. ``--shapes`` measures
processor time and peak memory of every estimator on shapes that people have: many columns, many clusters, hashed
text, heavy tails; each in a process of its own, which is stopped after ``LIMIT`` seconds.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from k_means import blobs
from ratio import Row, peak_bytes, race, report
from sklearn.cluster import KMeans as SklearnKMeans
from threadpoolctl import threadpool_limits

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    lambda_path,
)

N_SITES = 50
# Seconds after which a shape counts as one that blows up.
LIMIT = 300


def clumps(n, d, k=5):
    rng = np.random.default_rng(0)
    return 2 * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def noise(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


def cauchy(n, d):
    return np.random.default_rng(0).standard_cauchy(size=(n, d))


def hashed_text(n, d, n_words=100, n_topics=20):
    """Documents of a topic each, three in five words from its vocabulary, as HashingVectorizer would give them."""
    rng = np.random.default_rng(0)
    vocabulary, topic = rng.integers(d, size=(n_topics, 400)), rng.integers(n_topics, size=(n, 1))
    own = vocabulary[topic, rng.integers(400, size=(n, n_words))]
    words = np.where(rng.uniform(size=own.shape) < 0.6, own, (d * rng.uniform(size=own.shape) ** 3).astype(int))
    return sp.csr_array((np.ones(words.size), (np.repeat(np.arange(n), n_words), words.ravel())), shape=(n, d))


# What is fitted, and to which rows.
SHAPES = {
    "DPMeans(lam), 200 × 20,000": lambda: DPMeans(5e4).fit(clumps(200, 20_000)),
    "DPMeans(lam), every row a cluster, 200 × 20,000": lambda: DPMeans(1.5e4).fit(noise(200, 20_000)),
    "DPMeans(), 200 × 20,000": lambda: DPMeans().fit(clumps(200, 20_000)),
    "HardHDP, 200 × 20,000": lambda: HardHDP(5e4, 5e4).fit(clumps(200, 20_000), groups=np.arange(200) % 4),
    "AgglomerativeBayes, 200 × 2,000": lambda: AgglomerativeBayes().fit(clumps(200, 2_000)),
    "BayesianKMeans, 200 × 2,000": lambda: BayesianKMeans().fit(clumps(200, 2_000)),
    "BayesianKMeans, Cauchy, 100,000 × 3": lambda: BayesianKMeans().fit(cauchy(100_000, 3)),
    "HardHDP, Cauchy, 100,000 × 3": lambda: HardHDP(1e4, 1e4).fit(cauchy(100_000, 3), groups=np.arange(100_000) % 9),
    "DPMeans(), cosine, text 2,000 × 2¹⁷": lambda: DPMeans(metric="cosine").fit(hashed_text(2_000, 2**17)),
    "DPMeans(), cosine, text 2,000 × 2²⁰": lambda: DPMeans(metric="cosine").fit(hashed_text(2_000, 2**20)),
    "DPMeans(lam), cosine, text 2,000 × 2²⁰": lambda: DPMeans(10.0, metric="cosine").fit(hashed_text(2_000, 2**20)),
    "DPMeans(), text 2,000 × 2²⁰": lambda: DPMeans().fit(hashed_text(2_000, 2**20)),
    "DPMeans(), cosine, text 10,000 × 20,000": lambda: DPMeans(metric="cosine").fit(hashed_text(10_000, 20_000)),
    "DPMeans(lam), k near n, 50,000 × 2": lambda: DPMeans(1e-9).fit(noise(50_000, 2)),
    "OnlineDPMeans, k near n, 20,000 × 2": lambda: OnlineDPMeans(1e-9).fit(noise(20_000, 2)),
    "lambda_path(max_k=300), 20,000 × 3": lambda: lambda_path(noise(20_000, 3), max_k=300),
    "lambda_path(max_k=1000), 20,000 × 3": lambda: lambda_path(noise(20_000, 3), max_k=1000),
    "KernelDPMeans(), 1,797 × 64": lambda: KernelDPMeans().fit(clumps(1_797, 64, 10)),
    "SpectralDPMeans, 5,000 × 2": lambda: SpectralDPMeans(affinity="nearest_neighbors").fit(clumps(5_000, 2)),
}


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


def print_cost(shape):
    """To be run in a process of its own; rows are made in the measured time, which takes little of it."""
    started = time.process_time()
    SHAPES[shape]()
    print(time.process_time() - started, peak_bytes())


def shapes():
    for shape in SHAPES:
        command = [sys.executable, __file__, "--shape", shape]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            yield Row(shape, {"kfree": float(LIMIT)}, {"kfree": f"stopped after {LIMIT} s"})
            continue
        if done.returncode:
            yield Row(shape, {"kfree": np.nan}, {"kfree": done.stderr.strip().splitlines()[-1]})
            continue
        seconds, memory = map(float, done.stdout.split())
        yield Row(shape, {"kfree": seconds}, {"kfree": f"processor time; peak of memory {memory / 2**20:.0f} MiB"})


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
    parser.add_argument("--shapes", action="store_true", help="processor time and memory of all estimators")
    parser.add_argument("--shape", choices=SHAPES, help="only print the seconds and bytes of one of these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        print_bytes_per_row(options.memory)
    elif options.shape:
        print_cost(options.shape)
    elif options.shapes:
        report("growth_shapes", list(shapes()), "scikit-learn", "numpy")
    else:
        report("growth", [*growth(), threads()], "scikit-learn", "numpy")


if __name__ == "__main__":
    main()
