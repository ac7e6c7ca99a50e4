"""Searches for clusters that groups share: Algorithm 2 of Kulis & Jordan (2012), and split-merge search beyond it.

Split-merge search is that of DP-means. Its passes let every group choose the sites that it uses
(``engines/local/grouped.py``), its statistics and its objective count these choices, and so its splits, merges and
births have this objective's own deltas. What is new: what a death costs, exchanges between the sites of a group, and
the global step on local clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.contract import MemoryRows
from kfree.engines.local.grouped import GroupedRows, LocalClusters
from kfree.engines.registry import open_local
from kfree.objectives.dp_means import DPMeansObjective
from kfree.objectives.hdp import HDPObjective
from kfree.search.centres.refine import CONVERGE, Birth, Split, delete_clusters, exchange_rows, merge_clusters
from kfree.search.centres.split_merge import Budget, Oversplit, Perturb, grown, split_merge
from kfree.search.centres.state import State, occupied_at, one_cluster, recentred, state_of
from kfree.search.loop import Descent, descend, no_gain, require_finite

GroupMove = Callable[[State, GroupedRows, HDPObjective], State]


def shared_by_all(rows: GroupedRows, objective: HDPObjective) -> Sites:
    """One cluster at the mean of all rows, which every group of any weight uses."""
    sites = one_cluster(rows, objective)
    return sites.used_by((rows.group_weights() > 0)[None, :])


def shared_split_merge(
    rows: GroupedRows, objective: HDPObjective, sites: Sites | None, max_iter: int, budget: Budget
) -> Descent[State]:
    """Search from ``sites``, or from one cluster, which is first over-split."""
    rows = rows.penalised(objective.lam_local)
    start = shared_by_all(rows, objective) if sites is None else sites
    state = occupied_at(start, rows, objective)
    require_finite(state.cost)
    if sites is None:
        state = grown(state, rows, objective, None, budget)
    moves: list[GroupMove] = [
        CONVERGE,
        exchange_rows,
        regroup,
        merge_clusters,
        delete_clusters,
        Split(),
        Birth(),
        Oversplit(),
        Perturb(budget),
    ]
    return descend(state, moves, rows, objective, max_iter, no_gain, budget)


def sweep(state: State, rows: GroupedRows, objective: HDPObjective) -> State:
    """One sweep of hard HDP (Kulis & Jordan 2012, Algorithm 2): means are recomputed, then steps 4 and 5.

    Local clusters are visited by group, within a group by the age of their global cluster. Two of one group that end in
    the same global cluster have become one; what is empty is deleted when means are recomputed.
    """
    return _swept(recentred(state, objective), rows, objective)


def _swept(sites: Sites, rows: GroupedRows, objective: HDPObjective) -> State:
    """The sweep from given sites.

    Step 5 is DP-means on the local means: every local cluster goes to the nearest global mean or opens one.
    """
    state = state_of(sites, rows.visit(sites, objective.lam), objective)
    locals_ = rows.local_clusters(state.assignment)
    means = rows_of_means(locals_, rows)
    done = means.sweep(state.sites, objective.lam, None, rows.n_rows)
    regrouped = rows.regrouped(locals_, means.labels(done.assignment), done.centres)
    return state_of(state.sites, regrouped, objective)


def sweeps(
    rows: GroupedRows, objective: HDPObjective, sites: Sites | None, max_iter: int, budget: Budget
) -> Descent[State]:
    """Algorithm 2 from ``sites``, or without any from one cluster."""
    rows = rows.penalised(objective.lam_local)
    state = _swept(shared_by_all(rows, objective) if sites is None else sites, rows, objective)
    return descend(state, [sweep], rows, objective, max_iter, None, budget)


def at_rest(state: State, rows: GroupedRows, objective: HDPObjective) -> State:
    """Every row with the nearest of the sites that its group uses, whatever it weighs; nothing is opened.

    What is used can only become less, so this ends.
    """
    rows = rows.penalised(objective.lam_local)
    while True:
        done = rows.at_nearest_used(state.sites)
        new = state_of(state.sites, done, objective)
        if np.array_equal(done.stats.users, state.sites.users) and (done.stats.n > 0).all():
            return new
        state = replace(new, sites=new.sites.kept(done.stats.n > 0))


def regroup(state: State, rows: GroupedRows, objective: HDPObjective) -> State:
    """The global step: local clusters stay as they are, and DP-means on their means assigns them to global clusters.

    Local clusters move between global ones; global clusters are merged, split, removed, or opened for a local cluster.
    """
    locals_ = rows.local_clusters(state.assignment)
    means, plain = rows_of_means(locals_, rows), DPMeansObjective(objective.lam)
    start = recentred(state, objective)
    found = split_merge(means, plain, start, 100, None, Budget(np.random.RandomState(0))).state
    used = np.zeros((len(found.sites.uids), rows.n_groups), dtype=bool)
    used[means.labels(found.assignment), locals_.pairs[:, 0]] = True
    return CONVERGE.start(found.sites.used_by(used), rows, objective)


def rows_of_means(locals_: LocalClusters, rows: GroupedRows) -> MemoryRows:
    """Local clusters as weighted rows."""
    n = locals_.stats.n
    frame = Frame.plain(rows.n_features)
    return open_local(rows.few_rows_name, locals_.stats.sum / n[:, None], weight=n, frame=frame)
