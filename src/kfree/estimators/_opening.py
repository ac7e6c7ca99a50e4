"""The rows of a fit with centres: validated arrays, files or Dask collections, and whether a summary is searched."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.divergences import DIVERGENCES, require_domain
from kfree.core.names import require_order
from kfree.core.sphere import require_degrees, require_latitude_first, unit_vectors
from kfree.engines.dask.cluster import current_client
from kfree.engines.dask.collections import is_collection
from kfree.engines.files.engine import open_stream
from kfree.engines.files.source import ArrayRows, Reading, VectorRows
from kfree.engines.registry import open_engine
from kfree.estimators._places import journal_of, place_of, source_as_compared
from kfree.files.rows import FileRows, loaded
from kfree.native.implementations import implementation
from kfree.search.summary.plan import Plan, bytes_to_search, least_memory
from kfree.validation.collections import validated_collection
from kfree.validation.frames import column_names, require_names
from kfree.validation.parameters import check, memory_limit, require
from kfree.validation.rows import validated_centres, validated_rows, validated_weights
from kfree.validation.tensors import in_memory

# Where ``memory`` is None; for arrays no more than what a search on so many rows takes.
DEFAULT_MEMORY, ROWS_AT_ONCE = "1GB", 1 << 19


@dataclass(frozen=True)
class Data:
    """The rows of a fit: a ``source`` that can be streamed, and the arrays themselves where they are in memory.

    ``n_columns`` are those of X, which are two where rows are compared as vectors of three. ``unit`` says that rows are
    compared as unit vectors. ``plan`` divides the memory of a search on a summary; None where all rows are searched.
    ``is_limited`` says that the user asked for a limit: by files, ``memory``, ``checkpoint`` or workers.
    """

    source: Any  # a RowSource, or a CollectionRows
    X: Any = None
    weight: Any = None
    is_limited: bool = False
    n_columns: int = 0
    unit: bool = False
    plan: Plan | None = None


def data_of(estimator, X, sample_weight, on_summary, *, summarise_large):
    """The rows of a fit, after validation.

    ``on_summary`` are the constraints of a search on a summary. ``summarise_large`` says that a large array is searched
    by a summary without being asked, since this takes less time.
    """
    names = X.feature_names if isinstance(X, FileRows) else column_names(X)
    if estimator.metric == "haversine":
        require_latitude_first(names)
    require_order(column_names(getattr(estimator, "init", None)), names, "init", "Give init the columns of X in order.")
    data, unit = _given(estimator, X, sample_weight), is_direction(estimator.metric)
    n_columns = 2 if estimator.metric == "haversine" else data.source.n_features
    data = replace(data, n_columns=n_columns, unit=unit)
    is_large = summarise_large and data.source.n_rows > ROWS_AT_ONCE and not sp.issparse(data.X)
    if estimator.search == "auto" and is_large:
        is_large = _fulfils(estimator, on_summary)
    by_summary = is_large if estimator.search == "auto" else estimator.search == "summary"
    if not (data.is_limited or by_summary):
        return data
    block = implementation(estimator.engine, "rows").BLOCK
    if estimator.engine == "dask":
        current_client()  # before any pass
    plan = Plan.of(_memory_for(estimator, data, block, is_large), data.source.n_features, block)
    if estimator.search == "sweep" and estimator.engine == "dask":
        return replace(data, plan=plan)
    if estimator.search == "summary" or (estimator.search == "auto" and not plan.fits(data.source.n_rows)):
        check(estimator, on_summary)
        return replace(data, plan=plan)
    _require_in_memory(estimator, X, data, plan)
    return _loaded(estimator, X, data)


def opened_for_passes(estimator, data, seed, monitor):
    """The rows for passes over all of them: in memory where a limit allows it, else streamed."""
    journal = journal_of(estimator, data.source, data.plan, seed)
    if journal is not None:
        monitor.resources.callback(journal.close)
    # Under a limit, labels may not fit, and rows may not fit on a GPU.
    may_hold = estimator.memory is None or (estimator.engine != "gpu" and data.plan.can_label(data.source.n_rows))
    if data.X is not None and may_hold and journal is None:
        settings = {"unit": data.unit, "n_threads": estimator.n_threads}
        return open_engine(estimator.engine, data.X, weight=data.weight, **settings)
    meter = _Meter(monitor, data.source)
    reading = Reading(estimator.engine, estimator.n_threads, data.plan.chunk_rows, meter)
    first_draw = int(np.random.RandomState(seed).randint(2**31))
    place = place_of(estimator, data.source, reading, journal)
    return open_stream(place, unit=data.unit, sample=(data.plan.sample_rows, first_draw))


def starting_centres(init, n_features, metric):
    """Given centres (k, d)."""
    centres = validated_centres(init, n_features)
    has_direction = metric != "cosine" or centres.any(axis=1).all()
    require(bool(has_direction), "init", init, "centres that are not zero: under cosine they are directions")
    if metric in DIVERGENCES:
        require_domain(centres, DIVERGENCES[metric], "init")
    if metric == "haversine":
        require_degrees(centres, "init")
        return unit_vectors(centres)
    return centres


def is_direction(metric):
    """Whether rows are compared as unit vectors."""
    return metric in ("cosine", "haversine")


def as_compared(rows, metric):
    """Rows as they are compared: places on the Earth are unit vectors."""
    if metric != "haversine":
        return rows
    places = in_memory(rows)
    require_degrees(places)
    return unit_vectors(places)


def validated(estimator, X, sample_weight):
    """Rows in memory and their weights. Fitted attributes are not changed yet."""
    rows = validated_rows(X, estimator)
    require_names(X)
    return rows, validated_weights(sample_weight, rows.shape[0])


def _given(estimator, X, sample_weight):
    is_file, is_dask = isinstance(X, FileRows), estimator.engine == "dask"
    is_limited = is_file or is_dask or estimator.checkpoint is not None or estimator.memory is not None
    is_path = estimator.checkpoint is None or isinstance(estimator.checkpoint, str | os.PathLike)
    require(is_path, "checkpoint", estimator.checkpoint, "the name of a file, or None")
    if is_file:
        require(sample_weight is None, "sample_weight", "…", "None for files, and weight to open_rows")
        return Data(source_as_compared(X, estimator.metric), is_limited=True)
    if is_dask and is_collection(X):
        return Data(source_as_compared(validated_collection(X, sample_weight), estimator.metric), is_limited=True)
    if is_dask:
        raise TypeError(
            f"engine='dask' takes rows of files by open_rows, Dask arrays and Dask dataframes; X is a "
            f"{type(X).__name__}. Use dask.array.from_array(X, chunks=…), or engine='auto' for rows in memory."
        )
    rows, weight = validated(estimator, X, sample_weight)
    rows = as_compared(rows, estimator.metric)
    if is_limited or estimator.search == "summary":
        asked = next((name for name in ("memory", "checkpoint") if getattr(estimator, name) is not None), "search")
        allowed = "'auto' for sparse rows" if asked == "search" else "None for sparse rows"
        require(not sp.issparse(rows), asked, getattr(estimator, asked), allowed)
    return Data(ArrayRows(rows, weight), rows, weight, is_limited)


def _fulfils(estimator, constraints):
    try:
        check(estimator, constraints)
    except ValueError:
        return False
    return True


def _memory_for(estimator, data, block, is_large):
    """The bytes that a fit on these rows may take.

    Without a limit, an array has no more than a search on ``ROWS_AT_ONCE`` takes. A file of rows that would be searched
    by a summary as an array has the same, so that both have one result.
    """
    memory = memory_limit(DEFAULT_MEMORY if estimator.memory is None else estimator.memory)
    n_features = data.source.n_features
    least = least_memory(n_features, block)
    if isinstance(data.source, FileRows | VectorRows):
        memory = data.source.memory_for_fit(memory, least)
    if estimator.memory is None and (data.X is not None or is_large):
        memory = max(min(memory, bytes_to_search(ROWS_AT_ONCE, n_features)), least)
    return memory


def _require_in_memory(estimator, X, data, plan):
    """Raise if a search on all rows was asked for, and these are elsewhere or too many."""
    search = estimator.search
    if search == "auto":
        return
    if data.X is None and search != "sweep":
        raise ValueError(
            f"search={search!r} searches all rows in memory, and X is a {type(X).__name__}, whose rows are not. Give "
            "search='summary', or 'auto'."
        )
    if not plan.fits(data.source.n_rows):
        raise ValueError(
            f"search={search!r} searches all rows in memory, and the {data.source.n_rows} rows of X do not fit in "
            f"{plan.memory} bytes of memory. Give search='summary' or 'auto', or more memory."
        )


def _loaded(estimator, X, data):
    """The same rows in memory."""
    if data.X is not None:
        return data
    if is_collection(X):
        rows, weight = validated(estimator, *data.source.computed(X))
        rows = as_compared(rows, estimator.metric)
    else:
        rows, weight = loaded(data.source)
    return replace(data, X=rows, weight=weight)


class _Meter:
    """Tells a monitor which pass over the rows is going on, and how many bytes of it are done."""

    def __init__(self, monitor, source) -> None:
        self._monitor, self._n_bytes = monitor, getattr(source, "n_bytes", 0)
        self._n_passes, self._n_done = 0, None

    def __call__(self, n_done, n_rows):
        if self._n_done is None or n_done <= self._n_done:
            self._n_passes += 1
        self._n_done = n_done
        self._monitor.passing(self._n_passes, n_done / n_rows, self._n_bytes)
