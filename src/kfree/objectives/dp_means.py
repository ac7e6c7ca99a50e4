"""The DP-means objective and its cosine form (Kulis & Jordan 2012)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from kfree.core.divergences import Divergence
from kfree.core.fields import NotNegative
from kfree.core.marks import OneOf
from kfree.core.row_costs import DirectionRowCosts, MeanRowCosts, RowCosts
from kfree.core.spaces import EUCLIDEAN, SPACES, Space
from kfree.core.stats import Floats, Index, Stats, exact_sum


@dataclass(frozen=True)
class DPMeansObjective:
    """J = Σ_i w_i ‖x_i − μ_{z_i}‖² + lam·k   (Kulis & Jordan 2012, Eq. 1); with lam = 0, the k-means objective.

    Points are those of a ``space``: the columns of the rows, or the feature space of a kernel.
    """

    lam: NotNegative
    space: Annotated[Space, OneOf(SPACES)] = field(default=EUCLIDEAN, kw_only=True)
    row_costs: ClassVar[type[RowCosts]] = MeanRowCosts
    of_directions: ClassVar[bool] = False
    # Whether rows are latitudes and longitudes.
    on_sphere: ClassVar[bool] = False
    # What takes the place of the squared distance; None for that itself.
    divergence: ClassVar[Divergence | None] = None

    def cost(self, stats: Stats) -> float:
        """J of rows about the sites of ``stats``; the sum is exact, so its order does not matter."""
        return exact_sum(stats.sse.tolist()) + self.lam * len(stats.n)  # numbers of a list are read faster

    def centres(self, stats: Stats, previous: Floats) -> Floats:
        """The best centres for the clusters: their means. A cluster without weight keeps its previous one."""
        has_weight = stats.n > 0
        return stats.sum / stats.n[:, None] if has_weight.all() else _divided(stats.sum, stats.n, previous)

    def sizes(self, stats: Stats) -> Floats:
        """How hard each cluster is to move: what ``row_costs`` are about."""
        return self.row_costs.size(stats.n, stats.sum)

    def least_cost(self, stats: Stats, sites: Floats) -> Floats:
        """Σ w·‖x − μ‖² of each cluster about its best centre, where ``stats`` is about ``sites``."""
        return np.maximum(stats.sse - self.sizes(stats) * self.space.sq_norms(self.centres(stats, sites) - sites), 0.0)

    def reach(self, means: Floats) -> Floats | float:
        """How far from a mean in each column a row costs 1, to second order; zero where it would cost far more."""
        return 1.0

    def merge_costs(self, stats: Stats, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster b adds: n_a n_b/(n_a + n_b)·‖μ_a − μ_b‖².

        One cluster gives (k,), several (number, k). The change of J is this − lam. The same for (a, b) as for (b, a),
        bit by bit.
        """
        n, means = stats.n, stats.mean
        both = n + n[clusters, None]
        shared = n * n[clusters, None] / np.where(both > 0, both, 1.0)
        costs: Floats = shared * self.space.sq_gaps(means, clusters)
        return costs

    def merge_costs_by_gram(self, n: Floats, sq_sum: Floats, products: Floats, clusters: int | slice | Index) -> Floats:
        """``merge_costs`` from inner products of the clusters' sums: fast, with rounding of their size.

        ``sq_sum`` (k,) are those of each sum with itself, ``products`` those of ``clusters`` with all.
        """
        inverse = 1 / np.where(n > 0, n, 1.0)
        sq_norm, products = sq_sum * inverse**2, products * inverse * inverse[clusters, None]
        both = n + n[clusters, None]
        shared = n * n[clusters, None] / np.where(both > 0, both, 1.0)
        costs: Floats = shared * np.maximum(sq_norm + sq_norm[clusters, None] - 2 * products, 0.0)
        return costs

    def most_saved_by_merging(self, stats: Stats) -> Floats:
        """A bound on what each cluster can save by merging with another one, distances aside."""
        return np.full(len(stats.n), self.lam)

    @property
    def birth_penalty(self) -> float:
        """What a row pays for a cluster of its own."""
        return self.lam

    def as_rows(self, stats: Stats) -> tuple[Floats, Floats]:
        """Each cluster as one weighted row, whose cost in any cluster differs from that of its rows by a constant.

        The constant is the cost of the rows around the centres of the clusters given here. Under cosine the row is a
        direction, and weighs ‖S‖.
        """
        return self.centres(stats, previous=stats.sum), self.sizes(stats)


@dataclass(frozen=True)
class CosineObjective(DPMeansObjective):
    """J = Σ_i w_i (2 − 2 cos(x_i, μ_{z_i})) + lam·k: the same cost between unit vectors."""

    row_costs = DirectionRowCosts
    of_directions = True

    def centres(self, stats: Stats, previous: Floats) -> Floats:
        """Mean directions. Rows that cancel out have none, and the previous centre stays."""
        return _divided(stats.sum, self.sizes(stats), previous)

    def merge_costs(self, stats: Stats, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster b adds: 2(‖S_a‖ + ‖S_b‖ − ‖S_a + S_b‖).

        Written as 2·‖S_a‖·‖S_b‖·‖S_a/‖S_a‖ − S_b/‖S_b‖‖² / (‖S_a‖ + ‖S_b‖ + ‖S_a + S_b‖), which is the same without
        a difference of nearly equal numbers.
        """
        length = self.sizes(stats)
        direction = stats.sum / np.where(length > 0, length, 1.0)[:, None]
        lengths = length + length[clusters, None] + np.sqrt(self.space.sq_gaps(stats.sum, clusters, sign=1.0))
        shared = length * length[clusters, None] / np.where(lengths > 0, lengths, 1.0)
        costs: Floats = 2 * shared * self.space.sq_gaps(direction, clusters)
        return costs

    def merge_costs_by_gram(self, n: Floats, sq_sum: Floats, products: Floats, clusters: int | slice | Index) -> Floats:
        joined = np.sqrt(np.maximum(sq_sum + sq_sum[clusters, None] + 2 * products, 0.0))
        length = np.sqrt(np.maximum(sq_sum, 0.0))  # rounding leaves less than zero where rows cancel out
        costs: Floats = 2 * np.maximum(length + length[clusters, None] - joined, 0.0)
        return costs


def _divided(sums: Floats, sizes: Floats, previous: Floats) -> Floats:
    """Sums (k, d) over sizes (k,); ``previous`` where a size is not positive."""
    sized = sizes > 0
    centres: Floats = sums / np.where(sized, sizes, 1.0)[:, None]
    centres[~sized] = previous[~sized]
    return centres


@dataclass(frozen=True)
class GreatCircleObjective(CosineObjective):
    """J between places on the Earth as unit vectors; in units of its squared radius."""

    on_sphere = True


OBJECTIVES = {"euclidean": DPMeansObjective, "cosine": CosineObjective}
# With that for two columns of degrees.
PLACED_OBJECTIVES = {**OBJECTIVES, "haversine": GreatCircleObjective}
