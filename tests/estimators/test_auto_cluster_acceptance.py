"""The gate for any change of the judge: fixed small sets, and the least adjusted Rand index for each.

Floors lie .05 below what was reached when the rule was frozen; a set without clusters must be one cluster.
"""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score

from kfree import AutoCluster


def blobs(seed, n, d, k, gap, in_one_column=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    if in_one_column:
        return rng.normal(size=(n, 1)) + gap * y[:, None], y
    centres = gap / np.sqrt(2) * np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return rng.normal(size=(n, d)) + centres[y], y


def beside_noise(seed, n, k, n_noise):
    """Clusters six deviations apart in k columns, and skewed columns of noise."""
    X, y = blobs(seed, n, k, k, 6.0)
    return np.hstack([X, np.random.default_rng(seed).lognormal(size=(n, n_noise))]), y


def unequal(seed, n, k, gap):
    """One column; the first group has four times as many rows as each other."""
    rng = np.random.default_rng(seed)
    y = np.maximum(rng.integers(-3, k, size=n), 0)
    return rng.normal(size=(n, 1)) + gap * y[:, None], y


def some(n, X, y):
    """Rows that were cut into six ellipses before ellipses had to avoid as many links as clusters of any shape."""
    rng = np.random.default_rng(0)
    kept = [np.sort(rng.permutation(len(X))[:n]) for _ in range(2)][1]
    return X[kept], y[kept]


def alone(draw):
    X = draw(np.random.default_rng(5))
    return X, np.zeros(len(X))


def bent(rng, angle):
    return 8 * np.column_stack([np.sin(angle), np.cos(angle)]) + 0.7 * rng.normal(size=(len(angle), 2))


def strips(seed, ratio, n=1000):
    """Four parallel strips in two columns, six deviations apart; a cut across all of them cuts few links too."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), n // 4)
    return rng.normal(size=(n, 2)) * [ratio, 1.0] + 6.0 * y[:, None] * [0.0, 1.0], y


def ring(rng):
    return bent(rng, rng.uniform(0, 2 * np.pi, size=1000))


SETS = {
    "iris": (0.51, lambda: datasets.load_iris(return_X_y=True)),
    "wine": (0.81, lambda: datasets.load_wine(return_X_y=True)),
    "breast cancer": (0.60, lambda: datasets.load_breast_cancer(return_X_y=True)),
    "digits": (0.64, lambda: datasets.load_digits(return_X_y=True)),
    "moons": (0.95, lambda: datasets.make_moons(400, noise=0.05, random_state=0)),
    "280 of 400 moons": (0.95, lambda: some(280, *datasets.make_moons(400, noise=0.05, random_state=0))),
    "circles": (0.95, lambda: datasets.make_circles(400, factor=0.5, noise=0.05, random_state=0)),
    "varied": (0.89, lambda: datasets.make_blobs(500, cluster_std=[1.0, 2.5, 0.5], random_state=170)),
    "8 round": (0.93, lambda: blobs(0, 400, 10, 8, 7.0)),
    "3 close": (0.80, lambda: blobs(1, 400, 10, 3, 4.0)),
    "5 of 128 columns": (0.93, lambda: blobs(2, 400, 128, 5, 6.0)),
    "16 of 128 columns": (0.93, lambda: blobs(3, 600, 128, 16, 12.0)),
    "strips 6 : 1": (0.93, lambda: strips(8, 6.0)),
    "strips 10 : 1": (0.93, lambda: strips(9, 10.0)),
    "4 beside 12 columns of noise": (0.89, lambda: beside_noise(7, 300, 4, 12)),
    "Gaussian": (1.0, lambda: alone(lambda rng: rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6)))),
    "cube": (1.0, lambda: alone(lambda rng: rng.uniform(size=(400, 3)))),
    "log-normal": (1.0, lambda: alone(lambda rng: rng.lognormal(size=(400, 4)))),
    "Student's t": (1.0, lambda: alone(lambda rng: rng.standard_t(3, size=(400, 5)))),
    "Likert": (1.0, lambda: alone(lambda rng: np.clip(np.round(3 + rng.normal(size=(400, 6))), 1, 5))),
    "ring": (1.0, lambda: alone(ring)),
    "banana": (1.0, lambda: alone(lambda rng: bent(rng, rng.normal(size=1000) * 0.7))),
    "one-hot": (1.0, lambda: alone(lambda rng: np.hstack([np.eye(k)[rng.integers(k, size=400)] for k in (3, 4)]))),
    "unit Gaussian": (1.0, lambda: alone(lambda rng: _unit(rng, 300, 60))),
    "unit log-normal": (1.0, lambda: alone(lambda rng: _skewed(rng, 600, 64))),
    "8 in one column": (0.93, lambda: blobs(4, 800, 1, 8, 6.0, in_one_column=True)),
    "2 in one column": (0.93, lambda: blobs(5, 200, 1, 2, 5.0, in_one_column=True)),
    "3 unequal in one column": (0.93, lambda: unequal(6, 300, 3, 6.0)),
    "uniform column": (1.0, lambda: alone(lambda rng: rng.uniform(size=(200, 1)))),
    "log-normal column": (1.0, lambda: alone(lambda rng: rng.lognormal(size=(400, 1)))),
}


def _unit(rng, n, d):
    X = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _skewed(rng, n, d):
    X = rng.lognormal(size=(n, 20)) @ rng.normal(size=(20, d)) + 0.1 * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("name", SETS)
def test_the_judge_does_not_get_worse(name):
    floor, load = SETS[name]
    X, y = load()
    assert adjusted_rand_score(y, AutoCluster().fit_predict(X)) >= floor
