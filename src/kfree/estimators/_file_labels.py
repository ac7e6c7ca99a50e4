"""Labels and scores of rows in files, a chunk at a time."""

from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kfree.core.sites import Sites
from kfree.engines.dask.rows import labels_on_workers
from kfree.engines.files.source import Reading
from kfree.estimators._places import bare, place_of, source_as_compared
from kfree.explain.spread import FALSE_ALARMS, outlier_scores_of
from kfree.files.chunks import read_ahead
from kfree.files.labels import label_paths, write_labels
from kfree.validation.parameters import check
from kfree.validation.rows import require_sound_centres

# Numbers in a chunk.
_CHUNK_NUMBERS, _BLOCK = 1 << 21, 2048


def predict_files(model, rows, allow_new, out):
    """Labels of all rows in memory, or files with labels in the folder ``out``. With Dask, workers make them."""
    require_columns(model, rows)
    paths = [None] * len(rows.files) if out is None else label_paths(rows, out)
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
    begins = np.cumsum([0, *(file.n_rows for file in rows.files)]).tolist()
    calls = list(zip(begins[:-1], begins[1:], paths, strict=True))
    if model.engine == "dask":
        found = labels_on_workers(labels_of_file, (bare(model), rows, allow_new), calls)
    else:
        found = [labels_of_file((model, rows, allow_new), *call) for call in calls]
    return np.concatenate(found) if out is None else [str(path) for path in paths]


def labels_of_file(shared, begin, end, path):
    """Labels of the rows of one file, which are returned, or written to ``path``."""
    model, rows, allow_new = shared
    chunks = _labels(model, rows, begin, end, allow_new)
    if path is None:
        return np.concatenate([np.empty(0, dtype=np.int32), *chunks])
    try:
        write_labels(path, chunks)
    except OSError as error:
        if error.filename is None:
            raise OSError(error.errno, f"{error.strerror or error}; labels were not written", str(path)) from error
        raise
    return None


def score_streamed(model, rows):
    """Minus the cost of the rows, with the weights that they have in the files or the collection."""
    reading, fitted = Reading(model.engine, model.n_threads, _chunk_rows(rows)), model._model_
    frame, centres = fitted.as_compared
    seen = place_of(model, source_as_compared(rows, model.metric), reading, None).rows(frame, None)
    return -fitted.sq_unit * fitted.objective.cost(seen.nearest(Sites.of(centres)).stats)


def require_columns(model, rows):
    """Raise unless a model was fitted on columns like these."""
    check_is_fitted(model)
    check(model, model._constraints_of_methods)
    if rows.n_features != model.n_features_in_:
        raise ValueError(
            f"the rows of {rows.files[0].path} have {rows.n_features} columns, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input; give columns to open_rows."
        )
    names, fitted = rows.feature_names, getattr(model, "feature_names_in_", None)
    if names is not None and fitted is not None and names != list(fitted):
        raise ValueError(
            f"the columns {names} of {rows.files[0].path} are not those of the fit, {list(fitted)}; give columns to "
            "open_rows in that order."
        )
    require_sound_centres(model._model_.centres, rows.n_features)


def _labels(model, rows, begin, end, allow_new):
    """Labels of the rows ``begin`` … ``end`` − 1, a chunk at a time."""
    limits = model._limits(FALSE_ALARMS) if allow_new else None
    for chunk in read_ahead(rows.chunks(begin, end, _chunk_rows(rows))):
        labels = model._model_.labels(chunk.X, model.engine, model.n_threads)
        if limits is not None:
            parts = model._model_.distances(chunk.X, model.engine, model.n_threads)
            labels = np.where(outlier_scores_of(parts, limits) > 1, np.int32(-1), labels)
        yield labels


def _chunk_rows(rows):
    """Rows of a chunk, a multiple of the block size."""
    return _BLOCK * max(1, _CHUNK_NUMBERS // (_BLOCK * rows.n_features))
