"""Dask collections: those whose types say that they hold no numbers are refused before a chunk is computed."""

from typing import Any

import numpy as np

from kfree.engines.dask.collections import CollectionRows, is_collection
from kfree.validation.frames import require_distinct_names


def validated_collection(X: Any, sample_weight: Any = None) -> CollectionRows:
    """The rows of a Dask array or dataframe, and their weights."""
    for values, name in ((X, "X"), (sample_weight, "sample_weight")):
        if is_collection(values):
            _require_types_of_numbers(values._meta, name)
    return CollectionRows.of(X, sample_weight)


def _require_types_of_numbers(meta: Any, name: str) -> None:
    """``meta`` is an array, a series or a frame without rows, of the types of a collection."""
    if not hasattr(meta, "index"):
        if not isinstance(meta, np.ndarray) or isinstance(meta, np.ma.MaskedArray):
            raise TypeError(
                f"{name} is a Dask array whose chunks are of the type {type(meta).__name__}; give one of dense arrays "
                "of NumPy without a mask."
            )
        types = {name: meta.dtype}
    elif meta.ndim == 1:
        types = {name: meta.dtype}
    else:
        require_distinct_names(meta, name)
        types = {f"column {column!r} of {name}": dtype for column, dtype in meta.dtypes.items()}
    for where, dtype in types.items():
        if getattr(dtype, "kind", "O") in "mMcSUV":
            raise ValueError(
                f"{where} holds {dtype}, not real numbers; convert it first, for example dates to days and text with "
                "astype(float)."
            )
