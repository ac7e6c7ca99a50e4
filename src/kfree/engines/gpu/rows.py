"""Rows on the device, in eight bits too, and the frame that they are seen in."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import torch
import triton

from kfree.core.frame import Frame
from kfree.engines.gpu.device import EXACT, n_programs
from kfree.engines.gpu.kernels.lengths import row_lengths
from kfree.engines.gpu.kernels.quantize import largest_coordinates, quantize

# Multiples of the step that fit in a byte, on either side of zero.
MOST_STEPS = 127
# Coordinates between this and its inverse have squares in float32.
_SMALLEST = 1e-15
# Rows of so few columns are ranked in float32, which takes less time than bytes that are padded to 32 columns.
FEW_COLUMNS = 8


class Quantized(NamedTuple):
    """Rows as multiples of ``step``, at most ``largest``: (n, width), squared norms and what they leave out (n,)."""

    values: torch.Tensor
    sq_norm: torch.Tensor
    error: torch.Tensor
    step: float
    largest: int


class DeviceRows:
    """Dense rows X (n, d) in float32 or float64, with any strides, seen in ``frame``."""

    def __init__(self, X: torch.Tensor, frame: Frame):
        self.X, self.frame = X, frame
        self.n_rows, self.n_features = X.shape
        self.anchor, self.shift = (torch.from_numpy(part.copy()).to(X.device) for part in (frame.anchor, frame.shift))
        self.lengths = _lengths(X) if frame.unit else torch.empty(0, dtype=torch.float64, device=X.device)

    @property
    def device(self) -> torch.device:
        return self.X.device

    @property
    def is_narrow(self) -> bool:
        """Whether a thread reads its rows column by column."""
        return int(self.n_features) <= FEW_COLUMNS

    @property
    def columns_at_once(self) -> int:
        """All columns of narrow rows, filled up to a power of two; else zero."""
        return triton.next_power_of_2(self.n_features) if self.is_narrow else 0

    @property
    def strides(self) -> tuple[int, int]:
        return self.X.stride(0), self.X.stride(1)

    @property
    def unit(self) -> bool:
        return self.frame.unit

    def points(self, rows: torch.Tensor) -> torch.Tensor:
        """Coordinates of some rows."""
        x = self.X[rows].double()
        return x / self.lengths[rows, None] if self.unit else (x - self.anchor) - self.shift

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of a coordinate."""
        if self.unit:
            return 1.0
        found = torch.empty(n_programs(self.device), dtype=torch.float64, device=self.device)
        columns = min(64, triton.next_power_of_2(self.n_features))
        largest_coordinates[(len(found),)](
            self.X, found, self.anchor, self.shift, self.n_rows, self.n_features, *self.strides,
            BLOCK_ROWS=4096 // columns, BLOCK_COLUMNS=columns, num_warps=4, **EXACT,
        )  # fmt: skip
        return float(found.max())

    @property
    def rankable(self) -> bool:
        """Whether bounds of distances are within the range of float32."""
        return _SMALLEST < self.largest < 1 / _SMALLEST

    def quantized(self, most_steps: int) -> Quantized:
        """The rows in eight bits, made once for a number of steps."""
        if self._quantized is None or self._quantized.largest != most_steps:
            self._quantized = self._quantize(most_steps)
        return self._quantized

    _quantized: Quantized | None = None

    def _quantize(self, most_steps: int) -> Quantized:
        width = width_of(self.n_features)
        # Kernels take the step in float32; a little larger, so that no row is beyond the last one.
        step = self.largest * 1.000001 / most_steps
        values = torch.empty((self.n_rows, width), dtype=torch.int8, device=self.device)
        sq_norm = torch.empty(self.n_rows, dtype=torch.int32, device=self.device)
        error = torch.empty(self.n_rows, dtype=torch.float32, device=self.device)
        rows_at_once, columns = 64, min(width, 64)
        quantize[(triton.cdiv(self.n_rows, rows_at_once),)](
            self.X, values, sq_norm, error, self.anchor, self.shift, self.lengths, self.n_rows, self.n_features,
            *self.strides, step, float(most_steps),
            WIDTH=width, UNIT=self.unit, BLOCK_ROWS=rows_at_once, BLOCK_COLUMNS=columns, num_warps=4, **EXACT,
        )  # fmt: skip
        return Quantized(values, sq_norm, error, step, most_steps)


def width_of(n_features: int) -> int:
    """Columns in eight bits: tensor cores take 32 at a time, and more than 128 in chunks of 128."""
    return 32 if n_features <= 32 else 64 if n_features <= 64 else triton.cdiv(n_features, 128) * 128


def _lengths(X: torch.Tensor) -> torch.Tensor:
    """The lengths of all rows, by a kernel: torch's square root on a CPU is not rounded correctly."""
    found, rows_at_once = torch.empty(len(X), dtype=torch.float64, device=X.device), 64
    row_lengths[(triton.cdiv(len(X), rows_at_once),)](
        X, found, *X.shape, *X.stride(), BLOCK_ROWS=rows_at_once, num_warps=4, **EXACT
    )
    return found
