"""Glances in eight bits never change an answer: labels and distances of the pass against its NumPy twin."""

import numpy as np
import pytest
from common import INSTRUCTION_SETS

from kfree.native import _core
from kfree.native.reference import passes as reference


def two_passes(passes, X, sites, isa):
    """A first pass, and one after the sites have moved: labels, squared distances and statistics of both."""
    anchor, d = X[0].astype(float), X.shape[1]
    shift = (X - anchor).mean(axis=0)
    rows, bounds = passes.dense_rows(X, anchor, shift, False, None, isa), passes.Bounds(len(X), prefilter=True)
    found = []
    for centres in ((sites - anchor) - shift, (sites * 1.001 - anchor) - shift):
        k = len(centres)
        label, sq_dist = np.empty(len(X), np.int32), np.empty(len(X))
        stats = np.empty(k), np.empty((k, d)), np.empty(k)
        passes.nearest(rows, centres, np.arange(k), np.inf, 1, bounds, label, sq_dist, *stats, None)
        found += [label, sq_dist, *stats]
    return found


def labels_alone(passes, X, sites, isa, n_threads=1):
    anchor = X[0].astype(float)
    shift = (X - anchor).mean(axis=0)
    rows, label = passes.dense_rows(X, anchor, shift, False, None, isa), np.empty(len(X), np.int32)
    passes.nearest_labels(rows, (sites - anchor) - shift, np.arange(len(sites), dtype=np.int32), n_threads, label)
    return label


def blobs(rng, n, d, k):
    sites = rng.normal(size=(k, d))
    return sites[rng.integers(k, size=n)] + 0.2 * rng.normal(size=(n, d)), sites


def halfway(rng, n, d, k):
    """Rows about half-way between two sites, nearer to one by less than a step of eight bits."""
    sites = rng.normal(size=(k, d))
    return (sites[rng.integers(k, size=n)] + sites[rng.integers(k, size=n)]) / 2 + 1e-3 * rng.normal(size=(n, d)), sites


def ties(rng, n, d, k):
    """Rows exactly half-way between two sites, and one site that is there twenty times."""
    sites = rng.integers(-3, 4, size=(k, d)).astype(float)
    X = (sites[rng.integers(k, size=n)] + sites[rng.integers(k, size=n)]) / 2
    return X, np.vstack([sites, np.repeat(sites[:1], 20, axis=0)])


def heavy_tails(rng, n, d, k):
    """A few coordinates a thousand times as large as the rest."""
    X, sites = blobs(rng, n, d, k)
    X[rng.integers(n, size=n // 10), rng.integers(d, size=n // 10)] *= 1e3
    return X, sites


def far_off(rng, n, d, k):
    """A little cloud far from the origin, where float32 has few digits left."""
    X, sites = blobs(rng, n, d, k)
    return X + 1e4, sites + 1e4


def tight(rng, n, d, k):
    """Sites nearer to each other than a step of eight bits, and one far away."""
    X, sites = blobs(rng, n, d, k)
    X, sites = 1e-4 * X, 1e-4 * sites
    sites[-1] += 1.0
    return X, sites


def permuted(rng, n, d, k):
    """Rows at the origin and sites of which up to eight are as far: the order of additions decides which is nearest."""
    gap = rng.normal(size=d)
    sites = np.array([rng.permutation(gap) * rng.choice([-1, 1], size=d) for _ in range(k)])
    sites[8:] *= 3
    return np.zeros((n, d)), rng.permutation(sites)


@pytest.mark.parametrize("layout", [("f4", "C"), ("f4", "F"), ("f8", "C")], ids=str)
@pytest.mark.parametrize(
    "make", [blobs, halfway, ties, permuted, heavy_tails, far_off, tight], ids=lambda make: make.__name__
)
@pytest.mark.parametrize(("d", "k"), [(12, 3), (13, 8), (12, 500), (16, 70), (16, 300), (31, 9), (100, 60), (4200, 5)])
def test_the_prefilter_leaves_no_trace(make, d, k, layout, rng):
    dtype, order = layout
    X, sites = make(rng, 300 if d < 1000 else 60, d, k)
    X = np.asarray(X, dtype=dtype, order=order)
    expected = two_passes(reference, X, sites, "")
    for isa in INSTRUCTION_SETS:
        for a, b in zip(two_passes(_core, X, sites, isa), expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("make", [blobs, halfway, ties, permuted, heavy_tails, tight], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("d", "k"), [(3, 40), (12, 3), (16, 300), (31, 1), (100, 110)])
def test_labels_alone(make, d, k, dtype, rng):
    """More rows than are tried together, so that some are where the prefilter was given up."""
    X, sites = make(rng, 1300, d, k)
    X = np.asarray(X, dtype=dtype)
    expected = labels_alone(reference, X, sites, "")
    for isa in INSTRUCTION_SETS:
        for n_threads in (1, 3):
            np.testing.assert_array_equal(labels_alone(_core, X, sites, isa, n_threads), expected)
