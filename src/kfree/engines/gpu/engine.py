"""Engines of rows on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, first_row_that_counts
from kfree.engines.chunked.drawing import nearest_drawing
from kfree.engines.chunked.engine import ChunkedEngine
from kfree.engines.contract import Pass, generic_direction
from kfree.engines.drawing import Region
from kfree.engines.gpu.device import require_room
from kfree.engines.gpu.part import GpuPart, in_process
from kfree.engines.local.engine import LocalEngine, centred_frame, gathered


class GpuEngine(ChunkedEngine):
    """Rows in parts on a GPU. Samples are taken to memory."""

    def __init__(self, parts: Sequence[GpuPart]):
        super().__init__("gpu", parts, parts[0].frame)
        self._gpu = parts

    @property
    def description(self) -> str:
        device = self._gpu[0].X.device
        return f"gpu ({'interpreted' if device.type == 'cpu' else torch.cuda.get_device_name(device)})"

    def gaps(self, centres: Floats) -> Floats:
        everyone = np.arange(len(centres))
        part = in_process(centres, None, Frame.plain(self.n_features))
        return part.second_nearest(everyone, everyone.astype(np.int32), centres)[1]

    def generic_axis(self) -> Floats:
        return generic_direction(self.n_features)

    def copies(self, rows: Index) -> LocalEngine:
        return LocalEngine("native", in_process(*gathered(self.parts, rows), self.frame))

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Pass, LocalEngine | None, bool]:
        done, found = nearest_drawing(self, sites, region)
        rows = LocalEngine("native", in_process(found.X, found.weight, self.frame)) if len(found.keys) else None
        return done, rows, found.is_all


def open_gpu(
    X: Array, weight: Floats | None, unit: bool, frame: Frame | None, begins: Sequence[int], device: torch.device
) -> GpuEngine:
    """Validated rows on the GPU, in parts that begin at the rows ``begins``; see ``registry.open_engine``."""
    if sp.issparse(X):
        raise TypeError('engine="gpu" takes dense rows and X is sparse. Use engine="auto", or X.toarray() if it fits.')
    is_there = isinstance(X, torch.Tensor) and X.device == device
    n_rows, n_features = X.shape
    require_room(n_rows, n_features, 0 if is_there else n_rows * n_features * X.dtype.itemsize, device)
    rows = X if isinstance(X, torch.Tensor) else torch.from_numpy(np.require(X, requirements="W")).to(device)
    weights = None if weight is None else torch.from_numpy(weight).to(device)

    def engine_in(frame: Frame) -> GpuEngine:
        ends = [*begins[1:], rows.shape[0]]
        parts = [
            GpuPart(
                rows[b:e],
                None if weights is None else weights[b:e],
                frame,
                b,
                alone=len(begins) == 1,
                is_last=e == rows.shape[0],
            )
            for b, e in zip(begins, ends, strict=True)
        ]
        return GpuEngine(parts)

    if frame is None and unit:
        frame = Frame.plain(rows.shape[1], unit)
    if frame is None:
        anchor = rows[first_row_that_counts(weight)].double().cpu().numpy()
        frame = centred_frame(engine_in(Frame(anchor, np.zeros(rows.shape[1]))))
    return engine_in(frame)
