"""Statistics of the clusters of one part on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kfree.core.stats import Stats
from kfree.core.sum_tree import nodes_covering
from kfree.engines.gpu import sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.history import Found
from kfree.engines.gpu.recorded import Recorded
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.parts import NodeSums, Partial, Piece, Whole


class PartSums:
    """Sums over the rows of a part, all or listed. ``alone``: there is no other part; ``is_last``: none follows."""

    def __init__(self, rows: DeviceRows, weight: torch.Tensor | None, first_block: int, alone: bool, is_last: bool):
        self._rows, self._weight, self._first_block = rows, weight, first_block
        self._alone, self._is_last, self._arrays = alone, is_last, TorchArrays(rows.device)
        # The pass that the last totals are of; an interrupted one has none.
        self._number, self._k = -1, 0
        self._of_all: Recorded[torch.Tensor]

    def of_pass(self, found: Found, k: int) -> Partial:
        """Statistics of a pass; clusters with the rows and the centre of the pass before keep theirs."""
        if not self._alone:
            return self.of(None, found.labels, self._weight, found.sq_dist, k)
        follows, self._number = found.number == self._number + 1, -1
        if not (found.same and follows):
            self._totals = self._totals_of_pass(found, k, follows)
            self._stats = self._whole(self._totals)
        self._number = found.number
        return self._stats

    def _totals_of_pass(self, found: Found, k: int, follows: bool) -> torch.Tensor:
        if self._k != k:
            self._k, self._of_all = k, Recorded(self._rows.X)

        def of_all() -> torch.Tensor:
            return self._totals_of(None, found.labels, self._weight, found.sq_dist, k)

        changed = found.changed
        if changed is None or not follows or self._of_all.is_replayed:
            return self._of_all(of_all)
        rows = torch.nonzero(changed[found.labels])[:, 0]
        if 2 * len(rows) >= self._rows.n_rows:
            return of_all()
        weight = None if self._weight is None else self._weight[rows]
        totals = self._totals_of(rows, found.labels[rows], weight, found.sq_dist[rows], k)
        return torch.where(changed[:, None], totals, self._totals)

    def _totals_of(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> torch.Tensor:
        """Sums (k, d + 2) over all blocks."""
        segments, _ = self.segments(rows, labels, k)
        return sums.total(segments.sums(coefficient, _counting(coefficient, sq_dist)), segments.first_group)

    def of(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> Partial:
        """Statistics of rows, all or listed; sse is not defined without distances."""
        if self._alone:
            return self._whole(self._totals_of(rows, labels, coefficient, sq_dist, k))
        segments, levels = self.segments(rows, labels, k)
        groups = segments.sums(coefficient, _counting(coefficient, sq_dist))
        found = self.by_node(segments, levels, (groups,))
        return Piece(NodeSums(found.nodes, tuple(np.ascontiguousarray(one) for one in _apart(found.sums[0]))))

    def _whole(self, totals: torch.Tensor) -> Whole:
        return Whole(Stats(*self._arrays.all_to_numpy(*_apart(totals))))

    def segments(self, rows: torch.Tensor | None, labels: torch.Tensor, k: int) -> tuple[sums.Segments, int]:
        levels = sums.levels_for(self._rows.n_rows, self._first_block, self._is_last, k)
        return sums.Segments(self._rows, self._first_block, rows, labels, k, levels), levels

    def by_node(self, segments: sums.Segments, levels: int, groups: tuple[torch.Tensor, ...]) -> NodeSums:
        # Blocks beyond the last part are absent, so its last node may reach there.
        end = (segments.first_group + segments.n_groups) << levels
        nodes = nodes_covering(self._first_block, end)
        found = (self._arrays.to_numpy(sums.joined(one, segments.first_group, levels, nodes)) for one in groups)
        return NodeSums(nodes, tuple(found))


def _counting(coefficient: torch.Tensor | None, sq_dist: torch.Tensor | None) -> torch.Tensor | None:
    """A distance of a row of weight zero may be infinite, and does not count."""
    if coefficient is None or sq_dist is None:
        return sq_dist
    return torch.where(coefficient != 0, sq_dist, 0.0)


def _apart(sums: Any) -> tuple[Any, Any, Any]:
    """Weights, sums and sse from the columns (…, d + 2) that are summed together."""
    return sums[..., -1], sums[..., :-2], sums[..., -2]
