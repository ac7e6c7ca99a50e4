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
    UNIT: tl.constexpr, FEW: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """Σ_t (z_t − c_t)² of each row of a tile to its site, t in order.

    Neighbours in memory are read at once: tiles of 16 columns, or one of FEW, which is 1, 2, 4 or 8, else 0.
    """
    total = tl.zeros([BLOCK_ROWS], tl.float64)
    AT_ONCE: tl.constexpr = FEW if FEW else 16
    for first in range(0, FEW if FEW else d, AT_ONCE):
        column = first + tl.arange(0, AT_ONCE)
        z = coordinate_tile(X, row, column, mask, anchor, shift, length, d, row_stride, column_stride, UNIT)
        inside = mask[:, None] & (column < d)[None, :]
        gap = z - tl.load(centres + site.to(tl.int64)[:, None] * d + column[None, :], mask=inside, other=0.0)
        if FEW:
            terms = columns_of(gap * gap, BLOCK_ROWS, FEW)
            for t in tl.static_range(FEW):
                total += terms[t]
        else:
            total = in_order(total, gap * gap, BLOCK_ROWS)
    return total


@triton.jit
def in_order(total, terms, BLOCK_ROWS: tl.constexpr):
    """Adds the 16 columns of a tile, one after the other: a reduction would choose an order of its own.

    Each split halves the columns, by their last bit, so that the last ones are single columns in bit-reversed order.
    """
    even, odd = tl.split(tl.reshape(terms, (BLOCK_ROWS, 8, 2)))
    quarters = _halves(even, 4, BLOCK_ROWS) + _halves(odd, 4, BLOCK_ROWS)  # columns ≡ 0, 2, 1, 3 modulo 4
    first = _halves(quarters[0], 2, BLOCK_ROWS) + _halves(quarters[2], 2, BLOCK_ROWS)  # ≡ 0, 4, 1, 5 modulo 8
    second = _halves(quarters[1], 2, BLOCK_ROWS) + _halves(quarters[3], 2, BLOCK_ROWS)  # ≡ 2, 6, 3, 7
    a, b, c, d = tl.split(first[0]), tl.split(first[2]), tl.split(second[0]), tl.split(second[2])
    e, f, g, h = tl.split(first[1]), tl.split(first[3]), tl.split(second[1]), tl.split(second[3])
    for half in tl.static_range(2):
        total = (((total + a[half]) + b[half]) + c[half]) + d[half]
        total = (((total + e[half]) + f[half]) + g[half]) + h[half]
    return total


@triton.jit
def columns_of(tile, BLOCK_ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The columns of a tile of 1, 2, 4 or 8, in order."""
    if COLUMNS == 1:
        return (tl.reshape(tile, (BLOCK_ROWS,)),)
    elif COLUMNS == 2:
        return tl.split(tile)
    elif COLUMNS == 4:
        even, odd = tl.split(tl.reshape(tile, (BLOCK_ROWS, 2, 2)))
        a, b = tl.split(even), tl.split(odd)
        return a[0], b[0], a[1], b[1]
    else:
        even, odd = tl.split(tl.reshape(tile, (BLOCK_ROWS, 4, 2)))
        quarters = _halves(even, 2, BLOCK_ROWS) + _halves(odd, 2, BLOCK_ROWS)  # columns ≡ 0, 2, 1, 3 modulo 4
        a, c, b, d = tl.split(quarters[0]), tl.split(quarters[1]), tl.split(quarters[2]), tl.split(quarters[3])
        return a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1]


@triton.jit
def _halves(terms, HALF: tl.constexpr, BLOCK_ROWS: tl.constexpr):
    return tl.split(tl.reshape(terms, (BLOCK_ROWS, HALF, 2)))
