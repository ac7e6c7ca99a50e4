"""Rows in memory whose labels are arrays: the cost-rule contract, on top of a few passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kfree.core.assignment import Assignment
from kfree.core.blocks import row_blocks
from kfree.core.cached import cached
from kfree.core.hashing import fingerprints
from kfree.core.rules import Rule
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.cost_rules.responsibilities import sums_over

# Rows per block when all their costs are computed.
ROWS_AT_ONCE = 4096

S = TypeVar("S")
R = TypeVar("R", bound=Rule)


class LabelledRows(ABC, Generic[S, R]):
    """Rows in an order of the engine's own, ``order`` (None: as given). Labels are in that order."""

    order: Index | None = None

    def __init__(self, shape: tuple[int, ...], weight: Floats | None):
        self.n_rows, self.n_features = shape
        self.weight, self.n_evaluations = weight, 0

    # The passes that a kind of rows implements.

    @abstractmethod
    def cheapest(self, rule: R) -> tuple[Labels, S]:
        """The cluster where each row costs least, and the statistics of the clusters."""

    @abstractmethod
    def moments(self, labels: Labels, n_clusters: int) -> S:
        """Statistics of clusters with these labels."""

    @abstractmethod
    def sides(self) -> Labels:
        """Which side of the mean each row lies on, along the principal axis."""

    @abstractmethod
    def among(self, rows: Index) -> Self:
        """An engine of these rows alone."""

    @abstractmethod
    def block(self, places: slice) -> ArrayOrCSR:
        """Some rows, as rules take them."""

    # What follows from these.

    def assign(self, rule: R) -> tuple[Assignment, S]:
        labels, stats = self.cheapest(rule)
        return self._known(labels, len(rule.offset)), stats

    def stats_of(self, assignment: Assignment) -> S:
        return self.moments(*_inside(assignment))

    def together(self) -> Assignment:
        return self._known(np.zeros(self.n_rows, dtype=np.int32), 1)

    def renumbered(self, assignment: Assignment, numbers: Labels, n_clusters: int) -> Assignment:
        return self._known(numbers.astype(np.int32)[assignment.labels], n_clusters)

    def members(self, assignment: Assignment) -> LabelledMembers[S, R]:
        return LabelledMembers(self, *_inside(assignment))

    def sample(self, size: int) -> Self:
        return self.among(np.sort(np.random.RandomState(0).choice(self.n_rows, size, replace=False)))

    def halved(self) -> Assignment:
        return self._known(self.sides(), 2)

    def outer_half(self, rule: Rule) -> Assignment:
        cost = np.concatenate([costs[:, 0] for costs, _ in self._costs(rule)])
        return self._known((cost > _median(cost, self.weights())).astype(np.int32), 2)

    def responsibility_sums(self, rule: Rule, log_weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        return sums_over(self._costs(rule), log_weight)

    def assignment(self, labels: Labels, n_clusters: int) -> Assignment:
        labels = np.asarray(labels, dtype=np.int32)
        return self._known(labels if self.order is None else labels[self.order], n_clusters)

    def labels(self, assignment: Assignment) -> Labels:
        labels, _ = _inside(assignment)
        if self.order is None:
            return labels
        outward = np.empty_like(labels)
        outward[self.order] = labels
        return outward

    def weights(self) -> Floats:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def divided(self, assignment: Assignment, rows: Index) -> Assignment:
        """The assignment in which ``rows``, in the engine's order, are a new cluster, the last one."""
        labels, n_clusters = _inside(assignment)
        labels = labels.copy()
        labels[rows] = n_clusters
        return self._known(labels, n_clusters + 1)

    def _costs(self, rule: Rule) -> Iterator[tuple[Floats, Floats | float]]:
        """Costs (rows, k) and weights (rows, 1), a block at a time; 1 where rows have no weights."""
        for places in row_blocks(self.n_rows, ROWS_AT_ONCE):
            yield rule.costs(self.block(places)), 1.0 if self.weight is None else self.weight[places, None]

    def _known(self, labels: Labels, n_clusters: int) -> Assignment:
        return Assignment(labels, n_clusters, lambda: fingerprints(labels, 0, n_clusters))


class LabelledMembers(Generic[S, R]):
    """See ``contract.Members``."""

    def __init__(self, engine: LabelledRows[S, R], labels: Labels, n_clusters: int):
        self._engine, self._labels, self._n_clusters = engine, labels, n_clusters

    @cached
    def _rows(self) -> list[Index]:
        ends = np.cumsum(np.bincount(self._labels, minlength=self._n_clusters))
        return np.split(np.argsort(self._labels, kind="stable"), ends[:-1])

    def alone(self, cluster: int) -> LabelledRows[S, R]:
        return self._engine.among(self._rows[cluster])

    def divided(self, assignment: Assignment, cluster: int, side: Assignment) -> Assignment:
        return self._engine.divided(assignment, self._rows[cluster][side.labels == 1])


def _inside(assignment: Assignment) -> tuple[Labels, int]:
    return assignment.labels, assignment.n_clusters


def _median(values: Floats, weights: Floats) -> float:
    """The least value up to which lies half of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, below[-1] / 2)]])


def halves_along(projected: NDArray[np.float64]) -> Labels:
    """Which of mean ± step along the axis is nearer: the side of the mean that a row lies on."""
    return (projected < 0).astype(np.int32)
