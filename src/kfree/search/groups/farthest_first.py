"""Penalties for groups from wished numbers of clusters (Kulis & Jordan 2012, §6.1)."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import totals
from kfree.engines.local.grouped import GroupedRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.seeding import farthest_first
from kfree.search.centres.state import one_cluster
from kfree.search.loop import require_finite_cost

_PLAIN = DPMeansObjective(0.0)


def local_penalty(rows: GroupedRows, n_clusters: int) -> float:
    """The mean over groups of the penalty at which a sweep of their rows opens about ``n_clusters``."""
    groups = np.flatnonzero(rows.group_weights() > 0)
    return float(np.mean([farthest_first(rows.rows_of(group), _PLAIN, n_clusters) for group in groups.tolist()]))


def global_penalty(rows: GroupedRows, n_clusters: int) -> float:
    """T starts as the global mean; ``n_clusters`` times, a row of the group that is farthest from T joins it.

    The distance of a group is Σ w·min_t ‖x − t‖², and the penalty is that of the last group. The text does not say
    which row joins: here the farthest one.
    """
    weight, sq_dist = rows.row_weights(), np.full(rows.n_rows, np.inf)
    site, distance = one_cluster(rows, _PLAIN).centres[0], 0.0
    for found in range(n_clusters):
        rows.approach(site, sq_dist)
        saving = np.where(weight > 0, weight * sq_dist, 0.0)
        by_group = totals(rows.group, saving, rows.n_groups)
        group = int(by_group.argmax())
        distance = float(by_group[group])
        require_finite_cost(distance)
        if distance == 0.0:
            raise ValueError(
                f"farthest-first cannot find {n_clusters} global clusters: after {found} round(s) every row coincides "
                "with one already taken. Give a smaller target_k, or lam_global as a positive number."
            )
        members = rows.members(group)
        site = rows.points(members[[int(saving[members].argmax())]])[0]
    return distance
