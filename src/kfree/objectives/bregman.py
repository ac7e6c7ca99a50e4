"""DP-means with Bregman divergences in place of squared distances (Kulis & Jordan 2012, §7, iv).

J = Σ_i w_i d_φ(x_i, μ_{z_i}) + lam·k; with lam = 0, Bregman hard clustering (Banerjee et al. 2005).

Statistics are those of DP-means, with Σ w·d_φ(x, site) for the squared distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kfree.core.divergences import Divergence, ItakuraSaito, KullbackLeibler, Logistic, SquaredEuclidean
from kfree.core.stats import Floats, Stats
from kfree.objectives.dp_means import DPMeansObjective


@dataclass(frozen=True)
class BregmanObjective(DPMeansObjective):
    """J = Σ_i w_i d_φ(x_i, μ_{z_i}) + lam·k; here with φ = ‖x‖², which is DP-means."""

    divergence: ClassVar[Divergence] = SquaredEuclidean()

    def centres(self, stats: Stats, previous: Floats) -> Floats:
        """Means, which are the best centres for every φ. A cluster without weight keeps its previous one."""
        return self.divergence.clipped(super().centres(stats, previous))

    def least_cost(self, stats: Stats, sites: Floats) -> Floats:
        """Σ w·d(x, mean) of each cluster, where ``stats`` is about ``sites``: Σ w·d(x, site) − n·d(mean, site)."""
        alive = stats.n > 0
        costs = np.zeros(len(stats.n))
        means = self.divergence.clipped(stats.sum[alive] / stats.n[alive, None])
        about = stats.n[alive] * self.divergence.between(means, sites[alive])
        with np.errstate(invalid="ignore"):  # a site that is infinitely far from its rows says nothing about them
            costs[alive] = np.maximum(stats.sse[alive] - about, 0.0)
        return np.where(np.isnan(costs), np.inf, costs)

    def reach(self, means: Floats) -> Floats | float:
        return self.divergence.reach(self.divergence.clipped(means))

    def merge_costs(self, stats: Stats, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster b adds: n_a·d(μ_a, μ_ab) + n_b·d(μ_b, μ_ab).

        One cluster gives (k,), several (number, k). The change of J is this − lam. The same for (a, b) as for (b, a).
        """
        means = self.divergence.clipped(stats.mean)
        return self.divergence.joining(stats.n[clusters, None], means[clusters, None], stats.n, means)


@dataclass(frozen=True)
class KullbackLeiblerObjective(BregmanObjective):
    """For counts and shares."""

    divergence = KullbackLeibler()


@dataclass(frozen=True)
class ItakuraSaitoObjective(BregmanObjective):
    """For spectra."""

    divergence = ItakuraSaito()


@dataclass(frozen=True)
class LogisticObjective(BregmanObjective):
    """For zeros and ones."""

    divergence = Logistic()


BREGMAN_OBJECTIVES = {
    one.divergence.name: one for one in (KullbackLeiblerObjective, ItakuraSaitoObjective, LogisticObjective)
}
