"""Where the rows of a fit are streamed, by the parameters ``engine`` and ``checkpoint``; labels of Dask collections."""

import hashlib
from copy import copy
from importlib import import_module

import numpy as np

from kfree.engines.dask.collections import CollectionRows, workers_of
from kfree.engines.dask.rows import DaskRows, threads_per_task
from kfree.engines.files.engine import Place, streamed
from kfree.engines.files.source import ArrayRows, VectorRows
from kfree.engines.journaled import Journaled
from kfree.saving.journal import Journal, digest
from kfree.validation.collections import validated_collection

# Parameters that change no bit of a result.
_NO_EFFECT = {"checkpoint", "engine", "memory", "n_threads", "on_interrupt", "verbose"}


def place_of(model, source, reading, journal):
    """The place of the rows of ``source``, whose answers are recorded if there is a ``journal``."""
    place = streamed(source, reading)
    if model.engine == "dask":
        workers = workers_of(source, reading)
        place = Place(source.n_features, lambda frame, scanned: DaskRows(workers, frame, scanned))
    if journal is None:
        return place
    return Place(source.n_features, lambda frame, scanned: Journaled(place.rows(frame, scanned), journal))


def source_as_compared(source, metric):
    """Rows of files or of a collection as they are compared: places on the Earth are unit vectors."""
    if metric != "haversine":
        return source
    if source.n_features != 2:
        raise ValueError(
            f"X has {source.n_features} columns, and metric='haversine' takes two: latitude and longitude in degrees. "
            "Give these two columns alone."
        )
    return source.as_vectors() if isinstance(source, CollectionRows) else VectorRows(source)


def journal_of(model, source, plan, seed):
    """The checkpoint of a fit, None if the parameter ``checkpoint`` is."""
    if model.checkpoint is None:
        return None
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _NO_EFFECT}
    described = {name: _shown(value) for name, value in parameters.items() if name != "random_state"}
    version = import_module("kfree").__version__
    return Journal(
        model.checkpoint,
        {
            "version of kfree": version,
            "estimator": type(model).__name__,
            **described,
            "memory": plan.memory,
            "seed": seed,
            "rows": source.n_rows,
            "columns": source.n_features,
            "data": _identity(source),
        },
    )


def lazy_labels(model, X, allow_new):
    """Labels of a Dask collection, as a Dask array with the chunks of X."""
    whole = validated_collection(X).X.rechunk({1: -1})
    return whole.map_blocks(_block_labels, model=bare(model), allow_new=allow_new, dtype=np.int32, drop_axis=1)


def bare(model):
    """A fitted model for tasks on workers: without labels and names, and it computes where it is."""
    without = copy(model)
    for name in ("labels_", "feature_names_in_"):
        without.__dict__.pop(name, None)
    without.engine = "auto"
    return without


def _block_labels(block, model, allow_new):
    if not len(block):
        return np.empty(0, dtype=np.int32)
    own = copy(model)
    if own.n_threads is None:
        own.n_threads = threads_per_task()
    return own.predict(block, allow_new=allow_new)


def _identity(source):
    """What identifies the rows of a source: files with their times and sizes, a Dask graph, or the numbers."""
    if not isinstance(source, ArrayRows):
        return source.digest
    state = hashlib.sha256()
    for chunk in source.chunks(0, source.n_rows, 1 << 16):
        for array in (chunk.X, chunk.weight):
            if array is not None:
                state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def _shown(value):
    simple = value is None or isinstance(value, str | int | float | bool)
    return value if simple else digest([np.asarray(value)])
