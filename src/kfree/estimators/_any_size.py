"""Fits on any number of rows: those of files, and arrays that are large or come with a limit of memory.

Rows that fit in the memory are searched as arrays are. Of more rows, a summary is searched, then all rows in passes.
"""

import math
import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from kfree.engines.dask.cluster import current_client
from kfree.engines.dask.collections import CollectionRows, columns_of, is_collection
from kfree.engines.files.engine import open_stream
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.registry import ENGINES, open_engine
from kfree.estimators._order import heaviest_first, published_order, ranks
from kfree.estimators._places import journal_of, lazy_labels, place_of
from kfree.estimators._tensors import placed_like
from kfree.estimators._validation import is_positive_number, random_generator, require
from kfree.files.rows import FileRows, loaded
from kfree.native.implementations import implementation
from kfree.search.centres.state import State
from kfree.search.loop import Descent
from kfree.search.summary.exact import MOST_PASSES, Step, descended, started
from kfree.search.summary.micro import Summary
from kfree.search.summary.plan import Plan, bytes_to_search, least_memory
from kfree.search.summary.regions import Limits, Proposal, Search, searched_by_regions

# Where ``memory`` is None; for arrays no more than what a search on so many rows takes.
DEFAULT_MEMORY, ROWS_AT_ONCE = "1GB", 1 << 19
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Rows:
    """The rows of a fit: a ``source`` that can be streamed, and the arrays themselves unless they are in files."""

    source: Any
    X: Any = None
    weight: Any = None

    @classmethod
    def of_arrays(cls, X, weight):
        return cls(ArrayRows(X, weight), X, weight)


@dataclass(frozen=True)
class Located:
    """The end of a search on a summary: its state, the objective, the cost of the summary, and how all rows go on.

    ``search`` is that of regions, None if the number of clusters is to stay.
    """

    state: State
    objective: Any
    descent: Descent[State]
    step: Step
    path: Any = None
    search: Search | None = None


def memory_bytes(memory):
    """Bytes of a limit such as 500_000_000 or "500MB"."""
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B)\s*", memory.upper())
        number = float(found[1]) * _UNITS[found[2]] if found else math.nan
    else:
        number = memory
    require(is_positive_number(number), "memory", memory, "a number of bytes, a text such as '500MB' or '2GB', or None")
    return int(number)


class AnySize:
    """For estimators with centres and the parameter ``memory``.

    They have ``_fit_arrays(X, rows, weight)``, a fit in memory, ``_summarised(engine, plan, seed)``, ``_located``, a
    search on a summary, ``_publish_search``, for what they publish besides, and ``_require_streamable()``.
    """

    labels_: Any
    _engines: tuple[str, ...] = (*ENGINES, "dask")

    def _has_any_size(self, X):
        wanted = self.engine == "dask" or self.checkpoint is not None or self.memory is not None
        return isinstance(X, FileRows) or wanted

    def _is_large(self, rows):
        """Whether a summary of an array is searched without being asked for: this takes less time."""
        return rows.shape[0] > ROWS_AT_ONCE and not sp.issparse(rows)

    def _fit_any_size(self, X, sample_weight):
        is_path = self.checkpoint is None or isinstance(self.checkpoint, str | os.PathLike)
        require(is_path, "checkpoint", self.checkpoint, "the name of a file, or None")
        return self._fit_rows(X, self._rows_of(X, sample_weight))

    def _fit_rows(self, X, rows):
        """The fit on rows that may or may not fit in the memory."""
        block = implementation(self.engine, "rows").BLOCK
        if self.engine == "dask":
            current_client()  # before any pass
        plan = Plan.of(self._memory_for(rows, block), rows.source.n_features, block)
        if plan.fits(rows.source.n_rows):
            self._fit_arrays(*self._in_memory(X, rows))
            self.n_passes_, self.summary_cost_ = 1, self.cost_
            if is_collection(X):
                self.labels_ = rows.source.chunked(self.labels_)
        else:
            self._require_streamable()
            with self._watching() as watch:
                watch.has_state = False
                self._fit_streamed(X, rows, plan, watch)
            if is_collection(X):
                self.labels_ = lazy_labels(self, X, allow_new=False)
        if isinstance(X, FileRows):
            self._forget_labels(X)
        return self if rows.X is None else self._remember(X)

    def _memory_for(self, rows, block):
        """The bytes that a fit on these rows may take."""
        memory = memory_bytes(DEFAULT_MEMORY if self.memory is None else self.memory)
        n_features = rows.source.n_features
        if self.memory is None and rows.X is not None:
            return max(min(memory, bytes_to_search(ROWS_AT_ONCE, n_features)), least_memory(n_features, block))
        if isinstance(rows.source, FileRows):
            return rows.source.memory_beside(memory, least_memory(n_features, block))
        return memory

    def _in_memory(self, X, rows):
        """X, its rows and their weights, as a fit on arrays takes them."""
        if is_collection(X):
            here, weight = rows.source.computed(X)
            return here, *self._opened(here, weight)
        return X, *(loaded(rows.source) if rows.X is None else (rows.X, rows.weight))

    def _rows_of(self, X, sample_weight):
        if self.engine == "dask" and is_collection(X):
            return Rows(CollectionRows.of(X, sample_weight))
        if not isinstance(X, FileRows):
            if self.engine == "dask":
                raise TypeError(
                    f"engine='dask' takes rows of files by open_rows, Dask arrays and Dask dataframes; X is a "
                    f"{type(X).__name__}. Use dask.array.from_array(X, chunks=…), or engine='auto' for rows in memory."
                )
            rows, weight = self._opened(X, sample_weight)
            asked = "memory" if self.memory is not None else "checkpoint"
            require(not sp.issparse(rows), asked, getattr(self, asked), "None for sparse rows")
            return Rows.of_arrays(rows, weight)
        require(sample_weight is None, "sample_weight", "…", "None for files, and weight to open_rows")
        return Rows(X)

    def _fit_streamed(self, X, rows, plan, watch):
        seed = 0 if self.random_state is None else int(random_generator(self.random_state).randint(2**31))
        journal = journal_of(self, rows.source, plan, seed)
        engine = self._streaming_engine(rows, plan, seed, watch, journal)
        summary = self._summarised(engine, plan, seed)
        located = self._located(summary, watch)
        most, in_time = min(MOST_PASSES, self.max_iter), self._clock(watch)
        if located.search is None:
            begun = started(engine, located.state.sites, located.objective)
        else:
            limits = Limits(plan.region_rows, plan.region_sample, most, seed, in_time)
            start = Proposal(located.state.sites, located.state.stats.n)
            begun = searched_by_regions(engine, start, located.objective, located.search, limits, watch.report)
        found = descended(engine, begun, located.objective, located.step, most, in_time, watch.report)
        limit = "max_iter" if most == self.max_iter else "passes"
        found.stop_reason = watch.stopped_by or ("converged" if found.converged else limit)
        self._publish_streamed(X, rows, engine, summary, located, found)

    def _clock(self, watch):
        return watch.may_go_on

    def _streaming_engine(self, rows, plan, seed, watch, journal):
        unit = self.metric == "cosine"
        # Under a limit, labels may not fit, and rows may not fit on a GPU.
        may_hold = self.memory is None or (self.engine != "gpu" and plan.can_label(rows.source.n_rows))
        if rows.X is not None and may_hold and journal is None:
            return open_engine(self.engine, rows.X, weight=rows.weight, unit=unit, n_threads=self.n_threads)
        reading = Reading(self.engine, self.n_threads, plan.chunk_rows, _Meter(watch, rows.source))
        first_draw = int(np.random.RandomState(seed).randint(2**31))
        place = place_of(self, rows.source, reading, journal)
        return open_stream(place, unit=unit, sample=(plan.sample_rows, first_draw))

    def _publish_streamed(self, X, rows, engine, summary: Summary, located: Located, found):
        """Set all fitted attributes; called only after the fit has succeeded."""
        state = found.state
        labels = None if rows.X is None else engine.labels(state.assignment)
        if labels is None or self.memory is not None:  # the same order for arrays and files
            order = heaviest_first(self.label_order, state.stats.n)
        else:
            order = published_order(self.label_order, labels, state.stats.n, rows.weight)
        labels = None if labels is None else placed_like(ranks(order).take(labels), X)
        seen = ranks(order)[summary.sample.labels(summary.sample.nearest(state.sites).assignment)]
        dist = self._own_distances(engine.frame, state.sites.centres[order], summary.sample.given(), seen)
        validate_data(self, columns_of(X), skip_check_array=True, reset=True)
        self._set_fitted(engine, located.objective, state, found, order, labels, (seen, dist, len(order), None))
        self.n_iter_ = located.descent.n_iter + found.n_iter
        self.n_passes_ = summary.n_passes + found.n_iter
        self.summary_cost_ = located.descent.state.cost + summary.offset
        self._publish_search(located, found, engine.n_rows, summary.sample.given(), seen)

    def _forget_labels(self, rows):
        """Fitted attributes of files: names of columns, and no labels."""
        self.__dict__.pop("labels_", None)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, dtype=object)

    def __getattr__(self, name):
        if name == "labels_" and "n_passes_" in self.__dict__:
            raise AttributeError(
                "labels_ is not kept after a fit on files; write labels with predict(rows, out='folder'), or get them "
                "in memory with predict(rows)."
            )
        return super().__getattr__(name)  # type: ignore[misc]  # that of Margins


class _Meter:
    """Tells a watch which pass over the rows is going on, and how many bytes of it are done."""

    def __init__(self, watch, source):
        self._watch, self._n_bytes = watch, getattr(source, "n_bytes", 0)
        self._n_passes, self._n_done = 0, None

    def __call__(self, n_done, n_rows):
        if self._n_done is None or n_done <= self._n_done:
            self._n_passes += 1
        self._n_done = n_done
        self._watch.passing(self._n_passes, n_done / n_rows, self._n_bytes)
