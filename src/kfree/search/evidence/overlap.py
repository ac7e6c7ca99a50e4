"""Which clusters to split or merge first, by responsibilities (Kurihara & Welling 2009, App. D.1, D.2)."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats
from kfree.engines.cost_rules.contract import CostRuleEngine
from kfree.objectives.free_energy import FreeEnergy, S
from kfree.search.evidence.hard_labels import HardClustering


def criteria(state: HardClustering[S], engine: CostRuleEngine[S], objective: FreeEnergy[S]) -> tuple[Floats, Floats]:
    """J_split (k,) of Eq. 47 and J_merge (k, k) of Eq. 50, in one pass over the rows.

    Responsibilities r are those of the posterior means of the parameters. J_split is the divergence between the rows,
    weighted by r, and the cluster's density (of counts in a given order); J_merge is the cosine between the
    responsibilities of two clusters.
    """
    rule, log_weight = objective.plug_in(state.stats), np.log(objective.mixture.weights(state.stats.n))
    k = state.n_clusters
    total, entropy, surprise, shared = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros((k, k))
    for block in engine.blocks():
        costs = rule.costs(block)
        log_r = log_weight - costs
        log_r -= log_r.max(axis=1, keepdims=True)
        log_r -= np.log(np.exp(log_r).sum(axis=1, keepdims=True))
        r = np.exp(log_r)
        total += r.sum(axis=0)
        entropy += (r * log_r).sum(axis=0)
        surprise += (r * costs).sum(axis=0)
        shared += r.T @ r
    length = np.sqrt(np.diag(shared))
    return (entropy + surprise) / total - np.log(total), shared / (length[:, None] * length)
