"""Growth of every estimator: processor time and peak memory where n, d or k is four times as large, and odd shapes.

Each fit runs in a process of its own, which is stopped after ``LIMIT`` seconds of processor time. ``--only TEXT``
measures those whose name has it, and keeps the other rows of the table.
"""

import argparse
import multiprocessing
import resource
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from ratio import Row, peak_bytes, report
from sklearn.cluster import SpectralClustering

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    TableEncoder,
    choose_k,
    lambda_path,
)
from kfree.baselines import CollapsedGibbsDPMixture, GaussianMixtureBIC, GibbsDPMixture, GMeans, VariationalMixture

# Seconds of processor time after which a shape counts as one that blows up.
LIMIT = 110


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


def links(n, n_links=10):
    """A graph of communities of 50 nodes, four in five links within them."""
    rng = np.random.default_rng(0)
    ends = rng.integers(n, size=(n * n_links // 2, 2))
    inside = rng.uniform(size=len(ends)) < 0.8
    ends[inside, 1] = np.minimum(ends[inside, 0] // 50 * 50 + ends[inside, 1] % 50, n - 1)
    half = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return sp.csr_array(half + half.T)


# One fit of everything, to n rows of d columns in k clumps.
SHORT = {"n_burn_in": 20, "n_samples": 10, "thin": 1, "random_state": 0}
SUBJECTS = {
    "DPMeans(lam)": lambda X, k: DPMeans(lam=20.0 * X.shape[1]).fit(X),
    "DPMeans()": lambda X, k: DPMeans().fit(X),
    "DPMeans(lam), sweep": lambda X, k: DPMeans(lam=9.0 * X.shape[1], search="sweep").fit(X),
    "KMeans": lambda X, k: KMeans(k, random_state=0).fit(X),
    "OnlineDPMeans": lambda X, k: OnlineDPMeans(lam=20.0 * X.shape[1]).fit(X),
    "HardHDP": lambda X, k: HardHDP(lam_local=20.0 * X.shape[1], lam_global=20.0 * X.shape[1]).fit(
        X, groups=np.arange(len(X)) % 9
    ),
    "KernelDPMeans(lam)": lambda X, k: KernelDPMeans(lam=20.0).fit(X),
    "SpectralDPMeans": lambda X, k: SpectralDPMeans(affinity="nearest_neighbors").fit(X),
    "BayesianKMeans": lambda X, k: BayesianKMeans().fit(X),
    "AgglomerativeBayes": lambda X, k: AgglomerativeBayes().fit(X),
    "GraphDPMeans": lambda X, k: GraphDPMeans().fit(links(len(X))),
    "TableEncoder": lambda X, k: TableEncoder().fit_transform(X),
    "lambda_path": lambda X, k: lambda_path(X),
    "choose_k": lambda X, k: choose_k(X),
    "GMeans": lambda X, k: GMeans().fit(X),
    "GaussianMixtureBIC": lambda X, k: GaussianMixtureBIC().fit(X),
    "VariationalMixture": lambda X, k: VariationalMixture().fit(X),
    "GibbsDPMixture": lambda X, k: GibbsDPMixture(**SHORT).fit(X),
    "CollapsedGibbsDPMixture": lambda X, k: CollapsedGibbsDPMixture(**SHORT).fit(X),
}
# n, d and k, one of them four times as large at a time.
SIZES = {"2,000 × 4, k=5": (2000, 4, 5), "n × 4": (8000, 4, 5), "d × 4": (2000, 16, 5), "k × 4": (2000, 4, 20)}
# Shapes that people have: what is fitted, and to which rows.
SHAPES = {
    "DPMeans(lam), 200 × 20,000": lambda: DPMeans(lam=5e4).fit(clumps(200, 20_000)),
    "DPMeans(lam), every row a cluster, 200 × 20,000": lambda: DPMeans(lam=1.5e4).fit(noise(200, 20_000)),
    "DPMeans(), 200 × 20,000": lambda: DPMeans().fit(clumps(200, 20_000)),
    "HardHDP, 200 × 20,000": lambda: HardHDP(lam_local=5e4, lam_global=5e4).fit(
        clumps(200, 20_000), groups=np.arange(200) % 4
    ),
    "AgglomerativeBayes, 200 × 2,000": lambda: AgglomerativeBayes().fit(clumps(200, 2_000)),
    "BayesianKMeans, 200 × 2,000": lambda: BayesianKMeans().fit(clumps(200, 2_000)),
    "BayesianKMeans, Cauchy, 100,000 × 3": lambda: BayesianKMeans().fit(cauchy(100_000, 3)),
    "HardHDP, Cauchy, 100,000 × 3": lambda: HardHDP(lam_local=1e4, lam_global=1e4).fit(
        cauchy(100_000, 3), groups=np.arange(100_000) % 9
    ),
    "DPMeans(), cosine, text 2,000 × 2¹⁷": lambda: DPMeans(metric="cosine").fit(hashed_text(2_000, 2**17)),
    "DPMeans(), cosine, text 2,000 × 2²⁰": lambda: DPMeans(metric="cosine").fit(hashed_text(2_000, 2**20)),
    "DPMeans(lam), cosine, text 2,000 × 2²⁰": lambda: DPMeans(lam=10.0, metric="cosine").fit(hashed_text(2_000, 2**20)),
    "DPMeans(), text 2,000 × 2²⁰": lambda: DPMeans().fit(hashed_text(2_000, 2**20)),
    "DPMeans(), cosine, text 10,000 × 20,000": lambda: DPMeans(metric="cosine").fit(hashed_text(10_000, 20_000)),
    "DPMeans(lam), k near n, 50,000 × 2": lambda: DPMeans(lam=1e-9).fit(noise(50_000, 2)),
    "OnlineDPMeans, k near n, 20,000 × 2": lambda: OnlineDPMeans(lam=1e-9).fit(noise(20_000, 2)),
    "lambda_path(max_k=300), 20,000 × 3": lambda: lambda_path(noise(20_000, 3), max_k=300),
    "lambda_path(max_k=1000), 20,000 × 3": lambda: lambda_path(noise(20_000, 3), max_k=1000),
    "lambda_path(max_k=2000), 20,000 × 3": lambda: lambda_path(noise(20_000, 3), max_k=2000),
    "KernelDPMeans(), 1,797 × 64": lambda: KernelDPMeans().fit(clumps(1_797, 64, 10)),
    "DPMeans(lam), sweep, k near n, 160,000 × 2": lambda: DPMeans(lam=1e-9, search="sweep").fit(noise(160_000, 2)),
    "OnlineDPMeans, published, k near n, 160,000 × 2": lambda: OnlineDPMeans(lam=1e-9, search="published").fit(
        noise(160_000, 2)
    ),
    "OnlineDPMeans(lam=1e-300, max_clusters=3), 1,000 × 2": lambda: OnlineDPMeans(lam=1e-300, max_clusters=3).fit(
        noise(1_000, 2)
    ),
    "BayesianKMeans, uniform, 100,000 × 3": lambda: BayesianKMeans().fit(
        np.random.default_rng(0).uniform(size=(100_000, 3))
    ),
    "GraphDPMeans, 100,000 nodes": lambda: GraphDPMeans().fit(links(100_000)),
    "SpectralDPMeans, 5,000 × 2": lambda: SpectralDPMeans(affinity="nearest_neighbors").fit(clumps(5_000, 2)),
    "SpectralDPMeans, 50,000 × 2": lambda: SpectralDPMeans(affinity="nearest_neighbors").fit(clumps(50_000, 2)),
    "SpectralDPMeans(target_k=5), 50,000 × 2": lambda: SpectralDPMeans(target_k=5, affinity="nearest_neighbors").fit(
        clumps(50_000, 2)
    ),
    "scikit-learn's SpectralClustering(5), 50,000 × 2": lambda: SpectralClustering(
        5, affinity="nearest_neighbors", assign_labels="kmeans"
    ).fit(clumps(50_000, 2)),
}


def fit(shape, answers):
    """To be run in a process of its own; rows are made in the measured time, which takes little of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    started = time.process_time()
    try:
        if shape in SHAPES:
            SHAPES[shape]()
        else:
            subject, size = shape.split(": ")
            n, d, k = SIZES[size]
            SUBJECTS[subject](clumps(n, d, k), k)
    except Exception as error:
        answers.send((np.nan, f"{type(error).__name__}: {error}"))
        return
    memory = f"processor time; peak of memory {peak_bytes() / 2**20:.0f} MiB"
    answers.send((time.process_time() - started, memory))


def measured(shape):
    """A row of the table. The process is forked, so that it does not spend its time on imports."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=fit, args=(shape, there))
    child.start()
    child.join()
    seconds, note = here.recv() if here.poll() else (float(LIMIT), f"stopped after {LIMIT} s of processor time")
    return Row(shape, {"kfree": seconds}, {"kfree": note})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only shapes with this in their name")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    grown = [f"{subject}: {size}" for subject in SUBJECTS for size in SIZES]
    shapes = [shape for shape in [*grown, *SHAPES] if options.only in shape]
    rows = []
    try:
        for shape in shapes:
            rows.append(measured(shape))
            print(rows[-1].case, rows[-1].seconds["kfree"], rows[-1].notes["kfree"], file=sys.stderr, flush=True)
    finally:  # also if it is interrupted
        report("growth_shapes", rows, "scikit-learn", "numpy", only=options.only or None)


if __name__ == "__main__":
    main()
