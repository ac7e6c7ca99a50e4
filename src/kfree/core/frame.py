"""Coordinates that engines compute in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.fields import PerCoordinate
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats

# The square of a smaller number has fewer digits than float64.
_LEAST_DIFFERENCE = float(np.sqrt(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Frame:
    """The coordinates that engines compute in: z = (x − anchor) − shift, or x over its length when ``unit``.

    With the anchor a row of the data, x − anchor is the same for ``X`` and ``X + 1e6``, and so is every label.
    """

    anchor: PerCoordinate
    shift: PerCoordinate
    unit: bool = False

    @classmethod
    def plain(cls, n_features: int, unit: bool = False) -> Frame:
        """No shift: for sparse rows, which centring would fill up, and for unit vectors."""
        return cls(np.zeros(n_features), np.zeros(n_features), unit)

    @classmethod
    def about(cls, rows: Floats, weight: Floats | None = None) -> Frame:
        """Around the weighted mean of dense rows, seen from the first one that counts."""
        weight = np.ones(len(rows)) if weight is None else weight
        anchor = rows[int(np.argmax(weight > 0))].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = weight / weight.sum() @ (rows - anchor)
        if not np.isfinite(shift).all():
            raise differences_overflow()
        return cls.centred(anchor, shift)

    @classmethod
    def centred(cls, anchor: Floats, mean: Floats) -> Frame:
        """Around the ``mean`` of x − anchor; raises if the rows differ by so little that no squared distance is left.

        The anchor is one of the rows, so its distance to the mean is of the size of the differences between rows.
        """
        largest = float(np.abs(mean).max(initial=0.0))
        _require_size(largest, _LEAST_DIFFERENCE)
        return cls(anchor, mean)

    def inward(self, points: Floats) -> Floats:
        """From the user's coordinates to the engine's."""
        inside: Floats = points - self.anchor
        inside -= self.shift  # in place: centres of large fits are millions of numbers
        return inside

    def placed(self, centres: Floats) -> Floats:
        """Centres that a user gives, in the engine's coordinates; where rows have unit length, their directions."""
        return centres / np.linalg.norm(centres, axis=1, keepdims=True) if self.unit else self.inward(centres)

    def outward(self, z: Floats) -> Floats:
        """From the engine's coordinates to the user's."""
        outside: Floats = z + self.shift
        outside += self.anchor
        return outside


def require_differences(rows: ArrayOrCSR, power: int = 2) -> None:
    """Raise if rows differ by so little that this power of their differences underflows float64.

    Sparse rows are not centred: their values have powers if one of them has.
    """
    least = float(np.finfo(np.float64).tiny ** (1 / power))
    if not isinstance(rows, np.ndarray):
        if max(rows.data.max(initial=0.0), -rows.data.min(initial=0.0)) >= least:
            return
        rows = np.vstack([dense(rows.min(axis=0)), dense(rows.max(axis=0))])
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.ptp(rows, axis=0).max(initial=0.0))
    _require_size(largest, least)


def require_differences_in_columns(rows: Floats) -> None:
    """Raise if a column that is compared on its own has differences whose squares underflow float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        range_of = np.ptp(rows, axis=0)
    bad = np.flatnonzero((range_of > 0) & (range_of < _LEAST_DIFFERENCE))
    if len(bad):
        raise ValueError(
            f"values of X in column {bad[0]} differ by {range_of[bad[0]]:.3g}, so that their squares underflow "
            "float64. Multiply this column by a constant, or leave it out."
        )


def _require_size(largest: float, least: float) -> None:
    if 0.0 < largest < least:
        raise ValueError(
            f"values of X differ by about {largest:.3g}, so that squared distances underflow float64. Multiply X "
            "by a constant first."
        )


def differences_overflow() -> ValueError:
    """The error for rows whose coordinates cannot be subtracted from each other."""
    return ValueError("differences between values of X overflow float64. Divide X by a constant first.")
