"""Splits and merges of mixtures whose rows belong to clusters in part (Kurihara & Welling 2009, §6, App. D).

The strategy is that of Bayesian k-means for any criterion: a family says how a mixture is fitted from responsibilities,
what it costs, and which clusters fit worst or overlap most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from kfree.core.stats import Floats, GaussianStats, Index
from kfree.engines.cost_rules.labelled import halves_along
from kfree.search.evidence.hard_labels import first_gain, gains
from kfree.search.evidence.overlap import pairs_by_overlap
from kfree.search.loop import Descent, descend


@dataclass(frozen=True)
class SoftClustering:
    """Responsibilities ``r`` (n, k), the criterion that is minimised, and the family's parameters of the clusters."""

    r: Floats
    cost: float
    parameters: Any

    @property
    def n_clusters(self) -> int:
        return int(self.r.shape[1])

    def same_partition(self, later: Self) -> bool:
        return np.array_equal(self.r, later.r)


class Family(Protocol):
    """A kind of mixture and its criterion."""

    def fitted(self, rows: Floats, r: Floats, target: float) -> SoftClustering:
        """Converged from responsibilities; may stop when ``target`` cannot be reached."""

    def criteria(self, rows: Floats, state: SoftClustering) -> tuple[Floats, Floats]:
        """J_split (k,) and J_merge (k, k)."""


def split_and_merge(
    rows: Floats, family: Family, max_iter: int, max_clusters: int | None = None
) -> Descent[SoftClustering]:
    """From one cluster, until no split or merge lowers the criterion."""
    start = family.fitted(rows, np.ones((len(rows), 1)), np.inf)
    moves: list[Callable[[SoftClustering, Floats, Family], SoftClustering]]
    moves = [SplitWorst(max_clusters), merge_overlapping]
    return descend(start, moves, rows, family, max_iter, near_enough=lambda old, new: not gains(old.cost, new.cost))


@dataclass(frozen=True)
class SplitWorst:
    """Split the cluster that fits its rows worst and fit all; if that gains nothing, try the next one."""

    max_clusters: int | None = None

    def __call__(self, state: SoftClustering, rows: Floats, family: Family) -> SoftClustering:
        if self.max_clusters is not None and state.n_clusters >= self.max_clusters:
            return state
        worst_first = np.argsort(-family.criteria(rows, state)[0], kind="stable")
        return first_gain(state, _halved(rows, state.r, worst_first), lambda r: family.fitted(rows, r, state.cost))


def merge_overlapping(state: SoftClustering, rows: Floats, family: Family) -> SoftClustering:
    """Merge the two clusters that overlap most and fit all; if that gains nothing, try the next pair."""
    if state.n_clusters < 2:
        return state
    pairs = pairs_by_overlap(family.criteria(rows, state)[1])
    return first_gain(state, (_joined(state.r, *pair) for pair in pairs), lambda r: family.fitted(rows, r, state.cost))


def soft_stats(rows: Floats, r: Floats) -> GaussianStats:
    """Statistics of clusters that have rows in part."""
    n, sums = r.sum(axis=0), r.T @ rows
    gaps = (rows - mean for mean in sums / n[:, None])
    scatter = np.array([(gap * share[:, None]).T @ gap for gap, share in zip(gaps, r.T, strict=True)])
    return GaussianStats(n, sums, scatter)


def _halved(rows: Floats, r: Floats, clusters: Index) -> Iterator[Floats]:
    """Responsibilities with one cluster in two, cut at its mean across its principal axis (App. D.3)."""
    for c in clusters:
        members = r[:, c] > 0  # few, where labels are hard
        stats = soft_stats(rows[members], r[members, c : c + 1])
        axis = np.linalg.eigh(stats.scatter[0])[1][:, -1]
        side = halves_along((rows - stats.sum[0] / stats.n[0]) @ axis)
        halves = r[:, [c]] * np.stack([side == 0, side == 1], axis=1)
        if (halves.sum(axis=0) >= 1).all():
            yield np.hstack([r[:, :c], halves, r[:, c + 1 :]])


def _joined(r: Floats, a: int, b: int) -> Floats:
    """Cluster a takes over b."""
    joined = np.delete(r, b, axis=1)
    joined[:, a] += r[:, b]
    return joined
