"""Labels and scores of rows in files, a chunk at a time."""

from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kfree.core.sites import Sites
from kfree.engines.files.engine import open_stream_in
from kfree.engines.files.source import Reading
from kfree.estimators._validation import require_sound_centres
from kfree.explain.spread import FALSE_ALARMS, outlier_scores
from kfree.files.chunks import read_ahead
from kfree.files.labels import label_paths, write_labels

# Numbers in a chunk.
_CHUNK_NUMBERS, _BLOCK = 1 << 21, 2048


def predict_files(model, rows, allow_new, out):
    """Labels of all rows in memory, or files with labels in the folder ``out``."""
    require_columns(model, rows)
    if out is None:
        return np.concatenate(list(_labels(model, rows, 0, rows.n_rows, allow_new)))
    paths = label_paths(rows, out)
    Path(out).mkdir(parents=True, exist_ok=True)
    begin = 0
    for file, path in zip(rows.files, paths, strict=True):
        try:
            write_labels(path, _labels(model, rows, begin, begin + file.n_rows, allow_new))
        except OSError as error:
            if error.filename is None:
                raise OSError(error.errno, f"{error.strerror or error}; labels were not written", str(path)) from error
            raise
        begin += file.n_rows
    return [str(path) for path in paths]


def score_files(model, rows):
    """Minus the cost of the rows, with the weights that they have in the files."""
    require_columns(model, rows)
    reading = Reading(model.engine, model.n_threads, _chunk_rows(rows))
    done = open_stream_in(rows, reading, model._frame_).nearest(Sites.of(model._sites_.centres))
    return -model._objective_.cost(done.stats)


def require_columns(model, rows):
    """Raise unless a model was fitted on columns like these."""
    check_is_fitted(model)
    model._check_shared_parameters()
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
    require_sound_centres(model._sites_.centres, rows.n_features)


def _labels(model, rows, begin, end, allow_new):
    """Labels of the rows ``begin`` … ``end`` − 1, a chunk at a time."""
    frame, centres = model._frame_, model._sites_.centres
    limits = model._limits(FALSE_ALARMS) if allow_new else None
    for chunk in read_ahead(rows.chunks(begin, end, _chunk_rows(rows)), depth=1):
        engine, seen = model._engine_in(frame, centres, chunk.X, None)
        labels = model._rank_[engine.labels(engine.nearest(Sites.of(seen)).assignment)]
        if allow_new:
            parts = model._distances_in(frame, centres, model._order_, chunk.X)
            scores = np.concatenate([outlier_scores(distances, limits) for _, distances in parts])
            labels = np.where(scores > 1, np.int32(-1), labels)
        yield labels


def _chunk_rows(rows):
    """Rows of a chunk, a multiple of the block size."""
    return _BLOCK * max(1, _CHUNK_NUMBERS // (_BLOCK * rows.n_features))
