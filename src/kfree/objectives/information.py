"""Information criteria of k-means: clusters as spherical Gaussians of one common variance (Pelleg & Moore 2000)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats


@dataclass(frozen=True)
class SphericalClusters:
    """Clusters of ``n`` (k,) rows in ``n_features`` columns, with Σ‖x − μ_z‖² = ``inertia``.

    ``least_variance`` keeps rows that lie at their centres from having an infinite likelihood.
    """

    n: Floats
    n_features: int
    inertia: float
    least_variance: float

    @property
    def variance(self) -> float:
        """The variance of a column within a cluster, by maximum likelihood."""
        total = float(self.n.sum()) * self.n_features
        return max(self.inertia / total, self.least_variance, float(np.finfo(np.float64).tiny))

    @property
    def log_norm(self) -> float:
        """−log density at a centre."""
        return self.n_features / 2 * math.log(2 * math.pi * self.variance)

    @property
    def log_likelihood(self) -> float:
        """log p(X, z) at the estimates."""
        n_rows = float(self.n.sum())
        shares = float(self.n @ np.log(self.n / n_rows))
        return shares - n_rows * self.log_norm - self.inertia / (2 * self.variance)

    @property
    def n_parameters(self) -> int:
        """Centres, weights that sum to one, and the variance."""
        k = len(self.n)
        return k * self.n_features + (k - 1) + 1

    @property
    def aic(self) -> float:
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        return self.n_parameters * math.log(float(self.n.sum())) - 2 * self.log_likelihood
