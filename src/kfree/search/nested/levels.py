"""The levels above the clusters of a flat search, one by one: how many nodes each has, its penalty and its pull."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats, Labels, Stats
from kfree.engines.contract import Rows
from kfree.engines.local.rows import LocalRows
from kfree.objectives.nested import NESTED_OBJECTIVES, NestedObjective, gathered, sq_gaps
from kfree.search.nested.descent import best_groups, opened_points, parents_of
from kfree.search.nested.judge import judged, staircase_of
from kfree.search.nested.moves import flat_objective

# tau="auto": what the pulls of a level add to J, as a share of the scatter inside the nodes below, about. Between 0.001
# and 1 it changes neither numbers nor labels (``benchmarks/nested.py pull``); a small share keeps centres near the
# means of their rows. The ratio of variances that it multiplies is at least the second number.
PULL, _LEAST = 0.01, 1e-6


@dataclass(frozen=True)
class Level:
    """A level: the penalty ``lam`` of its nodes, ``tau`` with which they pull, and the node that each one below is in.

    ``count`` is their number where that is to stay, and None where the penalty decides.
    """

    lam: float
    tau: float
    parent: Labels
    count: int | None


@dataclass(frozen=True)
class LevelChoice:
    """How levels are found: by their numbers of nodes, by their penalties, or, with neither, by the judge.

    Numbers, penalties and taus of the levels above the finest are listed finest first; None is "auto".
    """

    metric: str
    by_rows: bool
    numbers: Sequence[int] | None
    penalties: Sequence[float] | None
    taus: Sequence[float] | None
    most: int

    def levels(self, rows: Rows, stats: Stats, rng: np.random.RandomState) -> tuple[list[Level], list[float]]:
        """Levels above clusters, and the evidence for each that was judged; the last one may have been refused."""
        found: list[Level] = []
        evidence: list[float] = []
        n, mean, unit, scatter = stats.n, stats.sum / stats.n[:, None], 1.0, float(stats.sse.sum())
        while self._may_have_more(len(found)) and len(n) > 1:
            # By rows, tau is relative to weights of rows, of which those of nodes are the share ``unit``.
            tau = self._own_tau(len(found), n, mean, scatter, unit)
            objective = NESTED_OBJECTIVES[self.metric]((0.0, 0.0), (tau,), self.by_rows)
            points = opened_points(rows, objective, n, mean)
            chosen = self._chosen(len(found), points, objective, evidence, rng)
            if chosen is None:
                break
            lam, parent, count = chosen
            found.append(Level(lam, tau * unit, parent, count))
            places, h = objective.as_points(n, mean)
            n, mean = gathered(places, h, parent)
            scatter = float(h @ sq_gaps(places, mean[parent]))
            unit *= tau / (1.0 + tau) if self.by_rows else 1.0
        return found, evidence

    def _may_have_more(self, n_found: int) -> bool:
        given = self.numbers if self.numbers is not None else self.penalties
        return n_found < (self.most - 1 if given is None else len(given))

    def _own_tau(self, height: int, n: Floats, mean: Floats, scatter: float, unit: float) -> float:
        """tau for nodes of weight n, relative to these weights: PULL·(variance inside nodes) / (variance of nodes)."""
        if self.taus is not None:
            return float(self.taus[height]) / unit
        between = float(sq_gaps(mean, mean.mean(axis=0)).mean())
        share = PULL * min(max(scatter / n.sum() / between if between > 0 else 1.0, _LEAST), 1.0)
        return share if self.by_rows else share * float(n.mean())

    def _chosen(
        self,
        height: int,
        points: LocalRows,
        objective: NestedObjective,
        evidence: list[float],
        rng: np.random.RandomState,
    ) -> tuple[float, Labels, int | None] | None:
        """The penalty of groups of some points, the group of each, and their number if that is to stay."""
        above, flat = objective.above, flat_objective(objective, 0.0)
        if self.penalties is not None:
            lam = float(self.penalties[height])
            return lam, parents_of(points, NESTED_OBJECTIVES[self.metric]((lam,), (), self.by_rows), (None,))[0], None
        if self.numbers is not None:
            k, rows = min(self.numbers[height], points.n_rows), points.rows(np.arange(points.n_rows))
            path = staircase_of(rows, points.row_weights(), flat, points.name)
            return path.at(k=k).lam, best_groups(points, above, k), k
        verdict = judged(points, flat, rng)
        if verdict is not None:
            evidence.append(verdict.evidence)
        if verdict is None or not verdict.is_level:
            return None
        return verdict.step.lam, best_groups(points, above, verdict.step.k), verdict.step.k
