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
from kfree.engines.gpu import canonical, sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.assign import nearest
from kfree.engines.gpu.device import require_device
from kfree.engines.gpu.exchange import GpuExchange
from kfree.engines.gpu.history import History
from kfree.engines.gpu.part_sums import PartSums
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.in_memory.part import InMemoryPart
from kfree.engines.local.part import LocalPart, require_directions
from kfree.engines.parts import NodeSums, PartExchange, Partial
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
        self.X, self.frame = X, frame
        self.arrays: TorchArrays = TorchArrays(X.device)
        self._rows = DeviceRows(X, frame)
        self._history = History(self._rows)
        self._first_block = begin // sums.BLOCK
        self._sums = PartSums(self._rows, weight, self._first_block, alone, is_last)
        require_directions(self.arrays.to_numpy(self._rows.lengths))

    def assign(self, sites: Sites, lam: float) -> tuple[torch.Tensor, torch.Tensor, Partial, torch.Tensor | None]:
        k = len(sites.centres)
        self.n_distances += self.n_rows * k
        if lam == np.inf:
            found = self._history.nearest(sites.uids, sites.centres)
            return found.labels.clone(), found.sq_dist, self._sums.of_pass(found, k), None
        # A sweep goes on with labels and distances in place, so that no history can be kept of them.
        centres = self.arrays.of(sites.centres)
        labels, _ = nearest(self._rows, centres)
        sq_dist = canonical.distances_to_own(self._rows, None, labels, centres)
        return labels, sq_dist, self.stats_of(labels, sq_dist, k), self._weighted(sq_dist, None) > lam

    def stats_of(self, labels: torch.Tensor, sq_dist: torch.Tensor, n_clusters: int) -> Partial:
        return self._sums.of(None, labels, self.weight, sq_dist, n_clusters)

    def distances_to_own(self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats) -> torch.Tensor:
        self.n_distances += len(rows)
        return canonical.distances_to_own(self._rows, rows, labels, self.arrays.of(centres))

    def second_nearest(
        self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.n_distances += len(rows) * (len(centres) - 1)
        points = self.arrays.of(centres)
        second, _ = nearest(self._rows, points, rows, labels)
        sq_dist = canonical.distances_to_own(self._rows, rows, second, points)
        if len(centres) == 1:
            sq_dist[:] = torch.inf
        return second, sq_dist

    def choose(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[torch.Tensor, Partial]:
        first, second = self._to_both(rows, pair, pairs)
        chosen = 2 * pair + (second < first)
        weight = None if self.weight is None else self.weight[rows]
        return chosen, self._sums.of(rows, chosen, weight, torch.minimum(first, second), len(pairs))

    def scatter_product(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> Partial:
        first, second = self._to_both(rows, pair, pairs)
        return self._sums.of(rows, pair, self._weighted(second - first, rows), None, len(pairs) // 2)

    def closing_costs(
        self, rows: torch.Tensor, labels: torch.Tensor, second: torch.Tensor, centres: Floats
    ) -> NodeSums:
        now, then = (self.distances_to_own(rows, one, centres) for one in (labels, second))
        segments, levels = self._sums.segments(rows, labels, len(centres))
        costs = segments.sums(self._weighted(then - now, rows), None, scalars_only=True)[..., -1]
        return self._sums.by_node(segments, levels, (costs,))

    def exchange_of(
        self,
        rows: torch.Tensor,
        others: torch.Tensor,
        labels: torch.Tensor,
        centres: Floats,
        stats: Stats,
        least_gain: float,
    ) -> PartExchange:
        return GpuExchange(self, rows, others, labels, centres, stats, least_gain)

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
        canonical.join_nearer(
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
        return self._sums.by_node(self._everyone, 0, (self._potentials(candidates, sq_dist),))

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
        return canonical.distances_to_own(self._rows, None, zeros, self.arrays.of(site[None, :]))

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
