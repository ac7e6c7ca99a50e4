"""Statistics of the clusters of one part on a GPU."""

from __future__ import annotations

import torch

from kfree.core.stats import Floats, Stats
from kfree.core.sum_tree import nodes_covering
from kfree.engines.gpu import sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.history import Found
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.parts import NodeSums, Partial, Piece, Whole


class PartSums:
    """Sums over the rows of a part, all or listed. ``alone``: there is no other part; ``is_last``: none follows."""

    def __init__(self, rows: DeviceRows, weight: torch.Tensor | None, first_block: int, alone: bool, is_last: bool):
        self._rows, self._weight, self._first_block = rows, weight, first_block
        self._alone, self._is_last, self._arrays = alone, is_last, TorchArrays(rows.device)
        # The pass that the last totals are of; an interrupted one has none.
        self._number = -1

    def of_pass(self, found: Found, k: int) -> Partial:
        """Statistics of a pass; clusters with the rows and the centre of the pass before keep theirs."""
        if not self._alone:
            return self.of(None, found.labels, self._weight, found.sq_dist, k)
        if not (found.same and found.number == self._number + 1):
            self._totals = self._totals_of_pass(found, k)
            self._on_host = self._arrays.to_numpy(self._totals)
        self._number = found.number
        return Whole(Stats(*_statistics(self._on_host)))

    def _totals_of_pass(self, found: Found, k: int) -> torch.Tensor:
        rows, changed = None, found.changed
        if changed is not None and found.number == self._number + 1:
            listed = torch.nonzero(changed[found.labels])[:, 0]
            rows = listed if 2 * len(listed) < self._rows.n_rows else None
        places = slice(None) if rows is None else rows
        weight = None if self._weight is None else self._weight[places]
        segments, _ = self.segments(rows, found.labels[places], k)
        groups = segments.sums(weight, _counting(weight, found.sq_dist[places]))
        totals = sums.total(groups, segments.first_group)
        if changed is None or rows is None:
            return totals
        return torch.where(changed[:, None], totals, self._totals)

    def of(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> Partial:
        """Statistics of rows, all or listed; sse is not defined without distances."""
        segments, levels = self.segments(rows, labels, k)
        groups = segments.sums(coefficient, _counting(coefficient, sq_dist))
        if self._alone:
            return Whole(Stats(*_statistics(self._arrays.to_numpy(sums.total(groups, segments.first_group)))))
        found = self.by_node(segments, levels, (groups,))
        return Piece(NodeSums(found.nodes, _statistics(found.sums[0])))

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


def _statistics(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Weights, sums and sse from the columns (…, d + 2) that are summed together."""
    weights, coordinates, sse = (part.copy() for part in (sums[..., -1], sums[..., :-2], sums[..., -2]))
    return weights, coordinates, sse
