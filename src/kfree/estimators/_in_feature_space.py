"""Labels and distances of new rows in the feature space of a kernel."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.sparse import ArrayOrCSR, require_structure
from kfree.core.stats import Floats
from kfree.engines.kernel.gram import Kernel
from kfree.estimators._explained import Judging, column_names, require_rows, view_by_distances
from kfree.estimators._far import warn_out_of_reach
from kfree.validation.rows import validated_rows

# Kernels that decrease from one to zero with distance.
FADING = ("rbf", "laplacian")
# Below this kernel value to all rows of the fit, the norms of the centres decide which is nearest, and not the row.
OUT_OF_REACH = 1e-3


class InFeatureSpace(Judging):
    """For :class:`kfree.KernelDPMeans`: centres are combinations of the rows of the fit."""

    _kernel_: Kernel
    _rows_: ArrayOrCSR | None
    _coefficients_: sp.csr_array
    _sq_norms_: Floats
    _centre_points_: Floats

    def predict(self, X, allow_new=False):
        """Label each row by its nearest centre in feature space; on the data of ``fit`` this is ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            If precomputed, kernel values between these rows and those of ``fit``.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster, or than √lam where ``lam`` was given as a number. The same holds for rows so
            far from all rows of ``fit`` that their rbf or laplacian kernel values vanish.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self)
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        labels, largest = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0])
        by_block = offsets_by(self._kernel_, rows, self._rows_, self._coefficients_, self._sq_norms_)
        for places, values, offsets in by_block:
            largest[places], labels[places] = values.max(axis=1), offsets.argmin(axis=1)
        labels = self._or_new(labels, X, allow_new)
        if isinstance(self._kernel_.name, str) and self._kernel_.name in FADING:
            if allow_new:
                labels[largest < OUT_OF_REACH] = -1
            else:
                warn_out_of_reach(largest, OUT_OF_REACH, self)
        return labels

    def _view(self, X):
        require_rows(X, self)
        labels = self.predict(X)
        rows = validated_rows(X, self)
        told = {"distance": "distance to the centre in feature space"}
        if not self._kernel_.precomputed:
            told |= {"columns": rows, "names": column_names(X, self)}
        return view_by_distances(self._distances(X), labels, self._centre_points_, **told)

    def _distances(self, X):
        """Distances of rows to all centres in feature space, block by block."""
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        sq_norms = with_itself(self._kernel_, rows)
        by_block = offsets_by(self._kernel_, rows, self._rows_, self._coefficients_, self._sq_norms_)
        for places, _, offsets in by_block:
            yield places, distances_from(offsets, sq_norms[places])


def offsets_by(kernel, rows, known, coefficients, centre_sq_norms):
    """Block by block: places, kernel values with the rows of the fit, and ‖φ(x) − c‖² but for κ(x, x), (m, k).

    κ(x, x) is the same for all centres, and adding it would take digits that tell which of them is nearest.
    """
    require_structure(coefficients, "_coefficients_")  # of a damaged model, SciPy would read beyond its arrays
    for places, values in kernel.to_all(rows, known, coefficients.shape[1]):
        yield places, values, centre_sq_norms - 2 * (coefficients @ values.T).T


def distances_from(offsets, sq_norms):
    """Distances (m, k), from ``offsets_by`` and κ(x, x) of each row."""
    return np.sqrt(np.maximum(sq_norms[:, None] + offsets, 0.0))


def with_itself(kernel, rows):
    """κ(x, x) of each row."""
    if not kernel.precomputed:
        return kernel.with_itself(rows)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(
            f"distances need κ(x, x) of every row, which {rows.shape[0]} rows of precomputed kernel values do not "
            "contain. Give the square matrix of fit."
        )
    return np.asarray(rows.diagonal(), dtype=np.float64)
