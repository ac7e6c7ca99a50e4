"""Everything that the report page shows, as values for JSON."""

import base64
import math
from importlib import import_module

import numpy as np

from kfree.core.row_names import row_names
from kfree.explain.summary import exemplars_of, spreads_of
from kfree.explain.units import DATE, MOST_DECIMALS
from kfree.report.columns import shown_columns
from kfree.report.steps import colours, sampled

# Rows that are drawn, rows that clusters of other steps than the model are described by, and columns in the menus of
# the map.
_POINTS = 2000
_DESCRIBED = 20_000
_AXES = 60
# Labels of all rows are kept for every step if these are no more than this, else only for the model's own.
_LABELS_KEPT = 2_000_000
# A second is 3e-8 years.
_DECIMALS_OF_YEARS = 9


def assembled(
    steps,
    X,
    feature_names=None,
    *,
    title="kfree",
    encoder=None,
    row_numbers=None,
    path=None,
    axes=None,
    columns=None,
    digits=5,
    word="row",
    suggested=None,
):
    """The page of clusterings by ascending numbers of clusters; a ``path`` of penalties is drawn as a staircase.

    ``axes`` replace columns and main directions on the map, with values of so many ``digits``. Main directions are
    those of ``columns``, if these are given. ``word`` is what a row is called.
    """
    row_numbers = np.arange(1, len(X) + 1) if row_numbers is None else row_names(row_numbers)
    some, everyone = sampled(len(X), _DESCRIBED), np.arange(len(X))
    # The numbers of the model are those of its summary.
    described = [everyone if step.is_own else some for step in steps]
    drawn = some[sampled(len(some), _POINTS)]
    keeps_all = len(X) * len(steps) <= _LABELS_KEPT
    shown = shown_columns(steps, X, described, feature_names, encoder)
    described_steps = zip(steps, colours(steps), shown.profiles, described, strict=True)
    return {
        "title": title,
        "version": import_module("kfree").__version__,
        "word": word,
        "n_rows": len(X),
        "n_features": X.shape[1],
        "n_columns": X.shape[1] if encoder is None else len(set(encoder.columns_out)),
        "features": [shown.names[j] for j in shown.kept],
        "row_numbers": row_numbers.tolist() if keeps_all else None,
        "stairs": [] if path is None else _stairs(path),
        "suggested": suggested if path is None else int(path.suggest().k),
        "points": {
            "rows": row_numbers[drawn].tolist(),
            "axes": _axes(X, drawn, shown, encoder, columns) if axes is None else _given_axes(axes, drawn, digits),
        },
        # Left to right as in the picture, where small penalties and so many clusters are on the left.
        "steps": [
            _step(step, own, profile, path, rows, drawn, shown, row_numbers, keeps_all)
            for step, own, profile, rows in reversed(list(described_steps))
        ],
    }


def _step(step, own_colours, profile, path, described, drawn, shown, row_numbers, keeps_all):
    sizes = np.bincount(step.labels[step.labels >= 0], minlength=step.k)
    view = step.view(described)
    spreads, exemplars = spreads_of(view), exemplars_of(view)
    clusters = [
        {
            "label": c,
            "size": int(sizes[c]),
            "spread": number(spreads[c]),
            "nearest": int(view.nearest[c]),
            "nearest_distance": number(view.gaps[c]),
            "exemplars": row_numbers[described[exemplars[c]]].tolist(),
        }
        for c in range(step.k)
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
        "n_noise": int((step.labels < 0).sum()),
        "effects": [[number(value) for value in row] for row in profile.effects],
        "means": [shown.texts(row) for row in profile.means],
        "sentences": shown.sentences(step, profile),
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


def _axes(X, drawn, shown, encoder, used):
    """What can be drawn against each other: main directions of the columns that are used, if these are more than two,
    and columns.
    """
    units = X[drawn] if encoder is None else encoder.in_units(X[drawn])
    columns = range(X.shape[1]) if X.shape[1] <= 2 else shown.kept[:_AXES]
    axes = [
        {"name": shown.names[j], "values": _shown_values(units[:, j], shown.units[j]), "unit": _unit(shown.units[j])}
        for j in columns
    ]
    used = np.arange(X.shape[1]) if used is None else used
    if len(used) > 2:
        rows = X[drawn][:, used].astype(np.float64)
        _, spread, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        share = spread**2 / max((spread**2).sum(), np.finfo(float).tiny)
        main = (rows - rows.mean(axis=0)) @ directions[:2].T
        within = "" if len(used) == X.shape[1] else f" in {len(used)} columns"
        made = [f"direction {j + 1}{within} ({share[j]:.0%} of the variance)" for j in range(main.shape[1])]
        axes = [{"name": name, "values": _values(main[:, j])} for j, name in enumerate(made)] + axes
    if len(axes) == 1:
        axes.append({"name": "place in the file", "values": drawn.tolist()})
    return axes


def _unit(unit):
    """How values of an axis are written; with the levels that ranks count."""
    return {"kind": unit.kind, "decimals": unit.decimals} | ({"levels": list(unit.levels)} if unit.levels else {})


def _shown_values(column, unit):
    """Values with two decimals more than are shown; years tell seconds, and what has an exponent has a few digits."""
    if unit.decimals > MOST_DECIMALS:
        return _values(column)
    decimals = _DECIMALS_OF_YEARS if unit.kind == DATE else unit.decimals + 2
    return [round(value, decimals) if math.isfinite(value) else None for value in column.tolist()]


def _given_axes(axes, drawn, digits):
    return [{"name": name, "values": _values(np.asarray(values)[drawn], digits)} for name, values in axes.items()]


def _values(column, digits=5):
    return [number(value, digits) for value in column]
