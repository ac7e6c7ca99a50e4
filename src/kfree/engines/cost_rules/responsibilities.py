"""Responsibilities of clusters for rows, and sums over them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kfree.core.stats import Floats


def responsibilities(log_joint: Floats) -> tuple[Floats, Floats]:
    """p(c | x) and its logarithm, (n, k), from log p(x, c) up to a number per row."""
    log_r = log_joint - log_joint.max(axis=1, keepdims=True)
    log_r -= np.log(np.exp(log_r).sum(axis=1, keepdims=True))
    return np.exp(log_r), log_r


def sums_over(
    blocks: Iterable[tuple[Floats, Floats | float]], log_weight: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Σ w·r, Σ w·r·log r and Σ w·r·cost, (k,) each, and Σ w·r·rᵀ (k, k), from −log p(x | c) and weights of all rows.

    A block has shapes (rows, k) and (rows, 1); a weight of 1 is that of all rows.
    """
    k = len(log_weight)
    total, entropy, surprise, shared = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros((k, k))
    for costs, weight in blocks:
        r, log_r = responsibilities(log_weight - costs)
        counted = weight * r
        total += counted.sum(axis=0)
        entropy += (counted * log_r).sum(axis=0)
        surprise += (counted * costs).sum(axis=0)
        shared += counted.T @ r
    return total, entropy, surprise, shared
