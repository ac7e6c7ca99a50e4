"""Symmetric matrices in the forms that they come in: each gives its leading eigenpairs and counts those above lam."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats, Index, members_of
from kfree.engines.contract import generic_direction
from kfree.spectral.counts import (
    Certificate,
    by_dense_inertia,
    by_lanczos_bound,
    by_sparse_inertia,
    symmetric_lu,
)

# Matrices of up to this many rows have their whole spectrum computed, which is fast and exact.
SMALL = 400
# A dense matrix of up to this many rows is factorised to count its eigenvalues.
FACTORISED = 4096
# A sparse factorisation may have this many numbers; a quarter of the rows is tried first.
_MOST_FILL = 3e7
# The shift that eigenvalues of a sparse matrix are sought from lies this share above its largest.
_ABOVE = 1e-5

# Smaller sums of products have fewer digits than float64.
_LEAST_TRACE = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)

# Relative accuracy of eigenvalues, and restarts of Lanczos before a slower and surer method takes over.
_PRECISE, _RESTARTS = 1e-11, 60

Pairs = tuple[Floats, Floats]


class Matrix(Protocol):
    """A symmetric matrix K."""

    n_rows: int
    trace: float

    def leading(self, m: int, seed: int = 0) -> Pairs:
        """The m largest eigenvalues, falling, and their vectors (n, m); another ``seed`` is another start."""

    def count(self, lam: float, found: Floats, vectors: Floats) -> Certificate:
        """How many exceed lam, where ``found`` are those that a solver found."""


class Remembering(ABC):
    """Caches the leading pairs, until more of them or another start are requested."""

    n_rows: int
    _found: tuple[int, Pairs] | None = None

    def leading(self, m: int, seed: int = 0) -> Pairs:
        if self._found is None or self._found[0] != seed or len(self._found[1][0]) < m:
            try:
                self._found = seed, _falling(*self._leading(m, seed))
            except ArpackNoConvergence:
                raise ValueError(
                    f"{m} leading eigenvalues of the affinity of {self.n_rows} rows were not found within the limit "
                    "of restarts, as too many are nearly equal: most rows are alike to none. Lower gamma or raise "
                    "n_neighbors, so that rows are alike to more others, or fit fewer rows."
                ) from None
        values, vectors = self._found[1]
        return values[:m], vectors[:, :m]

    @abstractmethod
    def _leading(self, m: int, seed: int) -> Pairs:
        """``leading``, computed."""


class Dense(Remembering):
    """All values at hand, or computed whenever they are needed; ``lowest`` is below every eigenvalue."""

    def __init__(self, values: ArrayOrCSR, lowest: float, rng: np.random.RandomState):
        self._values, self._lowest, self._rng = values, lowest, rng
        self.trace = float(values.trace())
        self.n_rows = int(values.shape[0])

    def _leading(self, m: int, seed: int) -> Pairs:
        stored = isinstance(self._values, np.ndarray)
        if not stored or (self.n_rows > SMALL and 4 * m <= self.n_rows and seed == 0):
            try:
                start, room = _start(self.n_rows, seed), _room(m, self.n_rows)
                found: Pairs = eigsh(self._values, k=m, which="LA", v0=start, ncv=room, maxiter=_RESTARTS, tol=_PRECISE)
                return found
            except ArpackNoConvergence:
                if not stored:
                    raise
        whole: Pairs = eigh(self._values, subset_by_index=(self.n_rows - m, self.n_rows - 1), check_finite=False)
        return whole

    def count(self, lam: float, found: Floats, vectors: Floats) -> Certificate:
        if isinstance(self._values, np.ndarray) and self.n_rows <= FACTORISED:
            return by_dense_inertia(self._values, lam)
        return by_lanczos_bound(lambda v: self._values @ v, found, vectors, lam, self._lowest, self._rng)


class Sparse(Remembering):
    """Mostly zeros: shift-invert by a factorisation converges at the top of the spectrum, where plain products are
    slow."""

    def __init__(self, values: sp.csc_array, lowest: float, highest: float | None, rng: np.random.RandomState):
        self._values, self._lowest, self._highest, self._rng = values, lowest, highest, rng
        self.n_rows = int(values.shape[0])
        self.trace = float(values.diagonal().sum())
        self._factorises = self._can_be_factorised()

    def _leading(self, m: int, seed: int) -> Pairs:
        if self.n_rows <= SMALL or 4 * m > self.n_rows:
            return Dense(self._values.toarray(), self._lowest, self._rng).leading(m, seed=1)
        start = _start(self.n_rows, seed)
        if not self._factorises:
            room = _room(m, self.n_rows)
            plain: Pairs = eigsh(self._values, k=m, which="LA", v0=start, ncv=room, tol=_PRECISE)
            return plain
        top = self._highest
        if top is None:
            top = float(eigsh(self._values, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])
        shift = top + _ABOVE * abs(top)
        solve = symmetric_lu(sp.csc_array(self._values - shift * sp.eye_array(self.n_rows, format="csc"))).solve
        inverse = LinearOperator(self._values.shape, matvec=solve, dtype=np.float64)
        found: Pairs = eigsh(self._values, k=m, sigma=shift, OPinv=inverse, v0=start, tol=_PRECISE)
        return found

    def count(self, lam: float, found: Floats, vectors: Floats) -> Certificate:
        certificate = by_sparse_inertia(self._values, lam) if self._factorises else None
        if certificate is None:
            return by_lanczos_bound(lambda v: self._values @ v, found, vectors, lam, self._lowest, self._rng)
        return certificate

    def _can_be_factorised(self) -> bool:
        """Whether a factorisation stays small, judged by that of a quarter of the rows that lie close together.

        Fill grows with the number of rows at most squared.
        """
        if self.n_rows <= FACTORISED:
            return True
        order = sp.csgraph.reverse_cuthill_mckee(sp.csr_matrix(self._values), symmetric_mode=True)
        part = order[: self.n_rows // 4]
        some = sp.csc_array(self._values[part][:, part])
        factors = symmetric_lu(sp.csc_array(some - 2 * abs(self.trace) * sp.eye_array(len(part), format="csc")))
        return bool(16 * factors.L.nnz <= _MOST_FILL)


class Blocks:
    """A matrix that falls into parts without any link between them: its spectrum is that of all parts together.

    A solver easily misses eigenvalues that several parts share; here each part shows its own.
    """

    def __init__(self, parts: list[Matrix], rows: list[Index]):
        self.parts, self._rows = parts, rows
        self.n_rows = sum(part.n_rows for part in parts)
        self.trace = math.fsum(part.trace for part in parts)

    def leading(self, m: int, seed: int = 0) -> Pairs:
        found = [part.leading(min(m, part.n_rows), seed) for part in self.parts]
        values = np.concatenate([values for values, _ in found])
        vectors = np.zeros((self.n_rows, len(values)))
        end = 0
        for rows, (own, directions) in zip(self._rows, found, strict=True):
            begin, end = end, end + len(own)
            vectors[rows, begin:end] = directions
        values, vectors = _falling(values, vectors)
        return values[:m], vectors[:, :m]

    def count(self, lam: float, found: Floats, vectors: Floats) -> Certificate:
        counts = []
        for rows, part in zip(self._rows, self.parts, strict=True):
            own = np.abs(vectors[rows]).max(axis=0, initial=0.0) > 0
            counts.append(part.count(lam, found[own], vectors[np.ix_(rows, own)]))
        risk, margin = math.fsum(count.risk for count in counts), max(count.margin for count in counts)
        return Certificate(counts[0].method, sum(count.n_above for count in counts), risk, margin)


def sparse_matrix(values: sp.csc_array, lowest: float, highest: float | None, rng: np.random.RandomState) -> Matrix:
    """A sparse matrix, in blocks if it falls into parts; each of these has ``highest`` as its largest eigenvalue."""
    n_parts, part_of = sp.csgraph.connected_components(values, directed=False)
    if n_parts == 1:
        return Sparse(values, lowest, highest, rng)
    rows = members_of(part_of, n_parts)
    by_row = sp.csr_array(values)
    return Blocks([Sparse(sp.csc_array(by_row[part][:, part]), lowest, highest, rng) for part in rows], rows)


class Factor:
    """K = XXᵀ, never formed: its spectrum is that of the smaller of XᵀX and XXᵀ."""

    def __init__(self, X: ArrayOrCSR):
        self._X = X
        self.n_rows = int(X.shape[0])
        wide = X.shape[1] > X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            gram = dense(X @ X.T if wide else X.T @ X).astype(np.float64, copy=False)
        self.trace = float(gram.trace())
        if not _LEAST_TRACE <= self.trace < np.inf:
            raise ValueError(
                f"products of rows of X add up to {self.trace:.3g}, which leaves float64 too few digits. Give rows "
                "that are not all zero, and multiply X by a constant if its values are very large or very small."
            )
        values, directions = np.linalg.eigh(gram)
        values, directions = values[::-1], directions[:, ::-1]
        self._values = np.maximum(values, 0.0)
        kept = self._values > len(gram) * np.finfo(float).eps * self._values[0]
        self._vectors = directions[:, kept] if wide else X @ directions[:, kept] / np.sqrt(self._values[kept])

    def leading(self, m: int, seed: int = 0) -> Pairs:
        m = min(m, self._vectors.shape[1])
        return self._values[:m], self._vectors[:, :m]

    def count(self, lam: float, found: Floats, vectors: Floats) -> Certificate:
        return Certificate("whole spectrum", int(np.count_nonzero(self._values > lam)))


def _start(n_rows: int, seed: int) -> Floats:
    if seed == 0:
        return generic_direction(n_rows)
    return np.asarray(np.random.RandomState(seed).normal(size=n_rows))


def _room(m: int, n_rows: int) -> int:
    """Vectors for Lanczos to work with: more than the usual 2m + 1, which is too few where eigenvalues lie close."""
    return min(n_rows, max(3 * m, 40))


def _falling(values: Floats, vectors: Floats) -> Pairs:
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
