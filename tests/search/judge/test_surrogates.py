"""Surrogates keep margins and correlations, and have no clusters."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from kfree.search.judge.surrogates import (
    DirectionalFactors,
    DirectionalGaussian,
    GaussianCopula,
    independent_directions,
    square_root,
    unimodal_quantiles,
)


def skewed(rng, n=2000):
    base = rng.multivariate_normal([0, 0, 0], [[1, 0.7, -0.4], [0.7, 1, 0], [-0.4, 0, 1]], size=n)
    return np.column_stack([np.exp(base[:, 0]), base[:, 1], base[:, 2] ** 3])


def test_unimodal_columns_and_rank_correlations_are_kept():
    rows = skewed(np.random.default_rng(0))
    drawn = GaussianCopula.of(rows).draw(np.random.default_rng(1))
    for column, new in zip(rows.T, drawn.T, strict=True):
        assert ks_2samp(column, new).statistic < 0.06
    assert np.abs(spearmanr(rows)[0] - spearmanr(drawn)[0]).max() < 0.06


def test_a_bimodal_column_is_filled_in():
    rng = np.random.default_rng(0)
    rows = np.append(rng.normal(-5, 1, 500), rng.normal(5, 1, 500))[:, None]
    drawn = GaussianCopula.of(rows).draw(rng)[:, 0]
    assert (np.abs(rows) < 1.5).mean() < 0.01
    assert (np.abs(drawn) < 1.5).mean() > 0.05


def test_the_fitted_distribution_is_unimodal_and_a_unimodal_one_is_kept():
    rng = np.random.default_rng(0)
    for column in (rng.normal(size=500), rng.uniform(size=500), np.append(rng.normal(size=300), rng.normal(9, 1, 200))):
        fit = unimodal_quantiles(column)
        slope = np.diff(fit.F) / np.diff(fit.x)
        rises = np.flatnonzero(np.diff(slope) > 1e-9 * slope.max())
        falls = np.flatnonzero(np.diff(slope) < -1e-9 * slope.max())
        assert not len(rises) or not len(falls) or rises.max() < falls.min()
    grid = np.linspace(0, 1, 200)
    assert np.abs(unimodal_quantiles(grid)(grid) - grid).max() < 0.01


def test_yes_and_no_keep_their_shares():
    rng = np.random.default_rng(0)
    rows = (rng.uniform(size=(2000, 2)) < [0.2, 0.6]).astype(float)
    drawn = GaussianCopula.of(rows).draw(rng)
    assert [len(np.unique(column)) for column in drawn.T] == [2, 2]
    shares = [(column > column.mean()).mean() for column in drawn.T]
    assert shares == pytest.approx([0.2, 0.6], abs=0.04)


@pytest.mark.parametrize("n", [30, 400])
def test_unit_rows_keep_their_mean_and_covariance(n):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 50)) / np.sqrt(np.arange(1, 51)) + 0.5
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    centred = rows - rows.mean(axis=0)
    root = square_root(centred)
    assert np.allclose(root.T @ root, centred.T @ centred / n)
    drawn = np.concatenate([DirectionalGaussian.of(rows).draw(rng) for _ in range(4000 // n)])
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1.0)
    assert np.abs(drawn.mean(axis=0) - rows.mean(axis=0)).max() < 0.02
    leading = [np.linalg.eigvalsh(np.cov(some.T))[-1] for some in (rows, drawn)]
    assert leading[1] == pytest.approx(leading[0], rel=0.25)


def test_the_same_seed_draws_the_same_rows():
    source = GaussianCopula.of(skewed(np.random.default_rng(0), 200))
    assert np.array_equal(source.draw(np.random.default_rng(3)), source.draw(np.random.default_rng(3)))


def test_rows_at_a_bound_keep_their_share():
    rng = np.random.default_rng(0)
    column = np.minimum(rng.lognormal(size=1000) * (rng.uniform(size=1000) < 0.5), 3.0)
    drawn = unimodal_quantiles(column)(rng.uniform(size=20000))
    for bound in (0.0, 3.0):
        assert (drawn == bound).mean() == pytest.approx((column == bound).mean(), abs=0.02)


def test_independent_factors_are_found_up_to_order_and_sign():
    rng = np.random.default_rng(0)
    factors = rng.lognormal(size=(2000, 6))
    factors = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    mixed = factors @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    white = mixed @ np.linalg.inv(np.linalg.cholesky(np.cov(mixed.T))).T
    alike = np.abs(np.corrcoef((white @ independent_directions(white, rng).T).T, factors.T)[:6, 6:])
    assert alike.max(axis=0).min() > 0.95
    assert sorted(alike.argmax(axis=0)) == list(range(6))


def test_factors_keep_mean_covariance_and_skewness():
    rng = np.random.default_rng(0)
    rows = rng.lognormal(size=(3000, 4)) @ rng.normal(size=(4, 12)) + 0.1 * rng.normal(size=(3000, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    drawn = DirectionalFactors.of(rows, rng).draw(rng)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(np.ones(3000))
    assert np.abs(drawn.mean(axis=0) - rows.mean(axis=0)).max() < 0.05
    assert np.abs(np.cov(drawn.T) - np.cov(rows.T)).max() < 0.05


def test_fewer_rows_than_columns_have_factors():
    rows = np.random.default_rng(0).normal(size=(40, 90))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert DirectionalFactors.of(rows, np.random.default_rng(1)).draw(np.random.default_rng(2)).shape == (40, 90)
