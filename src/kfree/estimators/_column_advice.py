"""Advice about columns that hide clusters of others, and about pairs of columns that are one angle."""

import numpy as np

# Windows per column between the two quantiles, and those of a smoothed histogram that are added up.
_BINS, _TOGETHER, _TAIL = 40, 3, 0.02
# A gap is clear if it is so many standard deviations deep on held-out rows, and holds at most this share of what the
# emptier side has. Chance reaches 4.5 once in 300,000 columns.
_CLEAR, _EMPTY = 4.5, 0.5
# A value that more rows share makes gaps around it.
_POINT_MASS, _FEWEST_ROWS = 0.05, 100
# How much the radius of a circle may vary, relative to itself.
_ROUNDING = 1e-6


def hidden_groups(rows, named, labels):
    """Columns with a gap within clusters, where rows of other columns are too wide for round clusters to see it.

    Columns of noise as wide as the clusters lie apart hide them from a cost that adds up all columns.
    """
    if rows.shape[1] < 2:
        return []
    found = np.zeros(rows.shape[1], dtype=bool)
    for cluster in range(labels.max() + 1):
        distinct = np.unique(rows[labels == cluster], axis=0)  # copies of a row would make gaps between them
        order = np.random.RandomState(0).permutation(len(distinct))
        if len(distinct) >= _FEWEST_ROWS:
            found |= [_has_gap(*halves) for halves in zip(distinct[order[::2]].T, distinct[order[1::2]].T, strict=True)]
    if not found.any() or found.all():
        return []
    columns = np.flatnonzero(found).tolist()
    listed = ", ".join(named[j] for j in columns[:3]) + (f" and {len(columns) - 3} more" if len(columns) > 3 else "")
    return [
        f"{listed} fall(s) into groups within clusters, which the other columns hide. Fit these columns alone, "
        f"X[:, {columns[:10]}], or leave out columns that have nothing to do with the question."
    ]


def angles(rows, named, n_clusters):
    """Adjacent columns that are the sine and cosine of an angle, which round clusters cut into arcs."""
    varies = np.ptp(rows, axis=0) > 0
    if n_clusters < 2:
        return []
    for j in np.flatnonzero(varies[:-1] & varies[1:]):
        radius = np.hypot(rows[:, j], rows[:, j + 1])
        if np.ptp(radius) <= _ROUNDING * radius.max():
            return [
                f"{named[j]} and {named[j + 1]} are a point on a circle, such as the sine and cosine of an hour: "
                "DPMeans cuts a circle into arcs even if all angles are equally frequent. Leave them out, or "
                "use kfree.SpectralDPMeans."
            ]
    return []


def _has_gap(one, other):
    """Whether each half of a column shows a gap, together clearly, at the place that the other half has named."""
    values, counts = np.unique(np.concatenate([one, other]), return_counts=True)
    if counts.max() > max(_POINT_MASS * counts.sum(), 1) or not np.isfinite(values[[0, -1]]).all():
        return False
    low, high = np.quantile(np.concatenate([one, other]), [_TAIL, 1 - _TAIL])
    edges = np.linspace(low, high, _BINS + 1)
    if not (np.diff(edges) > 0).all():
        return False
    first, second = (_smoothed(np.histogram(half, edges)[0]) for half in (one, other))
    found = [_held_out(training, held_out) for training, held_out in ((first, second), (second, first))]
    if None in found:
        return False
    sides, gap = np.sum(found, axis=0)
    return gap <= _EMPTY * sides and sides - gap >= _CLEAR * np.sqrt(sides + gap + 1)


def _smoothed(histogram):
    return np.convolve(histogram, np.ones(_TOGETHER), mode="valid")


def _held_out(training, held_out):
    """Rows of the emptier side and of the gap, at the windows where the training rows have the deepest gap."""
    left, right = np.maximum.accumulate(training), np.maximum.accumulate(training[::-1])[::-1]
    depth = np.minimum(left, right) - training
    gap = int(np.argmax(depth))
    if depth[gap] <= 0:
        return None
    sides = int(np.argmax(training[: gap + 1])), gap + int(np.argmax(training[gap:]))
    return min(held_out[side] for side in sides), held_out[gap]
