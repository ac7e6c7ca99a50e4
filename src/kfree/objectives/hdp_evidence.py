"""The evidence of a clustering of groups under the model whose limit hard HDP is: an HDP mixture of round Gaussians.

The objective of hard HDP does not determine its penalties: these depend on the width σ of clusters, which the limit σ →
0 drops. The mixture itself (Teh, Jordan, Beal & Blei 2006) has σ and gives every clustering an evidence that does not
depend on penalties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from kfree.core.stats import Floats, Stats

# Fixed-point equations for the width and the concentrations are solved to this share, or given up after so many rounds.
_CLOSE, _ROUNDS = 1e-3, 50
# The least variance within clusters, as a share of that of all rows: rows that repeat exactly have none.
_NARROWEST = 1e-9
# Nats per row that a cluster must save. Cutting a round Gaussian in two takes 2/π of its variance across the cut, which
# is 1/π in units of 2σ².
_TELLING = 1 / math.pi


@dataclass(frozen=True)
class HDPEvidence:
    """−log p(X, z), with the best σ² and concentrations, for rows of ``variance`` per column around zero.

    Rows are normal around the mean of their global cluster with variance σ² in every column, these means are normal
    around zero with ``variance``, and are integrated out. Groups share out their rows among local clusters, and local
    clusters choose global ones, by two levels of Chinese restaurants.
    """

    variance: float

    def cost(self, stats: Stats, local_sizes: Floats, group_sizes: Floats) -> float:
        """The cost of a clustering with these statistics, about the means of its clusters.

        ``local_sizes`` holds the weights of all local clusters, ``group_sizes`` those of all groups.
        """
        tables = stats.users.sum(axis=1).astype(float)
        return (
            self._rows(stats)
            + _restaurants(local_sizes, group_sizes)
            + _restaurants(tables, np.array([float(len(local_sizes))]))
        )

    def penalties(
        self, stats: Stats, local_sizes: Floats, row_share: float = 1.0, group_share: float = 1.0
    ) -> tuple[float, float]:
        """The penalties of a local and a global cluster that are consistent with these clusters.

        The penalty contains the description length of a cluster: which global cluster a local one is, where a global
        one is. It also exceeds the gain from splitting noise in two. Nats become squared distances by the factor 2σ².
        The clusters may be those of a sample, of a share of the groups and of a share of the rows in each.
        """
        n_global, sq_width = len(stats.n), self.width(stats)
        rows, tables = _typical(local_sizes) / row_share, _typical(stats.users.sum(axis=1)) / group_share
        place = stats.sum.shape[1] / 2 * math.log1p(rows * tables * self.variance / sq_width)
        local_nats, global_nats = math.log(n_global) + _TELLING * rows, place + _TELLING * tables
        return float(2 * sq_width * local_nats), float(2 * sq_width * global_nats)

    def width(self, stats: Stats) -> float:
        """The most likely σ²."""
        n, d, sse = stats.n.sum(), stats.sum.shape[1], math.fsum(stats.sse)
        sq_width = narrowest = _NARROWEST * self.variance
        for _ in range(_ROUNDS):
            free = n - (stats.n * self.variance / (sq_width + stats.n * self.variance)).sum()
            before, sq_width = sq_width, max(sse / (d * max(free, 1e-9 * n)), narrowest)
            if abs(sq_width - before) <= _CLOSE * sq_width:
                break
        return float(min(sq_width, self.variance))

    def _rows(self, stats: Stats) -> float:
        """Rows given the clusters, whose means are integrated out."""
        n, d, sq_width = stats.n.sum(), stats.sum.shape[1], self.width(stats)
        spread = sq_width + stats.n * self.variance
        off = ((stats.sum / np.maximum(stats.n, 1e-300)[:, None]) ** 2).sum(axis=1)
        fit = n * d / 2 * math.log(2 * math.pi * sq_width) + math.fsum(stats.sse) / (2 * sq_width)
        return float(fit + (d / 2 * np.log(spread / sq_width)).sum() + (stats.n * off / (2 * spread)).sum())


def _typical(sizes: Floats) -> float:
    """The mean size of the cluster that a row is in: large ones count more, because splitting them gains more."""
    return float((sizes.astype(float) ** 2).sum() / sizes.sum())


def _restaurants(tables: Floats, guests: Floats) -> float:
    """−log probability that ``guests`` of each restaurant sit down at ``tables``, at the best common concentration.

    A concentration a has the prior density exp(−a); without it, an infinite a would make one table per guest free.
    """
    a = 1.0
    for _ in range(_ROUNDS):
        before, a = a, len(tables) / (1.0 + float((digamma(a + guests) - digamma(a)).sum()))
        if abs(a - before) <= _CLOSE * a:
            break
    seated = gammaln(a) - gammaln(a + guests)
    return a - float(len(tables) * math.log(a) + gammaln(tables).sum() + seated.sum())
