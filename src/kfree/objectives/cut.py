"""Penalised cuts of a graph (Kulis & Jordan 2012, §5.2): costs of partitions and of moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from kfree.core.fields import Number
from kfree.core.stats import Floats, Labels, totals


class Clusters(Protocol):
    """Additive statistics of clusters, each (k,): links to others, all links (the degree), and number of nodes."""

    @property
    def out(self) -> Floats: ...

    @property
    def degree(self) -> Floats: ...

    @property
    def size(self) -> Floats: ...


@dataclass(frozen=True)
class CutStats:
    """These statistics, on their own."""

    out: Floats
    degree: Floats
    size: Floats

    @classmethod
    def of(cls, adjacency: sp.csr_array, labels: Labels) -> CutStats:
        """Statistics of the clusters of a symmetric matrix."""
        a, b, weight = sp.find(adjacency)
        leaving = labels[a] != labels[b]
        size = np.bincount(labels).astype(np.float64)
        out = totals(labels[a[leaving]], weight[leaving], len(size))
        return cls(out, totals(labels[a], weight, len(size)), size)


@dataclass(frozen=True)
class NormalizedCut:
    """J = Σ_c links(c, rest) / degree(c) + lam·k, with lam < 0.

    One cluster has no cut, so only a negative penalty makes two clusters better. With share = links inside / degree, J
    = Σ_c ((1 + lam) − share_c): a cluster lowers J if it keeps more than the share 1 + lam of its links inside.
    """

    lam: Number

    def volume(self, clusters: Clusters) -> Floats:
        """What a cut is divided by."""
        return clusters.degree

    def lowest_lam(self, clusters: Clusters) -> float:
        """A penalty at which single nodes are best, whatever their links: no merge saves more."""
        return -2.0

    def rates(self, clusters: Clusters) -> Floats:
        """The cut of each cluster; 0 for a node without links."""
        volume = self.volume(clusters)
        rates: Floats = clusters.out / np.where(volume > 0, volume, 1.0)
        return rates

    def cut(self, clusters: Clusters) -> float:
        return math.fsum(self.rates(clusters))

    def cost(self, clusters: Clusters) -> float:
        """J; the sum is exact, so its order does not matter."""
        return self.cut(clusters) + self.lam * len(clusters.out)

    def merge_deltas(self, clusters: Clusters, a: int, links: Floats) -> Floats:
        """How J changes if cluster a and each other one become one, given their ``links`` (k,) with a."""
        one = CutStats(clusters.out[a], clusters.degree[a], clusters.size[a])
        deltas: Floats = self._joined(one, clusters, links) - (self.rates(one) + self.rates(clusters)) - self.lam
        return deltas

    def joining_deltas(self, clusters: Clusters, links: Floats) -> tuple[Floats, Floats]:
        """How J changes if new nodes come, each alone, with these ``links`` (m, k) to the nodes of clusters.

        Returns the difference that joining each cluster makes (m, k), and what a cluster of its own costs (m,).
        """
        degree = links.sum(axis=1, keepdims=True)
        node = CutStats(degree, degree, np.ones_like(degree))
        # Wherever the node goes, all clusters have its links from now on.
        linked = CutStats(clusters.out + links, clusters.degree + links, clusters.size + np.zeros_like(links))
        joining: Floats = self._joined(node, linked, links) - self.rates(linked)
        return joining, self.rates(node)[:, 0] + self.lam

    def _joined(self, one: Clusters, others: Clusters, links: Floats) -> Floats:
        """The cut of one cluster together with each other one, given the ``links`` between them."""
        both = CutStats(one.out + others.out - 2 * links, one.degree + others.degree, one.size + others.size)
        return self.rates(both)


@dataclass(frozen=True)
class RatioCut(NormalizedCut):
    """J = Σ_c links(c, rest) / nodes(c) + lam·k, with lam < 0."""

    def lowest_lam(self, clusters: Clusters) -> float:
        """A penalty at which single nodes are best: no merge saves more."""
        return -2.0 * float(clusters.degree.max())

    def volume(self, clusters: Clusters) -> Floats:
        """What a cut is divided by."""
        return clusters.size


def shares(clusters: Clusters) -> Floats:
    """The share of its links that each cluster keeps inside."""
    inside: Floats = 1.0 - clusters.out / np.where(clusters.degree > 0, clusters.degree, 1.0)
    return inside


CUTS = {"normalized": NormalizedCut, "ratio": RatioCut}
