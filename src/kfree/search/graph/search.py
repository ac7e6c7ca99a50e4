"""Clusters of a graph: the choice of the penalty, and the search (Kulis & Jordan 2012, §5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree.core.stats import Labels
from kfree.core.warning import warn
from kfree.engines.graph import Graph
from kfree.objectives.cut import CUTS
from kfree.search.graph.cut_path import cut_path
from kfree.search.graph.cut_staircase import CutStaircase
from kfree.search.graph.multilevel import CutState, grown, search
from kfree.search.loop import Descent
from kfree.search.monitor import Monitor
from kfree.search.target import by_difference, nearest_to
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
            start, watched = grown(graph, cut(lam)) if start is None else start, (monitor.may_go_on, monitor.report)
            return search(start, graph, cut(lam), rng, patience, self.max_iter, *watched)

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
            wished = self.target_k - n_alone
            lam = self._penalty_for(path.staircase, wished, n_alone)
            how = (cut(lam).lowest_lam(graph), 0.0), by_difference, _MOST_SEARCHES
            lam, descent = nearest_to(wished, lam, lambda at, _: search_at(at), monitor.may_go_on, *how)
            self._warn_unless_found(descent.state.clusters.n_nodes + n_alone, lam)
        descent.stop_reason = monitor.stop_reason(descent, self.max_iter)
        return CutResult(lam, staircase, descent)

    def _penalty_for(self, staircase: CutStaircase, wished: int, n_alone: int) -> float:
        """The penalty at which the staircase has the number to aim at, or the end of the staircase if that number is
        larger."""
        least, most = int(staircase.k[0]), int(staircase.k[-1])
        allowed = f"at least {least + n_alone}, the number of unconnected parts"
        require(wished >= least, "target_k", self.target_k, allowed)
        return staircase.at(k=min(wished, most)).lam

    def _warn_unless_found(self, n_found: int, lam: float) -> None:
        if n_found != self.target_k:
            warn(
                f"GraphDPMeans found no penalty at which target_k={self.target_k} clusters are best; lam_={lam:g} "
                f"gives {n_found}.",
                UserWarning,
            )

    def _require_penalty_above(self, lowest: float) -> None:
        if float(self.lam) <= lowest:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: no merge lowers the cut by more than {-lowest:g}, so that with "
                f"a penalty of {lowest:g} or less single nodes are always best. Give a number between {lowest:g} and 0"
                + (", better above -1." if self.cut == "normalized" else ".")
            )


def _usual_patience(graph: Graph) -> int:
    n_links = max(len(graph.weight) // 2, 1)
    return int(np.clip(50_000 // n_links, 8, 40))
