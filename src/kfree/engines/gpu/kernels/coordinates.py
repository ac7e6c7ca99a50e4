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
def coordinate(X, row, t, mask, anchor, shift, length, row_stride, column_stride, UNIT: tl.constexpr):
    """z of one column of some rows; zero where ``mask`` is not set."""
    x = tl.load(X + row * row_stride + t * column_stride, mask=mask, other=0.0)
    return tl.where(mask, coordinates(x, tl.load(anchor + t), tl.load(shift + t), length, UNIT), 0.0)


@triton.jit
def coordinate_tile(
    X, row, column, mask, anchor, shift, length, d, row_stride, column_stride, UNIT: tl.constexpr
):  # fmt: skip
    """z of some columns of a tile of rows; zero beyond the columns and where ``mask`` is not set."""
    inside = mask[:, None] & (column < d)[None, :]
    x = tl.load(X + row[:, None] * row_stride + column[None, :] * column_stride, mask=inside, other=0.0)
    a = tl.load(anchor + column, mask=column < d, other=0.0)
    s = tl.load(shift + column, mask=column < d, other=0.0)
    return tl.where(inside, coordinates(x, a[None, :], s[None, :], length[:, None], UNIT), 0.0)


@triton.jit
def sq_dist_to(
    X, row, site, centres, anchor, shift, length, mask, d, row_stride, column_stride,
    UNIT: tl.constexpr, WIDTH: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """Σ_t (z_t − c_t)² of each row of a tile to its site, t in order.

    WIDTH columns are read at a time, 2 to 16: neighbours in memory are read at once.
    """
    total = tl.zeros([BLOCK_ROWS], tl.float64)
    for first in range(0, d, WIDTH):
        column = first + tl.arange(0, WIDTH)
        z = coordinate_tile(X, row, column, mask, anchor, shift, length, d, row_stride, column_stride, UNIT)
        inside = mask[:, None] & (column < d)[None, :]
        gap = z - tl.load(centres + site[:, None].to(tl.int64) * d + column[None, :], mask=inside, other=0.0)
        total = in_order(total, gap * gap, WIDTH, BLOCK_ROWS)
    return total


@triton.jit
def in_order(total, terms, WIDTH: tl.constexpr, BLOCK_ROWS: tl.constexpr):
    """Adds the columns of a tile, one after the other: a reduction would choose an order of its own."""
    column = columns(terms, WIDTH, BLOCK_ROWS)
    for t in tl.static_range(WIDTH):
        total = total + column[t]
    return total


@triton.jit
def columns(tile, WIDTH: tl.constexpr, BLOCK_ROWS: tl.constexpr):
    """The columns of a tile, 2 to 16, in order. Each split halves them, by the last bit of their numbers."""
    if WIDTH == 2:
        return tl.split(tile)
    elif WIDTH == 4:
        return _four(tile, BLOCK_ROWS)
    elif WIDTH == 8:
        return _eight(tile, BLOCK_ROWS)
    else:
        even, odd = tl.split(tl.reshape(tile, (BLOCK_ROWS, 8, 2)))
        a, b = _eight(even, BLOCK_ROWS), _eight(odd, BLOCK_ROWS)
        return (
            a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3], a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7],
        )  # fmt: skip


@triton.jit
def _eight(tile, BLOCK_ROWS: tl.constexpr):
    even, odd = tl.split(tl.reshape(tile, (BLOCK_ROWS, 4, 2)))
    a, b = _four(even, BLOCK_ROWS), _four(odd, BLOCK_ROWS)
    return a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]


@triton.jit
def _four(tile, BLOCK_ROWS: tl.constexpr):
    even, odd = tl.split(tl.reshape(tile, (BLOCK_ROWS, 2, 2)))
    a, b = tl.split(even), tl.split(odd)
    return a[0], b[0], a[1], b[1]
