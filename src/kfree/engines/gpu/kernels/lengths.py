"""Canonical lengths of rows, of which directions are made."""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.coordinates import in_order

# Columns that are read at a time.
_TILE = tl.constexpr(16)


@triton.jit(do_not_specialize=["n_rows"])
def row_lengths(X, length, n_rows, d, row_stride, column_stride, BLOCK_ROWS: tl.constexpr):
    """out length (n,): columns in order, scaled by the largest value of the row so that nothing overflows."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = row < n_rows
    largest = tl.zeros([BLOCK_ROWS], tl.float64)
    for first in range(0, d, _TILE):
        x = _tile(X, row, first, mask, d, row_stride, column_stride)
        largest = tl.maximum(largest, tl.max(tl.abs(x), axis=1))
    scale = tl.where(largest > 0, largest, 1.0)
    total = tl.zeros([BLOCK_ROWS], tl.float64)
    for first in range(0, d, _TILE):
        share = _tile(X, row, first, mask, d, row_stride, column_stride) / scale[:, None]
        total = in_order(total, share * share, BLOCK_ROWS)
    tl.store(length + row, largest * tl.sqrt(total), mask=mask)


@triton.jit
def _tile(X, row, first, mask, d, row_stride, column_stride):
    """Some columns of some rows in float64, zero beyond the columns."""
    column = first + tl.arange(0, _TILE)
    inside = mask[:, None] & (column < d)[None, :]
    x = tl.load(X + row[:, None] * row_stride + column[None, :] * column_stride, mask=inside, other=0.0)
    return x.to(tl.float64)
