"""All eigenpairs above a penalty, and an automatic penalty in the widest step of the spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats
from kfree.spectral.counts import Certificate
from kfree.spectral.matrices import Blocks, Matrix

# Number of eigenvalues computed at first.
_FIRST_LOOK = 20
# Maximum number of further searches for eigenvalues that a solver missed.
_TRIALS = 4
# Values below this share of the largest eigenvalue count as zero.
_NOISE = 1e-9
# Without clusters, the distances of eigenvalues from one grow like (k − 1)² at most, as along a line. The widest of
# these steps is 1.67 wide, and 2.1 around a ring.
ENOUGH = 2.0
# The same over the cube root, for parts that have no link to each other.
BEYOND_DOUBT = 2.5


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues above lam, falling, their vectors (n, m), and why these are all."""

    lam: float
    values: Floats
    vectors: Floats
    certificate: Certificate


def above(matrix: Matrix, lam: float, at_least: int = _FIRST_LOOK) -> Spectrum:
    """All eigenpairs with eigenvalue > lam."""
    m = min(at_least, matrix.n_rows)
    for trial in range(_TRIALS):
        values, vectors = matrix.leading(m, seed=trial)
        while values[-1] > lam and m < matrix.n_rows and len(values) == m:
            m = min(2 * m, matrix.n_rows)
            values, vectors = matrix.leading(m, seed=trial)
        kept = values > lam
        certificate = matrix.count(lam, values[kept], vectors[:, kept])
        if certificate.n_above == np.count_nonzero(kept):
            break
        m = min(max(m, certificate.n_above) + 1, matrix.n_rows)
    return Spectrum(lam, values[kept], vectors[:, kept], certificate)


def at_widest_step(matrix: Matrix, normalised: bool) -> Spectrum:
    """The eigenvalues above the penalty in the middle of the widest step that the spectrum has."""
    k = steps_above(matrix) if normalised else widest_fall(matrix.leading(min(_FIRST_LOOK, matrix.n_rows))[0])
    return of_number(matrix, k, normalised)


def of_number(matrix: Matrix, k: int, normalised: bool) -> Spectrum:
    """The k largest eigenvalues, for a penalty between the k-th and the next."""
    values = matrix.leading(min(k + 1, matrix.n_rows))[0]
    return above(matrix, _middle(values, k, normalised), k + 1)


def steps_above(matrix: Matrix, beyond_doubt: bool = False) -> int:
    """The number of eigenvalues of a normalised affinity above its widest step, part by part where it has parts."""
    if isinstance(matrix, Blocks):
        return sum(steps_above(part, beyond_doubt=True) for part in matrix.parts)
    m = min(_FIRST_LOOK, matrix.n_rows)
    while True:
        k = widest_step(matrix.leading(m)[0], beyond_doubt)
        if k <= 2 * m // 3 or m == matrix.n_rows:
            return k
        m = min(2 * m, matrix.n_rows)


def widest_step(values: Floats, beyond_doubt: bool = False) -> int:
    """How many of the falling eigenvalues of a normalised affinity lie above the widest step; one if none is wide.

    There is one near one for each cluster, so that what counts is by how many times the distance from one grows. Steps
    get narrower as k grows even without clusters, like log(k/(k − 1)) at most. Over the square root of that, a step
    must be wide ``ENOUGH``; then the widest over the cube root is taken. A step that splits a connected component while
    others are separate must be ``BEYOND_DOUBT``.
    """
    if len(values) < 3:
        return 1
    off, k = _off_one(values), np.arange(2, len(values))
    width, usual = np.log(off[2:] / off[1:-1]), np.log(k / (k - 1))
    score = width / np.cbrt(usual)
    if (width / np.sqrt(usual)).max() < ENOUGH or (beyond_doubt and score.max() < BEYOND_DOUBT):
        return 1
    return int(k[np.argmax(score)])


def widest_fall(values: Floats) -> int:
    """How many of the falling eigenvalues of any other matrix lie above the place where they fall most."""
    size = values[values > _NOISE * values[0]]
    return int(np.argmax(np.log(size[:-1] / size[1:]))) + 1 if len(size) > 1 else 1


def _off_one(values: Floats) -> Floats:
    """Distances of eigenvalues from one. Those below zero count as zero: no cluster has such a one."""
    off: Floats = np.clip(1.0 - values, _NOISE, 1.0)
    return off


def _middle(values: Floats, k: int, normalised: bool) -> float:
    """A penalty well between the k-th value and the next, which may be missing."""
    if normalised:
        off = _off_one(values)
        low = float(off[k]) if len(off) > k else 1.0
        return 1.0 - (low / 2 if k == 1 else math.sqrt(off[k - 1] * low))
    high, low = float(values[k - 1]), float(values[k]) if len(values) > k else 0.0
    if low <= 0:
        return high / 2
    exponent = math.frexp(high)[1]  # the product of the two may overflow or underflow
    return math.ldexp(math.sqrt(math.ldexp(high, -exponent) * math.ldexp(low, -exponent)), exponent)
