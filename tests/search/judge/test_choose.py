"""The judge as a whole: clusters are found, rows without any are not, whatever the threads."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from kfree.search.judge.choose import ROUND, SHAPES, UNIT_GATE, Candidate, Judge, why_worse
from kfree.search.judge.numbers import is_about, left_out_around, numbers_of
from kfree.search.judge.stability import Refit, interval_of, jaccard, refits_on_halves


def judged(rows, unit=False, seed=0):
    return Judge(rows / 1.0, unit, np.random.default_rng(seed))


NULLS = {
    "Gaussian": lambda rng: rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5)),
    "uniform": lambda rng: rng.uniform(size=(300, 3)),
    "exponential": lambda rng: rng.exponential(size=(300, 4)),
    "Likert": lambda rng: np.clip(np.round(3 + rng.normal(size=(300, 6))), 1, 5),
    "counts": lambda rng: rng.poisson(2.0, size=(400, 3)).astype(float),
    "ring": lambda rng: (
        (lambda a: np.column_stack([np.sin(a), np.cos(a)]))(rng.uniform(0, 6.283, 400))
        + 0.09 * rng.normal(size=(400, 2))
    ),
}


@pytest.mark.parametrize("name", NULLS)
def test_rows_without_clusters_are_one(name):
    rows = NULLS[name](np.random.default_rng(0))
    verdict = judged((rows - rows.mean(axis=0)) / rows.std(axis=0)).judge()
    assert verdict.chosen is None, verdict.best_score
    assert "below" in verdict.candidates[0].why_not


def test_round_clusters_are_round_and_moons_are_not():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    verdict = judged(rng.normal(size=(300, 5)) + 7 * np.eye(4, 5)[y]).judge()
    assert (verdict.chosen.model, verdict.chosen.k) == (ROUND, 4)
    assert adjusted_rand_score(y, verdict.chosen.labels) > 0.98
    rows, moon = make_moons(300, noise=0.05, random_state=0)
    verdict = judged(rows).judge()
    assert (verdict.chosen.model, verdict.chosen.k) == (SHAPES, 2)
    assert adjusted_rand_score(moon, verdict.chosen.labels) == 1.0


@pytest.mark.parametrize(
    ("k", "avoided", "links", "sizes", "told"),
    [
        (1, 0.0, 0.0, [40], "finds one cluster"),
        (2, 0.0, 0.0, [38, 2], "has a cluster of fewer than 3 rows"),
        (2, 0.7, 0.35, [20, 20], "keeps fewer links between neighbours: 0.350, where {} 0.440"),
        (
            3,
            0.675,
            0.45,
            [14, 13, 13],
            "separates neighbours only 67.5 % less often than rows without clusters, where {} 88.0 %",
        ),
    ],
)
def test_a_worse_candidate_is_told_by_what_it_is_worse_at(k, avoided, links, sizes, told):
    best = Candidate(SHAPES, 2, 0.88, 0.44, 0.9, 0.4, np.repeat([0, 1], 20))
    labels = np.repeat(np.arange(k), sizes)
    assert why_worse(Candidate(ROUND, k, avoided, links, np.nan, np.nan, labels), best) == told.format(
        "2 clusters (any shape) have"
    )


def test_a_curve_of_few_rows_in_three_parts_is_no_null(rng):
    """Its silhouette of three parts is 1, as that of three far clusters is."""
    rows = rng.normal(size=(48, 2)) + 20.0 * np.eye(3, 2)[np.arange(48) % 3]
    found = Judge(rows / rows.std(axis=0), False, np.random.default_rng(2)).judge()
    assert found.chosen is not None
    assert found.chosen.k == 3


def test_many_topics_of_unit_rows_are_counted():
    rng = np.random.default_rng(0)
    topics, y = rng.normal(size=(40, 64)), rng.integers(40, size=600)
    rows = topics[y] + 0.8 * rng.normal(size=(600, 64))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chosen = judged(rows, unit=True).judge().chosen
    assert 35 <= chosen.k <= 46
    assert adjusted_rand_score(y, chosen.labels) > 0.9


def test_topics_that_score_little_among_many_factors_are_seen():
    """Rows of so many independent factors score less than rows of few."""
    rng = np.random.default_rng(0)
    topics, y = rng.normal(size=(20, 200)), rng.integers(20, size=800)
    rows = 2.4 * topics[y] / np.sqrt(200) + 2.0 * rng.normal(size=(800, 200)) / np.sqrt(np.arange(1, 201))
    found = judged(rows / np.linalg.norm(rows, axis=1, keepdims=True), unit=True).judge()
    assert found.gate < found.best_score < UNIT_GATE
    assert 16 <= found.chosen.k <= 25
    assert adjusted_rand_score(y, found.chosen.labels) > 0.4


def test_answers_of_yes_and_no_are_no_clusters_of_their_combinations():
    """Rows and surrogates fall into the same parts; where few links are cut, which cuts fewer is chance."""
    rng = np.random.default_rng([0, 2, 3])
    rows = np.column_stack([rng.negative_binomial(2, 0.5, 1000), *rng.integers(2, size=(7, 1000))]).astype(float)
    judge = judged(rows / rows.std(axis=0))
    assert judge.in_parts
    assert judge.judge().chosen is None


@pytest.mark.parametrize("n_binary", [0, 1, 3])
@pytest.mark.parametrize("n_counts", [0, 1])
def test_coarse_columns_do_not_split_clusters(n_binary, n_counts):
    """Combinations of answers and counts that have nothing to do with the clusters were up to 24 clusters."""
    rng = np.random.default_rng(0)
    y = np.arange(800) % 3
    coarse = [*rng.integers(2, size=(n_binary, 800)), *rng.poisson(0.8, size=(n_counts, 800))]
    rows = np.column_stack([rng.normal(size=(800, 3)) + 6 * np.eye(3)[y], *coarse])
    found = judged(rows / rows.std(axis=0)).judge()
    assert found.chosen.k == 3
    assert adjusted_rand_score(y, found.chosen.labels) > 0.9


def test_a_coarse_column_that_tells_clusters_apart_is_used():
    rng = np.random.default_rng(0)
    y = np.arange(800) % 2
    answers = [y, y ^ (rng.random(800) < 0.05)]
    rows = np.column_stack([rng.normal(size=(800, 2)) + 3 * y[:, None], *answers])
    found = judged(rows / rows.std(axis=0)).judge()
    assert found.chosen.k == 2
    assert adjusted_rand_score(y, found.chosen.labels) > 0.95


def test_the_same_seed_gives_the_same_judgement():
    rows = np.random.default_rng(0).normal(size=(200, 4))
    rows[:80] += 5
    first, second = (judged(rows, seed=3).judge() for _ in range(2))
    assert np.array_equal(first.chosen.labels, second.chosen.labels)
    assert [one.score for one in first.candidates] == [one.score for one in second.candidates]


def test_numbers_reach_an_eighth_of_the_rows():
    assert numbers_of(100, 50) == list(range(2, 13))
    assert numbers_of(1600, 400)[-1] <= 200 < 1.2 * numbers_of(1600, 400)[-1]
    assert numbers_of(10, 50) == [2]


def test_halves_are_judged_against_as_many_rows_of_surrogates():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    judge = judged(rng.normal(size=(400, 5)) + 9 * np.eye(3, 5)[y])
    halves = judge.of_fewer(200, 13)
    assert (halves.n_rows, halves.numbers) == (200, list(range(2, 14)))
    assert all(len(rows) == 200 for one in halves.surrogates for rows in one.rows)

    def cluster(rows):
        return Refit(rows, halves.on(judge.rows[rows]).best_graph()[0].labels)

    refits = refits_on_halves(np.arange(400), 2, rng, cluster)
    assert sorted(np.concatenate([one.rows for one in refits[:2]])) == list(range(400))
    assert interval_of(3, refits) == (3, 3)
    assert jaccard(judge.judge().chosen.labels, refits).min() > 0.97


def test_the_jaccard_index_is_that_of_the_most_similar_cluster():
    labels = np.array([0, 0, 0, 1, 1, 2])
    refit = Refit(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1, 1]))
    assert jaccard(labels, [refit]) == pytest.approx([2 / 3, 2 / 3, 0.0])
    assert interval_of(3, [refit]) == (2, 3)


def test_numbers_that_the_grid_leaves_out_are_tried_around_the_best():
    assert left_out_around([2, 3, 15, 18, 21], [3]) == [16, 17, 19, 20]
    assert left_out_around([2, 3, 5, 18, 21], [0, 1]) == [4]
    assert left_out_around([15, 18], [1]) == [16, 17]
    assert is_about(18, 21)
    assert not is_about(15, 18)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 40)) + 12 * np.eye(40)[rng.integers(16, size=500)]
    assert Judge(rows, False, rng).judge().chosen.k == 16
