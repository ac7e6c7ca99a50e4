"""Validation of kernels and of matrices of kernel values."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.metrics.pairwise import KERNEL_PARAMS, kernel_metrics

from kfree.core.frame import Frame, require_differences
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats
from kfree.engines.contract import generic_direction
from kfree.engines.kernel.gram import Kernel
from kfree.validation.parameters import is_number, is_positive_number, require, require_choice
from kfree.validation.rows import validated_rows

# A matrix counts as symmetric, and as without negative eigenvalues, up to this share of its largest value.
_ROUNDING = 1e-7
# Squared distances are differences of kernel values; below this share of those they are rounding errors.
_FEWEST_DIGITS = 1e-13
# Search multiplies a few kernel values with each other; between this and its inverse they are numbers.
_LARGEST_VALUE = 1e70
# Weights may differ by this factor.
_WIDEST_WEIGHTS = 1e10
# Kernels between whose feature vectors distances are the same wherever the origin lies.
_UNMOVED = ("linear", "rbf", "laplacian")
# Matrices of up to this many rows have all their eigenvalues computed; so have as many rows of a kernel.
_SMALL = 400


def validated_kernel(
    name: Any, gamma: Any, degree: Any, coef0: Any, params: Any, rows: ArrayOrCSR, weight: Floats | None
) -> Kernel:
    """The kernel, with a width estimated from the rows if gamma is None."""
    require(name is not None, "kernel", name, "the name of a kernel or a function of two rows")
    require_kernel_settings(name, gamma, degree, coef0, params)
    if callable(name):
        return Kernel(name, dict(params or {}))
    # A constant added to all rows changes no distance, but loses digits if it is large.
    frame = None
    if name in _UNMOVED and sp.issparse(rows):
        require_differences(rows)
    elif name in _UNMOVED:
        frame = Frame.about(rows, weight)
    if gamma is None and name == "rbf":
        gamma = scale_of(rows if frame is None else frame.inward(rows), weight)
    chosen = {} if gamma is None else {"gamma": gamma}  # None is not what chi2 of scikit-learn takes for its default
    return Kernel(name, chosen | {"degree": degree, "coef0": coef0}, frame)


def require_kernel_settings(name: Any, gamma: Any, degree: Any, coef0: Any, params: Any) -> None:
    """Raise unless ``name`` is a kernel or None, and all given parameters belong to it."""
    if name is not None and not callable(name):
        require_choice("kernel", name, [*kernel_metrics(), "precomputed"])
    require(gamma is None or is_positive_number(gamma), "gamma", gamma, "a finite number > 0 or None")
    takes_gamma = isinstance(name, str) and "gamma" in KERNEL_PARAMS.get(name, ())
    require(gamma is None or takes_gamma, "gamma", gamma, f"None with kernel={name!r}, which takes no gamma")
    require(is_positive_number(degree), "degree", degree, "a finite number > 0")
    require(is_number(coef0), "coef0", coef0, "a finite number")
    is_for_function = "a dict of arguments if kernel is a function, else None"
    require(params is None or (callable(name) and isinstance(params, dict)), "kernel_params", params, is_for_function)


def scale_of(rows: Any, weight: Floats | None) -> float:
    """One over the summed variance of the columns, so that typical rows have a value of about exp(−2)."""
    weight = np.ones(rows.shape[0]) if weight is None else weight
    if not (weight > 0).all():  # rows of no weight may be infinitely far
        rows, weight = rows[weight > 0], weight[weight > 0]
    weight = weight / weight.sum()
    mean = weight @ rows
    with np.errstate(over="ignore"):
        square = weight @ (rows.multiply(rows) if sp.issparse(rows) else rows * rows)
    if not np.isfinite(square).all():
        raise ValueError("the variance of X overflows float64. Divide X by a constant, or give gamma.")
    variance = float(np.maximum(square - mean * mean, 0.0).sum())
    return 1.0 / variance if variance > 0 else 1.0


def validated_matrix(X: Any, parameter: str, estimator: Any) -> Any:
    """A symmetric matrix of numbers, dense or sparse."""
    X = validated_rows(X, estimator)
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{parameter}='precomputed' takes X as a square matrix of values between all rows; X has {X.shape[0]} "
            f"rows and {X.shape[1]} columns. Give values between new rows and those of fit to predict."
        )
    gap = float(abs(X - X.T).max())
    if gap > _ROUNDING * float(abs(X).max()):
        raise ValueError(
            f"the {parameter} matrix is not symmetric: X differs from its transpose by up to {gap:.3g}. If it should "
            "be, give (X + X.T) / 2."
        )
    return X


def require_positive_semidefinite(matrix: Any, what: str) -> None:
    """Raise if an eigenvalue is clearly below zero. A part of a matrix that has one proves it for the whole."""
    lowest, largest = _ends_of_spectrum(matrix)
    if lowest < -_ROUNDING * max(largest, 0.0) and lowest < 0:
        raise ValueError(
            f"{what} is not positive semi-definite: it has an eigenvalue of {lowest:.4g} (the largest is "
            f"{largest:.4g}), so squared distances could be negative. Add {-lowest:.4g} to its diagonal, or use "
            "another kernel."
        )


def require_similar_weights(weight: Floats | None) -> None:
    """Raise if weights differ so much that subtracting rows from sums in feature space loses the light ones."""
    counted = np.ones(1) if weight is None else weight[weight > 0]
    if counted.max() > _WIDEST_WEIGHTS * counted.min():
        raise ValueError(
            f"sample_weight goes from {counted.min():g} to {counted.max():g}; in the feature space of a kernel weights "
            f"may differ by a factor of {_WIDEST_WEIGHTS:g}. Give rows that should not count a weight of zero."
        )


def require_digits(matrix: Any, rows: ArrayOrCSR, what: str) -> None:
    """Raise if values between unequal rows have no digits left for their distances, or if products overflow float64."""
    largest = float(np.abs(matrix.diagonal()).max())
    if largest > 0 and not 1 / _LARGEST_VALUE < largest < _LARGEST_VALUE:
        raise ValueError(
            f"{what} has values of up to {largest:.3g}: their products overflow float64. Multiply X by a constant."
        )
    mean_sq_dist = float(matrix.diagonal().mean() - matrix.mean())
    if mean_sq_dist > _FEWEST_DIGITS * largest or not _spread(rows):
        return
    require_positive_semidefinite(matrix, what)  # otherwise they may be negative for that reason
    raise ValueError(
        f"{what} has values of up to {largest:.3g} and squared distances of about {mean_sq_dist:.3g} between rows: "
        "float64 has too few digits for their differences. Centre X, scale it, or use another kernel."
    )


def _spread(rows: ArrayOrCSR) -> bool:
    """Whether not all rows are equal."""
    low, high = (dense(rows.min(axis=0)), dense(rows.max(axis=0)))
    return bool((low < high).any())


def _ends_of_spectrum(matrix: Any) -> tuple[float, float]:
    """The smallest and the largest eigenvalue. For a large matrix, Lanczos gives bounds from within."""
    n_rows = matrix.shape[0]
    if n_rows <= _SMALL:
        values = np.linalg.eigvalsh(matrix)
        return values[0], values[-1]
    start = generic_direction(n_rows)
    largest = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0]
    # The lower end of K is the upper end of largest·I − K, which Lanczos finds even where it is close to zero.
    turned = LinearOperator(matrix.shape, matvec=lambda v: largest * v - matrix @ v, dtype=np.float64)
    try:
        gap = eigsh(turned, k=1, which="LA", v0=start, tol=1e-5, return_eigenvectors=False)[0]
    except ArpackNoConvergence:  # so many eigenvalues about zero that none stands out
        return 0.0, largest
    return largest - gap, largest
