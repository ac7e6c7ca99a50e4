"""Fitted models of every kind that a file may hold, and what of each must come back with the same bits."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import scipy.sparse as sp

import kfree

rng = np.random.RandomState(0)
X = rng.normal(size=(40, 3)) + rng.choice([-9.0, 0.0, 9.0], size=(40, 1))
NEW = rng.normal(size=(40, 3)) * 9
WEIGHT = np.where(np.arange(40) < 4, 0.0, 1.0 + np.arange(40) % 3)
EDGES = np.array([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])
NAMED_EDGES = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dot"), ("dot", "eve")]
ANGLE = np.linspace(0.0, 6.2, 40)
RINGS = np.vstack([r * np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) for r in (1.0, 3.0)])
GROUPS = np.array(["a", "b", "c"])[np.arange(40) % 3]
TABLE = pd.DataFrame(
    {
        "income": np.exp(rng.normal(size=24) * 2),
        "joined": [datetime(2024, 1, 1) + timedelta(days=int(d)) for d in rng.randint(0, 900, 24)],
        "size": pd.Categorical(["S", "M", "L"] * 8, ["S", "M", "L"], ordered=True),
        "plan": ["free", "pro", None, "team"] * 6,
        "member": [True, False] * 12,
        "device": ["phone", "desk"] * 12,
        "year": [2024] * 24,
        "age": [*rng.randint(18, 80, 22).tolist(), np.nan, np.nan],
    }
)


def prepared():
    """A model as the command line saves one."""
    from kfree.clustering.preparation import Preparation

    encoder = kfree.TableEncoder(categories=["plan"]).fit(TABLE.drop(columns="year"))
    model = kfree.DPMeans(lam=2.0).fit(np.asarray(encoder.transform(TABLE.drop(columns="year"))))
    model.preparation_ = Preparation(list(TABLE.drop(columns="year")), "nearest", encoder=encoder)
    return model


def encoded():
    """An encoder with a column of every kind, one of which is left out, which it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kfree.exceptions.DataAdvice)
        return kfree.TableEncoder(transforms={"age": "sqrt"}, unseen="missing").fit(TABLE)


# name: a fitted model, and what of it must be the same after a journey through a file.
CASES = {
    "dp-means": (lambda: kfree.DPMeans().fit(X), lambda m: [m.predict(NEW), m.predict(NEW, allow_new=True)]),
    "dp-means, cosine": (lambda: kfree.DPMeans(metric="cosine").fit(X), lambda m: [m.predict(NEW), m.score(NEW)]),
    "dp-means, sweep": (lambda: kfree.DPMeans(lam=9.0, search="sweep").fit(X), lambda m: [m.transform(NEW)]),
    "dp-means, sparse": (lambda: kfree.DPMeans(lam=9.0).fit(sp.csr_array(X)), lambda m: [m.transform(NEW)]),
    "dp-means, noise": (
        lambda: kfree.DPMeans(lam=30.0, noise=0.1).fit(pd.DataFrame(X, columns=["a", "b", "c"])),
        lambda m: [m.predict(pd.DataFrame(NEW, columns=["a", "b", "c"]))],
    ),
    "dp-means, prepared": (
        prepared,
        lambda m: [m.predict(np.asarray(m.preparation_.encoder.transform(TABLE.drop(columns="year"))))],
    ),
    "k-means": (lambda: kfree.KMeans(3, random_state=0).fit(X), lambda m: [m.predict(NEW), m.score(NEW)]),
    "k-means, summary": (
        lambda: kfree.KMeans(3, search="summary", random_state=0).fit(X),
        lambda m: [m.predict(NEW, allow_new=True), m.n_passes_],
    ),
    "online": (
        lambda: kfree.OnlineDPMeans(lam=4.0, half_life=50.0).partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.cluster_centers_, m.events_],
    ),
    "online, fit": (
        lambda: kfree.OnlineDPMeans(lam=4.0).fit(X),
        lambda m: [m.labels_, getattr(m, "cost_", None), m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.events_],
    ),
    "online, cosine": (
        lambda: kfree.OnlineDPMeans(lam=4.0, metric="cosine").partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.cluster_centers_, m.events_],
    ),
    "online, published": (
        lambda: kfree.OnlineDPMeans(lam=4.0, search="published", half_life=50.0).partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.merge().cluster_centers_, m.events_],
    ),
    "online, reference": (
        lambda: kfree.OnlineDPMeans(lam=4.0, search="published", engine="reference").partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_],
    ),
    "online, no split": (
        lambda: kfree.OnlineDPMeans(lam=4.0, search="published", split=False, engine="reference").partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.merge().cluster_centers_],
    ),
    "levels": (
        lambda: kfree.NestedDPMeans(levels=(2, 4)).fit(X),
        lambda m: [m.predict(NEW), m.predict(NEW, level=0), m.tree_.sizes],
    ),
    "hdp": (
        lambda: kfree.HardHDP().fit(X, groups=GROUPS),
        lambda m: [m.predict(NEW, groups=GROUPS), m.predict(NEW, groups=["new"] * 40), m.groups_],
    ),
    "hdp, kernel": (
        lambda: kfree.HardHDP(kernel="rbf").fit(X, groups=GROUPS),
        lambda m: [m.predict(NEW, groups=GROUPS)],
    ),
    "hdp, precomputed": (
        lambda: kfree.HardHDP(lam_local=9.0, lam_global=9.0, kernel="precomputed").fit(X @ X.T, groups=GROUPS),
        lambda m: [m.predict(NEW @ X.T, groups=GROUPS)],
    ),
    "kernel": (lambda: kfree.KernelDPMeans(kernel="rbf").fit(X), lambda m: [m.predict(X), m.outlier_score(X)]),
    "kernel, precomputed": (
        lambda: kfree.KernelDPMeans(lam=9.0, kernel="precomputed").fit(X @ X.T),
        lambda m: [m.predict(NEW @ X.T)],
    ),
    "spectral": (lambda: kfree.SpectralDPMeans().fit(X), lambda m: [m.predict(X), m.certificate_.n_above]),
    "spectral, weights": (
        lambda: kfree.SpectralDPMeans().fit(X, sample_weight=WEIGHT),
        lambda m: [m.predict(X), m.predict(X, allow_new=True)],
    ),
    "spectral, gamma": (lambda: kfree.SpectralDPMeans(gamma=0.1).fit(X), lambda m: [m.predict(X)]),
    "spectral, neighbours": (
        lambda: kfree.SpectralDPMeans(affinity="nearest_neighbors").fit(X),
        lambda m: [m.predict(X)],
    ),
    "spectral, precomputed": (
        lambda: kfree.SpectralDPMeans(affinity="precomputed", lam=100.0).fit(X @ X.T),
        lambda m: [m.predict(NEW @ X.T)],
    ),
    "spectral, linear": (
        lambda: kfree.SpectralDPMeans(affinity="linear", lam=100.0).fit(X),
        lambda m: [m.predict(NEW)],
    ),
    "graph": (lambda: kfree.GraphDPMeans().fit(EDGES), lambda m: [m.predict_nodes(np.eye(6)), m.path_.lam]),
    "graph, names": (
        lambda: kfree.GraphDPMeans(lam=-0.4, cut="ratio").fit(NAMED_EDGES),
        lambda m: [m.node_names_, m.predict_nodes(np.eye(5)), m.adjacency_.toarray()],
    ),
    "bayesian": (
        lambda: kfree.BayesianKMeans().fit(X),
        lambda m: [m.predict(NEW), m.predict_proba(NEW), m.prior_.get("B0")],
    ),
    "bayesian, dirichlet process": (
        lambda: kfree.BayesianKMeans(mixture="dirichlet-process", prior="uninformative").fit(X),
        lambda m: [m.predict(NEW)],
    ),
    "bernoulli": (lambda: kfree.BayesianKMeans("bernoulli").fit(X > 0), lambda m: [m.predict_proba(NEW > 0)]),
    "multinomial": (
        lambda: kfree.BayesianKMeans("multinomial").fit(np.abs(X).round()),
        lambda m: [m.weights_, m.predict(np.abs(NEW).round(), allow_new=True)],
    ),
    "chosen, round": (
        lambda: kfree.AutoCluster().fit(X),
        lambda m: [m.predict(NEW), m.outlier_score(NEW), m.stability_, m.reason_],
    ),
    "chosen, any shape": (
        lambda: kfree.AutoCluster().fit(RINGS),
        lambda m: [m.predict(NEW[:, :2]), m.outlier_score(NEW[:, :2]), repr(m.candidates_)],
    ),
    "tree": (
        lambda: kfree.AgglomerativeBayes().fit(X),
        lambda m: [m.linkage_, m.cut(4), m.refine(X).labels, m.free_energy_path_],
    ),
    "clustering": (
        lambda: kfree.cluster(pd.DataFrame(X, columns=["a", "b", "c"]), model="round").rename({0: "first"}),
        lambda m: [m.predict(pd.DataFrame(NEW, columns=["a", "b", "c"])), m.sentences(), str(m.summary()), m.certainty],
    ),
    "table": (
        encoded,
        lambda m: [
            np.asarray(m.transform(TABLE)).tobytes(),
            m.get_feature_names_out(),
            m.describe(),
            m.left_out_["year"],
        ],
    ),
}

# Labels of rows after the fit: whole numbers, which no processor and no version of BLAS changes.
LABELS = {
    name: {
        "hdp": lambda m: m.predict(NEW, groups=GROUPS),
        "hdp, kernel": lambda m: m.predict(X, groups=GROUPS),
        "hdp, precomputed": lambda m: m.predict(X @ X.T, groups=GROUPS),
        "kernel": lambda m: m.predict(X),
        "kernel, precomputed": lambda m: m.predict(X @ X.T),
        "spectral, precomputed": lambda m: m.predict(X @ X.T),
        "graph": lambda m: m.predict_nodes(np.eye(6)),
        "graph, names": lambda m: m.predict_nodes(np.eye(5)),
        "dp-means, noise": lambda m: m.predict(pd.DataFrame(NEW, columns=["a", "b", "c"]), allow_new=True),
        "dp-means, prepared": CASES["dp-means, prepared"][1],
        "chosen, any shape": lambda m: m.predict(NEW[:, :2], allow_new=True),
        "clustering": lambda m: m.predict(pd.DataFrame(NEW, columns=["a", "b", "c"])),
        "bernoulli": lambda m: m.predict(NEW > 0),
        "multinomial": lambda m: m.predict(np.abs(NEW).round()),
        "table": lambda m: np.asarray(m.transform(TABLE)).argmax(axis=1),
    }.get(name, lambda m: m.predict(X, allow_new=True))
    for name in CASES
}


def same(expected, found):
    """Whether two results are the same, type by type and bit by bit."""
    expected, found = np.asarray(expected), np.asarray(found)
    bits = repr if expected.dtype.kind in "OV" else np.ndarray.tobytes
    return expected.dtype == found.dtype and expected.shape == found.shape and bits(expected) == bits(found)
