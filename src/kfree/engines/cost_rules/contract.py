"""The contract of engines that assign rows by one cost function per cluster, instead of one centre."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index, Labels

S_co = TypeVar("S_co", covariant=True)

# Rows per block when all their costs are computed.
ROWS_AT_ONCE = 4096


class CostRuleEngine(Protocol[S_co]):
    """Rows in an order of the engine's own, which ``outward`` undoes; a rule says what a row costs in each cluster.

    Rows may have weights > 0: statistics count a row of weight 2 as two rows.
    """

    n_rows: int
    n_features: int
    n_evaluations: int

    def assign(self, rule: Any) -> tuple[Labels, S_co]:
        """Every row to the cluster where it costs least, the first of equals; and the statistics of the answer."""

    def stats_of(self, labels: Labels, n_clusters: int) -> S_co:
        """The statistics of clusters with given rows."""

    def among(self, rows: Index) -> Self:
        """An engine of these rows alone."""

    def halved(self) -> Labels:
        """All rows in two halves: one step of k-means from mean ± √λ·s, with s, λ the principal axis and variance."""

    def blocks(self) -> Iterator[Any]:
        """The rows, a block at a time."""

    def block_weights(self) -> Iterator[Floats | float]:
        """Weights (rows, 1) of the blocks; 1 where rows have none."""

    def outward(self, labels: Labels) -> Labels:
        """Labels in the order in which the rows were given."""


def weights_in_blocks(weight: Floats | None, n_rows: int) -> Iterator[Floats | float]:
    """Weights as columns, a block at a time; 1 where rows have none."""
    for begin in range(0, n_rows, ROWS_AT_ONCE):
        yield 1.0 if weight is None else weight[begin : begin + ROWS_AT_ONCE, None]


def halves_along(projected: NDArray[np.float64]) -> Labels:
    """Which of mean ± step along the axis is nearer: the side of the mean that a row lies on."""
    return (projected < 0).astype(np.int32)
