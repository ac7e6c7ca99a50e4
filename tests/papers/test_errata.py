"""What the five texts print wrong: for each error, that the printed formula fails and the corrected one holds.

The list with corrected formulas is docs/theory/errata.md.
"""

import math

import numpy as np
import pytest
from oracles.bayes import partitions
from oracles.online import Cluster
from scipy import integrate, stats
from scipy.special import digamma

from kfree import DPMeans, GraphDPMeans, OnlineDPMeans
from kfree.core.stats import GaussianStats
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES
from reproduce.kurihara_welling import bic

# Kurihara & Welling (2009)


def test_eq_13_has_the_sign_of_a_free_energy():
    X, y = bic.drawn(10_000)
    objective = FreeEnergy(bic.priors(X)["a fixed prior"], MIXTURES["finite"](2.0))
    free_energy, fit = objective.free_energy(bic.stats_of(X, y)), bic.log_likelihood(bic.stats_of(X, y))
    penalty = bic.N_PARAMETERS / 2 * math.log(len(X))
    assert abs(free_energy - (-fit + penalty)) < 3
    assert abs(free_energy - (fit - penalty)) > 1000


def gaussian_stats(X, labels):
    groups = [X[labels == c] for c in range(labels.max() + 1)]
    scatter = np.array([(g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups])
    return GaussianStats(np.array([len(g) for g in groups], float), np.array([g.sum(axis=0) for g in groups]), scatter)


def free_energy_after_the_update(X, labels, objective):
    new = objective.labelling(gaussian_stats(X, labels)).costs(X).argmin(axis=1)
    return objective.free_energy(gaussian_stats(X, np.unique(new, return_inverse=True)[1]))


@pytest.mark.parametrize(("phi0", "rises"), [(20.0, True), (0.2, False)])
def test_eq_24_can_raise_eq_23_when_it_empties_a_singleton(phi0, rises):
    """Ψ(1) = log 0.56 stands for the log of what a new cluster weighs, which is φ0."""
    model = GaussianModel.conjugate(0.1, np.zeros(1), 2.0, np.eye(1))
    objective, found = FreeEnergy(model, MIXTURES["dirichlet-process"](phi0)), False
    for distance in np.linspace(0.1, 6.0, 60):
        X = np.append(np.linspace(-1, 1, 9), distance)[:, None]
        labels = np.append(np.zeros(9, dtype=int), 1)
        before = objective.free_energy(gaussian_stats(X, labels))
        found |= free_energy_after_the_update(X, labels, objective) > before + 1e-9
    assert found == rises


@pytest.mark.parametrize("n_rows", [3, 6])
def test_eq_32_has_half_d_times_the_logarithm_of_n(n_rows, rng):
    """μ integrated over the plane leaves N^(−D/2), by quadrature; N^(−1/2) is printed."""
    X, precision = rng.normal(size=(n_rows, 2)), np.array([[2.0, 0.5], [0.5, 1.0]])
    gap = X - X.mean(axis=0)
    rest = (2 * math.pi) ** (-(n_rows - 1)) * np.linalg.det(precision) ** ((n_rows - 1) / 2)
    rest *= math.exp(-0.5 * np.einsum("ij,jk,ik", gap, precision, gap))
    density = stats.multivariate_normal(np.zeros(2), np.linalg.inv(precision))
    low, high = X.mean(axis=0) - 8, X.mean(axis=0) + 8
    value, _ = integrate.dblquad(
        lambda b, a: float(np.prod(density.pdf(X - [a, b]))), low[0], high[0], low[1], high[1], epsabs=1e-12
    )
    assert value / rest == pytest.approx(n_rows**-1.0, rel=1e-4)
    assert value / rest != pytest.approx(n_rows**-0.5, rel=0.1)


def test_eq_34_has_n_minus_1_over_2n(rng):
    """−E log N(x | μ, Ω): the quadratic term is half the Wishart mean; N(N − 1)/2 is printed. φ0 = 1 gives Ψ(N + 1)."""
    n, X = 12, rng.normal(size=(12, 2))
    gap, x = X - X.mean(axis=0), rng.normal(size=2)
    covariance = gap.T @ gap / n
    mean_precision = stats.wishart(n - 1, np.linalg.inv(n * covariance)).mean()
    quadratic = 0.5 * (x - X.mean(axis=0)) @ mean_precision @ (x - X.mean(axis=0))
    distance = (x - X.mean(axis=0)) @ np.linalg.inv(covariance) @ (x - X.mean(axis=0))
    assert quadratic == pytest.approx((n - 1) / (2 * n) * distance)
    assert quadratic != pytest.approx(n * (n - 1) / 2 * distance)
    assert MIXTURES["finite"](1.0).expected_log_weight(np.array([float(n)]))[0] == pytest.approx(digamma(n + 1))


# Odashima, Ueki & Sawasaki (2016)


def test_algorithm_3_looks_for_the_nearest():
    """As printed, with >, the third row would go to the farthest cluster beyond λ."""
    model = OnlineDPMeans(lam=25.0, search="published").partial_fit([[0.0], [10.0], [0.5]])
    assert model.predict([[0.5]]) == model.predict([[0.0]])
    assert sorted(model.cluster_centers_.ravel()) == [0.25, 10.0]


def test_the_two_centres_of_section_3_1_are_at_a_quarter_of_the_range():
    x, sigma = np.linspace(-1.5, 1.5, 300_001), 3.0
    costs = {at: np.mean((np.abs(x) - at) ** 2) for at in (sigma / 4, sigma / 2)}
    assert costs[sigma / 4] == pytest.approx(sigma**2 / 48, rel=1e-4)
    assert costs[sigma / 2] == pytest.approx(sigma**2 / 12, rel=1e-4)
    # Eq. 4 follows from the former: w·σ²/12 + λ² > w·σ²/48 + 2λ².
    assert sigma**2 / 12 - sigma**2 / 48 == pytest.approx(sigma**2 / 16)


def test_eq_6_does_not_keep_the_centroid_and_swapped_weights_would():
    whole = Cluster(0, np.array([1.0]), 10.0)
    whole.low, whole.high = np.array([0.0]), np.array([4.0])
    right = whole.split(1)
    printed = (whole.w * whole.mean + right.w * right.mean) / 10.0
    swapped = (right.w * whole.mean + whole.w * right.mean) / 10.0
    assert printed[0] == pytest.approx(2.0)
    assert swapped[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "one", "two"), [(1000, 2100.0, 200.0), (10, 120.0, 200.0)])
def test_lemma_2_costs_200_with_two_clusters_in_both_examples(n, one, two):
    X = np.repeat([[-1.0, 0.0], [1.0, 0.0]], n, axis=0)
    assert DPMeans(lam=100.0, search="sweep").fit(X).cost_ == one
    labels = (X[:, 0] > 0).astype(int)
    assert sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() + 100.0 for c in (0, 1)) == two
    assert DPMeans(lam=100.0).fit(X).cost_ == min(one, two)


# Maurer (2015)


def test_a_cluster_at_the_sum_of_its_rows_costs_more_than_at_their_mean(rng):
    X = rng.normal(size=(20, 2)) + 3
    assert ((X - X.mean(axis=0)) ** 2).sum() < ((X - X.sum(axis=0)) ** 2).sum()


def test_sigma_and_rho_are_variances(rng):
    """The posterior of a mean has the precision 1/ρ + n/σ. With squares, as in the report, it is another."""
    n, sigma, rho, x = 5, 0.5, 4.0, rng.normal(size=5)
    grid = np.linspace(-6, 6, 200_001)
    density = np.exp(-0.5 * grid**2 / rho - 0.5 * ((x[:, None] - grid) ** 2).sum(axis=0) / sigma)
    density /= density.sum()
    variance = density @ (grid - density @ grid) ** 2
    assert variance == pytest.approx(1 / (1 / rho + n / sigma), rel=1e-6)
    assert variance != pytest.approx(1 / (1 / rho**2 + n / sigma**2), rel=0.1)


# Kulis & Jordan (2012)


def normalised_cut(weights, labels):
    degree = weights.sum(axis=1)
    cut = 0.0
    for c in set(labels):
        inside = np.asarray(labels) == c
        cut += weights[inside][:, ~inside].sum() / degree[inside].sum()
    return cut


@pytest.mark.parametrize("lam", [0.0, 0.3, -2.0, -3.0])
def test_a_penalised_cut_needs_a_penalty_between_minus_two_and_zero(lam, rng):
    """For lam ≥ 0 one cluster is best, for lam ≤ −2 single nodes are, whatever the graph; §5.2 does not say so."""
    for _ in range(3):
        weights = np.triu(rng.uniform(0.1, 1.0, size=(5, 5)), 1)
        weights = weights + weights.T
        best = min(map(tuple, partitions(5)), key=lambda z: normalised_cut(weights, z) + lam * len(set(z)))
        assert len(set(best)) == (1 if lam >= 0 else 5)
    with pytest.raises(ValueError, match="lam="):
        GraphDPMeans(lam=lam).fit(weights)


# Wang's lecture


def test_the_density_of_a_gaussian_has_the_root_of_a_determinant_and_the_number_of_columns(rng):
    mean, covariance, x = np.zeros(2), np.array([[2.0, 0.3], [0.3, 0.5]]), rng.normal(size=2)
    quadratic = (x - mean) @ np.linalg.inv(covariance) @ (x - mean)
    corrected = math.exp(-quadratic / 2) / math.sqrt((2 * math.pi) ** 2 * np.linalg.det(covariance))
    assert corrected == pytest.approx(stats.multivariate_normal(mean, covariance).pdf(x))
