"""The automatic penalty: clusterings for penalties from coarse to fine, compared by their evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kfree.core.stats import Labels
from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import NormalizedCut
from kfree.objectives.planted import PlantedClusters
from kfree.search.agglomerate import Merges
from kfree.search.graph.cut_staircase import CutStaircase
from kfree.search.graph.multilevel import grown, joined_neighbours, search

# At the finest penalty a cluster must keep this share of its links inside, so that hardly any pair is kept apart.
_FINEST_SHARE = 0.05
# Penalties tried at first.
_RUNGS = 8
# How often the two gaps around the best penalty so far are halved.
_HALVINGS = 3
# Graphs with no more links are searched with random perturbations at every penalty, until this many in a row fail.
_FEW_LINKS, _PATIENCE = 2_000, 8
# In these graphs all steps up to this many clusters are tried.
_FEW_CLUSTERS = 16


@dataclass(frozen=True)
class Rung:
    """A clustering that was found at the penalty ``lam``."""

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


def cut_path(graph: Graph, cut: type[NormalizedCut], rng: np.random.RandomState) -> CutPath:
    """The staircase of a graph with links between nodes.

    Greedy merging of neighbours, from very small clusters up to the connected components, shows at which penalties the
    number of clusters changes. At some of these the graph is clustered again, and the results are compared by evidence.
    """
    judges, component = _judges(graph), graph.components()
    finest = -(1 - _FINEST_SHARE) * float(np.median(cut(0.0).rates(graph)[graph.out > 0]))
    greedy = _greedy(graph, cut(finest))

    def rung(lam: float, labels: Labels) -> Rung:
        clusters = graph.contracted(labels)
        evidence = max(judge.evidence(labels) for judge in judges)
        return Rung(lam, labels, clusters.n_nodes, cut(lam).cut(clusters), evidence)

    def rungs_at(penalties: list[float]) -> list[Rung]:
        return [rung(lam, _clustered(graph, cut(lam), rng)) for lam in penalties]

    rungs = rungs_at(_penalties_to_try(greedy))
    for _ in range(_HALVINGS):
        rungs += rungs_at(_around_best(rungs))
    if _is_small(graph):
        tried: set[float] = set()
        while penalties := sorted(set(_between_steps(rungs)) - tried):
            tried.update(penalties)
            rungs += rungs_at(penalties)
    staircase = _staircase(greedy, rungs)
    while staircase.suggest().k == greedy.k[0]:  # no evidence: make sure that the penalty leaves the components whole
        lam = staircase.suggest().lam
        found = rung(lam, search(component, graph, cut(lam), rng, patience=0).state.labels)
        rungs.append(found)
        if found.k != greedy.k[0]:
            staircase = _staircase(greedy, rungs)
        if staircase.suggest().lam == lam:  # whole, or cut at a gain so small that the staircase does not show it
            return CutPath(staircase, component)
    return CutPath(staircase, _best_by_k(rungs)[staircase.suggest().k].labels)


@dataclass(frozen=True)
class _Judge:
    graph: Graph
    planted: PlantedClusters

    def evidence(self, labels: Labels) -> float:
        return self.planted.evidence(labels, self.graph.contracted(labels).out)


def _judges(graph: Graph) -> list[_Judge]:
    """One counts links by their weight, as (Σw)² / Σw² in all; where weights differ another counts every link once."""
    component, weight = graph.components(), graph.weight
    n_links = float(weight.sum() ** 2 / (weight**2).sum() / 2)
    judges = [_Judge(graph, PlantedClusters(graph.out, component, n_links))]
    if weight.min() < weight.max():
        out = np.diff(graph.begin).astype(np.float64)
        once = replace(graph, weight=np.ones_like(weight), out=out)
        judges.append(_Judge(once, PlantedClusters(out, component, len(weight) / 2)))
    return judges


def _clustered(graph: Graph, objective: NormalizedCut, rng: np.random.RandomState) -> Labels:
    """A good clustering by a fast search; in small graphs, where single clusters matter, by a longer one."""
    labels = grown(graph, objective)
    labels = in_order_of_first(joined_neighbours(graph.contracted(labels), objective)[labels])
    return search(labels, graph, objective, rng, patience=_PATIENCE).state.labels if _is_small(graph) else labels


def _is_small(graph: Graph) -> bool:
    return len(graph.weight) <= 2 * _FEW_LINKS


def _greedy(graph: Graph, finest: NormalizedCut) -> CutStaircase:
    """The staircase of a greedy merging."""
    small = graph.moved(graph.alone(), finest.volume(graph), finest.lam, 0.0)
    clusters = graph.contracted(joined_neighbours(graph.contracted(small), finest)[small])
    pairs, costs = clusters.merged(finest.volume(clusters), np.inf)
    cuts = Merges(clusters.n_nodes, pairs, costs).costs_by_k(finest.cut(clusters))
    return CutStaircase(cuts, clusters.n_nodes - len(pairs), finest.lam)


def _penalties_to_try(greedy: CutStaircase) -> list[float]:
    """Penalties from coarse to fine, in steps whose numbers of clusters grow geometrically; the finest is last."""
    steps = np.unique(np.rint(np.geomspace(1, len(greedy), _RUNGS)).astype(np.int64)) - 1
    return sorted({*greedy.lam[steps[:-1]].tolist(), float(greedy.lam_low[-1])}, reverse=True)


def _around_best(rungs: list[Rung]) -> list[float]:
    """Penalties half-way between the one with the most evidence and its neighbours."""
    penalties = sorted(found.lam for found in rungs)
    best = max(rungs, key=lambda found: found.evidence).lam
    return [(a + b) / 2 for a, b in pairwise(penalties) if best in (a, b)]


def _between_steps(rungs: list[Rung]) -> list[float]:
    """For neighbouring steps that leave out numbers of clusters: the penalty at which both cost the same.

    What costs less there has a number in between.
    """
    steps = sorted(_best_by_k(rungs).values(), key=lambda found: found.k)
    coarse = [pair for pair in pairwise(steps) if pair[1].k > pair[0].k + 1 and pair[1].k <= _FEW_CLUSTERS]
    return [(a.cut - b.cut) / (b.k - a.k) for a, b in coarse]


def _best_by_k(rungs: list[Rung]) -> dict[int, Rung]:
    """For each number of clusters the rung with the lowest cut."""
    best: dict[int, Rung] = {}
    for found in rungs:
        if found.k not in best or found.cut < best[found.k].cut:
            best[found.k] = found
    return best


def _staircase(greedy: CutStaircase, rungs: list[Rung]) -> CutStaircase:
    """The staircase of both searches, up to the rung of the lowest penalty; greedy merging alone is not reliable
    beyond."""
    last, first_k = min(rungs, key=lambda found: found.lam), int(greedy.k[0])
    cuts, evidence = np.full(last.k + 1, np.inf), {}
    known = greedy.k[greedy.k <= last.k]
    cuts[known] = greedy.cost[: len(known)]
    for k, found in _best_by_k(rungs).items():
        # Greedy merging adds up its cuts, and with them roundings.
        if k <= last.k and found.cut <= cuts[k] * (1 + 1e-9):
            cuts[k], evidence[k] = found.cut, found.evidence
    return CutStaircase(cuts[first_k:], first_k, last.lam, evidence)
