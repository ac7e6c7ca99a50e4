"""Passes over sites that have moved a little since the last pass: only what may have changed is computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton

from kfree.core.stats import Index
from kfree.engines.gpu import canonical
from kfree.engines.gpu.assign import nearest
from kfree.engines.gpu.device import EXACT
from kfree.engines.gpu.kernels import revisit
from kfree.engines.gpu.rows import DeviceRows

# A pass begins anew if more than this share of so many rows is in doubt.
_MOST_IN_DOUBT, _SAMPLE = 0.25, 4096
_NONE: Index = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Found:
    """Labels and squared distances of all rows in a pass, and what is known to be as it was in the pass before.

    ``number`` counts passes. ``changed`` (k,) are clusters with other rows or another centre, None if all may have
    changed. ``same``: none has.
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

    def nearest(self, uids: Index, centres: torch.Tensor) -> Found:
        """The nearest site of every row. Labels stay as they are; distances are overwritten by the next pass."""
        is_known = len(uids) > 1 and np.array_equal(uids, self._uids)
        # An interrupt must not leave a history of which one part is of this pass, and another of the last.
        self._uids, self._n_passes = _NONE, self._n_passes + 1
        found = self._again(centres) if is_known else None
        if found is None:
            labels, self._at_least = nearest(self._rows, centres)
            sq_dist = canonical.distances_to_own(self._rows, None, labels, centres)
            self._centres, found = centres.clone(), Found(self._n_passes, labels, sq_dist)
        self._uids, self._labels, self._sq_dist = uids, found.labels, found.sq_dist
        return found

    def _again(self, centres: torch.Tensor) -> Found | None:
        """A pass over the same sites, moved; None if many rows would have to be ranked."""
        k, d = centres.shape
        moved = torch.empty(k, dtype=torch.float32, device=centres.device)
        revisit.moves[(k,)](centres, self._centres, moved, d, BLOCK_COLUMNS=128, num_warps=1)
        fastest = torch.topk(moved, 2).indices
        if self._share_in_doubt(moved, fastest) > _MOST_IN_DOUBT:
            return None
        doubtful, same = self._revisited(centres, moved, fastest)
        if not len(doubtful):
            return Found(self._n_passes, self._labels, self._sq_dist, moved > 0, same)
        labels = self._labels.clone()
        labels[doubtful], self._at_least[doubtful] = nearest(self._rows, centres, doubtful)
        movers = doubtful[labels[doubtful] != self._labels[doubtful]]
        self._sq_dist[movers] = canonical.distances_to_own(self._rows, movers, labels[movers], centres)
        changed = moved > 0
        changed[self._labels[movers]] = True
        changed[labels[movers]] = True
        return Found(self._n_passes, labels, self._sq_dist, changed)

    def _share_in_doubt(self, moved: torch.Tensor, fastest: torch.Tensor) -> float:
        """Of a sample of rows, those of which the moves alone leave open whether they keep their cluster."""
        n_rows, block = self._rows.n_rows, 256
        step = max(1, n_rows // _SAMPLE)
        n_sampled = triton.cdiv(n_rows, step)
        count = torch.zeros(1, dtype=torch.int32, device=self._rows.device)
        revisit.count_doubtful[(triton.cdiv(n_sampled, block),)](
            self._labels, self._sq_dist, self._at_least, moved, fastest, count, n_rows, step, BLOCK_ROWS=block
        )
        return float(int(count) / n_sampled)

    def _revisited(
        self, centres: torch.Tensor, moved: torch.Tensor, fastest: torch.Tensor
    ) -> tuple[torch.Tensor, bool]:
        """The rows that must be ranked again, and whether no site of a row has moved.

        Distances and bounds are brought up to date.
        """
        rows = self._rows
        doubtful = torch.empty(rows.n_rows, dtype=torch.int64, device=rows.device)
        counts = torch.zeros(2, dtype=torch.int32, device=rows.device)
        block = 64 if rows.n_features > 32 else 128
        revisit.revisit[(triton.cdiv(rows.n_rows, block),)](
            rows.X, self._labels, centres, moved, fastest, self._sq_dist, self._at_least, doubtful, counts,
            rows.anchor, rows.shift, rows.lengths, rows.n_rows, rows.n_features, *rows.strides,
            UNIT=rows.unit, BLOCK_ROWS=block, num_warps=4, **EXACT,
        )  # fmt: skip
        n_doubtful, n_moved = counts.tolist()
        return doubtful[:n_doubtful], n_moved == 0
