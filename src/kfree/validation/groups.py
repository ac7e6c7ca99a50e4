"""Validation of rows in groups, and the numbers of groups."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.printing import quoted
from kfree.core.row_names import is_missing
from kfree.core.stats import Index
from kfree.core.warning import warn
from kfree.engines.local.grouped import numbered
from kfree.validation.frames import column_names
from kfree.validation.parameters import shown
from kfree.validation.rows import require_sound_array, validated_rows


def stacked(X: Any, groups: Any, estimator: Any) -> tuple[Any, NDArray[Any]]:
    """All rows in one array, and the name of each row's group.

    A list of arrays is a list of groups, named 0, 1, …; without ``groups``, all rows of an array belong to group 0.
    """
    if not is_list(X):
        rows = validated_rows(X, estimator)
        return rows, np.zeros(rows.shape[0], dtype=np.int64) if groups is None else _validated(groups, rows.shape[0])
    if groups is not None:
        raise ValueError(
            "X is a list of arrays, one per group, and groups was given as well; give either a list of "
            "arrays, or one array X and groups with one name per row."
        )
    parts = [validated_rows(part, estimator) for part in X]
    _require_same_names(X)
    widths = [part.shape[1] for part in parts]
    if len(set(widths)) > 1:
        odd = next(i for i, width in enumerate(widths) if width != widths[0])
        raise ValueError(
            f"the arrays in X have different numbers of columns: array 0 has {widths[0]}, array {odd} has "
            f"{widths[odd]}; groups share clusters only if they share columns."
        )
    sparse = any(map(sp.issparse, parts))
    joined = validated_rows(sp.vstack(parts, format="csr"), estimator) if sparse else np.concatenate(parts)
    return joined, np.repeat(np.arange(len(parts)), [part.shape[0] for part in parts])


def _require_same_names(X: Any) -> None:
    """Raise unless all frames of a list have the columns of the first one; arrays have no names."""
    names = {place: found for place, part in enumerate(X) if (found := column_names(part)) is not None}
    first = next(iter(names), 0)
    odd = next((place for place, found in names.items() if found != names[first]), None)
    if odd is not None:
        raise ValueError(
            f"frames in X have different columns: frame {first} has {quoted(names[first])}, frame {odd} has "
            f"{quoted(names[odd])}; give all the same columns in the same order."
        )


def stacked_weights(sample_weight: Any, X: Any) -> Any:
    """One array of weights, also where X is a list of arrays and weights come as a list of the same lengths."""
    is_nested = isinstance(sample_weight, list | tuple) and any(np.ndim(part) for part in sample_weight)
    if not is_nested or not is_list(X):
        return sample_weight
    lengths, given = [part.shape[0] for part in map(_shaped, X)], [len(part) for part in sample_weight]
    if lengths != given:
        raise ValueError(
            f"sample_weight holds {len(given)} arrays of lengths {given[:5]} for {len(lengths)} groups of lengths "
            f"{lengths[:5]}; give one number per row, in a list like X."
        )
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in sample_weight])


def renumbered(names: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """Distinct names by first appearance, and each row's number."""
    try:
        return numbered(names)
    except TypeError as error:
        raise ValueError(
            f"groups holds names that cannot be compared ({error}); give all of one type, for example all strings."
        ) from None


def is_list(X: Any) -> bool:
    """Whether X is a list of arrays, one per group."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(_n_dimensions(part) == 2 for part in X)


def with_columns(X: Any) -> Any:
    """What has the columns of X: of a list of arrays the first frame, since arrays have no names."""
    if not is_list(X):
        return X
    return next((part for part in X if column_names(part) is not None), X[0])


def require_further(names: NDArray[Any], known: NDArray[Any]) -> None:
    """Raise unless these groups are new and their names of the kind that the known ones have."""
    if names.dtype.kind != known.dtype.kind:
        raise ValueError(
            f"groups has names of type {names.dtype} and the groups so far have {known.dtype}; use one type for all."
        )
    again = sorted(set(names.tolist()) & set(known.tolist()))
    if again:
        raise ValueError(
            f"groups contains {len(again)} group(s) that were already fitted, such as {shown(again[0])}; partial_fit "
            "takes new groups only. Rename these, or call fit with all rows of all groups."
        )


def refuse_groups_as_y(y: Any, groups: Any) -> None:
    """Raise if y holds names, which must be meant as groups, and warn if it may be; y itself is ignored."""
    if y is None or groups is not None:
        return
    names = np.asarray(y)
    advice = "y is ignored. Pass the groups of the rows as the parameter groups."
    if names.dtype.kind in "US" or (names.dtype.kind == "O" and any(isinstance(name, str) for name in names.flat)):
        raise ValueError(f"y holds names, such as {shown(names.ravel()[0])}, and {advice}")
    if names.dtype.kind in "iu" and names.ndim == 1 and 1 < len(np.unique(names)) < len(names):
        warn(f"y holds whole numbers that repeat, and {advice}", UserWarning)


def _n_dimensions(part: Any) -> int:
    if hasattr(part, "ndim"):
        return part.ndim
    try:
        return np.ndim(part)
    except ValueError:  # a list that is no array
        return -1


def _shaped(part: Any) -> Any:
    return part if hasattr(part, "shape") else np.asarray(part)


def _validated(groups: Any, n_rows: int) -> NDArray[Any]:
    """One name per row, none of them missing."""
    if isinstance(groups, str | bytes) or not hasattr(groups, "__len__"):
        raise ValueError(f"groups={groups!r} is not allowed; give the name or number of its group for every row of X.")
    require_sound_array(groups, "groups")
    names = np.asarray(groups)
    if names.dtype.kind == "U" and isinstance(groups, list | tuple):
        other = next((name for name in groups if not isinstance(name, str)), None)
        if other is not None:  # which NumPy would make a text, so that 1 and "1" were one group
            raise ValueError(f"groups holds texts and other names, such as {other!r}; give all of one type.")
    if names.ndim != 1 or len(names) != n_rows:
        raise ValueError(
            f"groups has shape {names.shape} for {n_rows} rows of X; give one name or number per row, equal within a "
            "group."
        )
    missing = np.array([is_missing(name) for name in names.tolist()])
    if missing.any():
        raise ValueError(
            f"groups contains {missing.sum()} missing value(s) (NaN or None), the first for row "
            f"{int(np.argmax(missing))}; name the group of every row, or drop such rows."
        )
    return names
