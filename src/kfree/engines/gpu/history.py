"""Passes over sites that have moved a little since the last pass: only what may have changed is computed again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import triton

from kfree.core.stats import Floats, Index
from kfree.engines.gpu import canonical
from kfree.engines.gpu.arrays import TorchArrays
from kfree.engines.gpu.assign import nearest
from kfree.engines.gpu.device import EXACT
from kfree.engines.gpu.kernels import revisit
from kfree.engines.gpu.kernels.means import move_to_means
from kfree.engines.gpu.recorded import Recorded
from kfree.engines.gpu.rows import DeviceRows

# A pass begins anew if more than this share of so many rows is in doubt.
_MOST_IN_DOUBT, _SAMPLE = 0.25, 4096
# So many products of coordinates take less time than it takes to start kernels for some of the rows.
_FEW_PRODUCTS = 1 << 36
# Passes that are ranked at once after one for which the history was in vain: so many times too many were in doubt, or
# a few where all rows are ranked in no time.
_LONGEST_WAIT, _VAIN = 4, 2
# Short fits make few passes that use the one before, so that their record comes later than others.
_RECORDED_REVISIT = 12
_NONE: Index = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Found:
    """Labels and squared distances of all rows in a pass, and what is known to be as it was in the pass before.

    ``number`` counts passes. ``changed`` (k,) are clusters with other rows or another centre, None if all may have
    changed. ``same``: none has. Tensors are overwritten by the next pass.
    """

    number: int
    labels: torch.Tensor
    sq_dist: torch.Tensor
    changed: torch.Tensor | None = None
    same: bool = False


class History:
    """The last pass over all rows: its sites, labels, distances, and lower bounds of distances to other sites.

    A row whose own site is nearer than that bound keeps its cluster (Hamerly 2010). Bounds hold wherever sites go, so
    that they only change how long a pass takes.
    """

    def __init__(self, rows: DeviceRows):
        self._rows, self._n_passes = rows, 0
        self._uids = _NONE
        self._shape: tuple[int, ...] = (0, 0)
        self._wait, self._next_try = 0, 0
        self._begun: Found | None = None
        self.was_begun = False

    def nearest(self, uids: Index, centres: Floats) -> Found:
        """The nearest site of every row."""
        begun, self._begun = self._begun, None
        is_known = np.array_equal(uids, self._uids)
        self.was_begun = begun is not None and is_known and np.array_equal(centres, self._begun_at())
        if begun is not None and self.was_begun:
            return begun
        # An interrupt must not leave a history of which one part is of this pass, and another of the last.
        self._uids = _NONE
        if self._shape != centres.shape:
            self._make_room(centres.shape)
        # What the last pass that was asked for copied from there has arrived: its results have.
        self._on_host.numpy()[...] = centres
        self._centres.copy_(self._on_host, non_blocking=True)
        return self._passed(uids, is_known)

    @property
    def is_ahead(self) -> bool:
        """Whether a pass is begun that nobody has asked for yet."""
        return self._begun is not None

    def begin(self, totals: torch.Tensor) -> None:
        """Begin a pass at the means of the last pass's clusters, with these sums (k, d + 2), before it is asked for.

        While the device ranks rows, the host computes the same means, for ``nearest`` to compare.
        """
        uids, self._uids = self._uids, _NONE
        if len(uids) != len(totals):
            return
        move_to_means[(triton.cdiv(self._centres.numel(), 256),)](
            totals, self._centres, *self._shape, BLOCK=256, num_warps=4, **EXACT
        )
        self._begun_at = TorchArrays(self._rows.device).arriving(self._centres)
        self._begun = self._passed(uids, True)

    def _passed(self, uids: Index, is_known: bool) -> Found:
        """A pass at the sites that are on the device; whether these are the last pass's, moved, ``is_known``."""
        self._n_passes += 1
        is_known = is_known and len(uids) > 1 and self._n_passes > self._next_try
        found = self._again() if is_known else None
        if found is None:
            self._anew(self._ranked)
            found = Found(self._n_passes, self._labels, self._sq_dist)
        self._uids = uids
        return found

    def _make_room(self, shape: tuple[int, ...]) -> None:
        """Tensors for so many sites. Those of all rows are made once."""
        device, n_rows = self._rows.device, self._rows.n_rows
        if self._shape == (0, 0):
            self._labels = torch.empty(n_rows, dtype=torch.int32, device=device)
            self._sq_dist = torch.empty(n_rows, dtype=torch.float64, device=device)
            self._at_least = torch.empty(n_rows, dtype=torch.float32, device=device)
        self._shape = shape
        self._on_host = torch.empty(shape, dtype=torch.float64, pin_memory=device.type == "cuda")
        self._centres, self._last = (torch.empty(shape, dtype=torch.float64, device=device) for _ in range(2))
        self._anew: Recorded[None] = Recorded(self._rows.X)
        self._revisit: Recorded[tuple[torch.Tensor, ...]] = Recorded(self._rows.X, _RECORDED_REVISIT)

    def _ranked(self) -> None:
        """All rows are compared with all sites."""
        nearest(self._rows, self._centres, out=(self._labels, self._at_least), sq_dist=self._sq_dist)
        self._last.copy_(self._centres)

    def _again(self) -> Found | None:
        """A pass over the same sites, moved; None if many rows would have to be ranked."""
        rows, labels = self._rows, self._labels
        moved, doubtful, counts = self._revisit(self._revisited)
        n_sampled, n_doubtful, n_stale = counts.tolist()
        if n_sampled > self._most_in_doubt or (n_doubtful and self._few_products):
            is_vain = self._few_products or n_sampled > _VAIN * self._most_in_doubt
            self._wait = min(2 * self._wait + 1, _LONGEST_WAIT) if is_vain else 0
            self._next_try = self._n_passes + self._wait
            return None
        self._wait = 0
        changed = moved > 0
        if n_doubtful:
            listed = doubtful[:n_doubtful]
            before = labels[listed]
            now, self._at_least[listed] = nearest(rows, self._centres, listed)
            labels[listed] = now
            movers = listed[now != before]
            self._sq_dist[movers] = canonical.distances_to_own(rows, movers, labels[movers], self._centres)
            changed[before[now != before]] = True
            changed[labels[movers]] = True
        return Found(self._n_passes, labels, self._sq_dist, changed, n_doubtful == n_stale == 0)

    @property
    def _few_products(self) -> bool:
        return self._anew.is_replayed and self._rows.n_rows * math.prod(self._shape) <= _FEW_PRODUCTS

    @property
    def _step(self) -> int:
        """Every so many rows one is sampled."""
        return int(max(1, self._rows.n_rows // _SAMPLE))

    @property
    def _most_in_doubt(self) -> int:
        return int(_MOST_IN_DOUBT * triton.cdiv(self._rows.n_rows, self._step))

    def _revisited(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """How far sites have moved (k,), rows that must be ranked again, listed first, and counts (3,).

        Distances and bounds are brought up to date, unless the sample has too many rows in doubt. Counts are the rows
        of the sample of which moves alone leave open whether they keep their cluster, the listed rows, and programs
        with rows whose site has moved.
        """
        rows, (k, d) = self._rows, self._shape
        moved = torch.empty(k, dtype=torch.float32, device=rows.device)
        revisit.moves[(k,)](self._centres, self._last, moved, d, BLOCK_COLUMNS=128, num_warps=1)
        fastest = torch.topk(moved, 2).indices
        counts = torch.zeros(3, dtype=torch.int32, device=rows.device)
        state = self._labels, self._sq_dist, self._at_least, moved, fastest
        n_sampled, at_once = triton.cdiv(rows.n_rows, self._step), 256
        revisit.count_doubtful[(triton.cdiv(n_sampled, at_once),)](
            *state, counts, rows.n_rows, self._step, BLOCK_ROWS=at_once
        )
        doubtful = torch.empty(rows.n_rows, dtype=torch.int64, device=rows.device)
        block = canonical.rows_by_tile(rows)
        revisit.revisit[(triton.cdiv(rows.n_rows, block),)](
            rows.X, self._centres, *state, doubtful, counts, self._most_in_doubt,
            rows.anchor, rows.shift, rows.lengths, rows.n_rows, rows.n_features, *rows.strides,
            UNIT=rows.unit, FEW=rows.columns_at_once, BLOCK_ROWS=block, num_warps=4, **EXACT,
        )  # fmt: skip
        return moved, doubtful, counts
