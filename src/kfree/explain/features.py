"""Which columns set a cluster apart: differences of means, in standard deviations within clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.blocks import row_blocks
from kfree.core.marks import OPTIONAL
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats
from kfree.explain.units import Unit

# Rows per block, so that shifted copies need little memory.
_ROWS_AT_ONCE = 65536
# Values up to this can be squared and added.
_LARGEST = 1e100
# Levels of a column set a cluster apart about as much if their effects differ by no more than this ratio.
_ABOUT_AS_LARGE = 0.5


@dataclass(frozen=True)
class Feature:
    """A column that sets a cluster apart.

    Attributes
    ----------
    name : str
    effect : float
        The difference between the means inside and outside of the cluster, in standard deviations within clusters.
    mean, others : float
        The means inside and outside, in the units of the column; NaN where nothing is outside.
    unit : Unit
        How these are written.
    source : str
        The column of the table that ``name`` is a level of; empty if ``name`` is a column itself.
    """

    name: str
    effect: float
    mean: float
    others: float
    unit: Unit
    source: Annotated[str, OPTIONAL] = ""

    @property
    def text(self) -> str:
        """The mean as text."""
        return self.unit.text(self.mean)

    @property
    def column(self) -> str:
        """The column of the table, which may have several levels."""
        return self.source or self.name

    @property
    def level(self) -> str:
        """The level of that column, empty if there is none."""
        return self.name.removeprefix(f"{self.source}=") if self.source else ""


def sources_of(names: Sequence[str], encoder: Any) -> list[str]:
    """For each name of an encoded column, the column of the table that it is a level of; empty if it is none."""
    columns = [""] * len(names) if encoder is None else [str(column) for column in encoder.columns_out]
    pairs = zip(names, columns, strict=True)
    return [column if column and name.startswith(f"{column}=") else "" for name, column in pairs]


def one_per_column(features: Iterable[Feature], least: float) -> list[Feature]:
    """Features whose effect is at least so large, the largest first; of a column of levels, one level.

    That is the most frequent one here of those whose effects are about as large as the largest of the column.
    """
    by_column: dict[str, Feature] = {}
    enough: dict[str, float] = {}
    for feature in features:
        effect, known = abs(feature.effect), by_column.get(feature.column)
        needed = enough.setdefault(feature.column, max(least, _ABOUT_AS_LARGE * effect))
        if effect >= needed and (known is None or feature.mean > known.mean):
            by_column[feature.column] = feature  # at the place of the column's largest effect
    return list(by_column.values())


@dataclass(frozen=True)
class Profile:
    """Every column in every cluster, (k, d) each, and the standard deviations within clusters, (d,).

    ``effects`` = (``means`` − ``others``) / ``deviation``, where ``others`` are the means of the rows of all other
    clusters and deviation² = Σ_c Σ_{i in c} (x_i − mean of c)² / (n − k). Where no cluster varies, effects are
    divided by √(k / n) times the range of the means, as if one row of each cluster were at the other end. An effect is
    0 where means are equal or where nothing is outside, and ``others`` is NaN there.
    """

    effects: Floats
    means: Floats
    others: Floats
    deviation: Floats

    def scaled(self, factor: float) -> Profile:
        """The profile of columns that are so many times as large."""
        return Profile(self.effects, self.means * factor, self.others * factor, self.deviation * factor)


def profile(columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int, parent: NDArray[Any] | None = None) -> Profile:
    """How clusters differ, column by column. Rows labelled −1 do not count.

    With a ``parent`` (k,) of each cluster, other rows are those of clusters with the same parent.
    """
    if parent is None:
        return _profile(columns, labels, n_clusters)
    effects, means, others = np.zeros((3, n_clusters, columns.shape[1]))
    for siblings in (np.flatnonzero(parent == p) for p in np.unique(parent)):
        rows = np.flatnonzero(np.isin(labels, siblings))
        if len(rows):
            found = _profile(columns[rows], np.searchsorted(siblings, labels[rows]), len(siblings))
            effects[siblings], means[siblings], others[siblings] = found.effects, found.means, found.others
    return Profile(effects, means, others, _profile(columns, labels, n_clusters).deviation)


def _profile(columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int) -> Profile:
    largest = max(float(columns.max()), -float(columns.min()))
    if largest > _LARGEST:
        return _profile(columns / largest, labels, n_clusters).scaled(largest)
    shift, n, total, square = _moments(columns, labels, n_clusters)
    n_out, total_out = n.sum() - n, total.sum(axis=0) - total
    mean, mean_out = total / np.maximum(n, 1)[:, None], total_out / np.maximum(n_out, 1)[:, None]
    within = _sum_of_squares(square, total, mean).sum(axis=0)
    deviation = np.sqrt(within / max(n.sum() - np.count_nonzero(n), 1))
    gap = np.where((n > 0)[:, None] & (n_out > 0)[:, None], mean - mean_out, 0.0)
    used = np.where(deviation > 0, deviation, _least_deviation(mean[n > 0], n))
    # A column that is the same everywhere has gaps of rounding alone.
    effects = np.divide(gap, used, out=np.zeros_like(gap), where=(gap != 0) & (used > 0))
    others = np.where((n_out > 0)[:, None], _shifted(mean_out, shift), np.nan)
    return Profile(effects, _shifted(mean, shift), others, deviation)


def _least_deviation(means: Floats, n: Floats) -> Floats:
    """The deviation within clusters, (d,), if one row of each cluster were at the other end of the means."""
    return np.ptp(means, axis=0) * np.sqrt(len(means) / n.sum()) if len(means) else np.zeros(means.shape[1])


def _shifted(mean: Floats, shift: Floats) -> Floats:
    """Means without the shift; one of zero is not blurred by the shift and back."""
    return np.where(np.abs(mean + shift) < 1e-12 * np.abs(shift), 0.0, mean + shift)


def _sum_of_squares(square: Floats, total: Floats, mean: Floats) -> Floats:
    """Σ(x − mean)², and zero where the difference is within rounding of it."""
    left = square - total * mean
    return np.where(left > 1e-12 * square, left, 0.0)


def _moments(columns: ArrayOrCSR, labels: NDArray[Any], n_clusters: int) -> tuple[Floats, Floats, Floats, Floats]:
    """A shift (d,), and n (k,), Σ(x − shift) and Σ(x − shift)² (k, d) per cluster. Sparse columns are not shifted."""
    if sp.issparse(columns):
        columns, members = sp.csr_array(columns, dtype=np.float64), _members(labels, n_clusters)
        total, square = (members @ columns).toarray(), (members @ columns.multiply(columns)).toarray()
        return np.zeros(columns.shape[1]), members.sum(axis=1), total, square
    shift = np.asarray(columns[:_ROWS_AT_ONCE], dtype=np.float64).mean(axis=0)
    n, total, square = np.zeros(n_clusters), *np.zeros((2, n_clusters, columns.shape[1]))
    for part in row_blocks(len(labels), _ROWS_AT_ONCE):
        members, rows = _members(labels[part], n_clusters), np.asarray(columns[part], dtype=np.float64) - shift
        n += members.sum(axis=1)
        total += members @ rows
        square += members @ (rows * rows)
    return shift, n, total, square


def _members(labels: NDArray[Any], n_clusters: int) -> sp.csr_array:
    """One where a row belongs to a cluster, (k, n)."""
    kept = np.flatnonzero(labels >= 0)
    return sp.csr_array((np.ones(len(kept)), (labels[kept], kept)), shape=(n_clusters, len(labels)))
