"""The number of eigenvalues of a symmetric matrix above lam, counted without an eigensolver."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigvalsh_tridiagonal, ldl
from scipy.sparse.linalg import splu

from kfree.core.stats import Floats

# Steps of Lanczos that a bound may take, and the risk that is small enough.
_MOST_STEPS, _SMALL_RISK = 600, 1e-12


@dataclass(frozen=True)
class Certificate:
    """The number of eigenvalues above lam, and how it was determined.

    ``n_above`` is exact unless ``risk``, the probability that there are more, is positive. ``margin`` is how near to
    lam an eigenvalue would have to lie for rounding to count it on the wrong side.
    """

    method: str
    n_above: int
    risk: float = 0.0
    margin: float = 0.0


def by_dense_inertia(matrix: Floats, lam: float) -> Certificate:
    """Sylvester's law: lam·I − K = LDLᵀ has as many negative eigenvalues as D, made of 1 × 1 and 2 × 2 blocks."""
    shifted = -matrix
    shifted.flat[:: len(matrix) + 1] += lam
    blocks = ldl(shifted, overwrite_a=True, check_finite=False)[1]
    pivots = eigvalsh_blocks(blocks.diagonal(), blocks.diagonal(-1))
    margin = len(matrix) * float(np.finfo(float).eps * (np.abs(matrix).sum(axis=1).max() + abs(lam)))
    return Certificate("inertia (dense LDLᵀ)", int(np.count_nonzero(pivots < 0)), margin=margin)


def eigvalsh_blocks(diagonal: Floats, below: Floats) -> Floats:
    """Eigenvalues of a block diagonal matrix of 1 × 1 and 2 × 2 blocks; it is tridiagonal."""
    if not below.any():
        return diagonal
    return np.asarray(eigvalsh_tridiagonal(diagonal, below))


def by_sparse_inertia(matrix: sp.csc_array, lam: float) -> Certificate | None:
    """``by_dense_inertia`` of a sparse matrix: LU without exchange of rows is LDLᵀ with D the diagonal of U.

    LU is that of a matrix within ``margin`` of the given one, since |error| ≤ γ·|L||U| entry by entry. None if a zero
    pivot made an exchange necessary, or if there is no LU because lam is an eigenvalue.
    """
    shifted = sp.csc_array(lam * sp.eye_array(matrix.shape[0], format="csc") - matrix)
    try:
        factors = symmetric_lu(shifted)
    except RuntimeError:  # "Factor is exactly singular"
        return None
    pivots = factors.U.diagonal()
    if not np.array_equal(factors.perm_r, factors.perm_c) or not np.isfinite(pivots).all():
        return None
    ones = np.ones(matrix.shape[0])
    longest = int(np.diff(factors.U.indptr).max()) + 1
    gamma = longest * float(np.finfo(float).eps)
    margin = gamma * float((abs(factors.L) @ (abs(factors.U) @ ones)).max())
    return Certificate("inertia (sparse LDLᵀ)", int(np.count_nonzero(pivots < 0)), margin=margin)


def symmetric_lu(matrix: sp.csc_array) -> Any:
    """LU with one permutation for rows and columns, and pivots taken from the diagonal as they come."""
    return splu(
        sp.csc_matrix(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def by_lanczos_bound(
    times: Callable[[Floats], Floats],
    found: Floats,
    vectors: Floats,
    lam: float,
    lowest: float,
    rng: np.random.RandomState,
) -> Certificate:
    """A bound on the largest eigenvalue after deflation of those found, from a random start.

    For a matrix without eigenvalues below zero, and θ the largest Ritz value after q steps of Lanczos from a start that
    is uniform on the sphere, the largest eigenvalue exceeds θ/(1 − ε) with probability at most
    1.648·√n·exp(−√ε·(2q − 1)) (Kuczyński & Woźniakowski 1992). ``lowest`` is below every eigenvalue, and is
    subtracted first.
    """
    n_rows, taken = len(vectors), vectors * (found - lowest)
    basis = [_unit(rng.normal(size=n_rows))]
    diagonal: list[float] = []
    below: list[float] = []
    risk = 1.0
    while len(diagonal) < min(_MOST_STEPS, n_rows) and risk > _SMALL_RISK:
        v = basis[-1]
        product = times(v) - lowest * v - taken @ (vectors.T @ v)
        diagonal.append(float(product @ v))
        known = np.array(basis)
        for _ in range(2):  # twice, because of rounding
            product = product - known.T @ (known @ product)
        theta = float(eigvalsh_tridiagonal(diagonal, below, select="i", select_range=(len(diagonal) - 1,) * 2)[0])
        missing = 1.0 - theta / (lam - lowest)
        if missing <= 0:
            return Certificate("Lanczos from a random start", int(np.count_nonzero(found > lam)) + 1)
        risk = min(1.0, 1.648 * math.sqrt(n_rows) * math.exp(-math.sqrt(missing) * (2 * len(diagonal) - 1)))
        length = float(np.linalg.norm(product))
        if length < 1e-14 * (lam - lowest) or len(diagonal) == n_rows:
            return Certificate("Lanczos from a random start", int(np.count_nonzero(found > lam)))
        below.append(length)
        basis.append(product / length)
    return Certificate("Lanczos from a random start", int(np.count_nonzero(found > lam)), risk)


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.linalg.norm(v))
