"""Forty typical uses of kfree, which mypy --strict and pyright accept (`.ci/types`). They are checked, not run."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kfree
from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    TableEncoder,
    choose_k,
    farthest_first_lambda,
    lambda_path,
    load,
    open_rows,
)
from kfree.datasets import load_archipelago, make_gaussians
from kfree.explain import Duplicates, Summary
from kfree.report import write_report

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

rng = np.random.default_rng(0)
X: Floats = rng.normal(size=(200, 3))
Y: Floats = rng.normal(size=(20, 3))
weight: Floats = np.ones(200)
table = {"age": [31.0, 47.0], "plan": ["basic", "gold"]}
folder = Path("folder")


def clusters_without_k() -> tuple[int, Labels, str]:
    model = AutoCluster().fit(X)
    return model.n_clusters_, model.predict(Y), model.certainty()


def clusters_at_a_penalty() -> tuple[float, float, Floats]:
    model = DPMeans(lam=50.0, metric="cosine", random_state=0).fit(X, sample_weight=weight)
    return model.lam_, model.cost_, model.cluster_centers_


def a_given_number() -> int:
    return KMeans(5, n_init="auto", random_state=0).fit(X).n_clusters_ + DPMeans(target_k=5).fit(X).n_clusters_


def labels_in_one_call() -> Labels:
    labels: Labels = DPMeans(noise=0.02).fit_predict(X)
    return labels


def distances_and_scores() -> tuple[Floats, float, Floats, Floats]:
    model = KMeans(3).fit(X)
    return model.transform(Y), model.score(Y), model.confidence(Y), model.outlier_score(Y, false_alarms=0.01)


def rows_that_are_new() -> NDArray[np.bool_]:
    new: NDArray[np.bool_] = DPMeans().fit(X).predict(Y, allow_new=True) < 0
    return new


def the_two_nearest() -> tuple[Labels, Floats]:
    labels, distances = DPMeans().fit(X).nearest_two(Y)
    return labels, distances


def a_summary() -> tuple[Summary, list[float], list[str]]:
    found = DPMeans().fit(X).summary(X, feature_names=["a", "b", "c"])
    effects = [feature.effect for cluster in found.clusters for feature in cluster.features]
    return found, effects, [str(cluster.label) for cluster in found.clusters]


def near_duplicates() -> tuple[Duplicates, Floats]:
    found = DPMeans(metric="cosine").fit(X).duplicates(X, threshold=0.3)
    return found, X[found.keep]


def typical_rows() -> NDArray[np.int64]:
    rows: NDArray[np.int64] = DPMeans().fit(X).exemplars_
    return rows


def the_staircase() -> tuple[int, float, int]:
    path = lambda_path(X, max_k=20)
    step = path.suggest()
    return step.k, path.at(k=4).lam, path.at(lam=9.0).k


def criteria_side_by_side() -> dict[str, int]:
    return choose_k(X, range(1, 6), mixtures=["full"]).chosen


def a_penalty_for_sweeps() -> float:
    return farthest_first_lambda(X, 5)


def the_published_algorithm() -> int:
    return DPMeans(lam=farthest_first_lambda(X, 5), search="sweep", order="random").fit(X).n_iter_


def a_stream(chunks: Iterator[Floats]) -> tuple[Floats, int]:
    stream = OnlineDPMeans(half_life=10_000, metric="cosine")
    for chunk in chunks:
        stream.partial_fit(chunk)
    return stream.cluster_centers_, stream.n_rows_seen_


def what_a_stream_knows(stream: OnlineDPMeans) -> str:
    return str(stream.summary())


def clusters_of_clusters() -> tuple[tuple[int, ...], Labels, str]:
    model = NestedDPMeans(levels=(2, 6)).fit(X)
    groups: Labels = model.predict(Y, level=0)
    return model.levels_, groups, model.tree_.to_newick()


def shared_clusters() -> Labels:
    return HardHDP().fit(X, groups=np.arange(200) % 4).predict(Y, groups=np.zeros(20))


def any_shape() -> tuple[str, float]:
    model = SpectralDPMeans(n_neighbors=12).fit(X)
    return model.affinity_, model.certificate_.risk


def a_kernel() -> Labels:
    return KernelDPMeans(kernel="rbf", gamma=0.5, target_k=3).fit(X).predict(Y)


def a_graph() -> Floats:
    return GraphDPMeans(lam=-0.5).fit(np.array([(0, 1), (1, 2), (2, 0), (3, 4)])).shares_


def evidence() -> tuple[Floats, Floats]:
    model = BayesianKMeans(model="gaussian", mixture="dirichlet-process").fit(X)
    return model.predict_proba(Y), model.score_samples(Y)


def a_tree() -> Labels:
    return AgglomerativeBayes().fit(X).cut(4)


def counts() -> float:
    return DPMeans(metric="kl", lam=3.0).fit(np.abs(X)).cost_


def places() -> Floats:
    return DPMeans(metric="haversine", lam=50.0**2).fit(np.array([[52.5, 13.4], [48.9, 2.4]])).cluster_centers_


def files() -> list[str]:
    rows = open_rows(folder / "*.parquet", columns=["a", "b"])
    model = DPMeans(memory="1GB", checkpoint=folder / "fit.kfree").fit(rows)
    written: list[str] = model.predict(rows, out=folder / "labels")
    return written


def the_number_of_rows() -> int:
    return open_rows([folder / "a.csv"], delimiter=";", decimal=",").n_rows


def on_a_gpu() -> str:
    return KMeans(100, engine="gpu").fit(X.astype(np.float32)).engine_


def saved_and_loaded() -> Labels:
    DPMeans().fit(X).save(folder / "model.kfree")
    model: DPMeans = load(folder / "model.kfree")
    labels: Labels = model.predict(Y)
    return labels


def a_table_encoded() -> Floats:
    encoder = TableEncoder(weights={"age": 2.0})
    rows: Floats = encoder.fit_transform(table)
    return rows


def the_front_door() -> tuple[int, list[str], Labels]:
    found = kfree.cluster(table)
    found.rename({0: "Premium"}).report(folder / "page.html").save(folder / "found.kfree")
    return found.n_clusters, found.sentences(), found.labels


def why_this_row() -> str:
    return str(kfree.cluster(table).explain({"age": 31.0, "plan": "gold"}))


def tomorrows_table() -> NDArray[np.int32]:
    labels: NDArray[np.int32] = kfree.cluster(table).predict(table, allow_new=True)
    return labels


def a_page() -> None:
    write_report(
        folder / "page.html", DPMeans().fit(X), X, ["a", "b", "c"], title="customers", remarks=["drawn in May"]
    )


def a_page_of_levels() -> NestedDPMeans:
    model = NestedDPMeans().fit(X)
    return model


def made_data() -> tuple[Floats, Floats]:
    rows, _ = make_gaussians(500, n_features=4, n_clusters=6, separation=3.0, random_state=0)
    return rows, load_archipelago()


def parameters() -> DPMeans:
    model = DPMeans()
    model.set_params(lam=3.0, verbose=1)
    return model


def how_it_went() -> tuple[bool, str, Floats]:
    model = DPMeans(time_budget=1.0, patience=5, on_interrupt="keep").fit(X)
    return model.converged_, model.stop_reason_, model.cost_history_


def how_stable() -> None:
    DPMeans().fit(X).stability(X)


def purity(y: NDArray[np.int64]) -> float:
    return kfree.metrics.dendrogram_purity(AgglomerativeBayes().fit(X).linkage_, y)
