"""The staircase: steps by hand, and against the best k for each penalty straight from the costs."""

from dataclasses import replace

import numpy as np
import pytest

from kfree.search.path.density_dips import DensityDips, median_dips
from kfree.search.path.staircase import Staircase
from kfree.search.path.step_tests import StepTests


def test_a_step_as_wide_as_rounding_has_no_penalty():
    """Costs on a line: 3.1 − 2.3 is 0.8000000000000007, and 2.3 − 1.5 is 0.7999999999999999."""
    path = Staircase(np.array([3.1, 2.3, 1.5, 0.7, 0.1]), max_k=5, complete=False)
    assert path.lam_high[1] > path.lam_low[1]
    assert [path.at(k=k).has_penalty for k in path.k] == [True, False, False, True]


def test_steps_by_hand():
    path = Staircase(np.array([100.0, 20.0, 14.0, 12.0, 0.0]), max_k=4, complete=False)
    assert path.k.tolist() == [1, 2, 3, 4]
    assert path.cost.tolist() == [100, 20, 14, 12]
    # 12 is off the hull: from 14 to 0 in two steps of 7 each, and 7 > 6 takes 14 off the hull too.
    assert path.lam_high.tolist() == pytest.approx([np.inf, 80, 20 / 3, 20 / 3])
    assert path.lam_low.tolist() == pytest.approx([80, 20 / 3, 20 / 3, 20 / 3])
    assert path.lam.tolist() == pytest.approx([160, np.sqrt(80 * 20 / 3), 20 / 3, 20 / 3])
    assert [path.at(k=k).has_penalty for k in path.k] == [True, True, False, False]
    assert path.width.tolist() == pytest.approx([np.inf, np.log(12), 0, 0])
    assert path.score.tolist() == pytest.approx([0, np.log(12) / np.sqrt(np.log(2)), 0, 0])


def test_a_complete_staircase_ends_at_penalty_zero():
    path = Staircase.of_merges(np.array([9.0, 1.0, 0.0]))
    assert path.lam_low.tolist() == [8, 1, 0]
    assert path.lam.tolist() == [16, np.sqrt(8), 0.5]
    assert path.at(lam=1e-9).k == 3


def test_best_k_for_every_penalty_is_that_of_the_costs(rng):
    for _ in range(50):
        cost = np.sort(rng.exponential(size=12))[::-1].copy()
        cost[-1] = 0.0
        path = Staircase.of_merges(cost)
        for lam in rng.exponential(size=20) * cost[0]:
            assert path.at(lam=lam).k == np.argmin(cost + lam * np.arange(1, 13)) + 1
        assert (np.diff(path.lam_low) <= 0).all()
        assert (path.lam_low[:-1] == path.lam_high[1:]).all()


def test_the_suggestion_needs_evidence_and_counts_valleys():
    cost = np.array([1000.0, 500.0, 400.0, 390.0, 385.0, 382.0])
    wide = {2: DensityDips(1.0, 9.0), 3: DensityDips(1.0, 9.0)}
    assert Staircase(cost, 5, False, wide).suggest().k == 3
    assert Staircase(cost, 5, False, wide | {3: DensityDips(0.3, 9.0)}).suggest().k == 2
    assert Staircase(cost, 5, False, wide | {3: DensityDips(1.0, 2.2)}).suggest().k == 2
    assert Staircase(cost, 5, False, wide | {4: DensityDips(1.0, 9.0, 1.9)}).suggest().k == 3
    assert Staircase(cost, 5, False, wide | {4: DensityDips(1.0, 9.0, 2.1)}).suggest().k == 4
    assert Staircase(cost, 5, False, {2: DensityDips(1.0, -1.0)}).suggest().k == 1
    assert Staircase(cost, 5, False, {}).suggest().k == 1
    assert Staircase(cost, 5, False).suggest().k == 3  # nobody judged: the widest


def test_what_cannot_be_answered_is_said():
    path = Staircase(np.array([9.0, 5.0, 2.0, 1.0]), max_k=3, complete=False)
    whole = Staircase.of_merges(np.array([9.0, 1.0, 0.0]))
    with pytest.raises(TypeError, match="either k=.* or lam="):
        path.at()
    with pytest.raises(TypeError, match="either k=.* or lam="):
        path.at(k=2, lam=1.0)
    with pytest.raises(ValueError, match="k=4 is more than the 3 clusters at which this staircase ends.*max_k"):
        path.at(k=4)
    with pytest.raises(ValueError, match="k=4 is more than the 3 distinct rows"):
        whole.at(k=4)
    with pytest.raises(ValueError, match="k=0 is not allowed"):
        path.at(k=0)
    with pytest.raises(ValueError, match="lam=0.5 is below 1, where this staircase ends with 3 clusters"):
        path.at(lam=0.5)
    with pytest.raises(ValueError, match="lam=-1 is not allowed"):
        path.at(lam=-1)
    for bad in ("a", True, [1.0]):
        with pytest.raises(ValueError, match="is not allowed; give a number > 0"):
            path.at(lam=bad)


def test_equal_rows_are_one_cluster_at_any_price():
    path = Staircase.of_merges(np.array([0.0]))
    assert path.suggest() == path.at(k=1) == path.at(lam=3.0)
    assert path.suggest().lam == 1.0


def judged(**steps):
    """A staircase of which some steps were judged, k3=… for that of three clusters."""
    cost = np.array([1000.0, 500.0, 400.0, 390.0, 385.0, 382.0])
    return Staircase(cost, 5, False, {int(name[1:]): found for name, found in steps.items()})


def test_a_refuted_step_does_not_overrule_a_sure_coarser_one():
    sure, cut = DensityDips(1.0, 9.0, 2.5), DensityDips(0.9, 9.0, -2.1, 10, 1)
    assert judged(k2=sure, k3=cut).suggest().k == 2
    assert judged(k2=sure, k3=DensityDips(0.9, 9.0, -1.9, 10, 0)).suggest().k == 3
    assert judged(k2=DensityDips(1.0, 9.0, 1.9), k3=cut).suggest().k == 3
    assert judged(k2=sure, k3=DensityDips(0.9, 9.0, -np.inf, 10, 0)).suggest().k == 2  # a cluster of one row
    assert judged(k3=sure, k2=cut).suggest().k == 3


def test_dips_that_a_unimodal_density_may_have_are_no_evidence():
    assert judged(k3=DensityDips(1.0, 9.0, 5.0, unimodal_z=-0.1)).suggest().k == 1
    assert judged(k3=DensityDips(1.0, 9.0, 5.0, unimodal_z=0.1)).suggest().k == 3


def test_unimodality_is_asked_only_where_the_first_two_steps_depend_on_it(rng):
    """Asking step by step gives the suggestion and the runner-up of asking all steps."""
    n_asked = 0
    for _ in range(300):
        score, gates = np.append(0.0, rng.uniform(0.1, 3.5, size=11)), rng.choice([-1.0, 1.0], size=12)
        dips = {
            k: DensityDips(rng.uniform(0.5, 1), rng.uniform(1, 9), rng.uniform(-4, 4), 5, int(rng.integers(2)))
            for k in range(2, 13)
        }
        everything = {k: replace(one, unimodal_z=gates[k - 1]) for k, one in dips.items()}
        expected = StepTests.of(everything, 12).ranked(score)[:2]
        while steps := StepTests.of(dips, 12).open_steps(score):
            n_asked += len(steps)
            dips |= {j + 1: everything[j + 1] for j in steps}
        assert StepTests.of(dips, 12).ranked(score)[:2] == expected
    assert n_asked < 300 * 5


@pytest.mark.parametrize(
    ("found", "k"),
    [
        (DensityDips(0.5, 2.4, -1.0, unimodal_z=0.1), 3),
        (DensityDips(0.5, 2.2, -1.0, unimodal_z=0.1), 1),
        (DensityDips(0.5, 2.4, -1.0, unimodal_z=-0.1), 1),
    ],
)
def test_a_very_wide_step_needs_less_evidence(found, k):
    assert judged(k3=found).score[2] > 2.7
    assert judged(k3=found).suggest().k == k
    assert judged(k2=found).suggest().k == 1  # its score is 1.9


def test_evidence_that_is_needed_falls_steadily_with_the_score():
    score = np.array([0.0, 1.4, 2.1, 2.4, 3.0])

    def suggested(evidence):
        dips = {k: DensityDips(1.0, z, 1.0, unimodal_z=1.0) for k, z in enumerate(evidence, 2)}
        return StepTests.of(dips, 5).ranked(score)[0] + 1

    assert [suggested(np.eye(4)[j] * z) for j, z in enumerate([3.51, 2.92, 2.63, 2.34])] == [2, 3, 4, 5]
    assert suggested([3.49, 2.91, 2.62, 2.32]) == 1


def test_close_calls_are_steps_with_about_the_evidence_that_they_need():
    score = np.array([0.0, 1.0, 1.0, 3.0])

    def close(*evidence):
        return StepTests.of({k: DensityDips(1.0, z) for k, z in enumerate(evidence, 2)}, 4).close_calls(score)

    assert close(2.1, 1.9, 0.9) == [1, 3]
    assert close(4.9, 1.9, 0.8) == [1]
    assert close(5.1, 3.0, 2.0) == close(3.0, 3.0, 3.9) == []  # there are clusters
    assert close(1.9, 1.0, 0.8) == close() == []  # there are none


def test_medians_over_halvings():
    found = [DensityDips(0.5, 3.0, -np.inf, 4, 0), DensityDips(1.0, 2.0, -2.5, 5, 1), DensityDips(0.8, 4.0, 1.0, 5, 0)]
    assert median_dips(found) == DensityDips(0.8, 3.0, -2.5, 4, 0)
    assert median_dips(found[:1]) == found[0]


def test_a_step_carries_what_held_out_rows_said():
    path = judged(k3=DensityDips(1.0, 9.0, 2.5), k2=DensityDips(0.5, 1.0, -3.0))
    step = path.suggest()
    assert (step.evidence, step.share, step.weakest) == (9.0, 1.0, 2.5)
    assert (path.at(k=4).evidence, path.at(k=4).share, path.at(k=4).weakest) == (None, None, None)
    assert path.runner_up() == path.at(k=2)
    assert path.summary() == {
        "k": 3,
        "lam": step.lam,
        "score": step.score,
        "evidence": 9.0,
        "share": 1.0,
        "weakest": 2.5,
        "runner_up": 2,
        "n_outliers": 0,
        "is_sure": True,
        "is_doubtful": False,
        "judged_k": None,
        "judged_score": None,
    }


@pytest.mark.parametrize(
    ("share", "weakest", "sure", "doubtful"),
    [(1.0, 2.0, True, False), (1.0, 1.9, False, False), (0.89, 1.0, False, True), (0.95, -2.1, False, True)],
)
def test_sure_and_doubtful_steps(share, weakest, sure, doubtful):
    path = judged(k3=DensityDips(share, 9.0, weakest))
    assert (path.is_sure, path.is_doubtful) == (sure, doubtful)
    nothing = judged(k3=DensityDips(share, 1.0, weakest))  # one cluster, of which nobody can be in doubt
    assert (nothing.is_sure, nothing.is_doubtful) == (False, False)


def test_repr_lists_steps_by_plausibility():
    path = judged(k3=DensityDips(1.0, 9.0, 1.0), k2=DensityDips(0.5, 1.0, -3.0), k4=DensityDips(0.8, 4.0, -1.0))
    path.n_outliers = 2
    text = repr(path)
    assert "1 to 5 clusters" in text
    assert "suggested: k=3 for lam between 10 and 100, say 31.62" in text
    assert "density dips between 50% of neighbours, the weakest -3.0 sd; evidence 1.0 sd" in text
    assert text.index("less plausible: k=4") < text.index("less plausible: k=2")
    assert "rows left out as outliers: 2" in text
    assert "outliers" not in repr(judged())


def test_plot_of_equal_rows_says_nothing():
    figure = pytest.importorskip("matplotlib.figure")
    Staircase.of_merges(np.array([0.0])).plot(figure.Figure().add_subplot()).figure.canvas.draw()


def test_plot_marks_the_suggested_step():
    figure = pytest.importorskip("matplotlib.figure")
    path = Staircase(np.array([1000.0, 500.0, 400.0, 390.0]), 3, False, {3: DensityDips(1.0, 9.0)})
    ax = path.plot(figure.Figure().add_subplot())
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.texts] == ["k = 3"]
    marked = ax.lines[-1]
    assert marked.get_ydata().tolist() == [3, 3]
    assert sorted(marked.get_xdata()) == [10, 100]
