"""Warnings about data for which an automatic number of clusters may mislead; each names the column and the remedy."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.lattice import lattice_steps
from kfree.core.printing import first_few
from kfree.core.stats import Floats, Labels
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.explain.column_advice import angles, date_line, hidden_groups

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
# Columns are on a common scale if their medians are so near to 0, and typical differences of rows so near to 1.
_NEAR_ZERO, _NEAR_ONE = 0.15, (0.75, 1.3)
# Remedies, of rows as they are and of rows that were encoded or scaled.
_COMMON_SCALE = "Bring them to a common scale, for example with kfree.TableEncoder()."
_FAR_VALUES = "A few far values make columns so wide: transform these, or leave such rows out."
_ENCODE = "Encode such columns with kfree.TableEncoder()"
_WEIGH_LESS = "Leave such columns out, or give them less weight"
# What is said of columns like identifiers; who has said so of the columns of a table leaves it out.
IDENTIFIERS = "another whole number in every row"


def spread_over(n_rows: int) -> NDArray[np.int64]:
    """Some of the rows, spread over them evenly: those that are inspected."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).round().astype(np.int64))


def advise(
    n_rows: int, some: Floats | None, names: Sequence[str] | None, labels: Labels | None, n_clusters: int, path: Any
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
            messages += angles(some, named, n_clusters) + date_line(some, named)
            messages += [] if scales else hidden_groups(some, named, labels)
    _warn_of(messages)


def advise_path(path: Any) -> None:
    """Warn if a path may have ended too early."""
    _warn_of(path_ended(path))


def _warn_of(messages: list[str]) -> None:
    for message in messages:
        warn(message, DataAdvice)


def with_column_names(message: str, names: Sequence[str]) -> str:
    """A message about columns that are known by number, with their names."""

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"column {names[number]!r}" if number < len(names) else match[0]

    return re.sub(r"\bcolumn (\d+)\b", named, message)


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
        f"{scale[varying].min():.3g} to {scale.max():.3g}. " + (_FAR_VALUES if on_common_scale(rows) else _COMMON_SCALE)
    ]


def on_common_scale(rows: Floats) -> bool:
    """Whether rows look as TableEncoder and scikit-learn's scalers make them.

    All columns that are not on a lattice have a median of about 0 and typical differences of about 1; or a level of a
    category is 1/√2, as in TableEncoder.
    """
    steps = _steps(rows)
    if (np.abs(steps - np.sqrt(0.5)) < 1e-9).any():
        return True
    fine = np.ascontiguousarray(rows[:, steps == 0])
    fine = fine[:, np.ptp(fine, axis=0) > 0]
    if not fine.shape[1] or len(fine) < _FEW_ROWS:
        return False
    half = len(fine) // 2
    typical = np.median(np.abs(fine[:half] - fine[half : 2 * half]), axis=0)
    centred = np.abs(np.median(fine, axis=0)) <= _NEAR_ZERO
    return bool((centred & (typical >= _NEAR_ONE[0]) & (typical <= _NEAR_ONE[1])).all())


def row_numbers(rows: Floats, named: list[str]) -> list[str]:
    """Columns with another whole number in every row, most of them consecutive."""
    n_rows = len(rows)
    whole = np.flatnonzero((rows == np.rint(rows)).all(axis=0)) if n_rows >= _FEW_ROWS else ()
    found = [j for j in whole if _n_distinct(rows[:, j]) == n_rows and _evenly_spread(rows[:, j])]
    if not found:
        return []
    return [f"{_some(found, named)} has {IDENTIFIERS}, as row numbers and identifiers do. Drop it."]


def lattices(rows: Floats, named: list[str], labels: Labels) -> list[str]:
    """Yes/no columns and coarse lattices that outweigh the others, and clusters that are single values of a column."""
    if len(rows) < _FEW_ROWS:  # few rows take few values
        return []
    steps = _steps(rows)
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
        f"rows of one value look like a cluster. {_WEIGH_LESS if on_common_scale(rows) else _ENCODE}, or use "
        "kfree.BayesianKMeans(model='bernoulli') if all are zeros and ones."
    ]


def _within_variance(rows: Floats, labels: Labels) -> Floats:
    n = np.bincount(labels)
    n = np.where(n > 0, n, 1)[:, None]
    sums = np.zeros((len(n), rows.shape[1]))
    np.add.at(sums, labels, rows)
    return np.asarray(((rows - (sums / n)[labels]) ** 2).mean(axis=0))


def _steps(rows: Floats) -> Floats:
    """The distance between neighbouring values of each column on a lattice, 0 for any other column."""
    most = max(_DISTINCT * len(rows), 2)
    return lattice_steps(rows, most, int(1.25 * most) + 1, most)


def _evenly_spread(column: Floats) -> bool:
    """Whether gaps between neighbouring values are alike, as those of consecutive numbers are, also in a sample."""
    gaps = np.diff(np.sort(column))
    return bool(gaps.max() <= 2 * gaps.mean())


def _n_distinct(column: Floats) -> int:
    return len(np.unique(column))


def _values_of(rows: Floats, found: Any) -> str:
    values = np.unique(rows[:, found[0]])
    return "such as " + ", ".join(f"{v:.4g}" for v in values[:3]) + (", …" if len(values) > 3 else "")


def _some(columns: Any, named: list[str]) -> str:
    return first_few([named[j] for j in columns], most=3)


def warn_out_of_reach(largest: Floats, least: float, name: str) -> None:
    """Warn if the largest affinity of a row to those of the fit, (n,), is below ``least``: its label is arbitrary."""
    n_far = int(np.count_nonzero(largest < least))
    if n_far:
        warn(
            f"{n_far} row(s) of X are so far from all rows of fit that their affinities vanish; their labels are "
            f"arbitrary. Use predict(X, allow_new=True) of {name}, which labels such rows −1.",
            UserWarning,
        )
