"""The price of a cluster when nobody gave one: clusterings for prices from coarse to fine, judged by their evidence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kfree.engines.base import Labels
from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import NormalizedCut
from kfree.objectives.planted import PlantedClusters
from kfree.search.agglomerate import Merges
from kfree.search.cut_staircase import CutStaircase
from kfree.search.multilevel import grown, joined_neighbours

# At the finest price a cluster must keep this share of its links inside, so that hardly any pair is kept apart.
_FINEST_SHARE = 0.05
# Prices tried at first.
_RUNGS = 8
# How often the two gaps around the best price so far are halved.
_HALVINGS = 3


@dataclass(frozen=True)
class Rung:
    """A clustering that was found at the price ``lam``."""

    lam: float
    labels: Labels
    k: int
    cut: float
    evidence: float


@dataclass(frozen=True)
class CutPath:
    """A staircase, and a clustering to begin with for the step that it suggests."""

    staircase: CutStaircase
    start: Labels


def cut_path(graph: Graph, cut: type[NormalizedCut]) -> CutPath:
    """The staircase of a graph with links between nodes.

    Greedy merging of neighbours, from very small clusters up to the connected components, shows at which prices the
    number of clusters changes. At some of these the graph is clustered anew, and the results are judged.
    """
    judge = PlantedClusters(graph.out, graph.components(), _effective_number(graph))
    finest = -(1 - _FINEST_SHARE) * float(np.median(cut(0.0).rates(graph)[graph.out > 0]))
    greedy = _greedy(graph, cut(finest))

    def rung(lam: float) -> Rung:
        return _rung(lam, graph, cut(lam), judge)

    rungs = [rung(lam) for lam in _prices_to_try(greedy)]
    for _ in range(_HALVINGS):
        rungs += [rung(lam) for lam in _around_best(rungs)]
    best = _best_by_k(rungs)
    staircase = _staircase(greedy, best)
    suggested = best.get(staircase.suggest().k)
    return CutPath(staircase, suggested.labels if suggested else judge.component)


def _greedy(graph: Graph, finest: NormalizedCut) -> CutStaircase:
    """The staircase of a greedy merging."""
    small = graph.moved(graph.alone(), finest.volume(graph), finest.lam, 0.0)
    clusters = graph.contracted(joined_neighbours(graph.contracted(small), finest)[small])
    pairs, costs = clusters.merged(finest.volume(clusters), np.inf)
    cuts = Merges(clusters.n_nodes, pairs, costs).costs_by_k(finest.cut(clusters))
    return CutStaircase(cuts, clusters.n_nodes - len(pairs), finest.lam)


def _prices_to_try(greedy: CutStaircase) -> list[float]:
    """Prices from coarse to fine, within steps whose numbers of clusters are in a geometric row; the finest is last."""
    steps = np.unique(np.rint(np.geomspace(1, len(greedy), _RUNGS)).astype(np.int64)) - 1
    return sorted({*greedy.lam[steps[:-1]].tolist(), float(greedy.lam_low[-1])}, reverse=True)


def _around_best(rungs: list[Rung]) -> list[float]:
    """Prices half-way between the one with the most evidence and its neighbours."""
    prices = sorted(found.lam for found in rungs)
    best = prices.index(max(rungs, key=lambda found: found.evidence).lam)
    return [(a + b) / 2 for a, b in pairwise(prices) if prices[best] in (a, b)]


def _rung(lam: float, graph: Graph, objective: NormalizedCut, judge: PlantedClusters) -> Rung:
    labels = grown(graph, objective)
    labels = in_order_of_first(joined_neighbours(graph.contracted(labels), objective)[labels])
    clusters = graph.contracted(labels)
    evidence = judge.evidence(labels, clusters.out)
    return Rung(lam, labels, clusters.n_nodes, objective.cut(clusters), evidence)


def _best_by_k(rungs: list[Rung]) -> dict[int, Rung]:
    """For each number of clusters the rung with the lowest cut."""
    best: dict[int, Rung] = {}
    for found in rungs:
        if found.k not in best or found.cut < best[found.k].cut:
            best[found.k] = found
    return best


def _staircase(greedy: CutStaircase, best: dict[int, Rung]) -> CutStaircase:
    """From what was found either way, up to the rung of the lowest price: greedy merging alone says little beyond."""
    last, first_k = min(best.values(), key=lambda found: found.lam), int(greedy.k[0])
    cuts = np.full(last.k + 1, np.inf)
    known = greedy.k[greedy.k <= last.k]
    cuts[known] = greedy.cost[: len(known)]
    for k, found in best.items():
        if k <= last.k:
            cuts[k] = min(cuts[k], found.cut)
    evidence = {k: found.evidence for k, found in best.items() if k <= last.k and found.cut == cuts[k]}
    return CutStaircase(cuts[first_k:], first_k, last.lam, evidence)


def _effective_number(graph: Graph) -> float:
    """How many links of equal weight those of the graph are worth: as many as there are, if they weigh the same."""
    squares = float((graph.weight**2).sum())
    return float(graph.weight.sum()) ** 2 / squares / 2 if squares > 0 else 0.0
