"""How k-means scales with threads: ten iterations from the same random rows, each contestant in a process of its own.

    python benchmarks/many_cores.py                 # 1, 4 and 16 threads, about five minutes
    python benchmarks/many_cores.py --threads 1 2   # on a smaller machine

Float32 blobs. faiss and superkmeans run with the most threads and where they are installed: pip install faiss-cpu
superkmeans. superkmeans cannot be given centres and draws its own.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
from ratio import Row, report

CASES = [
    (200_000, 2, 100),
    (200_000, 16, 500),
    (100_000, 128, 1000),
    (312_320, 128, 1000),
    (50_000, 768, 1000),
    (1_000_000, 8, 50),
    (20_000, 1536, 200),
    (100_000, 64, 256),
    (500_000, 32, 1000),
]
# Goals at 16 threads, by the number of columns: how many times as long scikit-learn takes.
GOALS = {2: 5.0, 8: 5.0, 16: 5.0, 128: 4.0, 768: 3.0, 1536: 5.0}
THREAD_VARIABLES = ("KFREE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
N_ITER = 10
# A contestant repeats its run until it has taken this long, and keeps the best time: threads that are new run slower.
ENOUGH_SECONDS = 3.0


def kfree(X, k, init):
    from kfree import KMeans

    return KMeans(k, init=init, tol=0, max_iter=N_ITER).fit(X).inertia_


def scikit_learn(X, k, init):
    from sklearn.cluster import KMeans

    return KMeans(k, init=init, n_init=1, tol=0, max_iter=N_ITER, algorithm="lloyd").fit(X).inertia_


def faiss(X, k, init):
    from faiss import Kmeans

    clustering = Kmeans(X.shape[1], k, niter=N_ITER, max_points_per_centroid=len(X), min_points_per_centroid=1)
    clustering.train(X, init_centroids=init)
    return clustering.obj[-1]


def superkmeans(X, k, init, exact=False):
    from superkmeans import SuperKMeans

    model = SuperKMeans(
        k,
        X.shape[1],
        hierarchical=False,
        iters=N_ITER,
        sampling_fraction=1.0,
        use_blas_only=exact,
        early_termination=False,
    )
    model.assign_training_points(X, model.train(X))


def superkmeans_exact(X, k, init):
    superkmeans(X, k, init, exact=True)


CONTESTANTS = {
    "kfree": kfree,
    "scikit-learn": scikit_learn,
    "faiss": faiss,
    "superkmeans exact": superkmeans_exact,
    "superkmeans pruned": superkmeans,
}
# Packages of those that run with the most threads alone.
PEERS = {"faiss": "faiss", "superkmeans exact": "superkmeans", "superkmeans pruned": "superkmeans"}


def blobs(n, d, k):
    """As many Gaussian blobs as clusters, standard deviation 3, centres uniform in a cube of side 20."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(k, d)).astype(np.float32)[rng.integers(k, size=n)]
    X += 3 * rng.standard_normal(size=(n, d), dtype=np.float32)
    return X, X[rng.choice(n, k, replace=False)]


def run_contestant(name, n, d, k):
    """In a process of its own: the best time and the inertia, as JSON."""
    warnings.simplefilter("ignore")  # ten iterations do not converge
    X, init = blobs(n, d, k)
    CONTESTANTS[name](X[: 4 * k], k, init)  # imports what it needs
    seconds = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < 50):
        started = time.perf_counter()
        inertia = CONTESTANTS[name](X, k, init)
        seconds.append(time.perf_counter() - started)
    note = "" if inertia is None else f"inertia {inertia:.6g}"
    print(json.dumps({"seconds": min(seconds), "note": note}))


def measured(name, case, n_threads):
    """What a contestant reports, or None where it fails."""
    environment = os.environ | {variable: str(n_threads) for variable in THREAD_VARIABLES}
    command = [sys.executable, __file__, "--contestant", name, *map(str, case)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def installed(name):
    return name not in PEERS or importlib.util.find_spec(PEERS[name]) is not None


def case_rows(case, threads):
    """One row for each number of threads."""
    n, d, k = case
    for n_threads in threads:
        row = Row(f"{n:,} × {d}, k={k}, {n_threads} threads", target=GOALS.get(d) if n_threads == 16 else None)
        for name in CONTESTANTS:
            if not installed(name) or (name in PEERS and n_threads < max(threads)):
                continue
            found = measured(name, case, n_threads)
            if found:
                row.seconds[name], row.notes[name] = found["seconds"], found["note"]
        yield row


def summary(rows, threads):
    """A line for each case: ratios to scikit-learn, scaling, and peers as multiples of kfree's time."""
    lines = [
        f"| | scikit-learn : kfree, {' / '.join(map(str, threads))} threads | kfree {max(threads)} : {min(threads)} "
        "threads | peers with most threads, as multiples of kfree's time |",
        "|---|---|---|---|",
    ]
    for first in range(0, len(rows), len(threads)):
        some = rows[first : first + len(threads)]
        fewest, most = some[threads.index(min(threads))], some[threads.index(max(threads))]
        ratios = " / ".join(f"{row.ratio('scikit-learn'):.2f}" for row in some)
        peers = ", ".join(f"{name} {most.ratio(name):.2f}" for name in PEERS if name in most.seconds)
        scaling = fewest.seconds["kfree"] / most.seconds["kfree"]
        lines.append(f"| {most.case.rsplit(',', 1)[0]} | {ratios} | {scaling:.1f} | {peers} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the cases to run (default: all)")
    parser.add_argument("--contestant", nargs=4, metavar=("NAME", "N", "D", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        name, *case = options.contestant
        return run_contestant(name, *map(int, case))
    numbers = range(len(CASES)) if options.only is None else options.only
    rows = [row for number in numbers for row in case_rows(CASES[number], options.threads)]
    report("many_cores", rows, "scikit-learn", "faiss-cpu", "superkmeans", "numpy", only=options.only)
    print("", summary(rows, options.threads), sep="\n")


if __name__ == "__main__":
    main()
