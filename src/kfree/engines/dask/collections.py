"""Dask arrays and dataframes as rows: their chunks, cut at multiples of the block size of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.exact import rounded_number
from kfree.core.sphere import require_degrees, unit_vectors
from kfree.core.stats import Floats
from kfree.engines.dask.cluster import Cluster, current_client, token
from kfree.engines.dask.rows import FilesOnWorkers, TaskContext, Workers
from kfree.engines.files.source import ArrayRows, Reading
from kfree.files.chunks import require_numbers

# Types of numbers that are not converted.
_AS_THEY_ARE = (np.float32, np.float64)


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or dataframe; Dask is not imported for that."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


@dataclass(frozen=True)
class CollectionRows:
    """Rows of a Dask array ``X`` (n, d) with weights (n,) or None; all chunk sizes are known."""

    X: Any
    weight: Any = None

    @classmethod
    def of(cls, X: Any, weight: Any = None) -> CollectionRows:
        """From an array or dataframe of numbers; chunk sizes that are not known are computed."""
        rows, weight = _array(X, "X"), None if weight is None else _array(weight, "sample_weight")
        if rows.ndim != 2 or not rows.shape[1]:
            raise ValueError(f"X has the shape {rows.shape}; give rows of one column or more, (n_samples, n_features).")
        if weight is not None:
            if weight.shape != rows.shape[:1]:
                raise ValueError(
                    f"sample_weight has the shape {weight.shape}; give one weight for each of the {rows.shape[0]} rows."
                )
            weight = weight.astype(np.float64)
        return cls(rows, weight)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def as_vectors(self) -> CollectionRows:
        """Latitudes and longitudes as unit vectors."""
        whole = self.X.rechunk({1: -1})
        vectors = whole.map_blocks(_vectors_of, dtype=np.float64, chunks=(whole.chunks[0], (3,)), meta=np.empty((0, 3)))
        return CollectionRows(vectors, self.weight)

    @property
    def digest(self) -> str:
        """Dask's names of the collections, which depend on what they are computed from."""
        tokenize = import_module("dask.base").tokenize
        return str(tokenize(self.X, self.weight))

    def computed(self, X: Any) -> tuple[Any, Any]:
        """X and its weights in the memory of this process."""
        compute = import_module("dask").compute
        found: tuple[Any, Any] = compute(X, self.weight)
        return found

    def chunked(self, labels: NDArray[Any]) -> Any:
        """One number per row as a Dask array with the chunks of the rows."""
        return import_module("dask.array").from_array(labels, chunks=(self.X.chunks[0],))

    def cut(self, block: int) -> tuple[list[int], CollectionRows]:
        """Where chunks begin, and the same rows in chunks that begin at multiples of ``block``.

        Chunks keep their places, so that at most one block of rows of each is copied to another one.
        """
        ends = np.cumsum(self.X.chunks[0])
        inner = np.unique(np.round(ends[:-1] / block).astype(np.int64) * block)
        begins = [0, *inner[(inner > 0) & (inner < self.n_rows)].tolist()]
        sizes = tuple(np.diff([*begins, self.n_rows]).tolist())
        weight = None if self.weight is None else self.weight.rechunk((sizes,))
        return begins, CollectionRows(self.X.rechunk((sizes, (self.n_features,))), weight)


def _vectors_of(block: Any) -> Floats:
    """Runs on a worker."""
    places = np.asarray(block)
    require_degrees(places, "a chunk of X")
    return unit_vectors(places)


def _array(collection: Any, name: str) -> Any:
    """A Dask array with known chunk sizes."""
    if not is_collection(collection):
        raise TypeError(
            f"{name} is a {type(collection).__name__}; with a Dask collection as X give a Dask array or series, "
            f"such as dask.array.from_array({name}, chunks=…)."
        )
    if hasattr(collection, "to_dask_array"):
        if any(dtype not in _AS_THEY_ARE for dtype in np.atleast_1d(collection.dtypes)):
            meta = _frame_of_numbers(collection._meta, name)
            collection = collection.map_partitions(_frame_of_numbers, name, meta=meta)
        # Without lengths=True, which counts rows by a graph of its own: Dask may join other files to partitions there.
        collection = collection.to_dask_array()
    elif collection.dtype not in _AS_THEY_ARE:
        meta = np.empty((0,) * collection.ndim)
        collection = collection.map_blocks(_as_numbers, name, dtype=np.float64, meta=meta)
    if any(np.isnan(size) for size in collection.shape):
        return collection.compute_chunk_sizes()
    return collection


def _frame_of_numbers(frame: Any, name: str) -> Any:
    """A frame or a series of pandas with columns of numbers alone. Runs on a worker."""
    if frame.ndim == 1:
        return _as_numbers(frame, name)
    columns = {
        column: values if values.dtype in _AS_THEY_ARE else _as_numbers(values, f"column {column!r} of {name}")
        for column, values in frame.items()
    }
    return type(frame)(columns, index=frame.index)


def _as_numbers(values: Any, name: str) -> Any:
    """An array, or a column of pandas, as float64. Runs on a worker."""
    if values.dtype.kind in "iu":
        whole = values.dropna().to_numpy(f"{values.dtype.kind}8") if hasattr(values, "dropna") else values
        found = rounded_number(whole)
        if found is not None:
            raise ValueError(
                f"{name} holds whole numbers that float64 rounds, such as {found}. Leave out columns that name rows, "
                "or convert them with astype(float) if rounding does no harm."
            )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} holds values that are not numbers ({error}); encode or drop such columns, for example with "
            "kfree.TableEncoder()."
        ) from error


class CollectionOnWorkers(Workers):
    """The chunks of a Dask collection; every question computes them again, unless the user has persisted them.

    They cannot be read again in the middle of a sweep, so that all far rows are kept.
    """

    most_far_bytes = math.inf

    def __init__(self, cluster: Cluster, rows: CollectionRows, reading: Reading):
        super().__init__(cluster, rows, reading)
        self._begins, cut = rows.cut(reading.passes.BLOCK)
        self._blocks = cut.X.to_delayed().ravel().tolist()
        self._weights = [None] * len(self._blocks) if cut.weight is None else cut.weight.to_delayed().tolist()

    def readable(self) -> None:
        return None

    def futures(self, name: str, task: Callable[..., Any], context: Any, asked: Any) -> list[Any]:
        delayed, key = import_module("dask").delayed, f"kfree-{name}-{token()}"
        on_block = delayed(_on_block, pure=False, traverse=False)
        blocks = zip(self._blocks, self._weights, self._begins, strict=True)
        calls = [
            on_block(task, context, asked, *block, dask_key_name=f"{key}-{number}")
            for number, block in enumerate(blocks)
        ]
        return list(self.cluster.client.compute(calls))


def _on_block(task: Callable[..., Any], context: TaskContext, asked: Any, X: Any, weight: Any, begin: int) -> Any:
    """Runs on a worker."""
    X, weight = np.asarray(X), None if weight is None else np.asarray(weight)
    columns, weights = [*range(X.shape[1])], [] if weight is None else [weight]
    names = [*columns, *(["sample_weight"] if weights else [])]
    require_numbers([*X.T, *weights], names, "sample_weight", "X", begin)
    return task(replace(context, source=ArrayRows(X, weight, begin)), asked, begin, begin + len(X))


def workers_of(source: Any, reading: Reading) -> Workers:
    """The workers of the current client, for files, which they read, or for the chunks of a Dask collection."""
    kind = CollectionOnWorkers if isinstance(source, CollectionRows) else FilesOnWorkers
    return kind(Cluster(current_client()), source, reading)
