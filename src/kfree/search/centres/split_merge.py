"""Split-merge search: from one cluster to a clustering that no listed move improves.

Single moves (refine.py) stop where neither one split nor one merge lowers J, which holds for many clusterings with
quite different numbers of clusters. The compound moves here pass through clusterings of higher cost, and only the cost
of the result counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kfree.core.sites import Sites
from kfree.core.stats import Index
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.bisection import Bisections, bisect
from kfree.search.centres.moves import Move
from kfree.search.centres.pruning import ROUGHLY, SHARE, pruned
from kfree.search.centres.refine import (
    CONVERGE,
    Birth,
    Split,
    delete_clusters,
    exchange_rows,
    merge_clusters,
)
from kfree.search.centres.state import State, occupied_at, one_cluster, recentred
from kfree.search.loop import UNWATCHED, Descent, Watch, descend, no_gain, require_finite

# While growing, a cluster is split if that saves this share of the penalty. This over-splits; pruning follows.
SPLIT_MARGIN = 0.6
# Shares of the clusters, those that gain most, that one compound move after the other cuts in two.
SHARES = (0.1, 0.2, 0.3)
# With a deadline, growth begins on this many rows; each next sample is so many times larger.
LEAST_SAMPLE, TIMES_LARGER = 2048, 4
# 2-means stops early when fewer than this share of the rows change sides, if only a rough result is needed.
RESTLESS = 0.01
# A result within this share of the best is refined further.
PROMISING = 1e-3


@dataclass(frozen=True)
class Budget(Watch):
    """Limits of a search: ``patience`` random splits in a row that fail, and ``deadline`` (time.monotonic()).

    ``watch`` can end a search earlier, and hears of every move.
    """

    rng: np.random.RandomState
    patience: float = 0
    deadline: float = np.inf
    watch: Watch = UNWATCHED

    def may_go_on(self) -> bool:
        return time.monotonic() < self.deadline and self.watch.may_go_on()

    def report(self, descent: Descent[State]) -> None:
        self.watch.report(descent)


def split_merge(
    rows: MemoryRows,
    objective: DPMeansObjective,
    sites: Sites | None,
    max_iter: int,
    max_clusters: int | None,
    budget: Budget,
    divisible: float | None = None,
) -> Descent[State]:
    """Search from ``sites``, or from one cluster, which is first over-split.

    With ``divisible``, ``sites`` are over-split as well. It is the share of the clusters that can be divided here,
    where all others have one row each: compound moves split and close a share of those alone.
    """
    start = one_cluster(rows, objective) if sites is None else sites
    state = occupied_at(start, rows, objective)
    require_finite(state.cost)
    if divisible is not None:
        state = grown(state, rows, objective, max_clusters, budget, divisible)
    elif sites is None:
        grow = grown if budget.deadline == np.inf else grown_in_haste
        state = grow(state, rows, objective, max_clusters, budget)
    moves: list[Move] = [
        CONVERGE,
        exchange_rows,
        merge_clusters,
        delete_clusters,
        Split(max_clusters),
        Birth(max_clusters),
        Oversplit(max_clusters, budget, 1.0 if divisible is None else divisible),
        Perturb(budget, max_clusters),
    ]
    return descend(state, moves, rows, objective, max_iter, no_gain, budget)


def grown(
    state: State,
    rows: MemoryRows,
    objective: DPMeansObjective,
    max_clusters: int | None,
    watch: Watch = UNWATCHED,
    divisible: float = 1.0,
) -> State:
    """Repeated bisection while a split saves enough, then pruning; or ``state`` if that costs less."""
    start, wanted = state, np.ones(state.n_clusters, dtype=bool)
    while wanted.any() and watch.may_go_on():
        bisections = bisect(state, rows, objective, wanted, RESTLESS)
        chosen = np.flatnonzero(bisections.gain > SPLIT_MARGIN * objective.lam)
        wanted = np.zeros(state.n_clusters + len(chosen), dtype=bool)
        wanted[bisections.clusters[chosen]], wanted[state.n_clusters :] = True, True
        state = bisections.cut(state, chosen, objective)
    if watch.may_go_on():
        state = ROUGHLY.start(recentred(state, objective), rows, objective)
    return cheaper(start, pruned(state, rows, objective, max_clusters, watch, divisible * SHARE))


def grown_in_haste(
    state: State, rows: MemoryRows, objective: DPMeansObjective, max_clusters: int | None, watch: Watch
) -> State:
    """``grown`` on a sample of the rows, then on larger ones, at last on all; each begins where the last one ended.

    So a good state is available early.
    """
    sites, rng, n_rows = state.sites, np.random.RandomState(0), LEAST_SAMPLE
    while 2 * n_rows <= rows.n_counting and watch.may_go_on():
        sample = rows.sample(n_rows, rng, one_cluster(rows, objective))
        assert sample is not None  # there are more rows than that
        penalised = replace(objective, lam=sample.total_weight / rows.total_weight * objective.lam)
        some = occupied_at(sites, sample, penalised)
        sites = recentred(grown(some, sample, penalised, max_clusters, watch), penalised)
        n_rows *= TIMES_LARGER
    everyone = occupied_at(sites, rows, objective)
    return cheaper(state, grown(everyone, rows, objective, max_clusters, watch))


def cheaper(one: State, other: State) -> State:
    """The state that costs less, the first one on ties."""
    return min(one, other, key=lambda state: state.cost)


@dataclass(frozen=True)
class Oversplit:
    """Split the clusters that gain most, iterate k-means, prune: many splits first, then fewer. A single split is a
    relocation."""

    max_clusters: int | None = None
    watch: Watch = UNWATCHED
    divisible: float = 1.0

    def __call__(self, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
        bisections = bisect(state, rows, objective, restless=RESTLESS)
        by_gain = np.argsort(-bisections.gain, kind="stable")[: np.count_nonzero(bisections.gain > 0)]
        n_divisible = self.divisible * len(bisections.gain)
        sizes = {min(max(1, round(share * n_divisible)), len(by_gain)) for share in SHARES}
        cuts = (np.sort(by_gain[:size]) for size in sorted(sizes - {0}) if self.watch.may_go_on())
        return _first_that_pays(cuts, bisections, state, rows, objective, self.max_clusters, self.divisible)


@dataclass(frozen=True)
class Perturb:
    """Split clusters drawn at random, iterate k-means, prune: as often as the budget allows, or until it pays."""

    budget: Budget
    max_clusters: int | None = None

    def __call__(self, state: State, rows: MemoryRows, objective: DPMeansObjective) -> State:
        if not self.budget.patience:
            return state
        bisections = bisect(state, rows, objective, restless=RESTLESS)
        return _first_that_pays(self._draws(bisections), bisections, state, rows, objective, self.max_clusters)

    def _draws(self, bisections: Bisections) -> Iterator[Index]:
        can_be_cut, n_drawn = np.flatnonzero(bisections.gain > 0), 0
        most = max(1, round(max(SHARES) * len(can_be_cut)))
        while len(can_be_cut) and n_drawn < self.budget.patience and self.budget.may_go_on():
            n_drawn += 1
            size = self.budget.rng.randint(most) + 1
            yield np.sort(self.budget.rng.choice(can_be_cut, size, replace=False))


def _first_that_pays(
    cuts: Iterator[Index],
    bisections: Bisections,
    state: State,
    rows: MemoryRows,
    objective: DPMeansObjective,
    max_clusters: int | None,
    divisible: float = 1.0,
) -> State:
    """The outcome of the first of the ``cuts``, places in ``bisections``, that ends below the cost of ``state``."""
    sites = recentred(state, objective)
    for chosen in cuts:
        many = ROUGHLY.start(bisections.divided(sites, chosen), rows, objective)
        new = pruned(many, rows, objective, max_clusters, share=divisible * SHARE)
        if new.cost < (1.0 + PROMISING) * state.cost:
            new = CONVERGE(new, rows, objective)
        if not no_gain(state, new):
            return new
    return state
