"""What a row costs in each cluster: quadratic or linear functions, which objectives make and engines use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from kfree.core.fields import Centres, Covariances, PerCluster
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import ClusterArrays, Floats


class Rule(ClusterArrays, ABC):
    """What a row costs in each cluster; the last array, ``offset`` (k,), is added for every row."""

    def raised(self, by: Floats) -> Self:
        """The rule with ``by`` (k,) added to the offsets."""
        arrays = [*self._arrays]
        arrays[-1] = arrays[-1] + by
        return type(self)(*arrays)

    @abstractmethod
    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k)."""


@dataclass(frozen=True)
class QuadraticRule(Rule):
    """cost_c(x) = ‖factor_c·(x − centre_c)‖² + offset_c, with lower triangular factors (k, d, d)."""

    centre: Centres
    factor: Covariances
    offset: PerCluster

    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k) of dense rows."""
        clusters = zip(self.centre, self.factor, strict=True)
        sq_dist = [(((rows - centre) @ factor.T) ** 2).sum(axis=1) for centre, factor in clusters]
        return np.stack(sq_dist, axis=1) + self.offset


@dataclass(frozen=True)
class LinearRule(Rule):
    """cost_c(x) = slope_c·x + offset_c."""

    slope: Centres
    offset: PerCluster

    def costs(self, rows: ArrayOrCSR) -> Floats:
        """All costs (n, k) of dense or CSR rows."""
        costs: Floats = np.asarray(rows @ self.slope.T) + self.offset
        return costs


RULES = {"quadratic": QuadraticRule, "linear": LinearRule}
