"""Which clusters to split or merge first, by responsibilities (Kurihara & Welling 2009, App. D.1, D.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kfree.core.stats import Floats
from kfree.engines.cost_rules.labelled import LabelledRows
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.evidence.hard_labels import HardClustering

# Clusters whose responsibilities have a smaller cosine than this do not overlap: merging them is not followed up.
OVERLAP = 1e-3


def criteria(state: HardClustering[S], rows: LabelledRows[S], objective: FreeEnergy[S]) -> tuple[Floats, Floats]:
    """J_split (k,) and J_merge (k, k) with the posterior means of the parameters, in one pass over the rows."""
    rule, log_weight = objective.plug_in(state.stats), np.log(objective.mixture.weights(state.stats.n))
    return criteria_by(*rows.responsibility_sums(rule, log_weight))


def criteria_by(total: Floats, entropy: Floats, surprise: Floats, shared: Floats) -> tuple[Floats, Floats]:
    """J_split (k,) of Eq. 47 and J_merge (k, k) of Eq. 50, from sums over responsibilities.

    J_split is the divergence between the rows, weighted by responsibilities r, and the cluster's density (of counts in
    a given order); J_merge is the cosine between the responsibilities of two clusters.
    """
    length = np.sqrt(np.diag(shared))
    return (entropy + surprise) / total - np.log(total), shared / (length[:, None] * length)


def pairs_by_overlap(j_merge: Floats) -> Iterator[tuple[int, int]]:
    """Pairs of clusters that overlap, those that do most first."""
    overlap = np.triu(j_merge, 1)
    for place in np.argsort(-overlap, axis=None, kind="stable")[: np.count_nonzero(overlap > OVERLAP)]:
        yield divmod(int(place), len(overlap))
