"""Clusters of clusters: the small-variance limit of Maurer's nested model (Maurer 2015, §4), and its cosine form."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from kfree.core.stats import Floats, Labels, exact_sum, means, totals

# The parent of each node of a level, for every level but the coarsest; the finest level comes first.
Parents = tuple[Labels, ...]
# Rounds of block descent on the directions of all levels, and the share of their sum below which a gain is rounding.
_MOST_ROUNDS, _LEAST_GAIN = 500, 1e-15


@dataclass(frozen=True)
class NestedObjective:
    """J = Σ_i w_i ‖x_i − μ_c(i)‖² + τ Σ_c ‖μ_c − ν_m(c)‖² + lam·k + lam_group·m.

    Rows x are in clusters c with centres μ, and clusters are in groups m with centres ν, after Maurer's model μ ~ N(ν,
    σI). Every further level adds the same two terms. ``by_rows`` is the variant in which a cluster counts for its group
    by its weight n_c: τ Σ_c n_c ‖μ_c − ν_m(c)‖².

    ``penalties`` are those of a cluster, of a group, …, and ``taus`` one fewer, finest level first. A node of weight n
    is pulled to its parent with p = τ, or τ·n by rows. Minimised over μ, a cluster of mean x̄ adds
    SSE + h·‖x̄ − ν‖² with h = n·p/(n + p), as if a row of weight p lay at ν. So a group is to clusters (x̄, h) what a
    cluster is to rows (x, w), and ``above`` is the objective of the levels above for these.
    """

    penalties: tuple[float, ...]
    taus: tuple[float, ...] = ()
    by_rows: bool = False
    of_directions: ClassVar[bool] = False

    @property
    def lam(self) -> float:
        """The penalty of a cluster."""
        return self.penalties[0]

    @property
    def n_levels(self) -> int:
        return len(self.penalties)

    @property
    def above(self) -> Self:
        """The objective of the groups, where clusters are rows of weight h. There must be groups."""
        # By rows, τ is relative to weights of rows, of which h is the share τ/(1 + τ).
        unit = self.taus[0] / (1.0 + self.taus[0]) if self.by_rows else 1.0
        return replace(self, penalties=self.penalties[1:], taus=tuple(tau / unit for tau in self.taus[1:]))

    def pulls(self, n: Floats, level: int = 0) -> Floats:
        """How strongly nodes of a level are pulled to their parents, p, where they hold rows of weight n."""
        if level == len(self.taus):
            return np.zeros(len(n))
        return self.taus[level] * n if self.by_rows else np.full(len(n), self.taus[level])

    def cost(self, sse: Floats, n: Floats, centres: tuple[Floats, ...], parents: Parents) -> float:
        """J as it is written, for ``centres`` of all levels; ``sse`` (k,) is about those of the finest."""
        return exact_sum(sse.tolist()) + self.fixed_cost(n, centres, parents)

    def fixed_cost(self, n: Floats, centres: tuple[Floats, ...], parents: Parents) -> float:
        """J without the distances of rows: pulls and penalties."""
        terms = [self.lam * len(centres[0])]
        for level, parent in enumerate(parents):
            own, above = centres[level : level + 2]
            terms += [float(self.pulls(n, level) @ sq_gaps(own, above[parent])), self.penalties[level + 1] * len(above)]
            n = totals(parent, n, len(above))
        return exact_sum(terms)

    def centres(self, n: Floats, mean: Floats, parents: Parents) -> tuple[Floats, ...]:
        """The centres of all levels that minimise J, finest first, for clusters of weight n and this mean.

        The centre of a group is the mean of its clusters' means by h; a cluster's own is (n·x̄ + p·ν)/(n + p).
        """
        if not parents:
            return (mean,)
        points, h = self.as_points(n, mean)
        size = totals(parents[0], h)
        middle = summed(h[:, None] * points, parents[0], len(size)) / size[:, None]
        upper = self.above.centres(size, middle, parents[1:])
        return self.pulled(n, mean, upper[0][parents[0]]), *upper

    def pulled(self, n: Floats, mean: Floats, parent: Floats) -> Floats:
        """The best centres of clusters whose parents' centres are given."""
        p = self.pulls(n)[:, None]
        centres: Floats = (n[:, None] * mean + p * parent) / (n[:, None] + p)
        return centres

    def as_points(self, n: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Clusters as weighted rows of the level above: their means, and h = n·p/(n + p)."""
        p = self.pulls(n)
        return mean, n * p / (n + p)

    def least_cost(self, scatter: Floats, n: Floats, mean: Floats, parents: Parents) -> float:
        """J at its best centres; ``scatter`` (k,) is the SSE of each cluster about its mean."""
        centres = self.centres(n, mean, parents)
        return self.cost(scatter + n * sq_gaps(mean, centres[0]), n, centres, parents)

    def node_costs(self, n: Floats, mean: Floats, parent: Floats) -> Floats:
        """What clusters add to J besides the scatter about their means and lam: h·‖x̄ − ν‖², parents' centres given."""
        own = self.pulled(n, mean, parent)
        costs: Floats = n * sq_gaps(mean, own) + self.pulls(n) * sq_gaps(own, parent)
        return costs

    def merge_deltas(self, n: Floats, mean: Floats, parent: Floats, a: int) -> Floats:
        """The change of J when cluster a and each other one b become one that has the parent of b.

        n_a n_b/(n_a + n_b)·‖x̄_a − x̄_b‖² + h_ab·‖x̄_ab − ν_b‖² − h_a·‖x̄_a − ν_a‖² − h_b·‖x̄_b − ν_b‖² − lam. Parents'
        centres stay, so it is an upper bound of the change; with one level it is exact. A group that this leaves
        empty saves its penalty as well.
        """
        both, alone = n + n[a], self.node_costs(n, mean, parent)
        joined = (n[:, None] * mean + n[a] * mean[a]) / both[:, None]
        apart = n * n[a] / both * sq_gaps(mean, mean[a])
        return np.asarray(apart + self.node_costs(both, joined, parent) - alone - alone[a] - self.lam)

    def opening_cost(self, weight: Floats, sq_dists: tuple[Floats, ...]) -> Floats:
        """What rows that open a cluster pay, (n,): lam + min(min_m h·‖x − ν_m‖², lam_group), and so on upwards.

        ``sq_dists`` holds, for every level above the finest, the squared distance of each row to the nearest centre.
        A row opens a cluster if weight·(squared distance to the nearest cluster) is more.
        """
        if not sq_dists:
            return np.full(len(weight), self.lam)
        p = self.pulls(weight)
        h = weight * p / np.where(weight + p > 0, weight + p, 1.0)
        return np.asarray(self.lam + np.minimum(h * sq_dists[0], self.above.opening_cost(h, sq_dists[1:])))


@dataclass(frozen=True)
class CosineNestedObjective(NestedObjective):
    """The objective between unit vectors: centres of all levels are directions, and ‖a − b‖² = 2 − 2 cos.

    With S = Σ w·x, a cluster adds 2(W + p − ‖S + p·ν‖). There is no closed form for ν: centres are found by block
    descent, μ ∝ S + p·ν and ν ∝ Σ p·μ, which lowers J in every round.
    """

    of_directions = True

    def centres(self, n: Floats, mean: Floats, parents: Parents) -> tuple[Floats, ...]:
        own, levels = n[:, None] * mean, [directions(mean)]
        pulls: list[Floats] = []
        for level, parent in enumerate(parents):
            p = self.pulls(n, level)
            n = totals(parent, n)
            pulls.append(p)
            levels.append(directions(summed(p[:, None] * levels[-1], parent, len(n))))
        agreement = -math.inf
        for _ in range(_MOST_ROUNDS if parents else 0):
            before, agreement = agreement, _rotated(levels, own, pulls, parents)
            if agreement - before <= _LEAST_GAIN * abs(agreement):
                break
        return tuple(levels)

    def pulled(self, n: Floats, mean: Floats, parent: Floats) -> Floats:
        return directions(n[:, None] * mean + self.pulls(n)[:, None] * parent)

    def as_points(self, n: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Mean directions, and h = s·p/(s + p) with s = ‖S‖: the cost of a small angle to the group, to second order.

        A search among groups proposes with these, and J decides.
        """
        size, p = n * np.sqrt(sq_gaps(mean, np.zeros_like(mean))), self.pulls(n)
        return directions(mean), size * p / np.where(size + p > 0, size + p, 1.0)


def _rotated(levels: list[Floats], own: Floats, pulls: list[Floats], parents: Parents) -> float:
    """One round of block ascent on Σ S·μ + Σ p·μ·ν + …, in place; returns the sum."""
    for level in range(len(levels)):
        target = own
        if level:
            child, size = levels[level - 1], len(levels[level])
            target = summed(pulls[level - 1][:, None] * child, parents[level - 1], size)
        if level < len(parents):
            target = target + pulls[level][:, None] * levels[level + 1][parents[level]]
        levels[level] = directions(target)
    total = float((own * levels[0]).sum())
    for level, parent in enumerate(parents):
        total += float(pulls[level] @ (levels[level] * levels[level + 1][parent]).sum(axis=1))
    return total


def directions(sums: Floats) -> Floats:
    """Sums (k, d) as unit vectors; the first axis where they cancel out."""
    length = np.sqrt((sums * sums).sum(axis=1))
    unit: Floats = sums / np.where(length > 0, length, 1.0)[:, None]
    unit[length == 0, 0] = 1.0
    return unit


def sq_gaps(a: Floats, b: Floats) -> Floats:
    """Squared distances between the rows of two arrays."""
    gaps: Floats = ((a - b) ** 2).sum(axis=-1)
    return gaps


def summed(values: Floats, parent: Labels, n_parents: int) -> Floats:
    """Sums of rows (k, d) over each parent, added in order."""
    sums = np.zeros((n_parents, values.shape[1]))
    np.add.at(sums, parent, values)
    return sums


def gathered(points: Floats, weight: Floats, parent: Labels, n_parents: int = 0) -> tuple[Floats, Floats]:
    """Weight and mean of the points of each parent; the mean is zero where there is no weight."""
    n = totals(parent, weight, n_parents)
    return n, means(summed(weight[:, None] * points, parent, len(n)), n)


NESTED_OBJECTIVES = {"euclidean": NestedObjective, "cosine": CosineNestedObjective}
