"""Everything that the report page shows, as values for JSON."""

import base64
import math
from importlib import import_module

import numpy as np

from kfree.estimators.lambda_path import lambda_path
from kfree.explain.features import effects_among_siblings
from kfree.explain.summary import summary_of
from kfree.report.steps import colours, sampled, slider_steps

# Rows that are drawn, rows that clusters are described by, and columns that are shown.
_POINTS = 2000
_DESCRIBED = 20_000
_AXES = 12
_TABLE_COLUMNS = 30
# Labels of all rows are kept for every step if these are no more than this, else only for the model's own.
_LABELS_KEPT = 2_000_000
# Stands for an infinite effect, which JSON cannot hold.
INFINITE = 1e6


def report_data(model, X, feature_names=None, *, title="kfree", plan=None, row_numbers=None):
    """What the page needs of a fitted DPMeans and its rows."""
    X = np.asarray(X)
    require_rows_of_fit(model, X)
    path = model.path_
    if path is None:
        path = lambda_path(X, metric=model.metric, n_threads=model.n_threads)
    steps = slider_steps(model, X, path)
    return assembled(steps, X, feature_names, title=title, plan=plan, row_numbers=row_numbers, path=path)


def require_rows_of_fit(model, X):
    """Raise unless X has as many rows as the fit had."""
    n_fitted = len(model.labels_)
    if len(X) != n_fitted:
        raise ValueError(f"X has {len(X)} rows and the model was fitted with {n_fitted}; give the rows of fit.")


def assembled(
    steps,
    X,
    feature_names=None,
    *,
    title="kfree",
    plan=None,
    row_numbers=None,
    path=None,
    axes=None,
    word="row",
    suggested=None,
):
    """The page of clusterings by ascending numbers of clusters; a ``path`` of penalties is drawn as a staircase.

    ``axes`` replace columns and main directions on the map. ``word`` is what a row is called.
    """
    names = [f"x{j}" for j in range(X.shape[1])] if feature_names is None else [str(name) for name in feature_names]
    row_numbers = np.arange(1, len(X) + 1) if row_numbers is None else np.asarray(row_numbers)
    described = sampled(len(X), _DESCRIBED)
    drawn = described[sampled(len(described), _POINTS)]
    keeps_all = len(X) * len(steps) <= _LABELS_KEPT
    return {
        "title": title,
        "version": import_module("kfree").__version__,
        "word": word,
        "n_rows": len(X),
        "n_features": X.shape[1],
        "features": names[:_TABLE_COLUMNS],
        "row_numbers": row_numbers.tolist() if keeps_all else None,
        "stairs": [] if path is None else _stairs(path),
        "suggested": suggested if path is None else int(path.suggest().k),
        "points": {
            "rows": row_numbers[drawn].tolist(),
            "axes": _axes(X, drawn, names, plan) if axes is None else _given_axes(axes, drawn),
        },
        # Left to right as in the picture, where small penalties and so many clusters are on the left.
        "steps": [
            _step(step, own, path, X, described, drawn, plan, names, row_numbers, keeps_all)
            for step, own in reversed(list(zip(steps, colours(steps), strict=True)))
        ],
    }


def _step(step, own_colours, path, X, described, drawn, plan, names, row_numbers, keeps_all):
    labels = step.labels[described]
    siblings = np.zeros(step.k) if step.parents is None else step.parents
    effects, shown = effects_among_siblings(X[described][:, :_TABLE_COLUMNS], labels, step.k, siblings)
    means = np.zeros((step.k, X.shape[1]))
    means[:, :_TABLE_COLUMNS] = shown
    means = _in_units(means, plan)[:, :_TABLE_COLUMNS]
    sizes = np.bincount(step.labels[step.labels >= 0], minlength=step.k)
    summary = summary_of(step.view(described), names)
    clusters = [
        {
            "label": cluster.label,
            "size": int(sizes[cluster.label]),
            "spread": number(cluster.spread),
            "nearest": cluster.nearest,
            "nearest_distance": number(cluster.nearest_distance),
            "exemplars": row_numbers[described[list(cluster.exemplars)]].tolist(),
        }
        for cluster in summary.clusters
    ]
    low, high = (None, None) if path is None else _bounds(path, step)
    return {
        "k": step.k,
        "lam": None if step.lam is None else number(step.lam),
        "note": step.note,
        "low": low,
        "high": high,
        "own": step.is_own,
        "parents": None if step.parents is None else step.parents.tolist(),
        "colours": own_colours,
        "clusters": clusters,
        "effects": [[number(value) for value in row] for row in np.clip(effects, -INFINITE, INFINITE)],
        "means": [[number(value) for value in row] for row in means],
        "points": packed(step.labels[drawn]),
        "labels": packed(step.labels) if keeps_all or step.is_own else None,
    }


def number(value, digits=5):
    """A float of few digits, or None if it is not finite, which JSON cannot hold."""
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def packed(labels):
    """Labels as base64 of little-endian int16, or int32 where there are many clusters."""
    kind = "<i2" if labels.max(initial=0) < 2**15 else "<i4"
    return {"type": kind, "data": base64.b64encode(labels.astype(kind).tobytes()).decode()}


def _stairs(path):
    """The steps of the staircase that have a width; the first has no upper end and a last one no lower end."""
    return [
        {"k": int(path.k[j]), "low": number(path.lam_low[j]), "high": number(path.lam_high[j])}
        for j in np.flatnonzero(path.width > 0)
    ]


def _bounds(path, step):
    """The penalties between which the path has this number of clusters; the step's own if the path has none."""
    j = step.k - int(path.k[0])
    if 0 <= j < len(path) and path.width[j] > 0:
        return number(path.lam_low[j]), number(path.lam_high[j])
    return number(step.lam), number(step.lam)


def _in_units(rows, plan):
    """Rows in the units of their columns, before they were standardised or encoded."""
    return rows if plan is None else plan.in_units(rows)


def _axes(X, drawn, names, plan):
    """What can be drawn against each other: main directions if there are more than two columns, and columns."""
    units = _in_units(X[drawn], plan)[:, :_AXES]
    axes = [{"name": name, "values": _values(units[:, j])} for j, name in enumerate(names[:_AXES])]
    if X.shape[1] > 2:
        rows = X[drawn].astype(np.float64)
        _, spread, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        share = spread**2 / max((spread**2).sum(), np.finfo(float).tiny)
        main = (rows - rows.mean(axis=0)) @ directions[:2].T
        made = [f"direction {j + 1} ({share[j]:.0%} of the variance)" for j in range(main.shape[1])]
        axes = [{"name": name, "values": _values(main[:, j])} for j, name in enumerate(made)] + axes
    if len(axes) == 1:
        axes.append({"name": "place in the file", "values": drawn.tolist()})
    return axes


def _given_axes(axes, drawn):
    return [{"name": name, "values": _values(np.asarray(values)[drawn])} for name, values in axes.items()]


def _values(column):
    return [number(value) for value in column]
