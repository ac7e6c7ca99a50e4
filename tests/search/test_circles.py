"""Columns that are a point on a circle: recognised, filled to a disc, and clusters only where angles have gaps."""

import numpy as np
import pytest

from kfree import lambda_path
from kfree.search.path.lattice import circles_in, spread_over_disc


def on_circle(hours, radius=1.0, centre=(0.0, 0.0)):
    angle = np.asarray(hours) * 2 * np.pi / 24
    return np.array(centre) + radius * np.column_stack([np.sin(angle), np.cos(angle)])


@pytest.mark.parametrize("whole", [True, False])
def test_circles_among_other_columns(whole, rng):
    hours = rng.integers(24, size=200) if whole else rng.uniform(0, 24, size=200)
    X = np.hstack([rng.normal(size=(200, 2)), on_circle(hours, 3.0, (5.0, -2.0)), rng.integers(2, size=(200, 2))])
    found = circles_in(X)
    assert list(found) == [2]
    np.testing.assert_allclose(found[2][0], [5, -2], atol=1e-9)
    assert found[2][1] == pytest.approx(3.0)


@pytest.mark.parametrize("rows", [np.zeros((9, 2)), np.eye(3), np.arange(20.0).reshape(-1, 2), np.ones((9, 1))])
def test_no_circle_through_few_points_or_a_line(rows):
    assert circles_in(rows) == {}


def test_equally_frequent_hours_fill_a_disc_and_keep_their_sectors(rng):
    X = on_circle(np.repeat(np.arange(24), 200))
    filled = spread_over_disc(X, np.zeros(2), 1.0, np.random.RandomState(0))
    distance = np.linalg.norm(filled, axis=1)
    assert distance.max() <= 1.5
    np.testing.assert_allclose(np.mean(distance < 0.75), 0.25, atol=0.03)  # a quarter of the area
    turned = np.arccos(np.clip((filled * X).sum(axis=1) / distance, -1, 1))
    assert turned.max() <= np.pi / 24 + 1e-6
    np.testing.assert_allclose(filled.reshape(24, 200, 2).mean(axis=1), X[::200], atol=0.15)


def test_hours_are_one_cluster_unless_they_have_gaps():
    rng = np.random.default_rng(0)
    beside = 0.3 * rng.normal(size=(500, 1))
    assert lambda_path(np.hstack([on_circle(rng.integers(24, size=500)), beside])).suggest().k == 1
    rush = np.round(np.where(rng.random(500) < 0.5, 8, 18) + rng.normal(size=500))
    assert lambda_path(np.hstack([on_circle(rush), beside])).suggest().k == 2
