"""Engines of cost rules: labels stay with the rows during a search, in whichever order the engine keeps these."""

import numpy as np
import pytest
from engines.metering import Metered

from kfree.engines.cost_rules.counts import CountRows
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.native import _core
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.mixtures import MIXTURES
from kfree.objectives.priors import informed_by_data
from kfree.search.evidence.bayesian import bayesian_k_means

N_ROWS, K = 2400, 4


def gaussian(algorithm, rng):
    X = np.repeat(8 * np.eye(K)[:, :3], N_ROWS // K, axis=0) + rng.normal(size=(N_ROWS, 3))
    X -= X.mean(axis=0)
    X = X[rng.permutation(N_ROWS)]
    return GaussianRows(_core, X, algorithm, 1), informed_by_data(X, np.random.RandomState(0))[0]


def zeros_and_ones(rng):
    likely = 0.1 + 0.8 * np.repeat(np.repeat(np.eye(K), N_ROWS // K, axis=0), 4, axis=1)
    return CountRows((rng.random(likely.shape) < likely).astype(float), np.zeros(N_ROWS)), BernoulliModel(0.5, 4 * K)


OPENED = {
    "brute": lambda rng: gaussian("brute", rng),
    "kd-tree": lambda rng: gaussian("kd-tree", rng),
    "counts": zeros_and_ones,
}


@pytest.mark.parametrize("kind", OPENED)
def test_no_labels_cross_during_a_search(kind, rng):
    engine, model = OPENED[kind](rng)
    objective, metered = FreeEnergy(model, MIXTURES["dirichlet-process"](1.0)), Metered(engine, N_ROWS)
    state = bayesian_k_means(metered, objective, 100, None).state
    assert state.n_clusters == K
    assert {"assign", "renumbered", "members", "responsibility_sums"} <= set(metered.largest)
    plain = bayesian_k_means(engine, objective, 100, None).state
    np.testing.assert_array_equal(engine.labels(state.assignment), engine.labels(plain.assignment))


@pytest.mark.parametrize("kind", OPENED)
def test_labels_are_in_the_order_of_the_rows(kind, rng):
    engine, _ = OPENED[kind](rng)
    labels = rng.integers(K, size=N_ROWS).astype(np.int32)
    assignment = engine.assignment(labels, K)
    np.testing.assert_array_equal(engine.labels(assignment), labels)
    np.testing.assert_array_equal(engine.stats_of(assignment).n, np.bincount(labels, minlength=K))
    members = engine.members(assignment)
    side = members.alone(2).halved()
    divided = engine.labels(members.divided(assignment, 2, side))
    assert set(divided[labels == 2]) == {2, K}
    np.testing.assert_array_equal(divided[labels != 2], labels[labels != 2])
