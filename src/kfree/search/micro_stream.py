"""A stream kept as micro-clusters, and DP-means clusters of these, computed when a result is read."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kfree.core.fields import Centres, Count, NotNegative, PerCluster
from kfree.core.frame import Frame
from kfree.core.marks import AtLeast, Below, Renamed, Rising, Shape
from kfree.core.sites import Sites
from kfree.core.stats import Index, totals
from kfree.core.warning import warn_penalty_rose
from kfree.engines.local.stream import RowStream
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import CosineObjective, DPMeansObjective
from kfree.search.events import KINDS, followed
from kfree.search.loop import require_finite
from kfree.search.monitor import Monitor
from kfree.search.penalised import PenalisedSearch
from kfree.search.result import Result
from kfree.search.span import is_wide, searched_in_span

# Micro-clusters begin with this share of the penalty of a cluster; it doubles whenever there are too many of them.
_FINENESS = 1e-6
# Clusters are compared for events when the number of rows has grown by a tenth, but not before this number, and at
# least twice in a half-life.
_FIRST_REVIEW, _GROWTH = 1000, 1.1
# Fewest and most rows from which an automatic penalty is estimated.
_FEWEST_ROWS, _SAMPLE = 100, 20_000
# Maximum number of moves of the search on micro-clusters; it converges long before.
_MAX_ITER = 10_000
# A penalty that doubles stays below 2 to this power; twice as many doublings lead there from any.
_LARGEST_EXPONENT, _MOST_DOUBLINGS = 1020, 2100
# Events are kept in less than so many arrays.
_MOST_PARTS = 64
BIRTH, SPLIT, MERGE, DEATH = (KINDS.tolist().index(kind) for kind in ("birth", "split", "merge", "death"))


@dataclass(frozen=True)
class Penalty:
    """The penalty of a cluster: ``fixed``, or ``per_weight`` times the weight that the stream remembers."""

    fixed: NotNegative = 0.0
    per_weight: NotNegative = 0.0

    def at(self, weight: float) -> float:
        return self.fixed + self.per_weight * weight

    @classmethod
    def of_first_rows(
        cls, rows: Any, weight: Any, order: Any, unit: bool, engine: str, n_threads: int | None, random_state: Any
    ) -> tuple[Penalty, float]:
        """The automatic penalty of the first rows, per unit of their weight, and the mean weight of a row."""
        first = slice(_SAMPLE) if order is None else order[:_SAMPLE]
        rows, weight = rows[first], None if weight is None else weight[first]
        n_counted = rows.shape[0] if weight is None else np.count_nonzero(weight)
        if n_counted < _FEWEST_ROWS:
            raise ValueError(
                f"lam='auto' searches the first chunk, which has {n_counted} row(s) of positive weight; start "
                f"with at least {_FEWEST_ROWS}, or give lam as a number."
            )
        total = n_counted if weight is None else float(weight.sum())
        found = _clustered(rows, weight, "auto", unit, engine, n_threads, random_state)
        return cls(per_weight=found.objective.lam / total), total / n_counted


@dataclass(frozen=True)
class Clusters:
    """Clusters of micro-clusters. A cluster has the id of its oldest micro-cluster; ids ascend."""

    ids: Annotated[Index, Shape("k"), Rising(), AtLeast(0)]
    centres: Centres
    weights: PerCluster
    lam: float
    micro_ids: Annotated[Index, Shape("micro"), Rising()]
    micro_labels: Annotated[Index, Shape("micro"), Below("k")]  # places among ids

    def of_micro(self, micro_ids: np.ndarray) -> np.ndarray:
        """The ids of the clusters that hold these micro-clusters, −1 for those that were removed."""
        place = np.searchsorted(self.micro_ids, micro_ids)
        known = np.append(self.micro_ids, -2)[place] == micro_ids
        return np.where(known, self.ids[np.append(self.micro_labels, 0)[place]] if len(self.ids) else -1, -1)


class MicroStream:
    """What :class:`kfree.engines.local.stream.RowStream` offers, for clusters of at most ``n_micro`` micro-clusters.

    Micro-clusters are those of online DP-means with a limit and, with a half-life, forgetting; their weights and
    centres are all that is kept. So clusters are a function of the rows that came, in their order, and of the penalty.

    Rows that are directions (``unit``) have micro-clusters of unit vectors. What they add to the cost of a cluster with
    direction μ is Σ w(2 − 2⟨x, μ⟩) = 2W − 2⟨S, μ⟩, so that S = Σ wx stands for them exactly: one row in the direction
    of S that weighs ‖S‖.

    ``row_weight`` is the usual weight of a row: micro-clusters begin with a share of the penalty of that weight.
    """

    _micro: RowStream
    _engine: str
    _penalty: Penalty
    _max_clusters: Annotated[int | None, AtLeast(1)]
    _half_life: Annotated[float | None, AtLeast(1.0)]
    _next_review: Count
    _reviewed: Annotated[Clusters, Renamed({"k": "reviewed clusters", "micro": "reviewed micro-clusters"})]
    _clusters: Annotated[Clusters | None, Renamed({"k": "stream clusters"})]
    _moves: list[Annotated[Index, Shape(None, 4)]]  # events of micro-clusters since the last review
    _was_full: bool  # and a warning has said so

    def __init__(
        self,
        engine: str,
        n_features: int,
        penalty: Penalty,
        max_clusters: Any,
        half_life: Any,
        n_micro: int,
        unit: bool = False,
        row_weight: float = 1.0,
    ):
        first = max(_FINENESS * penalty.at(row_weight), np.finfo(np.float64).tiny)
        self._micro = RowStream(engine, n_features, first, False, n_micro, half_life, unit)
        self._engine, self._penalty, self._max_clusters, self._half_life = engine, penalty, max_clusters, half_life
        self._next_review, self._reviewed, self._clusters = _FIRST_REVIEW, _none(n_features), None
        self._moves, self._was_full = [], False

    def copy(self) -> MicroStream:
        new = copy.copy(self)
        new._micro, new._moves = self._micro.copy(), list(self._moves)
        return new

    def advance(self, X: Any, weight: Any, order: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Take rows: the micro-cluster that each is in when all have come, and events of clusters (m, 4)."""
        visits = np.arange(X.shape[0]) if order is None else order
        joined, events = np.full(X.shape[0], -1, dtype=np.int64), []
        done = 0
        while done < len(visits):
            end = min(len(visits), done + max(self._next_review - self._micro.n_rows, 1))
            index = slice(done, end) if order is None else visits[done:end]
            some, moves = self._micro.advance(X[index], None if weight is None else weight[index])
            joined = followed(joined, moves)
            joined[index] = followed(some, moves)
            self._note(moves)
            self._clusters = None
            done = end
            if self._micro.n_rows >= self._next_review:
                events.append(self.review())
        return joined, np.concatenate([np.empty((0, 4), dtype=np.int64), *events])

    def _note(self, moves: np.ndarray) -> None:
        """Keep the events of micro-clusters, in few arrays however small the chunks are."""
        self._moves.append(moves)
        if len(self._moves) == _MOST_PARTS:
            self._moves = [np.concatenate(self._moves)]

    def review(self) -> np.ndarray:
        """Events (m, 4) that lead from the clusters of the last review to the present ones."""
        before, now = self._reviewed, self.clusters
        moves = np.concatenate([np.empty((0, 4), dtype=np.int64), *self._moves])
        gone = np.setdiff1d(before.ids, now.ids)
        successors = now.of_micro(followed(gone, moves))
        new = np.setdiff1d(now.ids, before.ids)
        origins = before.of_micro(new)
        events = [(SPLIT, origin, i) if origin >= 0 else (BIRTH, i, -1) for i, origin in zip(new, origins, strict=True)]
        events += [(MERGE, into, i) if into >= 0 else (DEATH, i, -1) for i, into in zip(gone, successors, strict=True)]
        self._reviewed, self._moves = now, []
        step = np.inf if self._half_life is None else max(self._half_life / 2, 1)
        self._next_review = int(np.ceil(min(max(_FIRST_REVIEW, self.n_rows * _GROWTH), self.n_rows + step)))
        return np.array([(self.n_rows, *event) for event in events], dtype=np.int64).reshape(-1, 4)

    def cluster_ids(self, joined: np.ndarray) -> np.ndarray:
        """The ids of the clusters that hold these micro-clusters now, −1 for those that were removed."""
        return self.clusters.of_micro(joined)

    @property
    def clusters(self) -> Clusters:
        """The clusters of the present micro-clusters."""
        if self._clusters is None:
            self._clusters = self._searched()
        return self._clusters

    @property
    def frame(self) -> Frame:
        return self._micro.frame

    @property
    def sites(self) -> Sites:
        clusters = self.clusters
        return Sites(clusters.centres, clusters.ids, self._micro.sites.next_uid)

    @property
    def ids(self) -> np.ndarray:
        return self.clusters.ids

    @property
    def weights(self) -> np.ndarray:
        return self.clusters.weights

    @property
    def lam(self) -> float:
        return self.clusters.lam

    @property
    def n_rows(self) -> int:
        return self._micro.n_rows

    def _searched(self) -> Clusters:
        """Weighted DP-means on micro-clusters; while there are more than ``max_clusters``, the penalty doubles."""
        weights, micro = self._micro.weights, self._micro.sites
        if not len(weights):
            return _none(micro.centres.shape[1])
        least, points = self._penalty.at(float(weights.sum())), (micro.centres, weights)
        if self.frame.unit:
            points = _directions(*points)

        def fitted(n_doublings: int) -> Result:
            lam = max(least, math.ldexp(least, min(n_doublings, _LARGEST_EXPONENT - math.frexp(least)[1])))
            return _clustered(*points, lam, self.frame.unit, self._engine, 1)

        found = _first_within(self._max_clusters, fitted)
        labels, lam = found.labels, found.objective.lam
        if lam > least and not self._was_full:
            self._was_full = True
            warn_penalty_rose(self._max_clusters, least, lam)
        # In order of their oldest micro-clusters, which come first.
        _, oldest = np.unique(labels, return_index=True)
        order = np.argsort(oldest)
        place = np.argsort(order)[labels]
        weight = totals(place, weights)
        centres = found.rows.frame.outward(found.state.sites.centres)[order]
        return Clusters(micro.uids[oldest[order]], centres, weight, lam, micro.uids, place)


STREAMS: dict[str, type[RowStream] | type[MicroStream]] = {"published": RowStream, "micro-clusters": MicroStream}


def _directions(means: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stand for micro-clusters of unit vectors: directions, and the lengths of sums as weights.

    Rows that cancel out cost the same in every cluster; they have any direction and no weight.
    """
    lengths = np.linalg.norm(means, axis=1)
    cancelled = lengths == 0
    means = np.where(cancelled[:, None], np.eye(1, means.shape[1]), means)
    return means, weights if cancelled.all() else weights * lengths


def _clustered(
    points: Any, weight: Any, lam: float | str, unit: bool, engine: str, n_threads: int | None, random_state: Any = None
) -> Result:
    """Split-merge DP-means of weighted points, of their directions if ``unit``."""
    family = CosineObjective if unit else DPMeansObjective
    search = PenalisedSearch("OnlineDPMeans", family, lam, max_iter=_MAX_ITER, random_state=random_state)
    rows = open_engine(engine, points, weight=weight, unit=unit, n_threads=n_threads)
    if not is_wide(points):
        return search(rows, Monitor())
    return searched_in_span(search, Monitor(), points, weight, rows, n_threads)


def _first_within(max_clusters: int | None, fitted: Callable[[int], Result]) -> Result:
    """The result after the fewest doublings of the penalty that has at most ``max_clusters`` clusters.

    The number of doublings is found by bisection: a penalty far too low would need a thousand.
    """
    low, high, found = -1, 0, fitted(0)
    if max_clusters is None:
        return found
    while found.state.n_clusters > max_clusters:
        if high > _MOST_DOUBLINGS:
            require_finite(math.inf)
        low, high = high, 2 * high + 1
        found = fitted(high)
    while high - low > 1:
        middle = (low + high) // 2
        trial = fitted(middle)
        if trial.state.n_clusters > max_clusters:
            low = middle
        else:
            high, found = middle, trial
    return found


def _none(n_features: int) -> Clusters:
    empty = np.empty(0, dtype=np.int64)
    return Clusters(empty, np.empty((0, n_features)), np.empty(0), np.nan, empty, empty)
