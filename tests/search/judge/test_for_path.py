"""The judge's word on the steps of a lam path."""

import numpy as np

from kfree.search.judge.for_path import JudgedSteps, judged_steps


def test_the_suggested_number_stays_if_it_is_about_as_good():
    steps = JudgedSteps({2: 0.1, 10: 0.5, 20: 0.52})
    assert (steps.best(), steps.choose(10), steps.choose(9), steps.choose(3), steps.choose(1)) == (20, 10, 9, 20, 20)
    assert (JudgedSteps({}).best(), JudgedSteps({}).choose(4)) == (1, 4)


def test_many_topics_are_counted_and_none_are_not():
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=500)
    rows = rng.normal(size=(30, 50))[y] + 0.7 * rng.normal(size=(500, 50))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert 26 <= judged_steps(rows, True, rng).best() <= 34
    alone = rng.normal(size=(300, 50))
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    assert judged_steps(alone, True, rng).best() == 1
    assert judged_steps(alone[:10], True, rng).score == {}
