"""Coordinates in the feature space of a kernel, for searches that need coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from kfree.core.fields import RowsKept
from kfree.core.marks import FINITE, Shape, require
from kfree.core.spaces import spanned
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats
from kfree.engines.kernel.gram import Kernel
from kfree.validation.kernels import (
    require_digits,
    require_kernel_settings,
    require_positive_semidefinite,
    validated_kernel,
    validated_matrix,
)


@dataclass(frozen=True)
class FeatureSpace:
    """Coordinates in an orthonormal ``basis`` of the span of the images of some rows, None if precomputed.

    Distances between these rows, and from any row to their means, are those of the feature space; a row that is not
    among them has one coordinate more, its distance from the span.
    """

    kernel: Kernel
    rows: RowsKept | None
    basis: Annotated[Floats, Shape("n", "d-1"), FINITE]

    @classmethod
    def of_rows(cls, kernel: Kernel, rows: ArrayOrCSR) -> tuple[FeatureSpace, Floats]:
        """The space of some rows, and their coordinates. Takes all kernel values between them."""
        values = kernel.between(rows, rows)
        require_digits(values, rows, f"the kernel ({kernel.name!r})")
        require_positive_semidefinite(values, f"the kernel ({kernel.name!r})")
        basis, _ = spanned(values)
        space = cls(kernel, None if kernel.precomputed else rows, basis)
        return space, space._placed(values, rows)

    def _restored(self) -> None:
        require(self.kernel.precomputed == (self.rows is None), "rows", "are there unless the kernel is precomputed")

    @property
    def knows_lengths(self) -> bool:
        """Whether the norm of the image of a new row is known."""
        return not self.kernel.precomputed

    def of(self, rows: Any) -> Floats:
        """Coordinates of new rows; if precomputed, of rows with these kernel values, without their distance from the
        span."""
        rows = rows.toarray() if self.kernel.precomputed and sp.issparse(rows) else rows
        return self._placed(self.kernel.between(rows, self.rows), rows)

    def _placed(self, values: Floats, rows: ArrayOrCSR) -> Floats:
        """Coordinates of rows from their kernel ``values`` with the rows of the fit.

        A distance from the span at the limit of rounding is none, so that rows of the fit have the same coordinates,
        bit by bit, whenever they are asked for.
        """
        within = values @ self.basis
        if not self.knows_lengths:
            return np.column_stack([within, np.zeros(len(within))])
        sq_off = self.kernel.with_itself(rows) - (within**2).sum(axis=1)
        return np.column_stack([within, np.sqrt(np.where(sq_off > self._rounding, sq_off, 0.0))])

    @property
    def _rounding(self) -> float:
        """Squared lengths along directions that ``spanned`` leaves out are no larger than this."""
        n_rows, n_directions = self.basis.shape
        sq_largest = 1 / float((self.basis**2).sum(axis=0).min()) if n_directions else 0.0
        return float(n_rows * np.finfo(float).eps * sq_largest)


def feature_space(estimator: Any, rows: ArrayOrCSR, weight: Floats | None) -> tuple[FeatureSpace | None, ArrayOrCSR]:
    """The feature space of an estimator's ``kernel``, or None if it has no kernel; and the coordinates of the rows."""
    settings = estimator.gamma, estimator.degree, estimator.coef0, estimator.kernel_params
    if estimator.kernel is None:
        require_kernel_settings(None, *settings)
        return None, rows
    kernel = validated_kernel(estimator.kernel, *settings, rows, weight)
    if kernel.precomputed:
        rows = validated_matrix(rows, "kernel", estimator)
        rows = rows.toarray() if sp.issparse(rows) else rows
    return FeatureSpace.of_rows(kernel, rows)
