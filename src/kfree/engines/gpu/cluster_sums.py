"""Statistics of clusters of rows on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from kfree.core.stats import Index, Stats
from kfree.core.sum_tree import nodes_covering
from kfree.engines.gpu import sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.history import Found
from kfree.engines.gpu.recorded import Recorded
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.sums import Sums, lifted


class ClusterSums:
    """Sums over rows, all or listed: in total, or by node where these are a range (``span``, see ``LocalRows``)."""

    def __init__(self, rows: DeviceRows, weight: torch.Tensor | None, span: tuple[int, int] | None):
        self._rows, self._weight, self._span = rows, weight, span
        self._first_block, self._arrays = 0 if span is None else span[0] // sums.BLOCK, TorchArrays(rows.device)
        # The pass that the last totals are of; an interrupted one has none.
        self._number, self._k = -1, 0
        self._of_all: Recorded[tuple[torch.Tensor, torch.Tensor]]

    def of_pass(self, found: Found, k: int, meanwhile: Callable[[torch.Tensor], None] | None = None) -> Sums:
        """Sums of a pass; clusters with the rows and the centre of the pass before keep theirs.

        While new ones are copied to memory, they are given to ``meanwhile``.
        """
        if self._span is not None:
            return self.of(found.labels, found.sq_dist, k)
        follows, self._number = found.number == self._number + 1, -1
        if not (found.same and follows):
            self._totals, parts = self._totals_of_pass(found, k, follows)
            arriving = self._arriving(parts, k)
            if meanwhile:
                meanwhile(self._totals)
            self._stats = arriving()
        self._number = found.number
        return Sums.of_all(self._stats)

    def last(self, changed: tuple[Index, Stats] | None) -> torch.Tensor | None:
        """Sums (k, d + 2) of the clusters of the last pass, where the rows are; None if there is no such pass.

        ``changed`` are clusters that have other rows since then, and their statistics.
        """
        if self._number < 0 or changed is None:
            return self._totals if self._number >= 0 else None
        totals, (clusters, stats) = self._totals.clone(), changed
        totals[self._arrays.of(clusters)] = self._arrays.of(np.column_stack([stats.sum, stats.sse, stats.n]))
        return totals

    def _totals_of_pass(self, found: Found, k: int, follows: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums (k, d + 2) of a pass, and the same number after number, as ``_arriving`` takes them."""
        if self._k != k:
            self._k, self._of_all = k, Recorded(self._rows.X)

        def of_all() -> tuple[torch.Tensor, torch.Tensor]:
            totals = self._totals_of(None, found.labels, self._weight, found.sq_dist, k)
            return totals, _one_after_the_other(totals)

        changed = found.changed
        if changed is None or not follows or self._of_all.is_replayed:
            return self._of_all(of_all)
        rows = torch.nonzero(changed[found.labels])[:, 0]
        if 2 * len(rows) >= self._rows.n_rows:
            return of_all()
        weight = None if self._weight is None else self._weight[rows]
        totals = self._totals_of(rows, found.labels[rows], weight, found.sq_dist[rows], k)
        totals = torch.where(changed[:, None], totals, self._totals)
        return totals, _one_after_the_other(totals)

    def _totals_of(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> torch.Tensor:
        """Sums (k, d + 2) over all blocks."""
        segments = self.segments(rows, labels, k)
        return sums.total(segments.sums(coefficient, _counting(coefficient, sq_dist)), segments.first_group)

    def totals(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> Stats:
        """Statistics of rows, all or listed; sse is not defined without distances."""
        return self._arriving(_one_after_the_other(self._totals_of(rows, labels, coefficient, sq_dist, k)), k)()

    def of(self, labels: torch.Tensor, sq_dist: torch.Tensor, k: int) -> Sums:
        """Sums over all rows."""
        if self._span is None:
            return Sums.of_all(self.totals(None, labels, self._weight, sq_dist, k))
        segments = self.segments(None, labels, k)
        groups = segments.sums(self._weight, _counting(self._weight, sq_dist))
        nodes = nodes_covering(self._first_block, self._first_block + -(-self._rows.n_rows // sums.BLOCK))
        found = self._arrays.to_numpy(sums.joined(groups, segments.first_group, segments.levels, nodes))
        if self._span[0] + self._rows.n_rows == self._span[1]:
            nodes[-1] = lifted(nodes[-1])
        return Sums(nodes, *(np.ascontiguousarray(one) for one in _apart(found)))

    def segments(self, rows: torch.Tensor | None, labels: torch.Tensor, k: int) -> sums.Segments:
        """Rows by cluster and group of blocks."""
        levels = sums.levels_for(self._rows.X.shape, self._first_block, self._span is None, k)
        return sums.Segments(self._rows, self._first_block, rows, labels, k, levels)

    def _arriving(self, parts: torch.Tensor, k: int) -> Callable[[], Stats]:
        arrived = self._arrays.arriving(parts)

        def stats() -> Stats:
            n, sums, sse = np.split(arrived(), [k, len(parts) - k])
            return Stats(n, sums.reshape(k, -1), sse)

        return stats


def _one_after_the_other(totals: torch.Tensor) -> torch.Tensor:
    """Weights, sums and sse, (k·(d + 2),), so that they cross to memory at once and are arrays there."""
    return torch.cat([part.reshape(-1) for part in _apart(totals)])


def _counting(coefficient: torch.Tensor | None, sq_dist: torch.Tensor | None) -> torch.Tensor | None:
    """A distance of a row of weight zero may be infinite, and does not count."""
    if coefficient is None or sq_dist is None:
        return sq_dist
    return torch.where(coefficient != 0, sq_dist, 0.0)


def _apart(sums: Any) -> tuple[Any, Any, Any]:
    """Weights, sums and sse from the columns (…, d + 2) that are summed together."""
    return sums[..., -1], sums[..., :-2], sums[..., -2]
