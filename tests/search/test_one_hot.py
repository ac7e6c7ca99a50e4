"""One-hot columns of a category: which columns are one, and the noise that fills the space between its values."""

import numpy as np
import pytest

from kfree import lambda_path
from kfree.core.one_hot import one_hot_groups, spread_over_cells


def one_hot(values, n_values):
    return np.eye(n_values)[values]


def test_groups_are_adjacent_columns_with_one_high_value_per_row(rng):
    three, two = one_hot(rng.integers(3, size=90), 3), 5.0 + 2.0 * one_hot(rng.integers(2, size=90), 2)
    other, yes_no = rng.normal(size=(90, 1)), rng.integers(2, size=(90, 1))
    found = one_hot_groups(np.hstack([other, three, two, yes_no, np.ones((90, 1)), other]))
    assert [group.tolist() for group in found] == [[1, 2, 3], [4, 5]]
    assert [group.tolist() for group in one_hot_groups(np.hstack([three, two]) / 3 - 0.1)] == [[0, 1, 2], [3, 4]]
    assert one_hot_groups(three) == []  # alone, its values are clusters
    assert one_hot_groups(np.hstack([three[:, :2], other])) == []  # some rows have none
    assert one_hot_groups(np.hstack([three * [1.0, 1.0, 2.0], other])) == []
    assert one_hot_groups(np.hstack([np.maximum(three, three[:, [1, 2, 0]]), other])) == []


@pytest.mark.parametrize("n_values", [2, 3, 6])
def test_rows_spread_over_the_neighbourhood_of_their_value(n_values, rng):
    value = np.arange(6000) % n_values
    columns = 4.0 + 2.0 * one_hot(value, n_values)
    spread = spread_over_cells(columns, np.random.RandomState(0))
    np.testing.assert_array_equal(spread.argmax(axis=1), value)  # nearest to its own vertex
    np.testing.assert_allclose(spread.sum(axis=1), columns.sum(axis=1))
    for v in range(n_values):
        np.testing.assert_allclose(spread[value == v].mean(axis=0), columns[value == v][0], atol=0.15)
    # All values together are uniform on a simplex: sums of squares of random shares have the mean 2 / (m + 1).
    shares = (spread - spread.min()) / (spread - spread.min()).sum(axis=1, keepdims=True)
    assert (shares**2).sum(axis=1).mean() == pytest.approx(2 / (n_values + 1), rel=0.02)


def test_noise_must_not_outweigh_the_category():
    assert spread_over_cells(one_hot(np.arange(400) % 40 // 39, 2), np.random.RandomState(0)) is None


def latent_classes(rng):
    """Three classes, each with a value of its own in eight categories, which four of five rows have."""
    y, sizes = np.arange(600) % 3, (3, 4, 5, 3, 4, 5, 3, 4)
    return np.hstack([one_hot(np.where(rng.uniform(size=600) < 0.8, y, rng.integers(m, size=600)), m) for m in sizes])


def independent(rng):
    return np.hstack([one_hot(rng.integers(m, size=600), m) for m in (3, 4, 5)])


def of_unequal_frequency(rng):
    return np.hstack([one_hot(rng.choice(3, p=[0.6, 0.3, 0.1], size=600), 3), one_hot(rng.integers(2, size=600), 2)])


@pytest.mark.parametrize(("draw", "k"), [(independent, 1), (of_unequal_frequency, 1), (latent_classes, 3)])
def test_categories_make_clusters_only_where_they_depend_on_each_other(draw, k):
    assert lambda_path(draw(np.random.default_rng(0))).suggest().k == k
