"""Canonical coordinates and squared distances: float64, columns in order, multiply then add."""

import triton
import triton.language as tl


@triton.jit
def coordinates(x, anchor, shift, length, UNIT: tl.constexpr):
    """z = (x − anchor) − shift, or x over its length for directions."""
    if UNIT:
        return x.to(tl.float64) / length
    else:
        return (x.to(tl.float64) - anchor) - shift


@triton.jit
def sq_dist_to(
    X, row, site, centres, anchor, shift, length, mask, d, row_stride, column_stride,
    UNIT: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """Σ_t (z_t − c_t)² of each row of a tile to its site, t in order."""
    total = tl.zeros([BLOCK_ROWS], tl.float64)
    for first in range(0, d, 4):
        column = first + tl.arange(0, 4)
        inside = mask[:, None] & (column < d)[None, :]
        x = tl.load(X + row[:, None] * row_stride + column[None, :] * column_stride, mask=inside, other=0.0)
        c = tl.load(centres + site.to(tl.int64)[:, None] * d + column[None, :], mask=inside, other=0.0)
        a = tl.load(anchor + column, mask=column < d, other=0.0)
        s = tl.load(shift + column, mask=column < d, other=0.0)
        gap = tl.where(inside, coordinates(x, a[None, :], s[None, :], length[:, None], UNIT) - c, 0.0)
        # A thread holds four columns of its row; splitting puts them in order.
        even, odd = tl.split(tl.reshape(gap * gap, (BLOCK_ROWS, 2, 2)))
        sq_0, sq_2 = tl.split(even)
        sq_1, sq_3 = tl.split(odd)
        total = (((total + sq_0) + sq_1) + sq_2) + sq_3
    return total
