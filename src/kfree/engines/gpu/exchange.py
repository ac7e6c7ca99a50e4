"""Exchanges of rows on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from kfree.core.stats import Floats, Stats

if TYPE_CHECKING:
    from kfree.engines.gpu.part import GpuPart


class GpuExchange:
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
