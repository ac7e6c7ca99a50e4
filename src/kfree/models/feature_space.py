"""Coordinates in the feature space of a kernel, for searches that need coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

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


class FeatureSpace:
    """Coordinates in an orthonormal basis of the span of the images of some rows.

    Distances between these rows, and from any row to their means, are those of the feature space; a row that is not
    among them has one coordinate more, its distance from the span. Takes all kernel values between the rows.
    """

    def __init__(self, kernel: Kernel, rows: ArrayOrCSR):
        values = kernel.between(rows, rows)
        require_digits(values, rows, f"the kernel ({kernel.name!r})")
        require_positive_semidefinite(values, f"the kernel ({kernel.name!r})")
        self._kernel, self._rows = kernel, None if kernel.precomputed else rows
        self._basis, _ = spanned(values)
        self.fitted = np.column_stack([values @ self._basis, np.zeros(len(values))])

    @property
    def knows_lengths(self) -> bool:
        """Whether the norm of the image of a new row is known."""
        return not self._kernel.precomputed

    def of(self, rows: Any) -> Floats:
        """Coordinates of new rows; if precomputed, of rows with these kernel values, without their distance from the
        span."""
        rows = rows.toarray() if self._kernel.precomputed and sp.issparse(rows) else rows
        within = self._kernel.between(rows, self._rows) @ self._basis
        sq_off = self._kernel.with_itself(rows) - (within**2).sum(axis=1) if self.knows_lengths else np.zeros(len(rows))
        return np.column_stack([within, np.sqrt(np.maximum(sq_off, 0.0))])


def feature_space(estimator: Any, rows: ArrayOrCSR, weight: Floats | None) -> FeatureSpace | None:
    """The feature space of an estimator's ``kernel`` for the rows of a fit, or None if it has no kernel."""
    settings = estimator.gamma, estimator.degree, estimator.coef0, estimator.kernel_params
    if estimator.kernel is None:
        require_kernel_settings(None, *settings)
        return None
    kernel = validated_kernel(estimator.kernel, *settings, rows, weight)
    if kernel.precomputed:
        rows = validated_matrix(rows, "kernel", estimator)
        rows = rows.toarray() if sp.issparse(rows) else rows
    return FeatureSpace(kernel, rows)
