"""DP-means as the limit of the Gibbs sampler for σ → 0 (Kulis & Jordan 2012, §3.1), and where the two differ."""

import math

import numpy as np
import pytest
from common import blobs
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans
from kfree.baselines import CollapsedGibbsDPMixture, GibbsDPMixture

RHO = 1000.0


def limit_alpha(lam, sigma, n_features):
    """The α with which a new cluster costs exp(−lam/(2σ))."""
    return (1 + RHO / sigma) ** (n_features / 2) * math.exp(-lam / (2 * sigma))


def sampled(X, lam, sigma, n_sweeps, seed=0):
    alpha = limit_alpha(lam, sigma, X.shape[1])
    chain = {"n_burn_in": 0, "n_samples": n_sweeps, "thin": 1, "keep_samples": True, "random_state": seed}
    return GibbsDPMixture(alpha, sigma, rho=RHO, prior_mean=X.mean(axis=0), **chain).fit(X)


def sweeps_without_noise(X, lam, n_sweeps):
    """Algorithm 1, but a row leaves its cluster before it looks for the nearest, as in a Gibbs sweep."""
    labels, centres = [0] * len(X), {0: X.mean(axis=0)}
    for _ in range(n_sweeps):
        for i, row in enumerate(X):
            if labels.count(labels[i]) == 1:
                del centres[labels[i]]
            labels[i] = -1
            sq_dist = {c: ((row - centre) ** 2).sum() for c, centre in centres.items()}
            nearest = min(sq_dist, key=sq_dist.get, default=None)
            if nearest is None or sq_dist[nearest] > lam:
                nearest = max(centres, default=-1) + 1
                centres[nearest] = row
            labels[i] = nearest
        centres = {c: X[np.array(labels) == c].mean(axis=0) for c in set(labels)}
        yield labels.copy()


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


@pytest.mark.parametrize("seed", range(1, 6))
def test_sweeps_of_the_sampler_become_those_of_the_algorithm(seed):
    """On tight clusters. Drawn means have a deviation of √σ, so a row that is nearly √lam away may go either way."""
    X, _ = blobs(np.random.default_rng(seed), n=60, d=2, k=4, spread=30.0)
    lam = 150.0
    expected = list(sweeps_without_noise(X, lam, 5))
    # lam/(2σ) = 700 is what float64 has an α for.
    assert all(map(same_partition, sampled(X, lam, lam / 1400, 5).label_samples_, expected))
    assert same_partition(DPMeans(lam=lam, search="sweep").fit(X).labels_, expected[-1])


def test_agreement_grows_as_sigma_falls():
    agreement = {share: [] for share in (4, 40, 1400)}
    for seed in range(8):
        X, _ = blobs(np.random.default_rng(seed), n=60, d=2, k=4, spread=6.0)
        expected = list(sweeps_without_noise(X, 9.0, 5))[-1]
        for share, found in agreement.items():
            found.append(adjusted_rand_score(expected, sampled(X, 9.0, 9.0 / share, 5).label_samples_[-1]))
    coarse, fine, finest = (np.mean(found) for found in agreement.values())
    assert coarse < fine < finest
    assert finest > 0.9


def test_a_singleton_stays_in_the_algorithm_and_leaves_in_the_sampler():
    """The row at 3 opens a cluster, since it is 3.7 from the mean of all. After the sweep the other centre is 3 away,
    nearer than √lam: Algorithm 1 keeps the row at its own centre, where it costs nothing; in a Gibbs sweep it leaves
    its cluster first, which is empty then."""
    X, lam = np.array([[0.0], [0.2], [-0.2], [0.1], [-0.1], [3.0], [-8.0]]), 10.0
    gone = list(sweeps_without_noise(X, lam, 6))[-1]
    assert len(set(gone)) == 2
    assert DPMeans(lam=lam, search="sweep").fit(X).n_clusters_ == 3
    assert same_partition(sampled(X, lam, lam / 1400, 6).label_samples_[-1], gone)


@pytest.mark.parametrize("alpha", [5e-324, 1e-200, 1e200, 1.7e308])
@pytest.mark.parametrize("sampler", [GibbsDPMixture, CollapsedGibbsDPMixture])
def test_every_positive_number_is_an_alpha(sampler, alpha, rng):
    X, _ = blobs(rng, n=30, d=2, k=2, spread=5.0)
    model = sampler(alpha, n_burn_in=2, n_samples=3, thin=1, random_state=0).fit(X)
    assert np.isfinite(model.trace_["log_joint"]).all()
    if alpha > 1:
        assert model.n_clusters_ == 30
