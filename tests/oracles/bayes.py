"""Slow, obvious versions of the Bayesian formulas: probabilities of one row after the other."""

import math

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import multivariate_t


def urn(mixture, phi0, n_before, n_clusters):
    """log probability of falling to a cluster of ``n_before`` rows, up to the total of all weights."""
    if mixture == "finite":
        return math.log(n_before + phi0)
    return math.log(n_before) if n_before else math.log(phi0)


def sequential_free_energy(rows, labels, mixture, phi0, log_predictive):
    """−Σ log of the probability of each label and row, given those before it."""
    labels = np.asarray(labels)
    n_clusters = len(np.unique(labels))
    total = 0.0
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        before = rows[:i][labels[:i] == label]
        weights = phi0 * (n_clusters if mixture == "finite" else 1) + i
        total -= urn(mixture, phi0, len(before), n_clusters) - math.log(weights)
        total -= log_predictive(row, before)
    return total


def gaussian_predictive(xi0, m0, eta0, B0):
    """log p(x | rows): Student's t of the updated hyper-parameters."""

    def log_predictive(row, before):
        xi, eta, m, B = xi0, eta0, m0, B0
        for x in before:  # one at a time
            B = B + xi / (xi + 1) * np.outer(x - m, x - m)
            m = (xi * m + x) / (xi + 1)
            xi, eta = xi + 1, eta + 1
        freedom = eta - len(m0) + 1
        return multivariate_t(m, B * (xi + 1) / (xi * freedom), df=freedom).logpdf(row)

    return log_predictive


def multinomial_predictive(psi0):
    def log_predictive(row, before):
        weight = psi0 + before.sum(axis=0)
        total, words = weight.sum(), row.sum()
        orders = gammaln(words + 1) - gammaln(row + 1).sum()
        return orders + gammaln(total) - gammaln(total + words) + (gammaln(weight + row) - gammaln(weight)).sum()

    return log_predictive


def bernoulli_predictive(omega0):
    def log_predictive(row, before):
        ones = omega0 + before.sum(axis=0)
        zeros = omega0 + len(before) - before.sum(axis=0)
        return (betaln(ones + row, zeros + 1 - row) - betaln(ones, zeros)).sum()

    return log_predictive


def partitions(n):
    """All partitions of n rows, as labels in the order of first appearance."""
    if n == 1:
        return [np.array([0])]
    return [np.append(labels, new) for labels in partitions(n - 1) for new in range(labels.max() + 2)]
