"""The models that AutoCluster chooses among: each is fitted on all rows from labels of the judged ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from kfree.core.stats import Floats, Index
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.estimators.k_means import KMeans
from kfree.search.judge.choose import SHAPES
from kfree.search.judge.k_means import means
from kfree.search.judge.rows import Whitening
from kfree.search.judge.surrogates import unit_rows

METRICS = ("auto", "euclidean", "cosine")
ELLIPSES, DIPS, ONE = "ellipses", "density dips", "one cluster"
# Rows are of equal length if their lengths differ by no more than this share.
_EQUAL = 1e-3
# Columns without differences: their standard deviation is at most this share of their largest value.
_CONSTANT = 1e-12
# Ellipses are looked for in at most so many principal components.
_MOST_COMPONENTS = 6
# Neighbours that vote for the cluster of a row.
_VOTERS = 5

Prepare = Callable[[Floats], Floats]


def same(rows: Floats) -> Floats:
    return rows


@dataclass(frozen=True)
class RowFrame:
    """Columns that differ, divided by their standard deviations; or unit rows."""

    unit: bool
    columns: Index
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, rows: Floats, metric: str) -> RowFrame:
        length = np.linalg.norm(rows, axis=1)
        has_one_length = rows.shape[1] > 1 and length.min() > 0 and np.ptp(length) <= _EQUAL * length.max()
        spread = rows.std(axis=0)
        columns = np.flatnonzero(spread > _CONSTANT * np.abs(rows).max(axis=0, initial=0.0))
        unit = metric == "cosine" or (metric == "auto" and bool(has_one_length))
        return cls(unit, columns, rows.mean(axis=0)[columns], spread[columns])

    def __call__(self, rows: Floats) -> Floats:
        if self.unit:
            return unit_rows(rows)
        framed: Floats = (rows[:, self.columns] - self.mean) / self.spread
        return framed if framed.shape[1] else np.zeros((len(rows), 1))


@dataclass(frozen=True)
class Components:
    """Scores of the leading principal components."""

    mean: Floats
    axes: Floats

    @classmethod
    def of(cls, rows: Floats) -> Components:
        mean = rows.mean(axis=0)
        turned = np.linalg.svd(rows - mean, full_matrices=False)[2]
        return cls(mean, turned[:_MOST_COMPONENTS].T)

    def __call__(self, rows: Floats) -> Floats:
        scores: Floats = (rows - self.mean) @ self.axes
        return scores


class NeighbourVote:
    """Clusters of any shape: a row belongs where most of its nearest judged rows do."""

    def __init__(self, rows: Floats, labels: Index):
        self.labels_, self.n_clusters_ = labels, int(labels.max()) + 1
        self._vote = KNeighborsClassifier(_VOTERS, weights="distance").fit(rows, labels)

    def predict(self, rows: Floats) -> Index:
        found: Index = self._vote.predict(rows)
        return found


class Fitted(NamedTuple):
    """A model, how rows are prepared for it, and the labels of all rows."""

    model: Any
    prepare: Prepare
    labels: Index


def fit_on_all(
    name: str,
    rows: Floats,
    weight: Floats | None,
    judged: Index,
    labels: Index,
    *,
    unit: bool,
    white: bool,
    n_threads: int | None,
) -> Fitted:
    """The model ``name`` on all rows, whitened if ``white``; ``labels`` are those of the judged rows."""
    prepare: Prepare = Whitening.of(rows[judged]) if white else same
    if name == ELLIPSES:
        prepare = Components.of(rows[judged])
    ready = prepare(rows)
    if name == SHAPES:
        return _vote(ready, judged, labels, prepare)
    model: Any
    if name == ELLIPSES:
        model = BayesianKMeans(random_state=0, n_threads=n_threads)
    elif name == DIPS:
        model = DPMeans(random_state=0, n_threads=n_threads)
    else:
        centres = means(ready[judged], labels)
        metric = "cosine" if unit else "euclidean"
        model = KMeans(len(centres), init=centres, metric=metric, n_threads=n_threads, label_order="size")
    model.fit(ready, sample_weight=weight)
    return Fitted(model, prepare, np.asarray(model.labels_, dtype=np.int64))


def _vote(ready: Floats, judged: Index, labels: Index, prepare: Prepare) -> Fitted:
    model = NeighbourVote(ready[judged], labels)
    everyone = np.empty(len(ready), dtype=np.int64)
    others = np.setdiff1d(np.arange(len(ready)), judged)
    everyone[judged] = labels
    if len(others):
        everyone[others] = model.predict(ready[others])
    return Fitted(model, prepare, everyone)
