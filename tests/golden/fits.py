"""Fits of all estimators whose results are kept in ``results.json``: data, the fit, and what is looked at."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    choose_k,
    farthest_first_lambda,
    lambda_path,
    open_rows,
)
from kfree.baselines import (
    CollapsedGibbsDPMixture,
    GaussianMixtureBIC,
    GibbsDPMixture,
    GMeans,
    KMeansBIC,
    VariationalMixture,
)

# The relative error allowed where LAPACK, BLAS or a special function takes part, whose bits depend on the machine.
TOLERANCE = 1e-9
# Answers that SciPy's special functions or logarithms take part in.
SPECIAL = ("outlier_score", "width", "score of steps")
FITTED = ["labels_", "n_clusters_", "cluster_centers_", "cluster_ids_", "lam_", "inertia_", "cost_", "converged_"]
MOVES = ["cost_history_", "n_iter_", "stop_reason_"]
STREAMED = ["n_passes_", "summary_cost_"]
GROUPED = ["local_labels_", "n_local_clusters_", "lam_local_", "lam_global_", "local_cost_", "global_cost_"]
ENERGY = ["labels_", "n_clusters_", "cluster_centers_", "covariances_", "free_energy_", "weights_"]
SPECTRAL = ["labels_", "n_clusters_", "lam_", "eigenvalues_", "relaxed_bound_", "trace_"]
STAIRCASE = ["k", "lam_low", "lam_high", "cost", "score", "width", "density_dips", "n_outliers", "complete", "k_beyond"]
SHORT_CHAIN = {"n_burn_in": 5, "n_samples": 10, "thin": 1, "random_state": 0}


@dataclass(frozen=True)
class Fit:
    """A fit, and how its floats are compared: bit for bit, or with ``TOLERANCE`` where ``algebra`` takes part."""

    run: Callable[[], dict[str, Any]]
    algebra: bool = False


@cache
def blobs(n: int = 600, d: int = 3, k: int = 6, seed: int = 0, spread: float = 6.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] * spread + rng.normal(size=(n, d))


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 4, size=n).astype(float)


@cache
def counts(n: int = 150, d: int = 12) -> np.ndarray:
    """Words of documents of four topics."""
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(d, 0.3), size=4)
    return np.array([rng.multinomial(30, topics[topic]) for topic in rng.integers(4, size=n)])


def sparse_rows() -> sp.csr_array:
    rows = counts(400, 60).astype(float)
    return sp.csr_array(rows)


def groups(n: int) -> np.ndarray:
    return np.arange(n) * 7 % 5


@cache
def graph() -> sp.csr_array:
    """Four communities of 30 nodes, with most links inside."""
    rng = np.random.default_rng(3)
    community = np.repeat(np.arange(4), 30)
    share = np.where(community[:, None] == community, 0.3, 0.01)
    upper = np.triu(rng.uniform(size=share.shape) < share, 1)
    return sp.csr_array((upper + upper.T).astype(float))


def looked_at(model, names, new_rows=None, methods=(), **given):
    """Fitted attributes by name, and what methods return for new rows. A tuple is one value per part."""
    values = {name: getattr(model, name) for name in names if hasattr(model, name)}
    for name in methods:
        answer = getattr(model, name)(new_rows, **given)
        parts = answer if isinstance(answer, tuple) else (answer,)
        values |= {f"{name} {part}": value for part, value in enumerate(parts)}
    return values


NEW_ROWS = ["predict", "transform", "outlier_score", "nearest_two", "confidence", "score"]


def centres(model, X, *, names=(*FITTED, *MOVES), methods=NEW_ROWS, **given):
    """A fit of an estimator with centres, and its answers for rows it has not seen."""
    model.fit(X, **given)
    new_rows = 1.5 * X[:40] if methods else None
    return looked_at(model, names, new_rows, methods)


def of_files(model, checkpoint=False):
    """The same in three files. Labels come from ``predict``."""
    X = blobs(16_000, 3, 7, seed=5, spread=12.0)
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(np.split(np.column_stack([X, weights(len(X))]), [1, 10_000])):
            np.save(Path(folder) / f"{number}.npy", part)
        rows = open_rows(folder, columns=[0, 1, 2], weight=3)
        if checkpoint:
            model.set_params(checkpoint=Path(folder) / "passes.journal")
        model.fit(rows)
        # The first fit of two only writes the checkpoint.
        model = model.fit(rows) if model.checkpoint else model
        return looked_at(model, [*FITTED, *STREAMED, "cost_history_"], rows, ["predict"])


def in_little_memory(model):
    X = blobs(16_000, 3, 7, seed=5, spread=12.0)
    return centres(model, X, names=[*FITTED, *STREAMED, "cost_history_"], sample_weight=weights(len(X)))


def many_rows():
    """More rows than are searched as a whole."""
    X = blobs(540_000, 2, 5, seed=6, spread=20.0).astype(np.float32)
    return centres(DPMeans(lam=1e6), X, names=[*FITTED, *STREAMED, "cost_history_"])


def stream(model):
    """A fit to a first chunk, more chunks, then the clusters that remain after a merge."""
    X = blobs(900, 3, 6)
    for part in np.split(X, [300, 301, 700]):
        model.partial_fit(part)
    names = ["cluster_centers_", "cluster_ids_", "weights_", "lam_", "n_clusters_", "n_rows_seen_", "n_events_"]
    values = looked_at(model, names, X[:40], ["predict", "transform", "outlier_score", "nearest_two"])
    model.merge()
    return values | {f"merged {name}": getattr(model, name) for name in ["cluster_centers_", "n_clusters_"]}


def in_groups(model, X=None, *, more=False, methods=("predict", "transform"), **given):
    X = blobs(240, 2, 5, spread=4.0) if X is None else X
    model.fit(X, groups=groups(len(X)), **given)
    values = looked_at(model, [*FITTED, *GROUPED, *MOVES])
    if model.kernel:
        del values["cluster_centers_"]  # coordinates in eigenvectors, whose signs and order BLAS decides
    for name in methods:
        extra = {"groups": groups(len(X))[:40] + 3} if name == "predict" else {}
        values[name] = getattr(model, name)(1.5 * X[:40], **extra)
    if more:
        model.partial_fit(X[:60] + 1.0, groups=np.repeat([100, 101], 30))
        values |= {f"later {name}": getattr(model, name) for name in ["labels_", "cluster_centers_", "n_clusters_"]}
    return values


def in_feature_space(model, X=None):
    X = blobs(150, 3, 5) if X is None else X
    model.fit(X)
    return looked_at(model, [*FITTED, *MOVES], 1.2 * X[:40], ["predict", "outlier_score", "nearest_two"])


def of_graph(model, adjacency=None):
    model.fit(graph() if adjacency is None else adjacency)
    names = ["labels_", "n_clusters_", "lam_", "cost_", "cost_history_", "n_iter_", "cut_", "shares_", "stop_reason_"]
    return looked_at(model, names, graph()[:40], ["predict_nodes"])


def spectral(model, X=None):
    X = blobs(150, 3, 5) if X is None else X
    return looked_at(model.fit(X), SPECTRAL, 1.1 * X[:40], ["predict"])


def energies(model, X, methods=("predict", "score_samples", "predict_proba", "outlier_score"), **given):
    model.fit(X, **given)
    return looked_at(model, [*ENERGY, "free_energy_history_", "n_iter_", "algorithm_"], X[:40], methods)


def tree(model, X):
    model.fit(X)
    names = [*ENERGY, "free_energy_path_", "linkage_", "merge_deltas_"]
    return looked_at(model, names, X[:40], ["predict", "outlier_score"])


def baseline(model, X=None):
    X = blobs(200, 3, 4) if X is None else X
    names = ["labels_", "n_clusters_", "cluster_centers_", "cost_", "cost_history_", "n_iter_", "inertia_", "sigma_"]
    return looked_at(model.fit(X), names, X[:40], ["predict"])


def path(X, **given):
    steps = lambda_path(X, **given)
    answers = looked_at(steps, STAIRCASE)
    return (
        answers
        | {"score of steps": answers.pop("score")}
        | {"suggested k": steps.suggest().k, "suggested lam": steps.suggest().lam}
    )


def chosen_k():
    found = choose_k(blobs(200, 3, 4), k_range=range(1, 7), n_init=1, n_references=3)
    return found.criteria | {f"{name} chooses": k for name, k in found.chosen.items()}


def wide(n=60, d=900):
    return blobs(n, d, 4, spread=1.0)


def bits():
    return (counts() > 2).astype(int)


BOUND = "3MB"
FITS = {
    "DPMeans": Fit(lambda: centres(DPMeans(), blobs())),
    "DPMeans, a penalty": Fit(lambda: centres(DPMeans(lam=50.0), blobs())),
    "DPMeans, a penalty, 5,000 rows": Fit(lambda: centres(DPMeans(lam=20.0), blobs(5000, 4, 30))),
    "DPMeans, float32": Fit(lambda: centres(DPMeans(lam=20.0), blobs(2000, 8).astype(np.float32))),
    "DPMeans, 64 columns": Fit(lambda: centres(DPMeans(lam=300.0), blobs(800, 64, 20))),
    "DPMeans, many clusters": Fit(lambda: centres(DPMeans(lam=0.05), blobs(700, 2))),
    "DPMeans, target_k": Fit(lambda: centres(DPMeans(target_k=9), blobs())),
    "DPMeans, sweep": Fit(lambda: centres(DPMeans(lam=30.0, search="sweep"), blobs())),
    "DPMeans, sweep in random order": Fit(
        lambda: centres(DPMeans(lam=3.0, search="sweep", order="random", random_state=4), blobs())
    ),
    "DPMeans, farthest first": Fit(lambda: centres(DPMeans(lam="farthest-first", target_k=8, search="sweep"), blobs())),
    "DPMeans, cosine": Fit(lambda: centres(DPMeans(lam=3.0, metric="cosine"), blobs())),
    "DPMeans, sparse": Fit(lambda: centres(DPMeans(lam=900.0), sparse_rows())),
    "DPMeans, sparse, cosine": Fit(lambda: centres(DPMeans(metric="cosine"), sparse_rows())),
    "DPMeans, weights": Fit(lambda: centres(DPMeans(), blobs(), sample_weight=weights(600))),
    "DPMeans, noise": Fit(lambda: centres(DPMeans(lam=50.0, noise=0.05), blobs())),
    "DPMeans, patience": Fit(lambda: centres(DPMeans(lam=8.0, patience=5, random_state=2), blobs())),
    "DPMeans, init": Fit(lambda: centres(DPMeans(lam=50.0, init=blobs()[:9]), blobs())),
    "DPMeans, limits": Fit(lambda: centres(DPMeans(lam=2.0, max_clusters=12, max_iter=4), blobs())),
    "DPMeans, order of birth": Fit(lambda: centres(DPMeans(lam=20.0, label_order="found"), blobs())),
    "DPMeans, outliers": Fit(
        lambda: centres(DPMeans(), np.vstack([blobs(), [[900.0, 900.0, 0.0], [-990.0, 0.0, 1.0]]]))
    ),
    "DPMeans, reference": Fit(lambda: centres(DPMeans(lam=50.0, engine="reference"), blobs(200))),
    "DPMeans, more columns than rows": Fit(lambda: centres(DPMeans(), wide()), algebra=True),
    "DPMeans, memory": Fit(lambda: in_little_memory(DPMeans(memory=BOUND))),
    "DPMeans, memory and a penalty": Fit(lambda: in_little_memory(DPMeans(lam=900.0, memory=BOUND))),
    "DPMeans, files": Fit(lambda: of_files(DPMeans(memory=BOUND))),
    "DPMeans, files, target_k": Fit(lambda: of_files(DPMeans(target_k=5, memory=BOUND))),
    "DPMeans, files that fit": Fit(lambda: of_files(DPMeans(lam=900.0))),
    "DPMeans, checkpoint": Fit(lambda: of_files(DPMeans(lam=2e4, memory=BOUND), checkpoint=True)),
    "DPMeans, 540,000 rows": Fit(many_rows),
    "KMeans": Fit(lambda: centres(KMeans(6, random_state=0), blobs())),
    "KMeans, n_init": Fit(lambda: centres(KMeans(12, n_init=4, random_state=1, tol=0.0), blobs(2000, 4, 9))),
    "KMeans, cosine and weights": Fit(
        lambda: centres(KMeans(5, metric="cosine", random_state=3), blobs(), sample_weight=weights(600))
    ),
    "KMeans, sparse": Fit(lambda: centres(KMeans(4, random_state=0), sparse_rows())),
    "KMeans, init": Fit(lambda: centres(KMeans(5, init=blobs()[:5]), blobs())),
    "KMeans, noise": Fit(lambda: centres(KMeans(6, noise=0.03, random_state=0), blobs())),
    "KMeans, memory": Fit(lambda: in_little_memory(KMeans(7, random_state=0, memory=BOUND))),
    "KMeans, files": Fit(lambda: of_files(KMeans(7, random_state=0, memory=BOUND, metric="cosine"))),
    "OnlineDPMeans": Fit(lambda: stream(OnlineDPMeans(lam=50.0))),
    "OnlineDPMeans, auto": Fit(lambda: stream(OnlineDPMeans())),
    "OnlineDPMeans, few micro-clusters": Fit(lambda: stream(OnlineDPMeans(lam=50.0, n_micro=40))),
    "OnlineDPMeans, forgetting": Fit(lambda: stream(OnlineDPMeans(lam=50.0, half_life=200.0))),
    "OnlineDPMeans, published": Fit(
        lambda: stream(OnlineDPMeans(lam=30.0, search="published", max_clusters=9, order="random", random_state=0))
    ),
    "HardHDP": Fit(lambda: in_groups(HardHDP())),
    "HardHDP, penalties": Fit(lambda: in_groups(HardHDP(lam_local=5.0, lam_global=9.0), more=True)),
    "HardHDP, sweep and weights": Fit(
        lambda: in_groups(HardHDP(lam_local=5.0, lam_global=9.0, search="sweep"), sample_weight=weights(240))
    ),
    "HardHDP, target_k": Fit(lambda: in_groups(HardHDP(target_k=4))),
    "HardHDP, more columns than rows": Fit(
        lambda: in_groups(HardHDP(lam_local=300.0, lam_global=600.0), wide()), algebra=True
    ),
    "HardHDP, kernel": Fit(
        lambda: in_groups(HardHDP(lam_local=2.0, lam_global=3.0, kernel="rbf", gamma=0.1)), algebra=True
    ),
    "HardHDP, kernel, auto": Fit(lambda: in_groups(HardHDP(kernel="linear"), blobs(120, 2, 4)), algebra=True),
    "KernelDPMeans": Fit(lambda: in_feature_space(KernelDPMeans(), blobs(100, 3, 4)), algebra=True),
    "KernelDPMeans, sweep": Fit(lambda: in_feature_space(KernelDPMeans(lam=0.5, search="sweep")), algebra=True),
    "KernelDPMeans, polynomial": Fit(
        lambda: in_feature_space(KernelDPMeans(lam=1e4, kernel="poly", degree=2)), algebra=True
    ),
    "SpectralDPMeans": Fit(lambda: spectral(SpectralDPMeans()), algebra=True),
    "SpectralDPMeans, target_k": Fit(lambda: spectral(SpectralDPMeans(target_k=3)), algebra=True),
    "SpectralDPMeans, neighbours": Fit(
        lambda: spectral(SpectralDPMeans(affinity="nearest_neighbors", n_neighbors=8)), algebra=True
    ),
    "GraphDPMeans": Fit(lambda: of_graph(GraphDPMeans())),
    "GraphDPMeans, target_k": Fit(lambda: of_graph(GraphDPMeans(target_k=3, patience=1))),
    "GraphDPMeans, ratio": Fit(lambda: of_graph(GraphDPMeans(lam=-3.0, cut="ratio", patience=2))),
    "BayesianKMeans": Fit(lambda: energies(BayesianKMeans(), blobs(150, 3, 4)), algebra=True),
    "BayesianKMeans, process": Fit(
        lambda: energies(BayesianKMeans(mixture="dirichlet-process"), blobs(150, 3, 4)), algebra=True
    ),
    "BayesianKMeans, kd-tree": Fit(
        lambda: energies(BayesianKMeans(algorithm="kd-tree", prior="uninformative"), blobs(300, 2, 4)), algebra=True
    ),
    "BayesianKMeans, weights": Fit(
        lambda: energies(BayesianKMeans(), blobs(150, 3, 4), sample_weight=weights(150) + 1.0), algebra=True
    ),
    "BayesianKMeans, counts": Fit(lambda: energies(BayesianKMeans("multinomial"), counts()), algebra=True),
    "BayesianKMeans, counts, process": Fit(
        lambda: energies(BayesianKMeans("multinomial", mixture="dirichlet-process"), counts()), algebra=True
    ),
    "BayesianKMeans, bits": Fit(lambda: energies(BayesianKMeans("bernoulli"), bits()), algebra=True),
    "BayesianKMeans, more columns than rows": Fit(
        lambda: energies(BayesianKMeans(), blobs(30, 50, 3, spread=9.0), methods=["predict"]), algebra=True
    ),
    "AgglomerativeBayes": Fit(lambda: tree(AgglomerativeBayes(), blobs(120, 3, 4)), algebra=True),
    "AgglomerativeBayes, conga line": Fit(
        lambda: tree(AgglomerativeBayes(mixture="dirichlet-process", closest_pairs="conga-line"), blobs(120, 3, 4)),
        algebra=True,
    ),
    "AgglomerativeBayes, counts": Fit(lambda: tree(AgglomerativeBayes("multinomial"), counts(100)), algebra=True),
    "AgglomerativeBayes, bits": Fit(lambda: tree(AgglomerativeBayes("bernoulli"), bits()), algebra=True),
    "lambda_path": Fit(lambda: path(blobs())),
    "lambda_path, weights": Fit(lambda: path(blobs(), sample_weight=weights(600), max_k=12)),
    "lambda_path, cosine": Fit(lambda: path(blobs(300, 5), metric="cosine")),
    "farthest_first_lambda": Fit(lambda: {"lam": farthest_first_lambda(blobs(), 7)}),
    "choose_k": Fit(chosen_k, algebra=True),
    "GMeans": Fit(lambda: baseline(GMeans()), algebra=True),
    "KMeansBIC": Fit(lambda: baseline(KMeansBIC()), algebra=True),
    "GaussianMixtureBIC": Fit(lambda: baseline(GaussianMixtureBIC()), algebra=True),
    "VariationalMixture": Fit(lambda: baseline(VariationalMixture(random_state=0)), algebra=True),
    "GibbsDPMixture": Fit(lambda: baseline(GibbsDPMixture(**SHORT_CHAIN)), algebra=True),
    "CollapsedGibbsDPMixture": Fit(lambda: baseline(CollapsedGibbsDPMixture(**SHORT_CHAIN)), algebra=True),
}
