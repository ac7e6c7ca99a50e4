"""The compiled chains of the samplers against their reference implementation: the same bits."""

import numpy as np
import pytest
from common import blobs
from oracles import samplers as oracle

from kfree.baselines.collapsed_gibbs import log_predictive_at_centre
from kfree.native import _core
from kfree.native.reference import samplers as reference
from kfree.objectives.gaussian import GaussianModel


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sigma", [0.02, 1.0])
def test_compiled_spherical_chains_have_the_bits_of_the_reference(rng, seed, sigma):
    """A small σ opens dozens of clusters, so that slots are emptied, reused and added."""
    X, label = blobs(rng, n=70, d=4)[0], np.arange(70, dtype=np.int32) % 3
    chains = [made(X, label, seed, sigma, 9.0) for made in (_core.SphericalChain, reference.SphericalChain)]
    for _ in range(8):
        for chain in chains:
            chain.sweep(0.5, sigma, 9.0)
        compiled, plain = chains
        for name in ("labels", "counts", "sums"):
            np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name))
        assert compiled.sq_error == plain.sq_error
    assert len(compiled.counts) > (20 if sigma < 1 else 2)


@pytest.mark.parametrize("n_features", [3, 13])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-18])
def test_compiled_collapsed_chains_have_the_bits_of_the_reference(rng, scale, n_features):
    """With a prior that is nothing beside the rows, downdates lose their digits and clusters are built anew.

    Of 13 columns, clusters of up to three rows are kept without a factor unless the prior is small; of 3 columns none.
    """
    X, label = blobs(rng, n=60, d=n_features)[0], np.arange(60, dtype=np.int32) % 4
    B0 = scale * (np.eye(n_features) + 0.3)
    prior = 0.1, float(n_features), B0, np.linspace(-3.0, -1.0, 61)
    chains = [made(X, label, 3, *prior) for made in (_core.CollapsedChain, reference.CollapsedChain)]
    for _ in range(6):
        for chain in chains:
            chain.sweep(1.0)
        np.testing.assert_array_equal(*(chain.labels for chain in chains))
        np.testing.assert_array_equal(*(chain.counts for chain in chains))


def test_clusters_of_few_rows_are_drawn_as_often_as_the_exact_posterior_says(rng):
    """Of eight columns, one or two rows are kept without a factor, three or more with one."""
    X = rng.normal(size=(6, 8)) + np.array([0, 0, 0, 0.7, 0.7, 1.4])[:, None]
    model = GaussianModel.conjugate(0.3, np.zeros(8), 9.0, np.eye(8) + 0.3)
    exact = oracle.gaussian_posterior(X, 1.5, model.xi0, model.m0, model.eta0, model.B0)
    prior = model.xi0, model.eta0, model.B0, log_predictive_at_centre(model, 6)
    chain = _core.CollapsedChain(X, np.zeros(6, dtype=np.int32), 0, *prior)
    near, far = ([swept(chain, log_alpha) for _ in range(10_000)] for log_alpha in np.log([1.5, 3.0]))
    assert oracle.total_variation(oracle.frequencies(near), exact) < 0.06
    assert oracle.total_variation(oracle.frequencies(far), exact) > 0.12


def swept(chain, log_alpha):
    chain.sweep(log_alpha)
    return chain.labels


def made(label=(0, 1, 0), B0=(2, 2), n_at_centre=4):
    """A chain of three rows with arrays that may not fit."""
    label = np.array(label, dtype=np.int32)
    return _core.CollapsedChain(np.ones((3, 2)), label, 0, 0.1, 2.0, np.ones(B0), np.zeros(n_at_centre))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"label": (0, 1)}, "label must have shape"),
        ({"label": (0, -1, 0)}, "label must lie within"),
        ({"label": (0, 3, 0)}, "label must lie within"),
        ({"label": (0, 2, 0)}, "label must have no gaps"),
        ({"B0": (2, 3)}, "B0 must have shape"),
        ({"n_at_centre": 3}, "at_centre must have shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong, named):
    made()
    with pytest.raises(ValueError, match=named):
        made(**wrong)
