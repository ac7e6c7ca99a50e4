"""What the theory pages prove, tried numerically."""

import numpy as np
import pytest
from common import blobs
from oracles.bayes import partitions
from sklearn.mixture import GaussianMixture

from kfree import KMeans
from kfree.objectives.information import SphericalClusters


def em_with_fixed_variance(X, centres, sigma, n_iter=200):
    """EM for equal weights and covariances σI: means and responsibilities."""
    for _ in range(n_iter):
        cost = ((X[:, None] - centres) ** 2).sum(axis=2) / (2 * sigma)
        r = np.exp(cost.min(axis=1, keepdims=True) - cost)
        r /= r.sum(axis=1, keepdims=True)
        centres = (r.T @ X) / r.sum(axis=0)[:, None]
    return centres, r


def test_em_becomes_k_means_as_sigma_falls(rng):
    X, _ = blobs(rng, n=120, d=2, k=3, spread=4.0)
    start = X[:3]
    model = KMeans(3, init=start, tol=0, max_iter=1000, label_order="found").fit(X)
    agreement = []
    for sigma in (1.0, 1e-2, 1e-4):
        centres, r = em_with_fixed_variance(X, start, sigma)
        agreement.append((r.argmax(axis=1) == model.labels_).mean())
    assert agreement[-1] == 1.0
    np.testing.assert_allclose(centres, model.cluster_centers_, atol=1e-9)


def test_generalised_em_never_lowers_the_likelihood(rng):
    """An M-step that only goes half of the way raises Q, and so the likelihood."""
    X, _ = blobs(rng, n=120, d=2, k=3, spread=3.0)
    centres, found = X[:3], []
    for _ in range(30):
        cost = ((X[:, None] - centres) ** 2).sum(axis=2) / 2
        found.append(np.log(np.exp(-cost).mean(axis=1)).sum())
        r = np.exp(-cost) / np.exp(-cost).sum(axis=1, keepdims=True)
        centres = (centres + (r.T @ X) / r.sum(axis=0)[:, None]) / 2
    assert (np.diff(found) >= -1e-9).all()


def test_the_penalty_of_aic_is_one_lam(rng):
    """§3.2: with a known variance σ, AIC/2·2σ = Σ‖x − μ‖² + 2σ·d·k + const: λ = 2σd for k·d means."""
    X, y = blobs(rng, n=90, d=2, k=3, spread=6.0)
    sigma, values = 1.3, []
    for labels in (np.zeros(90, dtype=int), y, np.arange(90) % 9):
        k = labels.max() + 1
        means = np.array([X[labels == c].mean(axis=0) for c in range(k)])
        sse = ((X - means[labels]) ** 2).sum()
        log_likelihood = -0.5 * sse / sigma - len(X) * np.log(2 * np.pi * sigma)
        values.append((2 * (2 * k) - 2 * log_likelihood) * sigma - (sse + 2 * sigma * 2 * k))
    assert np.ptp(values) < 1e-9
    clusters = SphericalClusters(np.bincount(y).astype(float), 2, 100.0, 0.0)
    assert clusters.bic - clusters.aic == pytest.approx(clusters.n_parameters * (np.log(90) - 2))


def test_the_best_number_of_clusters_is_a_staircase_in_lam(rng):
    """All partitions of seven rows: k(lam) never rises, and changes at the slopes of the lower hull of (k, S_k)."""
    X = rng.normal(size=(7, 2))
    least = np.full(8, np.inf)
    for labels in partitions(7):
        k = labels.max() + 1
        sse = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(k))
        least[k] = min(least[k], sse)
    S = least[1:]
    lams = np.geomspace(1e-3, 1e2, 2000)
    best = np.array([1 + np.argmin(S + lam * np.arange(1, 8)) for lam in lams])
    assert (np.diff(best) <= 0).all()
    costs = np.array([np.min(S + lam * np.arange(1, 8)) for lam in lams])
    assert (np.diff(np.diff(costs) / np.diff(lams)) <= 1e-9).all()  # concave
    for k in set(best.tolist()):
        after = [(S[j - 1] - S[k - 1]) / (k - j) for j in range(1, k)]
        before = [(S[k - 1] - S[j - 1]) / (j - k) for j in range(k + 1, 8)]
        at = lams[best == k]
        assert at.max() <= min(after, default=np.inf) * 1.01
        assert at.min() >= max(before, default=0.0) * 0.99


def test_lemma_5_1_the_objective_is_a_trace(rng):
    """J = tr K − tr(Yᵀ(K − λI)Y) with K = XXᵀ and Y the normalised indicators, for all partitions of five rows."""
    X, lam = rng.normal(size=(5, 2)), 0.7
    K = X @ X.T
    for labels in partitions(5):
        k = labels.max() + 1
        indicators = (labels[:, None] == np.arange(k)).astype(float)
        Y = indicators / np.sqrt(indicators.sum(axis=0))
        cost = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() + lam for c in range(k))
        assert np.trace(K) - np.trace(Y.T @ (K - lam * np.eye(5)) @ Y) == pytest.approx(cost)


def test_the_lectures_criterion_grows_with_k(rng):
    """Σ_{i≠j} d(c_i, c_j) has k(k − 1) terms: on three clusters it prefers as many as may be."""
    X, _ = blobs(rng, n=150, d=2, k=3, spread=8.0)
    values = []
    for k in range(1, 9):
        model = KMeans(k, n_init=3, random_state=0).fit(X)
        centres = model.cluster_centers_
        between = np.linalg.norm(centres[:, None] - centres, axis=2).sum()
        within = sum(np.sqrt(((X[model.labels_ == c] - centres[c]) ** 2).sum(axis=1).mean()) for c in range(k))
        values.append(between - within)
    assert np.argmax(values) == 7


def test_bic_of_scikit_learn_is_that_of_the_page(rng):
    """p parameters: k·d means, k − 1 weights, and 1·k, d·k or d(d + 1)/2·k variances."""
    X, d, k = rng.normal(size=(80, 3)), 3, 2
    for kind, per_cluster in {"spherical": 1, "diag": d, "full": d * (d + 1) // 2}.items():
        model = GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        n_parameters = k * d + k - 1 + k * per_cluster
        assert model.bic(X) == pytest.approx(n_parameters * np.log(80) - 2 * 80 * model.score(X))
