"""Spaces: the inner product for squared norms and distances between points that are written as rows.

Means, sums and differences of points are the same in every space, so a search needs only this.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kfree.core.row_costs import row_sums
from kfree.core.stats import Floats

# Points of more numbers than this are compared one by one, which takes less memory.
_WIDE = 2**18


class Space(Protocol):
    """An inner product between points (k, d)."""

    def sq_norms(self, points: Floats) -> Floats:
        """‖a‖² of each point, (k,)."""

    def sq_gaps(self, points: Floats, some: int | slice, sign: float = -1.0) -> Floats:
        """‖b − a‖² (or ‖b + a‖²) from one point to all (k,), or from each of some (number, k); the same both ways."""

    def gram(self, points: Floats) -> Floats:
        """All inner products, (k, k)."""


class Euclidean:
    """Points are their coordinates."""

    def sq_norms(self, points: Floats) -> Floats:
        return row_sums(points * points)

    def sq_gaps(self, points: Floats, some: int | slice, sign: float = -1.0) -> Floats:
        if isinstance(some, slice) and points.size > _WIDE:
            return np.array([self.sq_gaps(points, point, sign) for point in range(len(points))[some]])
        columns = np.ascontiguousarray(points.T)
        own = columns[:, some, None]
        gaps: Floats = (((columns if own.ndim == 2 else columns[:, None]) + sign * own) ** 2).sum(axis=0)
        return gaps

    def gram(self, points: Floats) -> Floats:
        return points @ points.T


class Dual:
    """Points of a kernel's feature space: Σ_j a_j·φ(x_j) is written as (a, Ka), 2n numbers for n rows x_j.

    Ka holds the point's inner products with all rows, so that ⟨a, b⟩ = a·Kb needs no value of the kernel. Written
    like this, points can be added and scaled as if the 2n numbers were coordinates.
    """

    def sq_norms(self, points: Floats) -> Floats:
        n_rows = points.shape[1] // 2
        return np.asarray(np.maximum(np.einsum("ij,ij->i", points[:, :n_rows], points[:, n_rows:]), 0.0))

    def sq_gaps(self, points: Floats, some: int | slice, sign: float = -1.0) -> Floats:
        if isinstance(some, slice):
            return np.array([self.sq_gaps(points, point, sign) for point in range(len(points))[some]])
        return self.sq_norms(points + sign * points[some])

    def gram(self, points: Floats) -> Floats:
        n_rows = points.shape[1] // 2
        products = points[:, :n_rows] @ points[:, n_rows:].T
        return (products + products.T) / 2


SPACES = {"euclidean": Euclidean, "feature space": Dual}
EUCLIDEAN, DUAL = Euclidean(), Dual()


def exponent_of(values: Floats) -> int:
    """The e for which the largest of some numbers, divided by 2^e, is about one, so that squares do not overflow.

    Division by a power of two changes no digit.
    """
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def times_power_of_two(coordinates: Floats, exponent: int) -> Floats:
    """Coordinates of rows times 2^exponent; raises if that overflows."""
    with np.errstate(over="ignore"):
        scaled: Floats = np.ldexp(coordinates, exponent)
    if not np.isfinite(scaled).all():
        raise ValueError("the length of a row of X overflows float64. Divide X by a constant first.")
    return scaled


def spanned(gram: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of the span of points with these inner products, and the coordinates of the points in it.

    The basis is given by combinations (k, r) of the points. Directions at the limit of rounding are left out.
    """
    sq_length, direction = np.linalg.eigh(gram)
    kept = sq_length > len(gram) * np.finfo(float).eps * max(float(sq_length[-1]), 0.0)
    length = np.sqrt(sq_length[kept])
    return direction[:, kept] / length, direction[:, kept] * length
