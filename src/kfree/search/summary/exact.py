"""Exact passes over all rows: Lloyd's iterations, and merges that the statistics show to lower J."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kfree.core.sites import Sites
from kfree.engines.contract import Rows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.state import State, after_merges, assigned, at_means
from kfree.search.loop import UNWATCHED, Descent, Watch, descend

# Passes end when one lowers the cost by less than this share.
LEAST_SHARE = 1e-4
# The most exact passes, so that a search takes no more than 25 passes together with those of the summary.
MOST_PASSES = 22

# From a state to the sites of the next pass.
Step = Callable[[State, DPMeansObjective], Sites]


def descended(
    rows: Rows,
    descent: Descent[State],
    objective: DPMeansObjective,
    step: Step,
    most_passes: int = MOST_PASSES,
    watch: Watch = UNWATCHED,
) -> Descent[State]:
    """Further passes until one gains less than ``LEAST_SHARE``; the cheapest state is kept."""

    def next_pass(state: State, rows: Rows, objective: DPMeansObjective) -> State:
        return assigned(step(state, objective), rows, objective)

    return descend(descent, [next_pass], rows, objective, most_passes, _gains_little, watch)


def _gains_little(old: State, new: State) -> bool:
    return not new.cost < (1.0 - LEAST_SHARE) * old.cost


def means(state: State, objective: DPMeansObjective) -> Sites:
    """Means of the clusters; one without rows stays where it is."""
    return at_means(state.sites, state.stats, objective)


def merged_means(state: State, objective: DPMeansObjective) -> Sites:
    """Means of the clusters, those merged whose merging lowers J: n_a·n_b/(n_a + n_b)·‖μ_a − μ_b‖² < lam."""
    places = np.flatnonzero(state.stats.n > 0)
    merges = agglomerate(state.stats.take(places), objective, below=objective.lam)
    return after_merges(state, places[merges.pairs], merges.costs, objective)
