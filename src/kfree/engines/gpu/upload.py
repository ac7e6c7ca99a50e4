"""Rows of this process, copied to a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kfree.core.blocks import row_blocks

# Bytes that are copied at a time. Less than two such parts take no less time in parts.
_PART = 1 << 25


def to_device(X: NDArray[Any], device: torch.device) -> torch.Tensor:
    """The array as a tensor: by parts through page-locked memory, one of which is filled while another one travels."""
    if device.type == "cpu" or X.nbytes < 2 * _PART or X.ndim != 2:
        return _tensor(X).to(device)
    step = max(1, _PART // max(1, X.itemsize * X.shape[1]))
    there = torch.empty(X.shape, dtype=_tensor(X[:1]).dtype, device=device)
    locked = [torch.empty((step, X.shape[1]), dtype=there.dtype, pin_memory=True) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in locked]
    for turn, places in enumerate(row_blocks(len(X), step)):
        part, event = locked[turn % 2][: places.stop - places.start], arrived[turn % 2]
        event.synchronize()
        part.copy_(_tensor(X[places]))
        there[places].copy_(part, non_blocking=True)
        event.record(torch.cuda.current_stream(device))
    return there


def _tensor(X: NDArray[Any]) -> torch.Tensor:
    """Torch takes arrays that may be written to; others are copied."""
    return torch.from_numpy(np.require(X, requirements="W"))
