"""Links between neighbours against counts by hand, and the score of a partition."""

import numpy as np
import pytest

from kfree.search.judge.links import cut_share, impurity, n_links, neighbours
from kfree.search.judge.scores import Measured, Null, Scores


@pytest.mark.parametrize("d", [1, 2, 7])
def test_neighbours_are_the_nearest_rows(d):
    rows = np.random.default_rng(d).normal(size=(60, d))
    near = neighbours(rows, 5, np.random.default_rng(0))
    dist = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(dist, np.inf)
    assert [set(found) for found in near.tolist()] == [set(np.argsort(row)[:5].tolist()) for row in dist]


def test_the_cut_share_counts_links_and_is_one_for_random_labels():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    near = neighbours(rows, 6, rng)
    cut = sum(labels[i] != labels[j] for i in range(200) for j in near[i]) / (200 * 6)
    pairs = sum(labels[i] != labels[j] for i in range(200) for j in range(200)) / 200**2
    assert impurity(labels) == pytest.approx(pairs)
    assert cut_share(near, labels) == pytest.approx(cut / pairs)
    assert 0.9 < cut_share(near, labels) < 1.1


def test_separated_clusters_cut_no_link():
    rows = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)), np.full((40, 2), 50.0)])
    labels = np.repeat([0, 1], 40)
    assert cut_share(neighbours(rows, 5, np.random.default_rng(0)), labels) == 0.0


@pytest.mark.parametrize(("n_rows", "expected"), [(24, 4), (60, 5), (1000, 10)])
def test_the_number_of_links_grows_with_the_rows_within_bounds(n_rows, expected):
    assert n_links(n_rows) == expected


def test_scores_are_zero_at_the_null_and_one_at_the_best():
    labels = np.repeat([0, 1], 50)
    null = Null(np.array([2, 4]), np.array([[0.4], [0.8]]), np.array([0.5, 0.25]), 1e-3)
    assert null.cut_at(3)[0] == pytest.approx(0.4 + 0.4 * np.log(1.5) / np.log(2))
    cases = {(0.4, 0.5): (0.0, 0.0, 0.0), (0.0, 1.0): (0.5, 1.0, 0.5), (0.2, 0.75): (0.25, 0.5, 0.125)}
    for (cut, clear), expected in cases.items():
        measured = Measured(np.array([2]), (labels,), np.array([[cut]]), np.array([clear]))
        scores = Scores.of(measured, null, fewest_rows=3)
        found = scores.links[0], scores.clarity[0], scores.score[0]
        assert found == pytest.approx(expected, abs=2e-3)


def test_partitions_with_tiny_clusters_have_no_links():
    labels = np.repeat([0, 1], [98, 2])
    measured = Measured(np.array([2]), (labels,), np.zeros((1, 1)), np.ones(1))
    null = Null(np.array([2]), np.ones((1, 1)), np.zeros(1), 1e-3)
    assert Scores.of(measured, null, fewest_rows=3).links[0] == 0.0
