"""A part whose rows, weights and labels are on a GPU."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.masses import Masses
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Stats
from kfree.core.sum_tree import nodes_covering
from kfree.engines.gpu import assign, sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.device import require_device
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.in_memory.part import InMemoryPart
from kfree.engines.local.part import LocalPart, require_directions
from kfree.engines.parts import NodeSums, PartExchange, Partial, Piece, Whole
from kfree.native.implementations import implementation


def uploaded(X: Array, weight: Floats | None, frame: Frame, begin: int) -> GpuPart:
    """Rows that are taken to the GPU for a pass, one part of several."""
    device = require_device()
    rows, weights = (
        None if a is None else torch.from_numpy(np.require(a, requirements="W")).to(device) for a in (X, weight)
    )
    return GpuPart(rows, weights, frame, begin, alone=False, is_last=False)


def in_process(X: ArrayOrCSR, weight: Floats | None, frame: Frame) -> LocalPart:
    """Rows in memory, for what the CPU computes."""
    return LocalPart(implementation("native", "rows"), X, weight, frame, n_threads=None)


class GpuPart(InMemoryPart):
    """Dense rows ``begin`` … of a tensor. ``alone``: there is no other part; ``is_last``: none follows."""

    def __init__(
        self,
        X: torch.Tensor,
        weight: torch.Tensor | None,
        frame: Frame,
        begin: int = 0,
        alone: bool = True,
        is_last: bool = True,
    ):
        super().__init__(X.shape[0], X.shape[1], weight, begin)
        self.X, self.frame, self._alone, self._is_last = X, frame, alone, is_last
        self.arrays: TorchArrays = TorchArrays(X.device)
        self._rows = DeviceRows(X, frame)
        self._first_block = begin // sums.BLOCK
        require_directions(self.arrays.to_numpy(self._rows.lengths))

    def assign(self, sites: Sites, lam: float) -> tuple[torch.Tensor, torch.Tensor, Partial, torch.Tensor | None]:
        centres = self.arrays.of(sites.centres)
        labels = assign.nearest(self._rows, centres)
        sq_dist = assign.distances_to_own(self._rows, None, labels, centres)
        self.n_distances += self.n_rows * len(centres)
        is_far = None if lam == np.inf else self._weighted(sq_dist, None) > lam
        return labels, sq_dist, self.stats_of(labels, sq_dist, len(centres)), is_far

    def stats_of(self, labels: torch.Tensor, sq_dist: torch.Tensor, n_clusters: int) -> Partial:
        return self._stats(None, labels, self.weight, sq_dist, n_clusters)

    def distances_to_own(self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats) -> torch.Tensor:
        self.n_distances += len(rows)
        return assign.distances_to_own(self._rows, rows, labels, self.arrays.of(centres))

    def second_nearest(
        self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.n_distances += len(rows) * (len(centres) - 1)
        points = self.arrays.of(centres)
        second = assign.nearest(self._rows, points, rows, labels)
        sq_dist = assign.distances_to_own(self._rows, rows, second, points)
        if len(centres) == 1:
            sq_dist[:] = torch.inf
        return second, sq_dist

    def choose(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[torch.Tensor, Partial]:
        first, second = self._to_both(rows, pair, pairs)
        chosen = 2 * pair + (second < first)
        weight = None if self.weight is None else self.weight[rows]
        return chosen, self._stats(rows, chosen, weight, torch.minimum(first, second), len(pairs))

    def scatter_product(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> Partial:
        first, second = self._to_both(rows, pair, pairs)
        return self._stats(rows, pair, self._weighted(second - first, rows), None, len(pairs) // 2)

    def closing_costs(
        self, rows: torch.Tensor, labels: torch.Tensor, second: torch.Tensor, centres: Floats
    ) -> NodeSums:
        now, then = (self.distances_to_own(rows, one, centres) for one in (labels, second))
        segments, levels = self._segments(rows, labels, len(centres))
        costs = segments.sums(self._weighted(then - now, rows), None, scalars_only=True)[..., -1]
        return self._by_node(segments, levels, (costs,))

    def exchange_of(
        self,
        rows: torch.Tensor,
        others: torch.Tensor,
        labels: torch.Tensor,
        centres: Floats,
        stats: Stats,
        least_gain: float,
    ) -> PartExchange:
        return _Exchange(self, rows, others, labels, centres, stats, least_gain)

    def open_clusters(
        self, far: torch.Tensor, first_label: int, lam: float, room: int, labels: torch.Tensor, sq_dist: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        # One row after the other: the far ones are taken to the CPU.
        near_labels, near_sq_dist = (self.arrays.to_numpy(values[far]) for values in (labels, sq_dist))
        here = np.arange(len(far))
        founders, n_refused = self.on_cpu(far).open_clusters(here, first_label, lam, room, near_labels, near_sq_dist)
        labels[far], sq_dist[far] = self.arrays.of(near_labels), self.arrays.of(near_sq_dist)
        return self.arrays.of(founders), n_refused

    def join_newborn(
        self,
        order: torch.Tensor | None,
        newborn: Floats,
        born_at: Any,
        first_label: int,
        labels: torch.Tensor,
        sq_dist: torch.Tensor,
    ) -> None:
        place_of_row = None
        if order is not None:
            place_of_row = torch.empty_like(order)
            place_of_row[order] = self.arrays.arange(len(order))
        assign.join_nearer(
            self._rows,
            self.arrays.of(newborn),
            labels,
            sq_dist,
            first_label=first_label,
            born_after=self.arrays.of(born_at),
            place_of_row=place_of_row,
        )

    def approach(self, site: Floats, sq_dist: torch.Tensor) -> None:
        self.n_distances += self.n_rows
        torch.minimum(sq_dist, self._to(site), out=sq_dist)

    def best_candidate(self, candidates: Floats, sq_dist: torch.Tensor) -> int:
        return int(sums.total(self._potentials(candidates, sq_dist), self._first_block).argmin())

    def potentials(self, candidates: Floats, sq_dist: torch.Tensor) -> NodeSums:
        return self._by_node(self._everyone, 0, (self._potentials(candidates, sq_dist),))

    def masses(self, mass: torch.Tensor) -> Masses:
        of_blocks: Floats = self.arrays.to_numpy(self._block_sums(mass))
        block = sums.BLOCK

        def of_rows(b: int) -> Floats:
            return self.arrays.to_numpy(mass[b * block : (b + 1) * block])

        return Masses(of_blocks, of_rows, self._first_block, block)

    def points(self, rows: torch.Tensor) -> Floats:
        return self.arrays.to_numpy(self._rows.points(rows))

    def copied(self, rows: Array) -> tuple[ArrayOrCSR, Floats | None]:
        rows = self.arrays.of(rows)
        weight = None if self.weight is None else self.arrays.to_numpy(self.weight[rows])
        return self.arrays.to_numpy(self.X[rows]), weight

    def on_cpu(self, rows: torch.Tensor) -> LocalPart:
        """Some rows in memory, for what goes from one row to the next."""
        return in_process(*self.copied(self.arrays.to_numpy(rows)), self.frame)

    @cached_property
    def _everyone(self) -> sums.Segments:
        """All rows in one cluster, block by block."""
        nobody = torch.zeros(self.n_rows, dtype=torch.int32, device=self.X.device)
        return sums.Segments(self._rows, self._first_block, None, nobody, 1, 0)

    def _to(self, site: Floats) -> torch.Tensor:
        zeros = torch.zeros(self.n_rows, dtype=torch.int32, device=self.X.device)
        return assign.distances_to_own(self._rows, None, zeros, self.arrays.of(site[None, :]))

    def _to_both(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = (self.distances_to_own(rows, 2 * pair + side, pairs) for side in (0, 1))
        return first, second

    def _potentials(self, candidates: Floats, sq_dist: torch.Tensor) -> torch.Tensor:
        """The potential of every block for every candidate, (blocks, m)."""
        self.n_distances += self.n_rows * len(candidates)
        nearer = (torch.minimum(sq_dist, self._to(site)) for site in candidates)
        return torch.stack([self._block_sums(self._weighted(one, None)) for one in nearer], dim=1)

    def _block_sums(self, values: torch.Tensor) -> torch.Tensor:
        """Sums of a number of each row over blocks."""
        return self._everyone.sums(values, None, scalars_only=True)[:, 0, -1]

    def _weighted(self, values: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
        if self.weight is None:
            return values
        return (self.weight if rows is None else self.weight[rows]) * values

    def _stats(
        self,
        rows: torch.Tensor | None,
        labels: torch.Tensor,
        coefficient: torch.Tensor | None,
        sq_dist: torch.Tensor | None,
        k: int,
    ) -> Partial:
        """Statistics of rows, all or listed; sse is not defined without distances."""
        segments, levels = self._segments(rows, labels, k)
        if coefficient is not None and sq_dist is not None:
            # A distance of a row of weight zero may be infinite, and does not count.
            sq_dist = torch.where(coefficient != 0, sq_dist, 0.0)
        groups = segments.sums(coefficient, sq_dist)
        if not self._alone:
            found = self._by_node(segments, levels, (groups,))
            return Piece(NodeSums(found.nodes, _statistics(found.sums[0])))
        return Whole(Stats(*_statistics(self.arrays.to_numpy(sums.total(groups, segments.first_group)))))

    def _segments(self, rows: torch.Tensor | None, labels: torch.Tensor, k: int) -> tuple[sums.Segments, int]:
        levels = sums.levels_for(self.n_rows, self._first_block, self._is_last, k)
        return sums.Segments(self._rows, self._first_block, rows, labels, k, levels), levels

    def _by_node(self, segments: sums.Segments, levels: int, groups: tuple[torch.Tensor, ...]) -> NodeSums:
        # Blocks beyond the last part are absent, so its last node may reach there.
        end = (segments.first_group + segments.n_groups) << levels
        nodes = nodes_covering(self._first_block, end)
        found = (self.arrays.to_numpy(sums.joined(one, segments.first_group, levels, nodes)) for one in groups)
        return NodeSums(nodes, tuple(found))


class _Exchange:
    """See ``engines.parts.PartExchange``. Rows move one after the other, so candidates are taken to the CPU."""

    def __init__(
        self,
        part: GpuPart,
        rows: torch.Tensor,
        others: torch.Tensor,
        labels: torch.Tensor,
        centres: Floats,
        stats: Stats,
        least_gain: float,
    ):
        self._part, self._rows, self._labels = part, rows, labels
        arrays = part.arrays
        here, own = np.arange(len(rows)), arrays.to_numpy(labels[rows])
        local = part.on_cpu(rows)
        self._local = local.exchange_of(here, arrays.to_numpy(others), own, centres, stats, least_gain)

    def round(self, n: Floats, sum: Floats, centres: Floats, way: Floats) -> int:
        return self._local.round(n, sum, centres, way)

    def end(self) -> torch.Tensor:
        labels = self._labels.clone()
        labels[self._rows] = self._part.arrays.of(self._local.end())
        return labels


def _statistics(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Weights, sums and sse from the columns (…, d + 2) that are summed together."""
    weights, coordinates, sse = (np.ascontiguousarray(part) for part in (sums[..., -1], sums[..., :-2], sums[..., -2]))
    return weights, coordinates, sse
