"""Regions: the rows of neighbouring clusters in memory, on which the split-merge search of a fit in memory goes on.

A pass over all rows also copies the rows of one region to memory, or a random part of them. Rows of other clusters that
might change over to one of the region are copied as well, as many as there is room for. What is left of every other
cluster is one more row there, at its mean and with its weight, so the cost of a search is an upper bound of J. Without
rows from beyond the border a new cluster there could attract none, and too few clusters would be found: with many
columns, nearly all clusters of a region lie at its border. What a search finds is proposed. The next pass finds the
exact cost of the proposal, which is taken if it is lower, and copies the rows of the next region.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kfree.core.blocks import row_blocks
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Mask, Stats
from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.drawing import Region
from kfree.engines.local.rows import LocalRows
from kfree.native.memory import give_back_free_memory
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import State, recentred, state_of
from kfree.search.loop import UNWATCHED, Descent, Watch
from kfree.search.summary.plan import Plan

# If regions cannot hold all rows, all clusters are first searched at once on a random sample of so many rows per
# cluster, or more.
_ROWS_PER_CLUSTER = 6
# Sampling raises the cost by about clusters / rows. Below this share, regions with more of the rows find nothing else.
_SAMPLING_SHARE = 1e-3
# There are at most so many regions, whatever the number of rows, since each takes a pass.
_MOST_REGIONS = 6
# Regions are made smaller than memory allows, by this factor, because their rows are estimated.
_MARGIN = 1.1
# The same where there are several regions, so that there is room for rows from beyond the border.
_MARGIN_WITH_BORDER = 1.4
# What is left of the weight of a cluster when its rows are subtracted is rounding below this share.
_ROUNDING = 1e-9
# Numbers that are shifted at a time.
_AT_ONCE = 1 << 16
# So many passes are left for Lloyd's iterations, which follow.
_LEFT_FOR_LLOYD = 2
# Rounds end when one lowers the cost by less than this share per pass.
_LEAST_SHARE = 5e-5

# The search of a fit in memory, from rows, an objective, sites, and the share of clusters that can be divided.
Search = Callable[[MemoryRows, DPMeansObjective, Sites, float], State]


@dataclass(frozen=True)
class Proposal:
    """Sites for the next pass, and the weight that each is expected to have."""

    sites: Sites
    weight: Floats


def searched_by_regions(
    rows: Rows,
    start: Proposal,
    objective: DPMeansObjective,
    search: Search,
    plan: Plan,
    most_passes: int,
    seed: int,
    watch: Watch = UNWATCHED,
) -> Descent[State]:
    """Rounds over regions that cover all clusters, until a round gains less than ``_LEAST_SHARE`` per pass."""
    rounds = _Rounds(rows, plan, seed)
    proposal, region = start, rounds.upcoming(start)
    descent: Descent[State] | None = None
    while True:
        give_back_free_memory()
        done, drawn, is_all = rows.nearest_drawing(proposal.sites, rounds.region(proposal, region))
        new = state_of(proposal.sites, done, objective)
        if descent is None:
            descent = Descent.at(new)
        else:
            descent.n_iter += 1
            if new.cost < descent.state.cost:
                descent.state = new
                descent.cost_history.append(new.cost)
        rounds.count(descent.state.cost)
        watch.report(descent)
        if rounds.are_over or descent.n_iter + _LEFT_FOR_LLOYD >= most_passes or not watch.may_go_on():
            return descent
        give_back_free_memory()
        proposal = _proposed(descent.state, region, drawn, is_all, objective, search)
        region, drawn = rounds.upcoming(proposal), None  # the rows of two regions are never there at the same time


class _Rounds:
    """Which clusters the next region has, by their uids; every round divides all clusters in another way."""

    def __init__(self, rows: Rows, plan: Plan, seed: int):
        self._n_rows, self._plan, self._seed = rows.n_counting, plan, seed
        self._per_weight = rows.n_counting / rows.total_weight
        self._queue: list[Index] = []
        self._n_rounds = self._n_passes = 0
        self._begun_at = np.inf
        self.are_over = False

    def upcoming(self, proposal: Proposal) -> Index:
        """The uids of the next region."""
        if not self._queue:
            self._queue = self._divided(proposal)
            self._n_rounds += 1
        return self._queue.pop(0)

    def region(self, proposal: Proposal, uids: Index) -> Region:
        """What the next pass is to draw."""
        wanted = np.isin(proposal.sites.uids, uids)
        expected = float(proposal.weight[wanted].sum()) * self._per_weight
        fits = expected <= self._plan.region_rows
        size = self._plan.region_rows if fits else self._plan.region_sample
        return Region(wanted, size, self._seed + self._n_rounds, expected, border=fits and not wanted.all())

    def count(self, cost: float) -> None:
        """A pass was made; the last one of a round decides whether there is another."""
        self._n_passes += 1
        if not self._queue:
            self.are_over = not cost < (1.0 - self._n_passes * _LEAST_SHARE) * self._begun_at
            self._begun_at, self._n_passes = cost, 0

    def _divided(self, proposal: Proposal) -> list[Index]:
        n_clusters, sampled = len(proposal.sites.uids), self._plan.region_sample
        n_regions = math.ceil(_MARGIN * self._n_rows / self._plan.region_rows)
        can_begin = self._n_rounds == 0 and n_regions > _MOST_REGIONS and _ROWS_PER_CLUSTER * n_clusters <= sampled
        if can_begin or n_clusters <= _SAMPLING_SHARE * sampled:
            return [proposal.sites.uids]
        if 1 < n_regions <= _MOST_REGIONS:
            n_regions = math.ceil(_MARGIN_WITH_BORDER * self._n_rows / self._plan.region_rows)
        n_regions = min(n_regions, _MOST_REGIONS, n_clusters)
        rng = np.random.RandomState(self._seed + self._n_rounds)
        return [proposal.sites.uids[places] for places in divided(proposal, n_regions, rng)]


def divided(proposal: Proposal, n_regions: int, rng: np.random.RandomState) -> list[Index]:
    """Clusters in regions of about the same weight, by repeated cuts across random directions in which they spread."""

    def cut(places: Index, n_regions: int) -> list[Index]:
        if n_regions <= 1 or len(places) <= 1:
            return [places]
        centres, weight = proposal.sites.centres[places], proposal.weight[places]
        spread = centres - np.average(centres, axis=0, weights=weight)
        axis = (rng.normal(size=len(places)) * np.sqrt(weight)) @ spread
        order = np.argsort(spread @ axis, kind="stable")
        until = np.searchsorted(np.cumsum(weight[order]), weight.sum() * (n_regions // 2) / n_regions)
        n_first = int(np.clip(until + 1, 1, len(places) - 1))
        first, rest = places[order[:n_first]], places[order[n_first:]]
        return cut(first, n_regions // 2) + cut(rest, n_regions - n_regions // 2)

    return [np.sort(places) for places in cut(np.arange(len(proposal.weight)), n_regions)]


def _proposed(
    state: State,
    uids: Index,
    rows: MemoryRows | None,
    is_all: bool,
    objective: DPMeansObjective,
    search: Search,
) -> Proposal:
    """The result of a search on the rows of a region and on what is left of every other cluster, which is a row."""
    occupied = state.stats.n > 0
    means, weight = recentred(state, objective), state.stats.n[occupied]
    inside = np.isin(means.uids, uids)
    if rows is None or not inside.any():
        return Proposal(means, weight)
    assert isinstance(rows, LocalRows)  # in the memory of this process
    if is_all:
        left = _left(state.stats, rows.nearest(state.sites).stats)
    else:
        rows = _matched(rows, state, occupied, inside)
        left = state.stats.take(np.flatnonzero(occupied)[~inside])
    points, sizes = objective.as_rows(left)
    counts = sizes > 0
    both = rows.beside(points[counts], sizes[counts]) if counts.any() else rows
    found = search(both, objective, means, float(inside.mean()))
    return Proposal(recentred(found, objective), found.stats.n[found.stats.n > 0])


def _left(whole: Stats, taken: Stats) -> Stats:
    """Statistics of the rows that were not taken, of clusters that have any; ``sse`` is not defined."""
    n = whole.n - taken.n
    some = n > _ROUNDING * whole.n
    return Stats(n[some], (whole.sum - taken.sum)[some], np.zeros(np.count_nonzero(some)))


def _matched(rows: LocalRows, state: State, occupied: Mask, inside: Mask) -> LocalRows:
    """The same rows, weighted and shifted so that every cluster has the weight and the mean that all its rows have.

    So a cluster has the centre here that it has among all rows. One without any of the rows is a row at its mean.
    """
    places = np.flatnonzero(occupied)[inside]
    sites, whole = state.sites.kept(np.isin(np.arange(len(occupied)), places)), state.stats.take(places)
    done, frame = rows.nearest(sites), rows.frame
    labels, some = rows.labels(done.assignment), done.stats
    seen = some.n > 0
    mean = whole.sum / whole.n[:, None]
    n_seen = np.where(seen, some.n, 1.0)
    shift = np.zeros_like(mean) if frame.unit else mean - some.sum / n_seen[:, None]
    n_rows, n_features = rows.n_rows, mean.shape[1]
    n_points = n_rows + np.count_nonzero(~seen)
    room = np.empty((n_points + rows.passes.BLOCK + len(occupied), n_features))
    points = room[:n_points]
    points[n_rows:] = frame.outward(mean[~seen])
    for block in row_blocks(n_rows, max(1, _AT_ONCE // n_features)):
        some_rows = np.arange(block.start, block.stop)
        points[block] = frame.outward(rows.rows(some_rows) + shift[labels[block]])
    weight = np.concatenate([rows.row_weights() * (whole.n / n_seen)[labels], whole.n[~seen]])
    return LocalRows(rows.name, points, weight, frame, rows.n_threads, room=room)
