"""Hard labels under a free energy: a clustering, and updates of its labels (Kurihara & Welling 2009)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from kfree.core.assignment import Assignment
from kfree.core.rules import Rule
from kfree.engines.cost_rules.labelled import LabelledRows
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.loop import Costed

C = TypeVar("C", bound=Costed)
A = TypeVar("A")

# A gain below this share of the free energy is rounding.
LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class HardClustering(Generic[S]):
    """Which rows are in which cluster, statistics of the clusters, all of which have rows, and the free energy.

    ``rule`` is what the labels are cheapest under, or None if they came about otherwise.
    """

    assignment: Assignment
    stats: S
    cost: float
    rule: Rule | None = None

    @property
    def n_clusters(self) -> int:
        return len(self.stats.n)

    def same_partition(self, later: HardClustering[S]) -> bool:
        return np.array_equal(self.assignment.fingerprints, later.assignment.fingerprints)


def clustering_of(
    assignment: Assignment, stats: S, rows: LabelledRows[S], objective: FreeEnergy[S], rule: Rule | None = None
) -> HardClustering[S]:
    """The clustering without its empty clusters."""
    alive = stats.n > 0
    if not alive.all():
        numbers = (np.cumsum(alive) - 1).astype(np.int32)
        assignment, stats = rows.renumbered(assignment, numbers, int(alive.sum())), stats.take(alive)
        rule = None if rule is None else rule.take(alive)
    return HardClustering(assignment, stats, objective.free_energy(stats), rule)


def clustering_by(assignment: Assignment, rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
    """``clustering_of``, with statistics computed from the rows."""
    return clustering_of(assignment, rows.stats_of(assignment), rows, objective)


def gains(old: float, new: float, least: float = LEAST_GAIN) -> bool:
    """Whether ``new`` is lower by more than this share, rounding by default."""
    return old - new > least * max(abs(old), 1.0)


@dataclass(frozen=True)
class Update:
    """Update labels and posteriors until that no longer lowers the free energy; a step that raises it is undone.

    At most ``most_steps``. With ``target``, stop as soon as it is out of sight: a step gains less than a tenth of the
    remaining difference, or two thirds of what each of the steps left would have to gain.
    """

    target: float = np.inf
    most_steps: float = np.inf

    def __call__(self, state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
        return until_no_gain(state, lambda old: updated(old, rows, objective), self.target, self.most_steps)


def until_no_gain(
    state: C,
    step: Callable[[C], C],
    target: float = np.inf,
    most_steps: float = np.inf,
    least_gain: float = LEAST_GAIN,
) -> C:
    """Take steps until one gains nothing; a step that costs more is undone. For ``target`` see :class:`Update`."""
    n_steps = 0
    while math.isfinite(state.cost) and n_steps < most_steps:  # a refused cluster has no posterior
        n_steps += 1
        new = step(state)
        if not gains(state.cost, new.cost, least_gain):
            return new if new.cost <= state.cost else state
        in_sight = min(10.0, 1.5 * (most_steps - n_steps)) * (state.cost - new.cost)
        out_of_sight = new.cost - target > in_sight
        state = new
        if out_of_sight:
            break
    return state


def first_gain(state: C, candidates: Iterable[A], follow_up: Callable[[A], C]) -> C:
    """The first candidate that costs less than ``state`` when it is followed up; ``state`` if none does."""
    for candidate in candidates:
        new = follow_up(candidate)
        if gains(state.cost, new.cost):
            return new
    return state


def updated(state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
    """One update: every row to the cluster where it costs least, now that the posteriors are known."""
    rule = objective.labelling(state.stats)
    return clustering_of(*rows.assign(rule), rows, objective, rule)


def one_cluster(rows: LabelledRows[S], objective: FreeEnergy[S]) -> HardClustering[S]:
    return clustering_by(rows.together(), rows, objective)


def relabelled(
    state: HardClustering[S], spanning: LabelledRows[S], rows: LabelledRows[S], objective: FreeEnergy[S]
) -> HardClustering[S]:
    """The clusters of a state that ``spanning`` found in other coordinates of the same rows, and updates of these."""
    assignment = rows.assignment(spanning.labels(state.assignment), state.n_clusters)
    return Update()(clustering_by(assignment, rows, objective), rows, objective)
