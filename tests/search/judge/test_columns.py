"""Columns that clusters are in: neighbours are more alike there than neighbours of surrogates."""

import numpy as np

from kfree.search.judge.choose import Judge
from kfree.search.judge.columns import columns_of_clusters


def table(rng, n=300, k=4):
    """Columns of Gaussian noise, but for two in which k groups are on a circle."""
    angle = 2 * np.pi * rng.integers(k, size=n) / k
    X = rng.normal(size=(n, 12))
    X[:, [3, 7]] = 6 * np.column_stack([np.sin(angle), np.cos(angle)]) + rng.normal(size=(n, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0), angle


def found(rows, **options):
    return columns_of_clusters(Judge(rows, False, np.random.default_rng(0), **options), rows).tolist()


def test_columns_of_noise_are_left_out(rng):
    assert found(table(rng)[0]) == [3, 7]


def test_the_columns_of_a_category_stay_together(rng):
    rows, angle = table(rng)
    level = np.where(rng.uniform(size=len(rows)) < 0.9, np.round(angle * 2 / np.pi), 3).astype(int)
    rows = np.hstack([rows[:, :5], np.eye(4)[level], rows[:, 5:]])
    assert found(rows, whiten=False) == [3, 5, 6, 7, 8, 11]
