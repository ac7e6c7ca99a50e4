"""The DP-means objective and its cosine form (Kulis & Jordan 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kfree.stats import Floats, Stats


@dataclass(frozen=True)
class DPMeansObjective:
    """J = Σ_i w_i ‖x_i − μ_{z_i}‖² + lam·k   (Kulis & Jordan 2012, Eq. 1); with lam = 0, the k-means objective."""

    lam: float

    def cost(self, stats: Stats) -> float:
        """J of rows held against the sites that ``stats`` is about; the sum is exact, so no order can show."""
        return math.fsum(stats.sse) + self.lam * len(stats.n)

    def centres(self, stats: Stats, previous: Floats) -> Floats:
        """The best centres for the clusters: their means. A cluster without weight keeps its previous one."""
        weighted = stats.n > 0
        return np.where(weighted[:, None], stats.sum / np.where(weighted, stats.n, 1.0)[:, None], previous)


@dataclass(frozen=True)
class CosineObjective(DPMeansObjective):
    """J = Σ_i w_i (2 − 2 cos(x_i, μ_{z_i})) + lam·k: the same cost between unit vectors."""

    def centres(self, stats: Stats, previous: Floats) -> Floats:
        """Mean directions. Rows that cancel out have none, and the previous centre stays."""
        # Added in order: NumPy's own sum groups the terms by the machine's vector width.
        length = np.sqrt(np.add.accumulate(stats.sum**2, axis=1)[:, -1])
        directed = length > 0
        return np.where(directed[:, None], stats.sum / np.where(directed, length, 1.0)[:, None], previous)


OBJECTIVES = {"euclidean": DPMeansObjective, "cosine": CosineObjective}
