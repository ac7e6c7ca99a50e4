"""Missing values: an error, or imputed from the nearest row that has the value."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import KNNImputer

from kfree.core.marks import Shape
from kfree.core.stats import Floats

# Number of donor rows, and the fewest of them in which each coordinate is known, if there are as many.
_DONORS, _FEWEST = 2000, 20


class NearestDonor:
    """Gives a missing coordinate the value of the nearest row in which it is known.

    Nearest by the coordinates that both rows have, scaled up to all. The value of such a row is close to a draw from
    the distribution of the missing value given the others. So squared distances to other rows are unbiased if values
    are missing at random given the known ones. Filling in a mean would make them too small.
    """

    rows: Annotated[Floats, Shape("donors", "encoded columns")]

    def __init__(self, rows: np.ndarray):
        self.rows = rows[_donors(rows)]
        self._restored()

    def _restored(self) -> None:
        self._imputer = KNNImputer(n_neighbors=1, keep_empty_features=True).fit(self.rows)

    def filled(self, rows: np.ndarray) -> np.ndarray:
        """Rows without NaN."""
        gaps = np.isnan(rows).any(axis=1)
        if gaps.any():
            rows = rows.copy()
            rows[gaps] = self._imputer.transform(rows[gaps])
        return rows


def _donors(rows: np.ndarray) -> np.ndarray:
    """Rows spread evenly over the table, so many that each coordinate is known in some of them."""
    chosen = [_spread(np.arange(len(rows)), _DONORS)]
    chosen += [_spread(np.flatnonzero(~np.isnan(column)), _FEWEST) for column in rows.T]
    return np.unique(np.concatenate(chosen))


def _spread(index: np.ndarray, most: int) -> np.ndarray:
    if len(index) <= most:
        return index
    return index[np.linspace(0, len(index) - 1, most).round().astype(int)]


class EmptyRowsError(ValueError):
    """Rows without any value, by their numbers."""

    def __init__(self, rows: NDArray[np.int64]):
        super().__init__(
            f"in X {len(rows)} row(s) have no value at all (NaN or None), the first is row {rows[0]}; drop them, for "
            "example with pandas' dropna(how='all')."
        )
        self.rows = rows


def require_values(blocks: list[np.ndarray], encoders: list[Any], missing: str) -> None:
    """Raise if values are missing with ``missing="error"``, or if a row has no value at all."""
    known = np.column_stack([~np.isnan(block[:, 0]) for block in blocks if block.shape[1]])
    empty = np.flatnonzero(~known.any(axis=1))
    if len(empty):
        raise EmptyRowsError(empty)
    if missing == "error" and not known.all():
        kept = [encoder.name for encoder in encoders if encoder.names_out]
        gaps = [f"{name!r} ({n})" for name, n in zip(kept, (~known).sum(axis=0), strict=True) if n]
        raise ValueError(
            f"Input X contains missing values (NaN or None) in column(s) {', '.join(gaps)}, and missing='error'; "
            "impute them, or give missing='nearest'."
        )
