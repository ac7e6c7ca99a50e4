"""What a row costs in each cluster: quadratic or linear functions, which objectives make and engines use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from kfree.core.fields import Centres, Covariances, PerCluster
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Selection


class Rule(Protocol):
    """What a row costs in each cluster; ``offset`` (k,) is added to all rows."""

    @property
    def offset(self) -> Floats: ...

    def raised(self, by: Floats) -> Self:
        """The same with other offsets."""

    def take(self, clusters: Selection) -> Self:
        """The same for some clusters."""

    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k)."""


@dataclass(frozen=True)
class QuadraticRule:
    """cost_c(x) = ‖factor_c·(x − centre_c)‖² + offset_c, with lower triangular factors (k, d, d)."""

    centre: Centres
    factor: Covariances
    offset: PerCluster

    def raised(self, by: Floats) -> QuadraticRule:
        """The same with other offsets."""
        return QuadraticRule(self.centre, self.factor, self.offset + by)

    def take(self, clusters: Selection) -> QuadraticRule:
        """The same for some clusters."""
        return QuadraticRule(self.centre[clusters], self.factor[clusters], self.offset[clusters])

    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k) of dense rows."""
        clusters = zip(self.centre, self.factor, strict=True)
        sq_dist = [(((rows - centre) @ factor.T) ** 2).sum(axis=1) for centre, factor in clusters]
        return np.stack(sq_dist, axis=1) + self.offset


@dataclass(frozen=True)
class LinearRule:
    """cost_c(x) = slope_c·x + offset_c."""

    slope: Centres
    offset: PerCluster

    def raised(self, by: Floats) -> LinearRule:
        """The same with other offsets."""
        return LinearRule(self.slope, self.offset + by)

    def take(self, clusters: Selection) -> LinearRule:
        """The same for some clusters."""
        return LinearRule(self.slope[clusters], self.offset[clusters])

    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k) of dense or CSR rows."""
        costs: Floats = np.asarray(rows @ self.slope.T) + self.offset
        return costs


RULES = {"quadratic": QuadraticRule, "linear": LinearRule}
