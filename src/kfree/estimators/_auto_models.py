"""The models that AutoCluster chooses among: each is fitted on all rows from labels of the judged ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import norm as sparse_norm

from kfree.core.frame import require_differences, require_differences_in_columns
from kfree.core.label_order import published_order, ranks
from kfree.core.marks import FINITE, AtLeast, Below, Shape
from kfree.core.one_hot import one_hot_groups
from kfree.core.sparse import ArrayOrCSR, scaled_rows
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.local.rows import require_directions
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.estimators.k_means import KMeans
from kfree.models.neighbours import NeighbourVote
from kfree.search.judge.choose import SHAPES
from kfree.search.judge.k_means import means
from kfree.search.judge.rows import Whitening
from kfree.search.judge.surrogates import unit_rows

METRICS, SCALES = ("auto", "euclidean", "cosine"), ("auto", "deviation", "none")
ELLIPSES, DIPS, ONE = "ellipses", "density dips", "one cluster"
# Rows are of equal length if their lengths differ by no more than this share of the deviation of the rows.
_EQUAL = 1e-3
# Columns without differences: their standard deviation is at most this share of their largest value.
_CONSTANT = 1e-12
# How far rounding takes a distance between two levels from one.
_ROUNDING = 1e-6
# Ellipses are looked for in at most so many principal components.
_MOST_COMPONENTS = 6


@dataclass(frozen=True)
class RowFrame:
    """Columns that differ, divided by their standard deviations or by nothing; or unit rows.

    Sparse rows stay as they are. One-hot columns of a category have a common divisor, so that the category has the
    variance of one number.
    """

    unit: bool
    columns: Annotated[Index, Shape("used"), Below("f")]
    mean: Annotated[Floats, Shape("used"), FINITE]
    spread: Annotated[Floats, Shape("used"), AtLeast(np.finfo(np.float64).tiny)]

    @classmethod
    def of(cls, rows: ArrayOrCSR, metric: str, scale: str) -> RowFrame:
        """From rows that count. Sparse rows are directions."""
        n_columns = rows.shape[1]
        with np.errstate(over="ignore"):
            length = _lengths(rows)
        if sp.issparse(rows) or metric == "cosine" or (metric == "auto" and _have_one_length(rows, length)):
            require_directions(length)
            return cls(True, np.arange(n_columns), np.zeros(n_columns), np.ones(n_columns))
        with np.errstate(over="ignore", invalid="ignore"):
            spread = rows.std(axis=0)
        if not np.isfinite(spread).all():
            raise ValueError("the variance of a column of X overflows float64. Divide X by a constant first.")
        require_differences(rows)
        if scale != "none":
            require_differences_in_columns(rows)
        columns = np.flatnonzero(spread > _CONSTANT * np.abs(rows).max(axis=0, initial=0.0))
        spread = np.ones_like(spread) if scale == "none" else _by_variable(rows, spread)
        return cls(False, columns, rows.mean(axis=0)[columns], spread[columns])

    def of_columns(self, some: Index) -> RowFrame:
        """The same frame with some of its columns."""
        return RowFrame(self.unit, self.columns[some], self.mean[some], self.spread[some])

    def __call__(self, rows: ArrayOrCSR) -> Any:
        if sp.issparse(rows):
            return rows
        if self.unit:
            return unit_rows(scaled_rows(rows)[0])
        framed: Floats = (rows[:, self.columns] - self.mean) / self.spread
        return framed if framed.shape[1] else np.zeros((len(rows), 1))


def _have_one_length(rows: Floats, length: Floats) -> bool:
    """Whether rows differ in their directions alone.

    The lengths of rows that lie far from zero differ by a small share too, but not by a small share of what the rows
    differ by: coordinates within a city are no directions.
    """
    largest = length.max()
    if rows.shape[1] == 1 or not 0 < largest < np.inf:
        return False
    deviation = np.sqrt((rows / largest).var(axis=0).sum())
    return bool(np.ptp(length / largest) <= _EQUAL * deviation)


def _lengths(rows: ArrayOrCSR) -> Floats:
    """Lengths of rows. Only that of a row of zeros is zero."""
    scaled, exponent = scaled_rows(rows)
    length = sparse_norm(scaled, axis=1) if sp.issparse(scaled) else np.linalg.norm(scaled, axis=1)
    return np.asarray(np.ldexp(length, exponent))


def has_encoded_levels(rows: ArrayOrCSR) -> bool:
    """Whether any two levels of each category are one apart, as in rows of TableEncoder."""
    groups = [] if sp.issparse(rows) else one_hot_groups(rows)
    return bool(groups) and all(abs(np.sqrt(2) * np.ptp(rows[:, group]) - 1) < _ROUNDING for group in groups)


def _by_variable(rows: Floats, spread: Floats) -> Floats:
    """Standard deviations of columns; one-hot columns of a category have that of the category."""
    for group in one_hot_groups(rows):
        spread[group] = np.sqrt((spread[group] ** 2).sum())
    return spread


@dataclass(frozen=True)
class AsTheyAre:
    """Rows of the frame without any change."""

    def __call__(self, rows: Any) -> Any:
        return rows


@dataclass(frozen=True)
class Components:
    """Scores of the leading principal components."""

    mean: Annotated[Floats, Shape("used"), FINITE]
    axes: Annotated[Floats, Shape("used", "ready"), FINITE]

    @classmethod
    def of(cls, rows: Floats) -> Components:
        mean = rows.mean(axis=0)
        turned = np.linalg.svd(rows - mean, full_matrices=False)[2]
        return cls(mean, turned[:_MOST_COMPONENTS].T)

    def __call__(self, rows: Floats) -> Floats:
        scores: Floats = (rows - self.mean) @ self.axes
        return scores


PREPARATIONS = {"as they are": AsTheyAre, "whitened": Whitening, "components": Components}
MODELS = {"KMeans": KMeans, "DPMeans": DPMeans, "BayesianKMeans": BayesianKMeans, "neighbours": NeighbourVote}


class Fitted(NamedTuple):
    """A model, how rows are prepared for it, and the labels of all rows."""

    model: Any
    prepare: Any
    labels: Labels


def fit_on_all(
    name: str,
    rows: ArrayOrCSR,
    weight: Floats | None,
    judged: Index,
    labels: Index,
    *,
    unit: bool,
    whitening: Whitening | None,
    n_threads: int | None,
) -> Fitted:
    """The model ``name`` on all rows, whitened if ``whitening`` is given; ``labels`` are those of the judged rows."""
    prepare: Any = AsTheyAre() if whitening is None else whitening
    if name == ELLIPSES:
        prepare = Components.of(rows[judged])
    ready = prepare(rows)
    if name == SHAPES:
        return _vote(ready, judged, labels, prepare)
    model: Any
    if name == ELLIPSES:
        model = BayesianKMeans(random_state=0, n_threads=n_threads)
    elif name == DIPS and not unit:
        model = DPMeans(random_state=0, n_threads=n_threads)
    else:
        centres = means(ready[judged], labels)
        centres = _with_directions(centres, ready[judged], labels) if unit else centres
        metric = "cosine" if unit else "euclidean"
        model = KMeans(len(centres), init=centres, metric=metric, n_threads=n_threads, label_order="size")
    model.fit(ready, sample_weight=weight)
    return Fitted(model, prepare, np.asarray(model.labels_))


def _with_directions(centres: NDArray[Any], rows: Any, labels: Index) -> NDArray[Any]:
    """The same centres, with a row of the cluster where opposite rows cancel and their mean has no direction."""
    for label in np.flatnonzero(~centres.any(axis=1)):
        row = rows[[int(np.argmax(labels == label))]]
        centres[label] = (row.toarray() if sp.issparse(row) else row)[0]
    return centres


def _vote(ready: Floats, judged: Index, labels: Index, prepare: Any) -> Fitted:
    """Clusters of any shape in the order of their sizes."""
    found = labels.astype(np.int32)
    model = NeighbourVote.of(ready[judged], ranks(published_order("size", found, np.bincount(found)))[found])
    of_all = model.predict(ready)
    order = published_order("size", of_all, np.bincount(of_all, minlength=model.n_clusters))
    if (np.diff(order) != 1).any():  # judged rows are a sample without copies, so that sizes may differ
        model = NeighbourVote.of(model.rows, ranks(order)[model.labels])
        of_all = model.predict(ready)  # again, because the number decides ties
    return Fitted(model, prepare, of_all)
