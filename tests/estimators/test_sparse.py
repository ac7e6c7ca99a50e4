"""Sparse input for every estimator and method that takes it: the answers are those of dense rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import sampled
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    farthest_first_lambda,
    lambda_path,
)

CONTAINERS = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "coo_array": sp.coo_array,
    "int64 indices": lambda X: _with_long_indices(sp.csr_matrix(X)),
}
ESTIMATORS = {
    "DPMeans": lambda: DPMeans(lam=600.0),
    "DPMeans, automatic": lambda: DPMeans(random_state=0),
    "DPMeans, cosine": lambda: DPMeans(lam=1.0, metric="cosine"),
    "DPMeans, sweep": lambda: DPMeans(lam=9.0, search="sweep"),
    "DPMeans, reference": lambda: DPMeans(lam=600.0, engine="reference"),
    "KMeans": lambda: KMeans(3, random_state=0),
    "OnlineDPMeans": lambda: OnlineDPMeans(lam=30.0),
    "HardHDP": lambda: HardHDP(lam_local=100.0, lam_global=300.0),
    "KernelDPMeans": lambda: KernelDPMeans(lam=600.0, kernel="linear"),
    "SpectralDPMeans": SpectralDPMeans,
    "SpectralDPMeans, neighbours": lambda: SpectralDPMeans(affinity="nearest_neighbors"),
    "BayesianKMeans, multinomial": lambda: BayesianKMeans("multinomial"),
    "BayesianKMeans, bernoulli": lambda: BayesianKMeans("bernoulli"),
    "AgglomerativeBayes, multinomial": lambda: AgglomerativeBayes("multinomial"),
    "AgglomerativeBayes, bernoulli": lambda: AgglomerativeBayes("bernoulli"),
}
METHODS = ["predict", "transform", "predict_proba", "score_samples", "score"]


def _with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def counts(n=60):
    """Words of three kinds of documents."""
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.full(4, 9.0)) + 0.3
    return rng.poisson(topics[np.arange(n) % 3]).astype(float)


def rows_for(name):
    return (counts() > 1).astype(float) if "bernoulli" in name else counts()


@pytest.mark.parametrize(("name", "container"), sampled(30, list(ESTIMATORS), list(CONTAINERS)))
def test_sparse_containers_give_the_answers_of_dense_rows(name, container):
    X = rows_for(name)
    held, before = CONTAINERS[container](X), type(CONTAINERS[container](X))
    dense, sparse = ESTIMATORS[name]().fit(X), ESTIMATORS[name]().fit(held)
    # A kernel does not tell in which order clusters are found.
    k = dense.labels_.max() + 1
    place = np.array([sparse.labels_[np.argmax(dense.labels_ == j)] for j in range(k)])
    np.testing.assert_array_equal(place[dense.labels_], sparse.labels_)
    for method in METHODS:
        if hasattr(dense, method):
            expected, got = getattr(dense, method)(X), getattr(sparse, method)(held)
            expected = place[expected] if method == "predict" else expected
            np.testing.assert_allclose(got[:, place] if np.ndim(got) == 2 else got, expected, atol=1e-6)
    assert type(held) is before
    np.testing.assert_array_equal(held.toarray(), X)


@pytest.mark.parametrize("container", CONTAINERS)
def test_sparse_chunks_and_groups(container):
    X, chunk = counts(), CONTAINERS[container]
    plain, held = OnlineDPMeans(lam=30.0), OnlineDPMeans(lam=30.0)
    for begin in (0, 30):
        plain.partial_fit(X[begin : begin + 30])
        held.partial_fit(chunk(X[begin : begin + 30]))
    assert plain.cluster_centers_.tobytes() == held.cluster_centers_.tobytes()
    plain, held = (
        HardHDP(lam_local=100.0, lam_global=300.0).fit([make(X[:20]), make(X[20:40])]).partial_fit([make(X[40:])])
        for make in (np.asarray, chunk)
    )
    np.testing.assert_allclose(held.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("container", CONTAINERS)
def test_functions_take_sparse_rows(container):
    X, held = counts(), CONTAINERS[container](counts())
    assert farthest_first_lambda(held, 3) == pytest.approx(farthest_first_lambda(X, 3))
    assert lambda_path(held).suggest().k == lambda_path(X).suggest().k == 3


TEXTS = ["apple banana apple", "banana apple", "motor gear wheel", "wheel gear motor gear"] * 8


def test_what_scikit_learn_makes_of_text_and_categories():
    words, weights = CountVectorizer().fit_transform(TEXTS), TfidfVectorizer().fit_transform(TEXTS)
    kinds = OneHotEncoder().fit_transform([[t.split()[0] in "apple banana"] for t in TEXTS])
    truth = np.arange(len(TEXTS)) % 4 > 1
    for model, rows in {
        BayesianKMeans("multinomial"): words,
        BayesianKMeans("bernoulli"): kinds,
        AgglomerativeBayes("multinomial"): words,
        AgglomerativeBayes("bernoulli"): kinds,
        KMeans(2, metric="cosine", random_state=0): weights,
        DPMeans(lam=1.0, metric="cosine"): weights,
    }.items():
        labels = model.fit(rows).labels_
        np.testing.assert_array_equal(labels == labels[0], ~truth)
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(model.predict(rows), labels)
