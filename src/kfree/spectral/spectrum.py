"""All eigenpairs above a price, and the price that the spectrum itself suggests: its widest step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.spectral.counts import Certificate
from kfree.spectral.matrices import Matrix
from kfree.stats import Floats

# Eigenvalues looked at to begin with.
_FIRST_LOOK = 20
# Times that eigenvalues which a solver missed are looked for again.
_TRIALS = 4
# Nothing below this share of the largest eigenvalue is told from zero.
_NOISE = 1e-9
# A step of a normalised affinity that counts. Without clusters, the distances from one grow like (k − 1)² at most,
# as along a line: the score of that is 1.67.
ENOUGH = 1.85


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
    """The same for the price in the middle of the widest step that the spectrum has."""
    m = min(_FIRST_LOOK, matrix.n_rows)
    while True:
        values, _ = matrix.leading(m)
        k, lam = widest_step(values, normalised)
        if len(values) < m or m == matrix.n_rows or (k <= 2 * m // 3 and not _all_one(values, normalised)):
            break
        m = min(2 * m, matrix.n_rows)
    found = above(matrix, lam, m)
    # A solver that missed some had shown another spectrum.
    return found if len(found.values) == k or not len(found.values) else _once_more(matrix, found, normalised)


def _once_more(matrix: Matrix, found: Spectrum, normalised: bool) -> Spectrum:
    values, _ = matrix.leading(min(2 * len(found.values) + _FIRST_LOOK, matrix.n_rows), seed=_TRIALS)
    return above(matrix, widest_step(values, normalised)[1])


def _all_one(values: Floats, normalised: bool) -> bool:
    return normalised and bool(1.0 - values[-1] < _NOISE)


def widest_step(values: Floats, normalised: bool) -> tuple[int, float]:
    """How many of the falling ``values`` lie above the widest step, and the price in the middle of that.

    A normalised affinity has an eigenvalue near one for each cluster. What counts is by how many times the distance
    from one grows, against √log(k/(k − 1)), as for the steps of the lam path; where no step is wide enough, it is one
    cluster. Of any other matrix, it is by how many times the eigenvalues themselves fall.
    """
    if len(values) < 2:
        return 1, float(values[0]) / 2
    if not normalised:
        size = np.maximum(values, _NOISE * values[0])
        fall = np.where(values[1:] > _NOISE * values[0], np.log(size[:-1] / size[1:]), 0.0)
        k = int(np.argmax(fall)) + 1
        return k, float(np.sqrt(size[k - 1] * size[k]))
    off = np.maximum(1.0 - values, _NOISE)
    k_all = np.arange(2, len(values))
    score = np.log(off[2:] / off[1:-1]) / np.sqrt(np.log(k_all / (k_all - 1)))
    if not len(score) or score.max() < ENOUGH:
        return 1, float(1.0 - off[1] / 2)
    k = int(k_all[np.argmax(score)])
    return k, float(1.0 - np.sqrt(off[k - 1] * off[k]))
