"""The compiled chains of the samplers against their reference implementation: the same bits."""

import numpy as np
import pytest
from common import blobs

from kfree.native import _core
from kfree.native.reference import samplers as reference


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
        for name in ("labels", "counts", "sums", "means"):
            np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name))
        assert compiled.sq_error == plain.sq_error
    assert len(compiled.counts) > (20 if sigma < 1 else 2)


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_compiled_collapsed_chains_have_the_bits_of_the_reference(rng, scale):
    """With a prior that is nothing beside the rows, downdates lose their digits and clusters are built anew."""
    X, label = blobs(rng, n=60, d=5)[0], np.arange(60, dtype=np.int32) % 4
    prior = 0.1, 5.0, scale * np.eye(5), np.linspace(-3.0, -1.0, 61)
    chains = [made(X, label, 3, *prior) for made in (_core.CollapsedChain, reference.CollapsedChain)]
    for _ in range(6):
        for chain in chains:
            chain.sweep(1.0)
        np.testing.assert_array_equal(*(chain.labels for chain in chains))
        np.testing.assert_array_equal(*(chain.counts for chain in chains))


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
