"""A weighted undirected graph, and what compiled code does with it under a penalised cut."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index, Labels, totals
from kfree.core.warning import warn
from kfree.native.implementations import implementation


@dataclass(frozen=True)
class Graph:
    """Nodes, or clusters of nodes, and the links between them, each listed at both of its ends.

    ``neighbour`` and ``weight`` of node i lie between ``begin[i]`` and ``begin[i + 1]``; ``out`` (n,) is the sum of the
    latter. ``degree`` (n,) counts links within a node as well, and ``size`` (n,) the nodes that it stands for.
    """

    begin: Index
    neighbour: NDArray[np.int32]
    weight: Floats
    out: Floats
    degree: Floats
    size: Floats
    kernels: ModuleType

    @classmethod
    def of(cls, adjacency: sp.csr_array, engine: str = "auto") -> Graph:
        """From a symmetric matrix without negative entries."""
        loops = adjacency.diagonal()
        links = sp.csr_array(adjacency - sp.diags_array(loops).tocsr())
        links.eliminate_zeros()
        links.sort_indices()
        begin, neighbour = links.indptr.astype(np.int64), links.indices.astype(np.int32)
        out = _sums(begin, links.data)
        kernels = implementation(engine, "graph")
        return cls(begin, neighbour, links.data, out, out + loops, np.ones(len(out)), kernels)

    @property
    def n_nodes(self) -> int:
        return len(self.out)

    def alone(self) -> Labels:
        """Every node a cluster of its own."""
        return np.arange(self.n_nodes, dtype=np.int32)

    def moved(
        self,
        labels: Labels,
        volume: Floats,
        lam: float,
        least_gain: float,
        order: Index | None = None,
        block: Labels | None = None,
        thorough: bool = False,
    ) -> Labels:
        """Labels after nodes have moved, in their order or a given one, while each move lowers J.

        Nodes of different blocks never share a cluster. A thorough search also considers clusters without a link to a
        node, and ends only when no move lowers J.
        """
        labels = labels.copy()
        order = np.arange(self.n_nodes) if order is None else order
        block = np.zeros(self.n_nodes, dtype=np.int32) if block is None else block
        n_moves = self.kernels.move_nodes(*self._arrays(volume), lam, least_gain, thorough, order, block, labels)
        if n_moves < 0:
            warn(
                f"nodes of the graph still moved after {-n_moves} moves, so rounding decides between clusters: weights "
                "differ by too much. The clustering is valid; leave out the weakest links to avoid this.",
                RuntimeWarning,
            )
        return in_order_of_first(labels)

    def contracted(self, labels: Labels) -> Graph:
        """The graph of the clusters."""
        n_clusters = int(labels.max()) + 1
        begin, out = np.zeros(n_clusters + 1, dtype=np.int64), np.zeros(n_clusters)
        neighbour, weight = np.empty_like(self.neighbour), np.empty_like(self.weight)
        self.kernels.contract(*self._arrays(self.degree), labels, begin, neighbour, weight, out)
        n_links = int(begin[-1])
        degree, size = (totals(labels, values, n_clusters) for values in (self.degree, self.size))
        return Graph(begin, neighbour[:n_links].copy(), weight[:n_links].copy(), out, degree, size, self.kernels)

    def merged(self, volume: Floats, below: float) -> tuple[Index, Floats]:
        """Greedy merging of neighbours: the pairs, and what each adds to the cut, as long as that is less."""
        most = max(self.n_nodes - 1, 0)
        pairs, costs = np.zeros((most, 2), dtype=np.int64), np.zeros(most)
        n_merges = self.kernels.merge_neighbours(*self._arrays(volume), below, pairs, costs)
        return pairs[:n_merges].copy(), costs[:n_merges].copy()

    def links_of(self, node: int) -> Floats:
        """The links of one node with all."""
        here = slice(self.begin[node], self.begin[node + 1])
        return totals(self.neighbour[here], self.weight[here], self.n_nodes)

    def components(self) -> Labels:
        """The connected component of each node."""
        links = sp.csr_array((self.weight, self.neighbour, self.begin), shape=(self.n_nodes, self.n_nodes))
        found: Labels = sp.csgraph.connected_components(links, directed=False)[1].astype(np.int32)
        return found

    def _arrays(self, volume: Floats) -> tuple[Index, NDArray[np.int32], Floats, Floats, Floats]:
        return self.begin, self.neighbour, self.weight, self.out, volume


def in_order_of_first(labels: Labels) -> Labels:
    """The same clusters, numbered from 0 in the order of their first members."""
    first = np.full(int(labels.max()) + 1, len(labels), dtype=np.int64)
    np.minimum.at(first, labels, np.arange(len(labels)))
    number = np.empty(len(first), dtype=np.int32)
    number[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return number[labels]


def _sums(begin: Index, values: Floats) -> Floats:
    """Sums of the values of each row; a row without any has 0."""
    return totals(np.repeat(np.arange(len(begin) - 1), np.diff(begin)), values, len(begin) - 1)
