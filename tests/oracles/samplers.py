"""Exact posteriors of Dirichlet process mixtures on a few rows: every partition, parameters by quadrature."""

import math

import numpy as np
from scipy.special import logsumexp
from scipy.stats import gamma

from oracles.bayes import gaussian_predictive, partitions, sequential_free_energy


def log_urn(labels, alpha):
    """log p([z]), one row after the other."""
    total = 0.0
    for i, label in enumerate(labels):
        before = np.count_nonzero(labels[:i] == label)
        total += math.log((before or alpha) / (i + alpha))
    return total


def log_spherical(X, labels, sigma, rho):
    """log p(X | z): columns are independent, and rows of a cluster share a mean of variance ρ."""
    total = 0.0
    for c in np.unique(labels):
        rows = X[labels == c]
        covariance = sigma * np.eye(len(rows)) + rho
        log_det = np.linalg.slogdet(2 * math.pi * covariance)[1]
        total -= (rows.shape[1] * log_det + (rows * np.linalg.solve(covariance, rows)).sum()) / 2
    return total


def posterior(log_joint):
    """Probabilities by partition, from log p(X, z)."""
    return dict(zip(log_joint, np.exp(list(log_joint.values()) - logsumexp(list(log_joint.values()))), strict=True))


def spherical_posterior(X, alpha, sigma, rho):
    return posterior({tuple(z): log_urn(z, alpha) + log_spherical(X, z, sigma, rho) for z in partitions(len(X))})


def spherical_posterior_with_priors(X, alpha_prior, sigma_prior, rho, n_points=50):
    """The same with α ~ Gamma and 1/σ ~ Gamma, and the posterior means of α and σ; sums over grids in logarithms."""
    alphas, sigmas = np.geomspace(1e-4, 50, n_points), np.geomspace(1e-2, 1e3, n_points)
    # Densities times the value: that is the density of the logarithm, in which the grid is even.
    log_alpha = gamma(alpha_prior[0], scale=1 / alpha_prior[1]).logpdf(alphas) + np.log(alphas)
    log_sigma = gamma(sigma_prior[0], scale=1 / sigma_prior[1]).logpdf(1 / sigmas) - np.log(sigmas)
    joint, alpha_mean, sigma_mean = {}, {}, {}
    for z in partitions(len(X)):
        by_alpha = log_alpha + [log_urn(z, alpha) for alpha in alphas]
        by_sigma = log_sigma + [log_spherical(X, z, sigma, rho) for sigma in sigmas]
        joint[tuple(z)] = logsumexp(by_alpha) + logsumexp(by_sigma)
        alpha_mean[tuple(z)] = alphas @ np.exp(by_alpha - logsumexp(by_alpha))
        sigma_mean[tuple(z)] = sigmas @ np.exp(by_sigma - logsumexp(by_sigma))
    probability = posterior(joint)
    mean = [sum(p * means[z] for z, p in probability.items()) for means in (alpha_mean, sigma_mean)]
    return probability, *mean


def gaussian_posterior(X, alpha, xi0, m0, eta0, B0):
    log_predictive = gaussian_predictive(xi0, m0, eta0, B0)
    return posterior(
        {
            tuple(z): -sequential_free_energy(X, z, "dirichlet-process", alpha, log_predictive)
            for z in partitions(len(X))
        }
    )


def frequencies(samples):
    """How often each partition was drawn, labels in the order of first appearance."""
    found = {}
    for labels in samples:
        names = {}
        key = tuple(names.setdefault(label, len(names)) for label in labels.tolist())
        found[key] = found.get(key, 0) + 1 / len(samples)
    return found


def total_variation(p, q):
    return sum(abs(p.get(key, 0.0) - q.get(key, 0.0)) for key in {*p, *q}) / 2
