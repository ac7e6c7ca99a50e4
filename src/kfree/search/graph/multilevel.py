"""Search for the lowest penalised cut: nodes move, clusters are merged, split and recombined, on many levels.

A cluster of nodes acts like one node of a coarser graph (Dhillon, Guan & Kulis 2007), so that every move exists for
single nodes, for pieces and for clusters; and after every step back to a finer graph its nodes move again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from kfree.core.stats import Index, Labels, totals
from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import NormalizedCut
from kfree.search.agglomerate import Merges
from kfree.search.loop import UNWATCHED, Descent, Watch, descend

# A gain below this, in units of the largest cut that a node can have, is at the limit of rounding.
_LEAST_GAIN = 1e-11
# A relative gain below this is kept, but is no reason to try all moves again.
_WORTH_ANOTHER_ROUND = 1e-4


@dataclass(frozen=True)
class CutState:
    """A clustering of a graph; ``clusters`` is the graph of its clusters."""

    labels: Labels
    clusters: Graph
    cost: float

    @classmethod
    def of(cls, labels: Labels, graph: Graph, objective: NormalizedCut) -> CutState:
        clusters = graph.contracted(labels)
        return cls(labels, clusters, objective.cost(clusters))

    @property
    def n_clusters(self) -> int:
        return self.clusters.n_nodes

    def same_partition(self, later: CutState) -> bool:
        return np.array_equal(self.labels, later.labels)


Move = Callable[[CutState, Graph, NormalizedCut], CutState]


def move_nodes(state: CutState, graph: Graph, objective: NormalizedCut) -> CutState:
    """Move single nodes until no move lowers J."""
    return CutState.of(_moved(graph, objective, state.labels, thorough=True), graph, objective)


def merge_clusters(state: CutState, graph: Graph, objective: NormalizedCut) -> CutState:
    """Merge neighbouring clusters, the cheapest pair first, then those that raise J."""
    pairs = joined_neighbours(state.clusters, objective)
    merged = CutState.of(pairs[state.labels], graph, objective)
    weak = joined_weak(merged.clusters, objective)
    return CutState.of(in_order_of_first(weak[merged.labels]), graph, objective)


def split_clusters(state: CutState, graph: Graph, objective: NormalizedCut) -> CutState:
    """Cluster each cluster again from single nodes, and split it where that lowers J."""
    parts = grown(graph, objective, block=state.labels)
    pieces = graph.contracted(parts)
    after = totals(_of_clusters(parts, state.labels), objective.rates(pieces) + objective.lam)
    better = after < objective.rates(state.clusters) + objective.lam - _least_gain(graph, objective)
    labels = np.where(better[state.labels], parts + state.n_clusters, state.labels)
    return CutState.of(in_order_of_first(labels.astype(np.int32)), graph, objective)


@dataclass(frozen=True)
class Recombine:
    """Divide clusters into pieces, which then move and merge on coarser graphs.

    The pieces form at a penalty at which a cluster must keep less inside: by a random factor between ``finest`` and 1.
    """

    rng: np.random.RandomState
    finest: float = 1.0

    def __call__(self, state: CutState, graph: Graph, objective: NormalizedCut) -> CutState:
        largest = float(objective.rates(graph).max())
        factor = self.rng.uniform(self.finest, 1.0)
        finer = type(objective)(factor * (largest + objective.lam) - largest)
        labels = recombined(graph, objective, finer, state.labels, self.rng.permutation(graph.n_nodes))
        new = CutState.of(_moved(graph, objective, labels, thorough=True), graph, objective)
        return merge_clusters(new, graph, objective)


@dataclass(frozen=True)
class Scatter:
    """Nodes drawn at random, up to a share of ``most``, leave their clusters and are assigned again, one by one."""

    rng: np.random.RandomState
    most: float

    def __call__(self, state: CutState, graph: Graph, objective: NormalizedCut) -> CutState:
        share = self.rng.uniform(0, self.most)
        leaves = self.rng.uniform(size=graph.n_nodes) < share
        labels = np.where(leaves, graph.alone() + state.n_clusters, state.labels)
        order = self.rng.permutation(graph.n_nodes)
        labels = _moved(graph, objective, in_order_of_first(labels.astype(np.int32)), order)
        new = merge_clusters(CutState.of(labels, graph, objective), graph, objective)
        return move_nodes(new, graph, objective)


def search(
    start: Labels,
    graph: Graph,
    objective: NormalizedCut,
    rng: np.random.RandomState,
    patience: int,
    max_iter: int = 1000,
    watch: Watch = UNWATCHED,
) -> Descent[CutState]:
    """Descend from ``start`` until no move lowers J and ``patience`` random perturbations in a row fail to."""
    local: list[Move] = [move_nodes, merge_clusters, split_clusters]
    random: list[Move] = [Recombine(rng, finest=0.3), Scatter(rng, most=0.3)]
    wider: list[Move] = [*local, Recombine(rng), *islice(cycle(random), patience)]
    wide = descend(CutState.of(start, graph, objective), wider, graph, objective, max_iter, _hardly_better, watch)
    last = descend(wide.state, local, graph, objective, max_iter + 1 - wide.n_iter, None, watch)
    history = wide.cost_history + last.cost_history[1:]
    return Descent(last.state, history, wide.n_iter + last.n_iter - 1, wide.converged and last.converged)


def _hardly_better(old: CutState, new: CutState) -> bool:
    return old.cost - new.cost < _WORTH_ANOTHER_ROUND * abs(old.cost)


def grown(graph: Graph, objective: NormalizedCut, block: Labels | None = None) -> Labels:
    """Clusters from single nodes: nodes move, then clusters as the nodes of a coarser graph, and back again."""
    labels = _moved(graph, objective, graph.alone(), block=block)
    if labels.max() + 1 == graph.n_nodes:
        return labels
    coarser_block = None if block is None else _of_clusters(labels, block)
    labels = grown(graph.contracted(labels), objective, coarser_block)[labels]
    return _moved(graph, objective, labels, block=block)


def recombined(
    graph: Graph, objective: NormalizedCut, finer: NormalizedCut, labels: Labels, order: Index | None = None
) -> Labels:
    """Pieces of clusters, grown at the penalty of ``finer``, are assigned on successively coarser graphs."""
    pieces = _moved(graph, finer, graph.alone(), order=order, block=labels)
    coarser = graph.contracted(pieces)
    placed = _moved(coarser, objective, _of_clusters(pieces, labels))
    placed = in_order_of_first(joined_neighbours(coarser.contracted(placed), objective)[placed])
    if placed.max() + 1 < coarser.n_nodes < graph.n_nodes:
        placed = recombined(coarser, objective, finer, placed)
    return _moved(graph, objective, placed[pieces])


def joined_neighbours(clusters: Graph, objective: NormalizedCut) -> Labels:
    """For each cluster its number after all merges of neighbours that lower J, the cheapest pair first."""
    pairs, costs = clusters.merged(objective.volume(clusters), objective.lam - _least_gain(clusters, objective))
    return Merges(clusters.n_nodes, pairs, costs).labels(clusters.n_nodes - len(pairs)).astype(np.int32)


def joined_weak(clusters: Graph, objective: NormalizedCut) -> Labels:
    """For each cluster its number after merges of those whose cut is above −lam, with links to each other or without.

    Merging two of these always lowers J: the cut of both is at most the larger of the two. So the best clustering has
    at most one of them, and two others without links never gain.
    """
    labels = clusters.alone()
    while clusters.n_nodes > 1:
        weak = int(np.argmax(objective.rates(clusters)))
        deltas = objective.merge_deltas(clusters, weak, clusters.links_of(weak))
        deltas[weak] = math.inf
        other = int(np.argmin(deltas))
        if not deltas[other] < -_least_gain(clusters, objective):
            break
        keeper = clusters.alone()
        keeper[max(weak, other)] = min(weak, other)
        step = in_order_of_first(keeper)
        clusters, labels = clusters.contracted(step), step[labels]
    return labels


def _moved(
    graph: Graph,
    objective: NormalizedCut,
    labels: Labels,
    order: Index | None = None,
    block: Labels | None = None,
    thorough: bool = False,
) -> Labels:
    least_gain = _least_gain(graph, objective)
    return graph.moved(labels, objective.volume(graph), objective.lam, least_gain, order, block, thorough)


def _of_clusters(labels: Labels, values: Labels) -> Labels:
    """What the members of each cluster have in common."""
    common = np.zeros(int(labels.max()) + 1, dtype=np.int32)
    common[labels] = values
    return common


def _least_gain(graph: Graph, objective: NormalizedCut) -> float:
    return _LEAST_GAIN * float(objective.rates(graph).max(initial=0.0))
