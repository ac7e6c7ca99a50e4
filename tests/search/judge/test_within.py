"""Rows whitened within clusters: strips are round there, and rows of one ellipse are hardly changed."""

import numpy as np
import pytest

from kfree.search.judge.choose import WITHIN_GATE, WITHIN_GRAPH, Judge
from kfree.search.judge.links import neighbours
from kfree.search.judge.rows import has_steps
from kfree.search.judge.within import whitening_within


def strips(rng, d=2, k=4, n=600):
    """k parallel strips, eight times as long as wide and six widths apart, in a random direction of d columns."""
    y = rng.integers(k, size=n)
    rows = rng.normal(size=(n, d))
    rows[:, 0] *= 8
    rows[:, 1] += 6 * y
    return rows @ np.linalg.qr(rng.normal(size=(d, d)))[0], y


@pytest.mark.parametrize("d", [2, 5])
def test_strips_are_about_round(rng, d):
    rows, y = strips(rng, d)
    whitening, stretch = whitening_within(rows, 10, rng)
    view = whitening(rows)
    centres = np.stack([view[y == label].mean(axis=0) for label in range(4)])
    variance = np.linalg.eigvalsh(np.cov((view - centres[y]).T))
    assert variance.max() < 6 * variance.min()  # 64 times in the rows
    assert np.linalg.norm(np.diff(centres, axis=0), axis=1).min() > 3 * np.sqrt(variance.max())  # 0.8 in the rows
    assert stretch > 2


def test_links_are_about_as_long_in_every_direction(rng):
    rows, _ = strips(rng, 5)
    whitening, _ = whitening_within(rows, 10, rng)
    view = whitening(rows)
    along = (view[neighbours(view, 10, rng)] - view[:, None]).reshape(-1, 5)
    assert np.linalg.cond(along.T @ along) < 1.3


def test_one_ellipse_is_whitened(rng):
    rows = rng.normal(size=(800, 10)) * np.arange(1, 11)
    whitening, stretch = whitening_within(rows, 10, rng)
    assert 1 <= stretch < 2
    assert np.linalg.cond(np.cov(whitening(rows).T)) < 4


def test_no_direction_is_stretched_without_limit(rng):
    rows = np.column_stack([rng.normal(size=300), np.arange(300) % 2, np.zeros(300)])
    whitening, stretch = whitening_within(rows, 10, rng)
    assert stretch == pytest.approx(10.0)
    assert np.isfinite(whitening.axes).all()


def test_surrogates_are_whitened_by_their_own_neighbours(rng):
    rows, _ = strips(rng)
    judge = Judge(rows / rows.std(axis=0), False, rng)
    whitening, _ = whitening_within(judge.rows, judge.m, rng)
    within = judge.within(whitening, rng)
    assert within.gate == WITHIN_GATE
    for mine, theirs in zip(judge.surrogates, within.surrogates, strict=True):
        assert np.array_equal(mine.rows[0], theirs.rows[0])
        assert theirs.whitening is not within.views.whitening
    verdict = within.judge()
    assert verdict.chosen.k == 4
    assert WITHIN_GRAPH in verdict.curves
    half = within.of_fewer(300, 13).on(judge.rows[::2])
    assert half.views.whitening is not whitening


def test_zeros_and_ones_are_steps(rng):
    assert has_steps(np.column_stack([rng.normal(size=100), np.arange(100) % 2]))
    assert not has_steps(rng.normal(size=(100, 2)))
