"""Warnings about data for which an automatic number of clusters may mislead; each names the column and the remedy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.lattice import step_of
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.explain.column_advice import angles, hidden_groups
from kfree.explain.view import Floats, Labels

# Number of rows that are inspected, spread over the table, and the fewest rows for a reliable number of clusters.
_SAMPLE, _FEW_ROWS = 5000, 20
# Standard deviations of columns may differ by this factor.
_SCALES = 100.0
# A column is on a lattice if it has at most this many distinct values per row. Its step is coarse if it is at least
# this share of the standard deviation, and heavy if it exceeds a typical difference between rows in other columns.
_DISTINCT, _COARSE, _HEAVY = 0.2, 1 / 3, 1.05
# Clusters are single values of a lattice column if they spread by no more than this share of a step.
_ONE_VALUE = 0.1
# The median difference between two rows, for a Gaussian column with standard deviation 1.
_TYPICAL = 0.954
# A cluster is long if its largest standard deviation is so many times that of the rest. Where half of the clusters are
# at least rather long, they are likely to be pieces of something long.
_LONG, _RATHER_LONG = 2.5, 1.8
# Clusters touch if the rows half-way between neighbours are this share of those around the two, over all neighbours.
_TOUCHING, _WINDOW, _FEWEST = 0.85, 0.15, 20


def spread_over(n_rows: int) -> NDArray[np.int64]:
    """Some of the rows, spread over them evenly: those that are inspected."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).round().astype(np.int64))


def advise(
    n_rows: int, some: Floats | None, names: Sequence[str] | None, labels: Labels | None, centres: Floats, path: Any
) -> None:
    """Warn about everything that may mislead a fit of ``n_rows`` rows with an automatic penalty.

    ``some`` of the rows are inspected, which have these ``labels``; none if it is None, as for sparse rows.
    """
    messages = few_rows(n_rows) + path_ended(path)
    if some is not None and labels is not None:
        named = [f"column {j}" if names is None else f"column {names[j]!r}" for j in range(some.shape[1])]
        with np.errstate(over="ignore", invalid="ignore"):  # values near the ends of float64 get no advice
            scales = unlike_scales(some, named)
            messages += scales + row_numbers(some, named) + lattices(some, named, labels)
            messages += long_clusters(some, labels, centres, is_sure=path is None or path.is_sure)
            messages += angles(some, named, len(centres))
            messages += [] if scales else hidden_groups(some, named, labels)
    _warn_of(messages)


def advise_path(path: Any) -> None:
    """Warn if a path may have ended too early."""
    _warn_of(path_ended(path))


def _warn_of(messages: list[str]) -> None:
    for message in messages:
        warn(message, DataAdvice)


def few_rows(n_rows: int) -> list[str]:
    """Fewer than twenty rows, too few for a reliable number of clusters."""
    if n_rows >= _FEW_ROWS:
        return []
    return [f"X has {n_rows} rows, too few for a reliable number of clusters; give lam or target_k, or more rows."]


def path_ended(path: Any) -> list[str]:
    """The best number of clusters is the largest that was considered, or greedy merging suggests a larger one."""
    if path is None or path.complete:
        return []
    k = path.suggest().k
    if path.k_beyond:
        return [
            f"{k} is the best number of clusters up to {len(path)}, but greedy merging suggests {path.k_beyond}, more "
            f"than were considered. Try kfree.lambda_path(X, max_k={2 * path.k_beyond})."
        ]
    if k < len(path):
        return []
    return [
        f"the best number of clusters is {len(path)}, the largest that was considered; there may be more. Try more "
        f"with kfree.lambda_path(X, max_k={2 * len(path)}).suggest().lam."
    ]


def unlike_scales(rows: Floats, named: list[str]) -> list[str]:
    """Columns whose scale differs from that of a typical column by more than a hundred."""
    scale = rows.std(axis=0)
    varying = np.flatnonzero(scale > 0)
    if len(varying) < 2:
        return []
    typical = np.sort(scale[varying])[(len(varying) - 1) // 2]
    large = [j for j in varying if scale[j] > _SCALES * typical]
    small = [j for j in varying if scale[j] * _SCALES < typical and _n_distinct(rows[:, j]) > len(rows) / 2]
    said = [f"{_some(large, named)} decide(s) the clusters"] if large else []
    said += [f"{_some(small, named)} cannot influence them"] if small else []
    if not said:
        return []
    return [
        f"columns of X differ in scale by more than {_SCALES:g}, so {' and '.join(said)}: standard deviations run from "
        f"{scale[varying].min():.3g} to {scale.max():.3g}. Bring them to a common scale, for example with "
        "kfree.TableEncoder()."
    ]


def row_numbers(rows: Floats, named: list[str]) -> list[str]:
    """Columns with another whole number in every row, most of them consecutive."""
    n_rows = len(rows)
    whole = np.flatnonzero((rows == np.rint(rows)).all(axis=0)) if n_rows >= _FEW_ROWS else ()
    found = [j for j in whole if _n_distinct(rows[:, j]) == n_rows and _evenly_spread(rows[:, j])]
    if not found:
        return []
    return [f"{_some(found, named)} has another whole number in every row, as row numbers and identifiers do. Drop it."]


def lattices(rows: Floats, named: list[str], labels: Labels) -> list[str]:
    """Yes/no columns and coarse lattices that outweigh the others, and clusters that are single values of a column."""
    steps = lattice_steps(rows)
    scale = rows.std(axis=0)
    on_lattice = steps > 0
    if not on_lattice.any():
        return []
    others = scale[~on_lattice & (scale > 0)]
    limit = _HEAVY * _TYPICAL * np.median(others) if len(others) else 0.0
    heavy = on_lattice & (steps >= _COARSE * scale) & (steps > limit)
    within = np.sqrt(_within_variance(rows, labels))
    single = on_lattice & (labels.max() > 0) & (within <= _ONE_VALUE * steps)
    found = np.flatnonzero(heavy | single)
    if not len(found):
        return []
    return [
        f"{_some(found, named)} take(s) few values (yes/no, or steps of a lattice), {_values_of(rows, found)}, and "
        "rows of one value look like a cluster. Encode such columns with kfree.TableEncoder(), or use "
        "kfree.BayesianKMeans(model='bernoulli') if all are zeros and ones."
    ]


def long_clusters(rows: Floats, labels: Labels, centres: Floats, is_sure: bool = True) -> list[str]:
    """Clusters that are much longer than wide, or long ones that were cut in pieces, which then touch.

    Unless all density dips are sure, pieces need not be so long: a ring is cut into many short arcs. If they are, a
    single long cluster was not cut: there would be a second piece.
    """
    if rows.shape[1] < 2 or len(centres) < 2:
        return []
    elongations = [_elongation(rows[labels == j]) for j in range(len(centres))]
    longest, typical = max(elongations), float(np.median(elongations))
    middle, around = _windows(rows, labels, centres)
    if longest >= _LONG and (np.count_nonzero(np.array(elongations) >= _LONG) > 1 or not is_sure):
        seen = f"{longest:.1f} times as long as wide"
    elif typical >= _RATHER_LONG and not is_sure:
        seen = f"{typical:.1f} times as long as wide on the whole, and not all of them have a gap to their neighbours"
    elif around >= _FEWEST and middle > _TOUCHING * around:
        seen = "without a gap to their neighbours"
    else:
        return []
    return [
        f"clusters are {seen}: DPMeans finds round clusters and over-splits long ones. Use kfree.BayesianKMeans for "
        "elliptic clusters, kfree.SpectralDPMeans for curved ones."
    ]


def _windows(rows: Floats, labels: Labels, centres: Floats) -> tuple[float, float]:
    """Rows half-way between neighbouring centres, and the geometric mean of those around the two, over all pairs."""
    gaps = ((centres[:, None] - centres[None]) ** 2).sum(axis=2) if len(centres) <= 500 else np.empty((0, 0))
    np.fill_diagonal(gaps, np.inf)
    middle = around = 0.0
    for a, b in {(min(pair), max(pair)) for pair in enumerate(gaps.argmin(axis=1).tolist())} if len(gaps) else ():
        members = rows[(labels == a) | (labels == b)] - (centres[a] + centres[b]) / 2
        along = members @ (centres[b] - centres[a]) / gaps[a, b]
        counts = [np.count_nonzero(np.abs(along - place) < _WINDOW) for place in (-0.5, 0.0, 0.5)]
        middle, around = middle + counts[1], around + np.sqrt(counts[0] * counts[2])
    return middle, around


def _elongation(rows: Floats) -> float:
    """The largest standard deviation over the root mean square of the others; 0 for few rows."""
    n_rows, n_features = rows.shape
    if n_rows < max(_FEWEST, 5 * n_features):
        return 0.0
    centred = rows - rows.mean(axis=0)
    if not np.isfinite((centred**2).sum()):
        return 0.0
    variance = np.linalg.svd(centred, compute_uv=False) ** 2
    rest = variance[1:].sum() / (n_features - 1)
    return float(np.sqrt(variance[0] / rest)) if rest > 0 else np.inf


def _within_variance(rows: Floats, labels: Labels) -> Floats:
    n = np.bincount(labels)
    n = np.where(n > 0, n, 1)[:, None]
    sums = np.zeros((len(n), rows.shape[1]))
    np.add.at(sums, labels, rows)
    return np.asarray(((rows - (sums / n)[labels]) ** 2).mean(axis=0))


def lattice_steps(rows: Floats) -> Floats:
    """The distance between neighbouring values of each column on a lattice, 0 for any other column."""
    steps, most = np.zeros(rows.shape[1]), max(_DISTINCT * len(rows), 2)
    # Most other columns show it in their first rows.
    first = np.sort(np.ascontiguousarray(rows[: int(1.25 * most) + 1].T))
    for j in np.flatnonzero(np.count_nonzero(np.diff(first), axis=1) < most):
        values = np.unique(rows[:, j])
        if 1 < len(values) <= most:
            steps[j] = step_of(values)
    return steps


def _evenly_spread(column: Floats) -> bool:
    """Whether gaps between neighbouring values are alike, as those of consecutive numbers are, also in a sample."""
    gaps = np.diff(np.sort(column))
    return bool(gaps.max() <= 2 * gaps.mean())


def _n_distinct(column: Floats) -> int:
    return len(np.unique(column))


def _values_of(rows: Floats, found: Any) -> str:
    values = np.unique(rows[:, found[0]])
    return "such as " + ", ".join(f"{v:.4g}" for v in values[:3]) + (", …" if len(values) > 3 else "")


def _some(columns: Any, named: list[str], most: int = 3) -> str:
    listed = ", ".join(named[j] for j in columns[:most])
    return listed + (f" and {len(columns) - most} more" if len(columns) > most else "")


def warn_out_of_reach(largest: Floats, least: float, name: str) -> None:
    """Warn if the largest affinity of a row to those of the fit, (n,), is below ``least``: its label is arbitrary."""
    n_far = int(np.count_nonzero(largest < least))
    if n_far:
        warn(
            f"{n_far} row(s) of X are so far from all rows of fit that their affinities vanish; their labels are "
            f"arbitrary. Use predict(X, allow_new=True) of {name}, which labels such rows −1.",
            UserWarning,
        )
