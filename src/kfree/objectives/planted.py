"""Evidence for a clustering of a graph: the decrease of the description length of the links, in nats.

The links of a connected graph without clusters fall between two nodes i and j in proportion to d_i·d_j. If clusters are
real, each has a rate of its own at which links fall inside, and one more holds between clusters. This shortens the
description of the links by Σ n·log(n / expected n) nats, over the numbers n of links inside each cluster and between
them. The description of the rates takes ½·log(1 + n) each (one is given by the total), and that of the partition is
−log of its probability as a draw from a Dirichlet process, under which N nodes form clusters of n_c nodes with the
probability Π (n_c − 1)! / N!. The difference is the evidence. It is zero for one cluster and seldom positive for random
links. Connected components need no evidence: only cuts within them are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from kfree.core.stats import Floats, Labels, totals


@dataclass(frozen=True)
class PlantedClusters:
    """Evidence for clusterings of one graph.

    ``out`` (n,) is the weight of each node's links with other nodes, ``component`` (n,) its connected component.
    Weighted links count as ``n_links`` in all.
    """

    out: Floats
    component: Labels
    n_links: float

    def evidence(self, labels: Labels, leaving: Floats) -> float:
        """Evidence for clusters none of which reaches beyond a component; ``leaving`` (k,) are the links they cut."""
        total = self.out.sum()
        inside = (totals(labels, self.out) - leaving) / total
        expected = self._expected(labels) / total
        saved = self.n_links * (_excess(inside, expected) + _excess(1 - inside.sum(), 1 - expected.sum()))
        whole = totals(self.component, self.out) / total
        rates = _nats_of_rates(self.n_links * inside) - _nats_of_rates(self.n_links * whole)
        partition = _ways(self.component) - _ways(labels)
        return float(saved - rates - partition)

    def _expected(self, labels: Labels) -> Floats:
        """The weight of links inside each cluster if those of a component fall at random, but on two nodes each."""
        pairs, of_component = _pairs(self.out, labels), _pairs(self.out, self.component)
        home = np.zeros(len(pairs), dtype=np.int64)
        home[labels] = self.component
        weight = totals(self.component, self.out)
        per_pair = weight / np.where(of_component > 0, of_component, 1.0)
        expected: Floats = pairs * per_pair[home]
        return expected


def _pairs(out: Floats, labels: Labels) -> Floats:
    """Σ d_i·d_j over ordered pairs of different nodes of each cluster."""
    pairs: Floats = np.maximum(totals(labels, out) ** 2 - totals(labels, out**2), 0.0)
    return pairs


def _excess(share: Floats | float, expected: Floats | float) -> float:
    """Σ share·log(share / expected); where rounding leaves nothing to expect, there is no share either."""
    ratio = np.divide(share, expected, where=np.asarray(expected) > 1e-12, out=np.ones(np.shape(share)))
    return float(np.sum(xlogy(np.maximum(share, 0.0), np.maximum(ratio, 1e-300))))


def _nats_of_rates(n: Floats) -> float:
    return float(0.5 * np.log1p(np.maximum(n, 0.0)).sum())


def _ways(labels: Labels) -> float:
    """log Π (n_c − 1)!"""
    return float(gammaln(np.bincount(labels)).sum())
