"""Validation of rows, weights and starting centres. Errors state what was given, what is allowed and what to do."""

import mmap
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from kfree.core.blocks import row_blocks
from kfree.core.sparse import canonical_csr, require_structure, shallow_copy
from kfree.core.stats import LEAST_WEIGHT, Floats
from kfree.files.rows import FileRows
from kfree.native.implementations import implementation
from kfree.native.threads import thread_count
from kfree.validation.frames import (
    bad_values_error,
    column_names,
    columns_without_numbers,
    in_chunks,
    require_distinct_names,
    require_no_rounding,
    require_table_of_numbers,
)
from kfree.validation.parameters import require_threads, shown
from kfree.validation.tensors import is_on_device, is_tensor, numbers_of, validated_tensor

# Rows per block when searching for bad values, which bounds the memory.
_ROWS_AT_ONCE = 65536


def validated_rows(X: Any, estimator: Any) -> Any:
    """X as float32 or float64, dense with any strides or canonical CSR; copied only if it must be converted.

    ``estimator`` may be the name of a function, for errors.
    """
    name = estimator if isinstance(estimator, str) else type(estimator).__name__
    if isinstance(X, FileRows):
        raise TypeError(
            f"{name} takes no rows of files here; fit, predict and score of DPMeans and KMeans do. "
            "Read the rows into an array first."
        )
    if is_tensor(X) and getattr(estimator, "engine", None) == "gpu":
        return validated_tensor(X, estimator)
    if is_on_device(X):
        what = f"engine={estimator.engine!r}" if hasattr(estimator, "engine") else name
        raise TypeError(
            f"X is on a GPU ({X.device}), and {what} computes in memory. Use "
            'DPMeans or KMeans with engine="gpu", or copy X to memory first, with X.cpu() or X.get().'
        )
    require_sound_array(X, "X")
    X = in_chunks(X)
    require_table_of_numbers(X)
    require_no_rounding(X)
    columns = column_names(X)
    given_format = X.format if sp.issparse(X) else None
    if given_format:
        X = shallow_copy(X)
        require_structure(X, "X")
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError(f"X holds text ({X.dtype}), not numbers; convert it first, for example with X.astype(float).")
    _require_real(X, "X")
    X = X if _is_as_wanted(X) else _converted(X, estimator)
    if given_format in ("lil", "dok"):
        require_structure(X, "X")
    # A frame whose columns are all sparse has become a sparse matrix.
    X = X if sp.issparse(X) else np.require(X, requirements="A")
    _require_finite(X, columns, getattr(estimator, "n_threads", None))
    return canonical_csr(X) if sp.issparse(X) else X


def _is_as_wanted(X: Any) -> bool:
    """Whether ``check_array`` would return X as it is, which takes it a tenth of a fit of small data."""
    is_table = type(X) is np.ndarray and X.ndim == 2 and X.size > 0
    return is_table and X.dtype in (np.float64, np.float32)


def _converted(X: Any, estimator: Any) -> Any:
    """X as an array of float32 or float64, or as CSR."""
    try:
        return check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    except OverflowError as error:
        raise ValueError(
            f"X holds whole numbers that float64 cannot hold ({error}). Divide X by a constant."
        ) from error
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"rows of X differ in length ({error}); give rows of as many numbers each.") from error
        if "array element with a sequence" in str(error):
            raise ValueError(
                f"X holds lists or arrays as values{columns_without_numbers(X)} ({error}); give one number per value."
            ) from error
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"X holds values that are not numbers{columns_without_numbers(X)} ({error}); encode or drop such columns, "
            "for example with kfree.TableEncoder()."
        ) from error
    except TypeError as error:
        if "float()" not in str(error) and "Cannot cast" not in str(error):
            raise
        raise TypeError(
            f"X is a {type(X).__name__} that holds no numbers{columns_without_numbers(X)} ({error}); give an array or a"
            " frame of numbers."
        ) from error


def _holds_text(values: Any) -> bool:
    """Whether a list or an array of objects has texts among its values, which NumPy would turn into numbers."""
    is_object = getattr(getattr(values, "dtype", None), "kind", "") == "O"
    return (is_object or isinstance(values, list | tuple)) and any(isinstance(value, str | bytes) for value in values)


def validated_weights(sample_weight: Any, n_rows: int, all_may_be_zero: bool = False) -> Floats | None:
    """Weights as contiguous float64, or None where all rows count once."""
    if sample_weight is None:
        return None
    sample_weight = numbers_of(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight, dtype=np.float64)
    require_sound_array(sample_weight, "sample_weight")
    given = getattr(sample_weight, "dtype", None)
    if getattr(given, "kind", "f") in "USmM" or _holds_text(sample_weight):
        told = "text" if given is None or given.kind == "O" else f"text or dates ({given})"
        raise ValueError(f"sample_weight holds {told}, not numbers; give one number per row of X.")
    _require_real(sample_weight, "sample_weight")
    settings = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False, "input_name": "sample_weight"}
    try:
        weight = np.ascontiguousarray(check_array(sample_weight, ensure_min_samples=0, **settings))
    except ValueError as error:
        if "array element with a sequence" not in str(error):
            raise
        raise ValueError(f"sample_weight holds lists ({error}); give one number per row of X.") from error
    except OverflowError as error:
        raise ValueError(f"sample_weight holds numbers that float64 cannot hold ({error}).") from error
    except TypeError as error:
        told = f"sample_weight is a {type(sample_weight).__name__} ({error})"
        raise TypeError(f"{told}; give one number per row of X.") from error
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has {weight.ndim} dimensions; "
            "give one number per row of X."
        )
    if len(weight) != n_rows:
        raise ValueError(f"sample_weight has {len(weight)} values for {n_rows} rows of X; give one number per row.")
    bad = int((~np.isfinite(weight)).sum())
    if bad:
        raise ValueError(f"sample_weight contains {bad} NaN or inf value(s); weights are finite numbers ≥ 0.")
    negative = np.flatnonzero(weight < 0)
    if len(negative):
        raise ValueError(
            f"sample_weight contains {len(negative)} negative value(s), the first is "
            f"{weight[negative[0]]:g} for row {negative[0]}; weights are finite numbers ≥ 0."
        )
    extreme = weight[(weight > 0) & ((weight < LEAST_WEIGHT) | (weight > 1 / LEAST_WEIGHT))]
    if len(extreme):
        raise ValueError(
            f"sample_weight contains {len(extreme)} value(s) such as {extreme[0]:g}; give zero or numbers between "
            f"{LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}, so that products of weights do not overflow. "
            "Divide all weights, and lam, by a constant."
        )
    if not all_may_be_zero and not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all values of sample_weight are zero. "
            "Give at least one row a positive weight."
        )
    return weight


def validated_centres(init: Any, n_features: int) -> Floats:
    """Starting centres as a (k, d) float64 array."""
    init = numbers_of(init)
    require_sound_array(init, "init")
    require_distinct_names(init, "init")
    try:
        centres = check_array(init, dtype=np.float64, input_name="init")
    except (TypeError, ValueError) as error:
        if "init" in str(error):
            raise
        raise ValueError(
            f"init={shown(init)} is not allowed ({error}); give centres of shape (k, {n_features})."
        ) from error
    if centres.shape[1] != n_features:
        raise ValueError(
            f"init has {centres.shape[1]} columns and X has {n_features}; give centres of shape (k, {n_features})."
        )
    return centres


def require_sound_centres(centres: Floats, n_features: int) -> None:
    """Raise unless the centres of a fitted model are finite numbers, as many columns as X has."""
    if centres.ndim != 2 or centres.shape[1] != n_features or not np.isfinite(centres).all():
        raise ValueError(
            f"the centres of this model hold NaN or inf or have another shape than (k, {n_features}): they have "
            f"{centres.shape}. They were changed after the fit; call fit again."
        )


def _require_finite(X: Any, names: Any, n_threads: int | None) -> None:
    require_threads(n_threads)
    values = X.data[None, :] if sp.issparse(X) else X
    if not implementation("auto", "rows").all_finite(values, thread_count(n_threads)):
        raise bad_values_error(_bad_per_column(X), names)


def _bad_per_column(X: Any) -> NDArray[np.int64]:
    n_bad = np.zeros(X.shape[1], dtype=np.int64)
    if sp.issparse(X):
        np.add.at(n_bad, X.indices[~np.isfinite(X.data)], 1)
        return n_bad
    for block in row_blocks(len(X), _ROWS_AT_ONCE):
        n_bad += (~np.isfinite(X[block])).sum(axis=0)
    return n_bad


def _require_real(values: Any, name: str) -> None:
    if getattr(getattr(values, "dtype", None), "kind", "f") == "c":
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers ({values.dtype}). Give their real "
            "parts, or real and imaginary parts as columns."
        )


def require_sound_array(values: Any, name: str) -> None:
    """Raise if ``values`` hides entries behind a mask, or is mapped to a file that has become shorter.

    NumPy hands out what lies under a mask as if it were a value, and reading beyond the end of a mapped file ends the
    process.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = int(np.ma.count_masked(values))
        raise ValueError(
            f"{name} is a masked array with {n_masked} masked value(s); kfree does not support masked values. Impute "
            "them, remove their rows with numpy.ma.compress_rows, or use TableEncoder, which knows missing values."
        )
    arrays = (
        [getattr(values, part, None) for part in ("data", "indices", "indptr")] if sp.issparse(values) else [values]
    )
    for array in arrays:
        if isinstance(array, np.ndarray):
            _require_whole_file(array, name)


def _require_whole_file(array: Any, name: str) -> None:
    while isinstance(array, np.ndarray):
        if isinstance(array.base, mmap.mmap) and isinstance(array, np.memmap):
            begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
            needed, n_bytes = begin + len(array.base), _file_size(array.base)
            if n_bytes is not None and n_bytes < needed:
                raise ValueError(
                    f"{name} is mapped to a file of {n_bytes} bytes, which had at least {needed} when it was opened. "
                    "The file was cut; write it again, and open it again."
                )
        array = array.base


def _file_size(mapped: Any) -> int | None:
    """Bytes of the file, or None for memory without a file."""
    try:
        return mapped.size()
    except (OSError, ValueError):
        return None
