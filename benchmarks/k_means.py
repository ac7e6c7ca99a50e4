"""KMeans to convergence and its seeding against scikit-learn, and for equal iterations against faiss and superkmeans.

All start from the same k-means++ centres and see the same float32 rows. faiss and superkmeans run where they are
installed: pip install faiss-cpu superkmeans. Real data sets run where KFREE_DATA names their folder.
``--one-thread`` measures processor time on one thread, for a machine that others use too, in a table of its own.
"""

import csv
import gzip
import importlib.util
import os
import time
import warnings
from pathlib import Path

import numpy as np
from ratio import arguments, chosen, race, report
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.cluster import kmeans_plusplus
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from kfree import KMeans, datasets
from kfree.engines.registry import open_engine
from kfree.search.centres.seeding import greedy_k_means_plus_plus

BLOBS = [
    (200_000, 2, 100, 5.0),
    (200_000, 16, 500, 8.0),
    (100_000, 128, 1000, 3.0),
    (50_000, 768, 1000, 1.5),
    (1_000_000, 8, 8, 3.0),
    (1_000_000, 8, 20, 3.0),
    (1_000_000, 8, 50, 3.0),
    (20_000, 1536, 200, 3.0),
]
REAL = [("mnist", 100), ("sift", 256), ("usgs", 150)]
MAX_ITER = 2000


def blobs(n, d, k, seed=0):
    """As many Gaussian blobs as clusters, standard deviation 3, centres uniform in a cube of side 20."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, size=(k, d))
    return (centres[rng.integers(k, size=n)] + 3 * rng.normal(size=(n, d))).astype(np.float32)


def real(name):
    """A public data set as float32."""
    return np.ascontiguousarray(datasets.load(name).X, dtype=np.float32)


def news():
    """Four of the 20 newsgroups as TF-IDF, a sparse matrix of float32."""
    csv.field_size_limit(10**8)
    with gzip.open(Path(os.environ["KFREE_DATA"]) / "20newsgroups_4cat.csv.gz", "rt") as file:
        return TfidfVectorizer(dtype=np.float32).fit_transform([row["text"] for row in csv.DictReader(file)])


def seeding(case, X, k, rounds, clock):
    """Greedy k-means++ alone, with as many candidates a step on both sides."""
    contestants = {
        "kfree": lambda: greedy_k_means_plus_plus(open_engine("native", X), k, np.random.RandomState(0)),
        "scikit-learn": lambda: kmeans_plusplus(X, k, random_state=0)[0],
    }
    return race(f"{case}, k-means++", contestants, rounds, clock=clock)


def to_convergence(case, X, k, rounds, clock, target=None):
    init = kmeans_plusplus(X, k, random_state=0)[0]
    init = init if isinstance(init, np.ndarray) else init.toarray()

    def sklearn(algorithm):
        return SklearnKMeans(k, init=init, n_init=1, tol=0, max_iter=MAX_ITER, algorithm=algorithm).fit(X)

    def describe(name, model):
        distances = (
            f", {model.n_distances_ / (X.shape[0] * k * model.n_iter_):.1%} of all distances" if name == "kfree" else ""
        )
        return f"inertia {model.inertia_:.6g}, {model.n_iter_} iterations{distances}"

    contestants = {
        "kfree": lambda: KMeans(k, init=init, tol=0, max_iter=MAX_ITER).fit(X),
        "scikit-learn lloyd": lambda: sklearn("lloyd"),
        "scikit-learn elkan": lambda: sklearn("elkan"),
    }
    row = race(f"{case}, to convergence", contestants, rounds, target, describe, clock)
    return row, init


def equal_iterations(case, X, k, init, rounds, clock):
    """All points, as many iterations for everybody as kfree takes, ten at most.

    superkmeans cannot be given centres and draws its own. It prunes by probability, so the share of its labels that
    are not those of the nearest centroid is shown.
    """
    import faiss
    from superkmeans import SuperKMeans

    n_iter = KMeans(k, init=init, tol=0, max_iter=10).fit(X).n_iter_

    def run_faiss():
        clustering = faiss.Kmeans(
            X.shape[1], k, niter=n_iter, max_points_per_centroid=len(X), min_points_per_centroid=1
        )
        clustering.train(X, init_centroids=init)
        return clustering

    def run_superkmeans(blas_only):
        model = SuperKMeans(
            k,
            X.shape[1],
            hierarchical=False,
            iters=n_iter,
            sampling_fraction=1.0,
            use_blas_only=blas_only,
            early_termination=False,
        )
        centroids = model.train(X)
        return centroids, model.assign_training_points(X, centroids)

    def describe(name, result):
        if name == "kfree":
            return f"inertia {result.inertia_:.6g}"
        if name == "faiss":
            return f"inertia {result.obj[-1]:.6g}"
        centroids, labels = result
        exact = KMeans(k, init=centroids, max_iter=1).fit(centroids)  # a model that has these centres
        return f"inertia {-exact.score(X):.6g}, {np.mean(labels != exact.predict(X)):.2%} of labels wrong"

    contestants = {
        "kfree": lambda: KMeans(k, init=init, tol=0, max_iter=n_iter).fit(X),
        "faiss": run_faiss,
        "superkmeans BLAS only": lambda: run_superkmeans(True),
        "superkmeans pruned": lambda: run_superkmeans(False),
    }
    return race(f"{case}, {n_iter} iterations", contestants, rounds, notes=describe, clock=clock)


def ten_iterations(case, X, k, rounds, clock):
    """From random rows, against scikit-learn alone: where the last iterations of few clusters would take minutes."""
    init = X[np.random.default_rng(1).choice(len(X), k, replace=False)]
    settings = {"init": init, "n_init": 1, "tol": 0, "max_iter": 10}
    contestants = {
        "kfree": lambda: KMeans(k, **settings).fit(X),
        "scikit-learn lloyd": lambda: SklearnKMeans(k, **settings).fit(X),
    }

    def describe(name, model):
        return f"inertia {model.inertia_:.6g}"

    return race(f"{case}, 10 iterations from random rows", contestants, rounds, notes=describe, clock=clock)


def main():
    options = arguments(__doc__, {"--one-thread": "processor time on one thread"})
    clock, table = time.perf_counter, "k_means"
    if options.one_thread:
        clock, table = time.process_time, "k_means_one_thread"
        threadpool_limits(1)
    warnings.simplefilter("ignore")
    cases = [(f"blobs {n:,} × {d}, k={k}", lambda n=n, d=d, k=k: blobs(n, d, k), k, goal) for n, d, k, goal in BLOBS]
    if "KFREE_DATA" in os.environ:
        cases += [(f"{name}, k={k}", lambda name=name: real(name), k, None) for name, k in REAL]
        cases.append(("20 newsgroups (4 groups), TF-IDF, k=20", news, 20, None))
    has_peers = all(importlib.util.find_spec(name) for name in ("faiss", "superkmeans"))
    rows = []
    for case, load, k, goal in chosen(cases, options):
        X = load()
        row, init = to_convergence(case, X, k, options.rounds, clock, goal)
        rows.append(row)
        if k <= 256 and X.shape[1] <= 128:  # else most of the time would go there
            rows.append(seeding(case, X, k, options.rounds, clock))
        if isinstance(X, np.ndarray):  # the others take no sparse matrices
            rows.append(ten_iterations(case, X, k, options.rounds, clock))
            if has_peers:
                rows.append(equal_iterations(case, X, k, init, options.rounds, clock))
    report(table, rows, "scikit-learn", "faiss-cpu", "superkmeans", "numpy", only=options.only)


if __name__ == "__main__":
    main()
