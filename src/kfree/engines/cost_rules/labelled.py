"""Rows in memory under one cost function per cluster, instead of one centre.

As in ``engines/contract.py``, labels stay with the rows: a search knows them by an :class:`Assignment`, and sees
statistics and costs of clusters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

import numpy as np

from kfree.core.assignment import Assignment
from kfree.core.blocks import row_blocks
from kfree.core.cached import cached
from kfree.core.hashing import fingerprints
from kfree.core.rules import Rule
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, members_of
from kfree.engines.cost_rules.responsibilities import sums_over

# Rows per block when all their costs are computed.
ROWS_AT_ONCE = 4096

S = TypeVar("S")


class LabelledRows(ABC, Generic[S]):
    """Rows, and passes that ask a rule what each row costs in each cluster; S are the statistics of clusters.

    Rows may have weights > 0: statistics count a row of weight 2 as two rows. Labels are in an order of their own,
    ``order`` (None: as given).
    """

    order: Index | None = None

    def __init__(self, shape: tuple[int, ...], weight: Floats | None):
        self.n_rows, self.n_features = shape
        self.weight, self.n_evaluations = weight, 0

    # The passes that a kind of rows implements.

    @abstractmethod
    def cheapest(self, rule: Any) -> tuple[Labels, S]:
        """The cluster where each row costs least, the first of equals, and the statistics of the clusters."""

    @abstractmethod
    def moments(self, labels: Labels, n_clusters: int) -> S:
        """Statistics of clusters with these labels."""

    @abstractmethod
    def sides(self) -> Labels:
        """Which side of the mean each row lies on, along the principal axis."""

    @abstractmethod
    def among(self, rows: Index) -> Self:
        """These rows alone."""

    @abstractmethod
    def block(self, places: slice) -> ArrayOrCSR:
        """Some rows, as rules take them."""

    # What follows from these.

    def assign(self, rule: Any) -> tuple[Assignment, S]:
        """Every row to the cluster where it costs least, the first of equals; and the statistics of the answer."""
        labels, stats = self.cheapest(rule)
        return self._known(labels, len(rule.offset)), stats

    def stats_of(self, assignment: Assignment) -> S:
        """The statistics of clusters with given rows."""
        return self.moments(assignment.labels, assignment.n_clusters)

    def together(self) -> Assignment:
        """All rows in one cluster."""
        return self._known(np.zeros(self.n_rows, dtype=np.int32), 1)

    def renumbered(self, assignment: Assignment, numbers: Labels, n_clusters: int) -> Assignment:
        """Cluster c becomes number ``numbers[c]`` of ``n_clusters``; several may become one."""
        return self._known(numbers.astype(np.int32)[assignment.labels], n_clusters)

    def members(self, assignment: Assignment) -> Members[S]:
        """The rows of each cluster, for passes over single clusters."""
        return Members(self, assignment)

    def sample(self, size: int) -> Self:
        """Some rows, always the same ones, drawn without replacement."""
        return self.among(np.sort(np.random.RandomState(0).choice(self.n_rows, size, replace=False)))

    def halved(self) -> Assignment:
        """All rows in two halves: one step of k-means from mean ± √λ·s, with s, λ the principal axis and variance."""
        return self._known(self.sides(), 2)

    def outer_half(self, rule: Rule) -> Assignment:
        """1 for the rows that cost more under a rule of one cluster than the median row does, by weight; else 0."""
        cost = np.concatenate([costs[:, 0] for costs, _ in self._costs(rule)])
        return self._known((cost > _median(cost, self.weights())).astype(np.int32), 2)

    def responsibility_sums(self, rule: Rule, log_weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """See ``responsibilities.sums_over``; ``rule`` is −log p(x | c)."""
        return sums_over(self._costs(rule), log_weight)

    def assignment(self, labels: Labels, n_clusters: int) -> Assignment:
        """The assignment with given labels, one per row in the order in which the rows were given."""
        labels = np.asarray(labels, dtype=np.int32)
        return self._known(labels if self.order is None else labels[self.order], n_clusters)

    def labels(self, assignment: Assignment) -> Labels:
        """The labels, one per row in the order in which the rows were given, for publishing."""
        labels: Labels = assignment.labels
        if self.order is None:
            return labels
        outward = np.empty_like(labels)
        outward[self.order] = labels
        return outward

    def weights(self) -> Floats:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def divided(self, assignment: Assignment, rows: Index) -> Assignment:
        """``assignment`` after ``rows``, in their own order, have gone to a new cluster, the last one."""
        labels = assignment.labels.copy()
        labels[rows] = assignment.n_clusters
        return self._known(labels, assignment.n_clusters + 1)

    def _costs(self, rule: Rule) -> Iterator[tuple[Floats, Floats | float]]:
        """Costs (rows, k) and weights (rows, 1), a block at a time; 1 where rows have no weights."""
        for places in row_blocks(self.n_rows, ROWS_AT_ONCE):
            yield rule.costs(self.block(places)), 1.0 if self.weight is None else self.weight[places, None]

    def _known(self, labels: Labels, n_clusters: int) -> Assignment:
        return Assignment(labels, n_clusters, lambda: fingerprints(labels, 0, n_clusters))


class Members(Generic[S]):
    """The rows of each cluster of an assignment."""

    def __init__(self, rows: LabelledRows[S], assignment: Assignment):
        self._all, self._assignment = rows, assignment

    @cached
    def _rows(self) -> list[Index]:
        return members_of(self._assignment.labels, self._assignment.n_clusters)

    def alone(self, cluster: int) -> LabelledRows[S]:
        """The rows of one cluster."""
        return self._all.among(self._rows[cluster])

    def divided(self, assignment: Assignment, cluster: int, side: Assignment) -> Assignment:
        """``assignment`` after rows of ``cluster`` have gone to a new cluster, the last one.

        ``side`` is an assignment of that cluster's rows to 0 and 1; rows of 1 go.
        """
        return self._all.divided(assignment, self._rows[cluster][side.labels == 1])


def _median(values: Floats, weights: Floats) -> float:
    """The least value up to which lies half of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, below[-1] / 2)]])


def halves_along(projected: Floats) -> Labels:
    """Which of mean ± step along the axis is nearer: the side of the mean that a row lies on."""
    return (projected < 0).astype(np.int32)
