"""The parts of the judge against slow and obvious versions."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from kfree.core.equal_rows import distinct
from kfree.search.judge.k_means import KMeansByMerging, lloyd, means
from kfree.search.judge.links import neighbours
from kfree.search.judge.rows import Whitening, dithered, has_few_points
from kfree.search.judge.silhouette import HeldOut, silhouette
from kfree.search.judge.spectrum import leading_vectors, spectral_clusterings


def test_cuts_of_the_tree_are_those_of_scipy():
    rows = np.random.default_rng(0).normal(size=(90, 4))
    tree = linkage(rows, "ward")
    merges = KMeansByMerging(rows, unit=False).tree
    for k, labels in zip((2, 3, 7, 20), merges.cuts([2, 3, 7, 20]), strict=True):
        assert adjusted_rand_score(fcluster(tree, k, "maxclust"), labels) == 1.0
        assert np.array_equal(labels, merges.labels(k))


def test_lloyd_never_raises_the_cost_and_drops_empty_clusters():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    costs = []
    for n_passes in (1, 2, 5, 20):
        found = lloyd(rows, rows[:6], False, n_passes)
        costs.append(((rows - found.centres[found.labels]) ** 2).sum())
    assert costs == sorted(costs, reverse=True)
    far = np.vstack([rows[:2], np.full((1, 3), 99.0)])
    assert len(lloyd(rows, far, False).centres) == 2


def test_the_silhouette_is_the_mean_margin():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    dist = np.sort(np.linalg.norm(rows[:, None] - centres, axis=2), axis=1)
    assert silhouette(rows, centres) == pytest.approx(np.mean((dist[:, 1] - dist[:, 0]) / dist[:, 1]))
    assert silhouette(rows, centres[:1]) == 0.0


@pytest.mark.parametrize("parts", [1, 4])
def test_leading_vectors_are_eigenvectors_also_of_a_graph_in_parts(parts):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) + 100 * np.arange(200)[:, None] % parts * [[1.0, 0.0]]
    near = neighbours(rows, 6, rng)
    links = np.zeros((200, 200))
    np.add.at(links, (np.repeat(np.arange(200), 6), near.ravel()), 1.0)
    links += links.T
    root = 1 / np.sqrt(links.sum(axis=1))
    exact = np.linalg.eigvalsh(root[:, None] * links * root)[::-1][:8]
    found = leading_vectors(near, 8, rng)
    ritz = np.diag(found.T @ (root[:, None] * links * root) @ found)
    assert ritz == pytest.approx(exact, abs=2e-3)


def test_clusters_of_a_graph_follow_rings():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 400), np.repeat([0, 1], 200)
    rows = np.column_stack([np.sin(angle), np.cos(angle)]) * np.array([1.0, 4.0])[y][:, None]
    vectors = leading_vectors(neighbours(rows, 8, rng), 2, rng)
    assert adjusted_rand_score(y, next(spectral_clusterings(vectors, [2])).labels) == 1.0


def test_held_out_silhouettes_peak_at_the_true_number():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=400)
    rows = 9 * np.eye(5, 6)[y] + rng.normal(size=(400, 6))
    numbers = [2, 3, 4, 5, 6, 8, 12]
    assert numbers[int(HeldOut(rows, False, rng).silhouettes(numbers).argmax())] == 5


def test_whitened_rows_have_about_unit_variance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    white = Whitening.of(rows)(rows)
    assert np.allclose(np.cov(white.T), np.eye(4), atol=0.3)
    wide = rng.normal(size=(20, 60))
    assert Whitening.of(wide)(wide).shape == (20, 19)


def test_lattices_are_dithered_within_half_a_step_and_others_left():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(8, size=400), rng.normal(size=400)])
    shaken = dithered(rows, rng)
    assert np.array_equal(np.round(shaken[:, 0]), rows[:, 0])
    assert len(np.unique(shaken[:, 0])) > 390
    assert np.array_equal(shaken[:, 1], rows[:, 1])


def test_coarse_columns_are_dithered_where_rows_that_agree_in_them_are_islands():
    rng = np.random.default_rng(0)
    measured, answers = rng.normal(size=(400, 1)), rng.integers(2, size=(400, 6)).astype(float)
    children = rng.poisson(0.8, size=(400, 1)).astype(float)
    for coarse in (answers[:, :1], answers[:, :3], children, np.hstack([answers[:, :1], children])):
        shaken = dithered(np.hstack([coarse, measured]), rng)[:, :-1]
        assert np.array_equal(np.round(shaken), coarse)
        assert len(np.unique(shaken)) > 390
    rare = (np.arange(400) < 20).astype(float)[:, None]  # noise would vary more
    for rows in (np.hstack([answers, measured]), answers[:, :2], np.hstack([rare, measured])):
        assert np.array_equal(dithered(rows, rng), rows)


def test_logarithms_of_whole_numbers_fill_the_gaps_between_them():
    rng = np.random.default_rng(0)
    values = np.log(1 + np.arange(7.0))
    column = values[rng.integers(7, size=700)]
    shaken = dithered(np.column_stack([column, rng.normal(size=700)]), rng)[:, 0]
    middle = (values[1:] + values[:-1]) / 2
    assert np.array_equal(np.searchsorted(middle, shaken), np.searchsorted(middle, column))
    assert np.diff(np.sort(shaken)).max() < 0.1  # the largest gap between values is 0.69
    assert np.diff(values).max() > 0.6


def test_few_values_between_those_of_a_lattice_do_not_narrow_its_cells():
    rng = np.random.default_rng(0)
    answers = rng.integers(1, 8, size=500).astype(float)
    answers[:40] = rng.uniform(1, 7, size=40)  # imputed
    shaken = dithered(np.column_stack([answers, rng.normal(size=500)]), rng)[:, 0]
    assert np.diff(np.sort(shaken)).max() < 0.2  # the lattice has gaps of 1
    assert np.abs(shaken - answers).max() <= 0.5


def test_a_gap_between_groups_of_whole_numbers_is_kept():
    rng = np.random.default_rng(0)
    column = rng.integers(5, size=400) + 10.0 * rng.integers(2, size=400)
    shaken = dithered(np.column_stack([column, rng.normal(size=400)]), rng)[:, 0]
    assert not ((shaken > 5) & (shaken < 9)).any()


def test_frequent_zeros_among_numbers_are_no_lattice():
    rng = np.random.default_rng(0)
    amount = np.where(rng.uniform(size=300) < 0.6, 0.0, rng.exponential(size=300))
    amount[:15] = np.repeat([1.0, 1.5, 2.0], 5)
    assert np.array_equal(dithered(amount[:, None], rng)[:, 0], amount)


def test_copies_are_left_out_but_not_equal_answers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3))
    assert distinct(np.repeat(rows, 3, axis=0)).sum() == 50
    assert distinct(np.repeat(rows, 5, axis=0)).sum() == 50
    answers = rng.integers(5, size=(200, 2)).astype(float)
    assert distinct(answers).all()
    assert not has_few_points(answers)  # they are dithered
    assert has_few_points(np.eye(3)[rng.integers(3, size=200)])
    assert not has_few_points(rows)


def test_copies_of_rounded_rows_are_told_from_equal_answers(rng):
    """No column has as many values as there are distinct rows: some of 150 numbers with two digits are equal."""
    rows = np.round(rng.normal(size=(150, 2)), 2)
    repeated = rows[np.repeat(np.arange(150), rng.integers(1, 4, size=150))]
    assert len(np.unique(repeated[:, 0])) < distinct(repeated).sum() == 150
    binary = np.column_stack([rng.integers(100, size=400), rng.integers(2, size=400)])  # 200 points, by chance
    assert distinct(binary.astype(float)).all()


def test_means_are_means():
    rows, labels = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 2, 2])
    assert np.allclose(means(rows, labels), [rows[labels == c].mean(axis=0) for c in range(3)])
