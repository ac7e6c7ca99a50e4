"""Rows, weights and labels on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from kfree.core.arrays import Array
from kfree.core.blocks import row_blocks
from kfree.core.frame import Frame
from kfree.core.masses import Masses, MassTree
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats, first_row_that_counts
from kfree.engines.contract import MemoryRows, Pass, centred_frame
from kfree.engines.gpu import canonical, sums
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.assign import nearest
from kfree.engines.gpu.cluster_sums import ClusterSums
from kfree.engines.gpu.device import require_device, require_room
from kfree.engines.gpu.history import History
from kfree.engines.gpu.rows import DeviceRows
from kfree.engines.gpu.upload import to_device
from kfree.engines.local.rows import LocalRows, require_directions
from kfree.engines.questions import Copies
from kfree.engines.sums import Sums

# Distances to all centres that are computed at a time, which bounds the memory.
_NUMBERS_AT_ONCE = 1 << 27
# Products of coordinates in a pass up to which the next one begins before it is asked for: some eight milliseconds.
_MOST_PRODUCTS_AHEAD = 350_000_000_000


def uploaded(X: Array, weight: Floats | None, frame: Frame, span: tuple[int, int]) -> GpuRows:
    """A range of rows that is taken to the GPU for a pass; see ``LocalRows`` for ``span``."""
    device = require_device()
    weights = None if weight is None else to_device(weight, device)
    return GpuRows(to_device(X, device), weights, frame, span)


class GpuRows(MemoryRows):
    """Dense rows of a tensor, all of a fit or a range of them (``span``). Samples are taken to memory."""

    def __init__(self, X: torch.Tensor, weight: torch.Tensor | None, frame: Frame, span: tuple[int, int] | None = None):
        super().__init__("gpu", frame, X.shape[0], X.shape[1], weight)
        self.X, self.begin = X, 0 if span is None else span[0]
        self.arrays: TorchArrays = TorchArrays(X.device)
        self._rows = DeviceRows(X, frame)
        self._history = History(self._rows)
        self._sums = ClusterSums(self._rows, weight, span)
        if frame.unit:
            require_directions(self.arrays.to_numpy(self._rows.lengths))

    @property
    def description(self) -> str:
        device = self.X.device
        return f"gpu ({'interpreted' if device.type == 'cpu' else torch.cuda.get_device_name(device)})"

    def take(self, copies: Copies) -> LocalRows:
        return LocalRows("native", copies.X, copies.weight, self.frame, n_threads=None, room=copies.room)

    def among(self, index: Index) -> LocalRows:
        return self.take(Copies(*self.copied(index)))

    def given(self) -> ArrayOrCSR:
        return self.arrays.to_numpy(self.X)

    def sq_distances(self, centres: Floats) -> Floats:
        self.n_distances += self.n_rows * len(centres)
        everyone = slice(0, self.n_rows)
        return self.arrays.to_numpy(canonical.distances_to_all(self._rows, self.arrays.of(centres), everyone))

    def sq_distances_there(self, centres: Floats) -> Iterator[tuple[slice, torch.Tensor]]:
        """The same where the rows are, block by block."""
        points = self.arrays.of(centres)
        for places in row_blocks(self.n_rows, max(1, _NUMBERS_AT_ONCE // len(centres))):
            yield places, canonical.distances_to_all(self._rows, points, places)

    def gaps(self, centres: Floats) -> Floats:
        everyone = np.arange(len(centres))
        points = LocalRows("native", centres, None, Frame.plain(self.n_features), n_threads=None)
        return points.second_nearest(everyone, everyone.astype(np.int32), centres)[1]

    def nearest(self, sites: Sites) -> Pass:
        labels, _, sums = self._nearest(sites, keeps_distances=False)
        return self.passed(labels, sums.total(), sites.centres)

    def assign(self, sites: Sites, lam: float) -> tuple[torch.Tensor, torch.Tensor, Sums, torch.Tensor | None]:
        if lam == np.inf:
            return *self._nearest(sites, keeps_distances=True), None
        k = len(sites.centres)
        self.n_distances += self.n_rows * k
        # A sweep goes on with labels and distances in place, so that no history can be kept of them.
        centres = self.arrays.of(sites.centres)
        sq_dist = torch.empty(self.n_rows, dtype=torch.float64, device=self.X.device)
        labels, _ = nearest(self._rows, centres, sq_dist=sq_dist)
        return labels, sq_dist, self.sums_of(labels, sq_dist, k), self._weighted(sq_dist, None) > lam

    def _nearest(self, sites: Sites, keeps_distances: bool) -> tuple[torch.Tensor, torch.Tensor, Sums]:
        """Labels, squared distances and sums of a pass; the next pass overwrites distances that are not kept."""
        k = len(sites.centres)
        self.n_distances += self.n_rows * k
        found = self._history.nearest(sites.uids, sites.centres)
        # A search that went from means to means goes on. A long pass in vain would take longer than waiting.
        goes_on = self._history.was_begun and self.n_rows * sites.centres.size <= _MOST_PRODUCTS_AHEAD
        labels, sq_dist = found.labels.clone(), found.sq_dist.clone() if keeps_distances and goes_on else found.sq_dist
        return labels, sq_dist, self._sums.of_pass(found, k, self._history.begin if goes_on else None)

    def expect_means(self, changed: tuple[Index, Stats] | None = None) -> None:
        if changed is None and self._history.is_ahead:
            return
        totals = self._sums.last(changed)
        # The centre of directions is not their mean.
        if totals is not None and not self.frame.unit:
            self._history.begin(totals)

    def nearest_labels(self, sites: Sites, numbers: Labels) -> torch.Tensor:
        """They stay where the rows are."""
        labels, _ = nearest(self._rows, self.arrays.of(sites.centres))
        self.n_distances += self.n_rows * len(sites.centres)
        return self.arrays.take(numbers, labels)

    def sums_of(self, labels: torch.Tensor, sq_dist: torch.Tensor, n_clusters: int) -> Sums:
        return self._sums.of(labels, sq_dist, n_clusters)

    def sums_listed(self, rows: torch.Tensor, numbers: torch.Tensor, n_clusters: int) -> Stats:
        weight = None if self.weight is None else self.weight[rows]
        stats = self._sums.totals(rows, numbers, weight, None, n_clusters)
        return Stats(stats.n, stats.sum, np.zeros(n_clusters))

    def distances_to_own(self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats) -> torch.Tensor:
        self.n_distances += len(rows)
        return canonical.distances_to_own(self._rows, rows, labels, self.arrays.of(centres))

    def second_nearest(
        self, rows: torch.Tensor, labels: torch.Tensor, centres: Floats
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.n_distances += len(rows) * (len(centres) - 1)
        points = self.arrays.of(centres)
        sq_dist = torch.empty(len(rows), dtype=torch.float64, device=self.X.device)
        second, _ = nearest(self._rows, points, rows, labels, sq_dist=sq_dist)
        if len(centres) == 1:
            sq_dist[:] = torch.inf
        return second, sq_dist

    def choose(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[torch.Tensor, Stats]:
        first, second = self._to_both(rows, pair, pairs)
        chosen = 2 * pair + (second < first)
        weight = None if self.weight is None else self.weight[rows]
        return chosen, self._sums.totals(rows, chosen, weight, torch.minimum(first, second), len(pairs))

    def scatter_product(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[Floats, Floats]:
        first, second = self._to_both(rows, pair, pairs)
        stats = self._sums.totals(rows, pair, self._weighted(second - first, rows), None, len(pairs) // 2)
        return stats.n, stats.sum

    def second_costs(self, rows: torch.Tensor, labels: torch.Tensor, second: torch.Tensor, centres: Floats) -> Floats:
        now, then = (self.distances_to_own(rows, one, centres) for one in (labels, second))
        segments = self._sums.segments(rows, labels, len(centres))
        costs = segments.sums(self._weighted(then - now, rows), None, scalars_only=True)[..., -1]
        return self.arrays.to_numpy(sums.total(costs, segments.first_group))

    def exchange_listed(
        self,
        rows: torch.Tensor,
        others: torch.Tensor,
        labels: torch.Tensor,
        centres: Floats,
        stats: Stats,
        least_gain: float,
    ) -> torch.Tensor | None:
        # Rows move one after the other, so the candidates are taken to the CPU.
        own, others = self.arrays.to_numpy(labels[rows]), self.arrays.to_numpy(others)
        moved = self._on_cpu(rows).exchange_listed(np.arange(len(rows)), others, own, centres, stats, least_gain)
        if moved is None:
            return None
        labels = labels.clone()
        labels[rows] = self.arrays.of(moved)
        return labels

    def open_clusters(
        self, far: torch.Tensor, first_label: int, lam: float, room: int, labels: torch.Tensor, sq_dist: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        # One row after the other: the far ones are taken to the CPU.
        near_labels, near_sq_dist = (self.arrays.to_numpy(values[far]) for values in (labels, sq_dist))
        here = np.arange(len(far))
        founders, n_refused = self._on_cpu(far).open_clusters(here, first_label, lam, room, near_labels, near_sq_dist)
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

    def best_of(self, candidates: Floats, sq_dist: torch.Tensor) -> int:
        self.n_distances += self.n_rows * len(candidates)
        nearer = (torch.minimum(sq_dist, self._to(site)) for site in candidates)
        potentials = torch.stack([self._block_sums(self._weighted(one, None)) for one in nearer], dim=1)
        return int(sums.total(potentials, 0).argmin())

    def masses(self, mass: torch.Tensor) -> Masses:
        of_blocks: Floats = self.arrays.to_numpy(self._block_sums(mass))
        block = sums.BLOCK

        def of_rows(b: int) -> Floats:
            return self.arrays.to_numpy(mass[b * block : (b + 1) * block])

        return MassTree(of_blocks, of_rows, block)

    def points(self, rows: torch.Tensor) -> Floats:
        return self.arrays.to_numpy(self._rows.points(rows))

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        listed = self.arrays.of(rows)
        weight = None if self.weight is None else self.arrays.to_numpy(self.weight[listed])
        return self.arrays.to_numpy(self.X[listed]), weight

    def _on_cpu(self, rows: torch.Tensor) -> LocalRows:
        """Some rows in memory, for what goes from one row to the next."""
        return self.among(self.arrays.to_numpy(rows))

    @cached_property
    def _everyone(self) -> sums.Segments:
        """All rows in one cluster, block by block."""
        nobody = torch.zeros(self.n_rows, dtype=torch.int32, device=self.X.device)
        return sums.Segments(self._rows, 0, None, nobody, 1, 0)

    def _to(self, site: Floats) -> torch.Tensor:
        zeros = torch.zeros(self.n_rows, dtype=torch.int32, device=self.X.device)
        return canonical.distances_to_own(self._rows, None, zeros, self.arrays.of(site[None, :]))

    def _to_both(self, rows: torch.Tensor, pair: torch.Tensor, pairs: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = (self.distances_to_own(rows, 2 * pair + side, pairs) for side in (0, 1))
        return first, second

    def _block_sums(self, values: torch.Tensor) -> torch.Tensor:
        """Sums of a number of each row over blocks."""
        return self._everyone.sums(values, None, scalars_only=True)[:, 0, -1]

    def _weighted(self, values: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
        if self.weight is None:
            return values
        return (self.weight if rows is None else self.weight[rows]) * values


def open_gpu(X: Array, weight: Floats | None, unit: bool, frame: Frame | None, device: torch.device) -> GpuRows:
    """Validated rows on the GPU; see ``registry.open_engine``."""
    if sp.issparse(X):
        raise TypeError('engine="gpu" takes dense rows and X is sparse. Use engine="auto", or X.toarray() if it fits.')
    is_there = isinstance(X, torch.Tensor) and X.device == device
    n_rows, n_features = X.shape
    require_room(n_rows, n_features, 0 if is_there else n_rows * n_features * X.dtype.itemsize, device)
    rows = X if isinstance(X, torch.Tensor) else to_device(X, device)
    weights = None if weight is None else to_device(weight, device)
    if frame is None and unit:
        frame = Frame.plain(n_features, unit)
    if frame is None:
        anchor = rows[first_row_that_counts(weight)].double().cpu().numpy()
        frame = centred_frame(GpuRows(rows, weights, Frame(anchor, np.zeros(n_features))))
    return GpuRows(rows, weights, frame)
