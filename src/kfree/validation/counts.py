"""Validation of rows of counts, or of zeros and ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.validation.rows import validated_rows

# Up to this total, float64 adds counts exactly in any order.
_LARGEST_TOTAL = 2.0**53


def validated_counts(X: Any, estimator: Any) -> Any:
    """X as float64 counts, dense or CSR: whole numbers ≥ 0."""
    rows = validated_rows(X, estimator).astype(np.float64, copy=False)
    _require_values(
        rows,
        lambda values: (values < 0) | (values != np.rint(values)),
        "model='multinomial' takes counts, which are whole numbers ≥ 0",
        "Give the counts themselves, not shares or tf-idf weights",
    )
    total = float(rows.sum())
    if total > _LARGEST_TOTAL:
        raise ValueError(
            f"X holds counts with a total of {total:.3g}; float64 adds counts exactly only up to 2**53 (9.0e15). "
            "Divide all counts by a constant and round them."
        )
    return rows


def validated_binary(X: Any, estimator: Any) -> Any:
    """X as float64 zeros and ones, dense or CSR."""
    rows = validated_rows(X, estimator).astype(np.float64, copy=False)
    _require_values(
        rows,
        lambda values: (values != 0) & (values != 1),
        "model='bernoulli' takes zeros and ones",
        "Convert X to zeros and ones, for example with X > 0",
    )
    return rows


def _require_values(rows: Any, is_bad: Callable[[Any], Any], allowed: str, advice: str) -> None:
    values = rows.data if sp.issparse(rows) else rows
    bad = is_bad(values)
    if not bad.any():
        return
    if sp.issparse(rows):
        place = int(np.argmax(bad))
        row, column = int(np.searchsorted(rows.indptr, place, side="right")) - 1, int(rows.indices[place])
        value = rows.data[place]
    else:
        row, column = (int(i) for i in np.unravel_index(int(np.argmax(bad)), rows.shape))
        value = rows[row, column]
    raise ValueError(
        f"{allowed}; X holds {int(bad.sum())} other value(s), the first is {value:g} in row {row}, column {column}. "
        f"{advice}."
    )
