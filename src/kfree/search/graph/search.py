"""Clusters of a graph: the choice of the penalty, and the search (Kulis & Jordan 2012, §5.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree.core.stats import Labels
from kfree.engines.graph import Graph, in_order_of_first
from kfree.objectives.cut import CUTS, NormalizedCut
from kfree.search.agglomerate import Merges
from kfree.search.graph.cut_path import cut_path
from kfree.search.graph.cut_staircase import CutStaircase
from kfree.search.graph.multilevel import CutState, grown, move_nodes, search
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.target import around, by_difference, nearest_to, warn_of_number
from kfree.validation.parameters import random_generator, require, shown

# The penalty of a graph without links.
_ANY_PENALTY = -0.5
# Searches for ``target_k``, at most.
_MOST_SEARCHES = 12


@dataclass(frozen=True)
class CutResult:
    """The penalty, the staircase that it was chosen from (or None), and how the search went (None without links)."""

    lam: float
    path: CutStaircase | None = None
    descent: Descent[CutState] | None = None


@dataclass(frozen=True)
class CutSearch:
    """A search for clusters of a graph; fields are the parameters of :class:`kfree.GraphDPMeans`."""

    lam: float | str
    target_k: int | None
    cut: str
    patience: int | None
    max_iter: int
    random_state: Any

    def __call__(self, graph: Graph | None, n_alone: int, monitor: Monitor) -> CutResult:
        """Choose the penalty and search; ``n_alone`` nodes have no links and are not in the graph."""
        if graph is None or not graph.out.any():
            return CutResult(_ANY_PENALTY if self.lam == "auto" else float(self.lam))
        cut, rng = CUTS[self.cut], random_generator(self.random_state)
        patience = _usual_patience(graph) if self.patience is None else self.patience
        path = cut_path(graph, cut, rng) if self.lam == "auto" else None
        monitor.begins()

        def search_at(lam: float, start: Labels | None = None) -> Descent[CutState]:
            start = grown(graph, cut(lam)) if start is None else start
            return search(start, graph, cut(lam), rng, patience, self.max_iter, monitor)

        staircase = None
        if path is None:
            lam = float(self.lam)
            self._require_penalty_above(cut(lam).lowest_lam(graph))
            descent = search_at(lam)
        elif self.target_k is None:
            staircase = path.staircase
            lam = staircase.suggest().lam
            descent = search_at(lam, path.start)
        else:
            lam = self._penalty_for(path.staircase, self.target_k - n_alone, n_alone)
            lam, descent = self._with_target_k(self.target_k - n_alone, n_alone, graph, lam, search_at, monitor)
        descent.stop_reason = monitor.stop_reason(descent, self.max_iter)
        return CutResult(lam, staircase, descent)

    def _penalty_for(self, staircase: CutStaircase, wished: int, n_alone: int) -> float:
        """The penalty at which the staircase has the number to aim at, or the end of the staircase if that number is
        larger."""
        least, most = int(staircase.k[0]), int(staircase.k[-1])
        allowed = f"at least {least + n_alone}, the number of unconnected parts"
        require(wished >= least, "target_k", self.target_k, allowed)
        return staircase.at(k=min(wished, most)).lam

    def _with_target_k(
        self,
        k: int,
        n_alone: int,
        graph: Graph,
        lam: float,
        search_at: Callable[[float], Descent[CutState]],
        monitor: Monitor,
    ) -> tuple[float, Descent[CutState]]:
        """A penalty whose search ends with k clusters; else the best clustering with k that is found, and the penalty
        at which those with fewer and more clusters cost the same."""
        cut = CUTS[self.cut]
        how = (cut(lam).lowest_lam(graph), 0.0), by_difference, _MOST_SEARCHES
        (lam, descent), found = nearest_to(k, lam, lambda lam, _: search_at(lam), monitor, *how)
        if descent.state.n_clusters == k or not monitor.may_go_on():
            return lam, descent
        near = around(k, found)
        lam = _crossing(near, cut(lam)) if len(near) == 2 else lam
        exact = _with_exactly(k, [one.state for _, one in found if one.state.n_clusters > k], graph, cut(lam))
        descent = descent if exact is None else Descent(exact, [exact.cost], descent.n_iter, converged=True)
        n_found, asked = descent.state.n_clusters + n_alone, f"target_k={self.target_k} clusters"
        warn_of_number("GraphDPMeans", asked, k + n_alone, n_found, f"lam_={lam:g}")
        return lam, descent

    def _require_penalty_above(self, lowest: float) -> None:
        if float(self.lam) <= lowest:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: no merge lowers the cut by more than {-lowest:g}, so that with "
                f"a penalty of {lowest:g} or less single nodes are always best. Give a number between {lowest:g} and 0"
                + (", better above -1." if self.cut == "normalized" else ".")
            )


def _crossing(near: list[CutState], objective: NormalizedCut) -> float:
    """The penalty at which two states with different numbers of clusters cost the same."""
    lower, higher = (float(objective.rates(state.clusters).sum()) for state in near)
    return -(higher - lower) / (near[1].n_clusters - near[0].n_clusters)


def _with_exactly(k: int, found: list[CutState], graph: Graph, objective: NormalizedCut) -> CutState | None:
    """The best clustering with k clusters by merges of those with more, the cheapest pair first; None if there is none.

    Then nodes move, as long as that keeps the number.
    """
    made = [state for more in found if (state := _merged_to(k, more, graph, objective)) is not None]
    return min(made, key=lambda state: state.cost, default=None)


def _merged_to(k: int, state: CutState, graph: Graph, objective: NormalizedCut) -> CutState | None:
    clusters = state.clusters
    if clusters.n_nodes < k:
        return None
    pairs, costs = clusters.merged(objective.volume(clusters), math.inf)
    if clusters.n_nodes - len(pairs) > k:
        return None
    labels = Merges(clusters.n_nodes, pairs, costs).labels(k).astype(np.int32)
    merged = CutState.of(in_order_of_first(labels[state.labels]), graph, objective)
    moved = move_nodes(merged, graph, objective)
    return moved if moved.n_clusters == k and moved.cost < merged.cost else merged


def _usual_patience(graph: Graph) -> int:
    n_links = max(len(graph.weight) // 2, 1)
    return int(np.clip(50_000 // n_links, 8, 40))
