"""A clustering in the course of a search: where the clusters are, which rows they hold, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.assignment import Assignment
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Stats, exact_sum
from kfree.engines.contract import Pass, Rows
from kfree.objectives.dp_means import DPMeansObjective


@dataclass(frozen=True)
class State:
    """Rows assigned to sites. ``cost`` is measured from these sites, not from the means of the clusters.

    ``settled`` says that every row is with its nearest site, which does not hold after a sweep that opens clusters:
    rows visited before a birth are not compared with the new cluster. ``was_full`` says that ``max_clusters`` prevented
    more clusters from opening.
    """

    sites: Sites
    assignment: Assignment
    stats: Stats
    cost: float
    settled: bool
    was_full: bool = False

    @property
    def n_clusters(self) -> int:
        return len(self.stats.n)

    @property
    def inertia(self) -> float:
        """Squared distances alone."""
        return exact_sum(self.stats.sse)

    def same_partition(self, later: State) -> bool:
        """Whether ``later`` holds the same rows in the same clusters, apart from removed clusters of no weight."""
        alive = self.stats.n > 0
        # The same rows weigh the same, to the last bit. While rows move, fingerprints need not be computed.
        return (
            self.stats.n[alive].tobytes() == later.stats.n.tobytes()
            and np.array_equal(self.sites.uids[alive], later.sites.uids)
            and np.array_equal(self.assignment.fingerprints[alive], later.assignment.fingerprints)
        )


def one_cluster(rows: Rows, objective: DPMeansObjective) -> Sites:
    """A single site at the mean of all rows (under cosine at their mean direction, else at the first row)."""
    start = Sites.of(rows.first_point()[None, :])
    return start.moved(objective.centres(rows.nearest(start).stats, previous=start.centres))


def state_of(sites: Sites, done: Pass, objective: DPMeansObjective) -> State:
    """The state that a pass against ``sites`` ended in, newborn clusters included."""
    n_born = len(done.centres) - len(sites.uids)
    return State(
        sites.after(done.centres, done.stats),
        done.assignment,
        done.stats,
        objective.cost(done.stats),
        settled=n_born == 0,
        was_full=done.n_refused > 0,
    )


def assigned(sites: Sites, rows: Rows, objective: DPMeansObjective) -> State:
    """Every row with its nearest site."""
    return state_of(sites, rows.nearest(sites), objective)


def at_means(sites: Sites, stats: Stats, objective: DPMeansObjective) -> Sites:
    """Sites at the means of their rows, in number unchanged; one without rows stays where it is.

    Raises where a sum of rows overflows. The cost may be finite even so: it is about the old sites, and no row need be
    nearest to a site at infinity.
    """
    centres = objective.centres(stats, previous=sites.centres)
    with np.errstate(over="ignore", invalid="ignore"):
        total = centres.sum()  # takes a third of the time of looking at each, which only a sum that overflows needs
    if not np.isfinite(total) and not np.isfinite(centres).all():
        raise ValueError(
            "sums of the rows of a cluster (times sample_weight) overflow float64. Divide X, or sample_weight, by a "
            "constant."
        )
    return sites.moved(centres)


def after_merges(state: State, pairs: Index, costs: Floats, objective: DPMeansObjective) -> Sites:
    """Sites at the means of their rows after merges of ``pairs`` (m, 2), which add ``costs`` (m,) to the SSE.

    Clusters without weight are deleted.
    """
    stats, alive = state.stats.copy(), state.stats.n > 0
    for (a, b), cost in zip(pairs, costs, strict=True):
        stats.absorb(a, b, cost)
        alive[b] = False
    return state.sites.moved(objective.centres(stats, previous=state.sites.centres)).kept(alive)


def recentred(state: State, objective: DPMeansObjective) -> Sites:
    """Sites at the means of their rows; clusters without weight are deleted."""
    moved = state.sites.moved(objective.centres(state.stats, previous=state.sites.centres))
    return moved.kept(state.stats.n > 0)


def occupied(state: State, rows: Rows, objective: DPMeansObjective) -> State:
    """The same rows without the clusters that hold none of weight; their other rows go to the nearest of the rest.

    Moves rely on it: they number clusters as ``state`` does and then recentre it, which deletes empty ones.
    """
    while not (state.stats.n > 0).all():
        state = assigned(state.sites.kept(state.stats.n > 0), rows, objective)
    return state


def occupied_at(sites: Sites, rows: Rows, objective: DPMeansObjective) -> State:
    """Every row with its nearest site, without sites that hold no weight."""
    return occupied(assigned(sites, rows, objective), rows, objective)


def settle(state: State, rows: Rows, objective: DPMeansObjective) -> State:
    """Every row of the state to its nearest mean, no cluster opened; clusters that this empties are deleted.

    Centres stay where they are if their means cost more: rounding them may, where rows are very heavy.
    """
    for sites in (recentred(state, objective), state.sites):
        new = occupied_at(sites, rows, objective)
        if new.cost <= state.cost:
            break
    return new
