"""Searches for clusters that groups share: Algorithm 2 of Kulis & Jordan (2012), and split-merge search beyond it.

Split-merge search is that of DP-means. Its passes let every group choose the sites that it uses (engines/grouped.py),
its statistics and its objective count these choices, and so its splits, merges and births have this objective's own
deltas. What is new: what a death costs, exchanges between the sites of a group, and the global step on local clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Stats, shared
from kfree.engines.contract import Engine, Pass, row_weights
from kfree.engines.local.grouped import GroupedEngine, SharedSites, Used
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import DPMeansObjective
from kfree.objectives.hdp import HDPObjective
from kfree.search.centres.refine import CONVERGE, NEARLY, Birth, Death, Exchange, Merge, Split
from kfree.search.centres.split_merge import Budget, Oversplit, Perturb, grown, no_gain, split_merge
from kfree.search.centres.state import SplitMergeObjective, State, one_cluster, recentred, state_of
from kfree.search.loop import Descent, descend, require_finite

GroupMove = Callable[[State, GroupedEngine, HDPObjective], State]


def shared_by_all(engine: GroupedEngine, objective: HDPObjective) -> SharedSites:
    """One cluster at the mean of all rows, which every group of any weight uses."""
    sites = one_cluster(engine, objective)
    used = np.bincount(engine.group, weights=row_weights(engine)) > 0
    return SharedSites.used_by(sites, used[None, :])


def shared_split_merge(
    engine: GroupedEngine, objective: HDPObjective, sites: SharedSites | None, max_iter: int, budget: Budget
) -> Descent[State]:
    """Search from ``sites``, or without any from one cluster, which is first cut to pieces."""
    start = shared_by_all(engine, objective) if sites is None else sites
    state = state_of(start, engine.nearest(start), objective)
    require_finite(state)
    if sites is None:
        state = grown(state, engine, objective, None, Closings, budget.in_time)
    moves: list[GroupMove] = [
        CONVERGE,
        ExchangeInGroups(),
        Regroup(),
        Merge(),
        Death(Closings),
        Split(),
        Birth(),
        Oversplit(deaths=Closings),
        Perturb(budget, deaths=Closings),
    ]
    return descend(state, moves, engine, objective, max_iter, no_gain, budget.in_time, budget.report)


def sites_of(state: State) -> SharedSites:
    """The sites of a state, which know who uses them."""
    assert isinstance(state.sites, SharedSites)
    return state.sites


@dataclass(frozen=True)
class HDPSweep:
    """One sweep of hard HDP (Kulis & Jordan 2012, Algorithm 2): means are recomputed, then steps 4 and 5.

    Local clusters are visited by group, within a group by the age of their global cluster. Two of one group that end in
    the same global cluster have become one; what is empty is deleted when means are recomputed.
    """

    def __call__(self, state: State, engine: GroupedEngine, objective: HDPObjective) -> State:
        sites = recentred(state, objective)
        assert isinstance(sites, SharedSites)
        return self.start(sites, engine, objective)

    def start(self, sites: SharedSites, engine: GroupedEngine, objective: HDPObjective) -> State:
        """The sweep from given sites."""
        return self._locals(state_of(sites, engine.visit(sites, objective.lam), objective), engine, objective)

    @staticmethod
    def _locals(state: State, engine: GroupedEngine, objective: HDPObjective) -> State:
        """Step 5: every local cluster goes to the nearest global mean or opens one; DP-means on the local means."""
        means = local_means(state, engine)
        done = means.engine.sweep(Sites(*_plain(state.sites)), objective.lam, None, engine.n_rows)
        labels: Labels = np.where(means.local >= 0, done.labels[means.local], state.labels)
        sq_dist = engine.distances_to_own(np.arange(engine.n_rows), labels, done.centres)
        stats = engine.stats_of(labels, sq_dist, len(done.centres))
        return state_of(state.sites, Pass(done.centres, labels, sq_dist, stats), objective)


def sweeps(
    engine: GroupedEngine, objective: HDPObjective, sites: SharedSites | None, max_iter: int, budget: Budget
) -> Descent[State]:
    """Algorithm 2 from ``sites``, or without any from one cluster."""
    sweep = HDPSweep()
    start = shared_by_all(engine, objective) if sites is None else sites
    state = sweep.start(start, engine, objective)
    return descend(state, [sweep], engine, objective, max_iter, None, budget.in_time, budget.report)


def at_rest(state: State, engine: GroupedEngine, objective: HDPObjective) -> State:
    """Every row where it costs least, given the sites and what the groups use of them; nothing is opened."""
    while True:
        new = state_of(state.sites, engine.visit(sites_of(state), np.inf), objective)
        if np.array_equal(new.labels, state.labels) and (new.stats.n > 0).all():
            return new
        state = replace(new, sites=new.sites.kept(new.stats.n > 0))


class Closings:
    """What the death of a global cluster costs: each group does without it, or opens another one instead."""

    def __init__(self, engine: Engine):
        assert isinstance(engine, GroupedEngine)
        self._engine = engine

    def turn_to(self, state: State) -> None:
        self._cost, self._heir = self._engine.closings(sites_of(state))

    def death_costs(self) -> Floats:
        return self._cost

    def neighbours(self) -> sp.csr_array:
        return sp.csr_array(self._heir)


@dataclass(frozen=True)
class ExchangeInGroups(Exchange):
    """Rows move between the clusters that their groups use (Hartigan 1975), so that no local cluster is opened."""

    @staticmethod
    def _candidates(
        rows: Index, labels: Labels, centres: Floats, stats: Stats, engine: Engine, objective: SplitMergeObjective
    ) -> tuple[Index, Labels]:
        assert isinstance(engine, GroupedEngine)
        everyone = np.zeros(engine.n_rows, dtype=np.int32)
        everyone[rows] = labels
        second, sq_dist = engine.seconds(everyone, centres, shared(stats).used)
        second, sq_dist = second[rows], sq_dist[rows]
        weight, sizes = row_weights(engine)[rows], objective.sizes(stats)
        saved = objective.row_costs.leaving(sizes[labels], weight, engine.distances_to_own(rows, labels, centres))
        could = (second >= 0) & (stats.n[labels] > weight)
        joining = np.full(len(rows), np.inf)
        joining[could] = objective.row_costs.joining(sizes[second[could]], weight[could], sq_dist[could])
        listed = np.flatnonzero(joining < NEARLY * saved)
        return rows[listed], second[listed]


@dataclass(frozen=True)
class Regroup:
    """The global step: local clusters stay as they are, and DP-means on their means says which of them belong together.

    Local clusters change globals, globals merge, split, die, or are born for a local cluster.
    """

    def __call__(self, state: State, engine: GroupedEngine, objective: HDPObjective) -> State:
        locals_ = local_means(state, engine)
        plain = DPMeansObjective(objective.lam)
        start = Sites(*_plain(recentred(state, objective)))
        budget = Budget(np.random.RandomState(0))
        found = split_merge(locals_.engine, plain, start, 100, None, budget).state
        sites = SharedSites.used_by(found.sites, locals_.used_by(found.labels, len(found.sites.uids), engine.n_groups))
        return CONVERGE.start(sites, engine, objective)


def _plain(sites: Sites) -> tuple[Floats, Index, int]:
    return sites.centres, sites.uids, sites.next_uid


@dataclass(frozen=True)
class LocalMeans:
    """Local clusters as the weighted rows of ``engine``: ``pairs`` (m, 2) of a group and a global cluster."""

    engine: Engine
    pairs: Index
    local: Labels

    def used_by(self, labels: Labels, n_clusters: int, n_groups: int) -> Used:
        """Who uses which cluster when local clusters are labelled so."""
        used = np.zeros((n_clusters, n_groups), dtype=bool)
        used[labels, self.pairs[:, 0]] = True
        return used


def local_means(state: State, engine: GroupedEngine) -> LocalMeans:
    """The local clusters of a state that have any weight."""
    pairs, local = engine.local_clusters(state.labels, len(state.stats.n))
    stats = engine.plain_stats_of(local, len(pairs))
    weighted = stats.n > 0
    n = stats.n[weighted]
    means = stats.sum[weighted] / n[:, None]
    frame = Frame.plain(engine.n_features)
    place = np.where(weighted, np.cumsum(weighted) - 1, -1).astype(np.int32)
    return LocalMeans(
        open_engine(engine.name, means, weight=n, frame=frame, n_threads=1), pairs[weighted], place[local]
    )
