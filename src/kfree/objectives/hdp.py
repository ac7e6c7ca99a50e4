"""The hard Gaussian HDP objective: clusters shared between groups (Kulis & Jordan 2012, §4)."""

from __future__ import annotations

from dataclasses import dataclass

from kfree.core.fields import NotNegative
from kfree.core.stats import Floats, Stats
from kfree.objectives.dp_means import DPMeansObjective


@dataclass(frozen=True)
class HDPObjective(DPMeansObjective):
    """J = Σ_i w_i ‖x_i − μ_{z_i}‖² + lam_local·(number of local clusters) + lam·g   (Kulis & Jordan 2012, Eq. 2).

    A local cluster is a group together with one of the g global clusters that its rows are in. ``lam`` is the penalty
    of a global cluster, which is what the moves of DP-means know as the penalty of a cluster.
    """

    lam_local: NotNegative

    def cost(self, stats: Stats) -> float:
        return super().cost(stats) + self.lam_local * stats.n_local

    def least_cost(self, stats: Stats, sites: Floats) -> Floats:
        """For each global cluster: squared distances to its mean, and lam_local for each group that uses it."""
        costs: Floats = super().least_cost(stats, sites) + self.lam_local * stats.users.sum(axis=1)
        return costs

    def merge_costs(self, stats: Stats, clusters: int | slice) -> Floats:
        """A group that uses both clusters saves lam_local: n_a n_b/(n_a + n_b)·‖μ_a − μ_b‖² − lam_local·|both|."""
        used = stats.users.astype(float)
        costs: Floats = super().merge_costs(stats, clusters) - self.lam_local * (used[clusters] @ used.T)
        return costs

    def most_saved_by_merging(self, stats: Stats) -> Floats:
        saved: Floats = super().most_saved_by_merging(stats) + self.lam_local * stats.users.sum(axis=1)
        return saved

    @property
    def birth_penalty(self) -> float:
        """A row that leaves its local cluster needs a new one."""
        return self.lam + self.lam_local
