"""Rows in eight bits, and what these leave out."""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.coordinates import coordinate_tile


@triton.jit(do_not_specialize=["n_rows"])
def largest_coordinates(
    X, largest, anchor, shift, n_rows, d, row_stride, column_stride,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr,
):  # fmt: skip
    """out largest (programs,): the largest |z| among the rows that a program has seen."""
    found = tl.zeros([BLOCK_ROWS], tl.float64)
    nothing = tl.zeros([BLOCK_ROWS], tl.float64)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n_rows, tl.num_programs(0) * BLOCK_ROWS):
        row = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        for first in range(0, d, BLOCK_COLUMNS):
            column = first + tl.arange(0, BLOCK_COLUMNS)
            z = coordinate_tile(
                X, row, column, row < n_rows, anchor, shift, nothing, d, row_stride, column_stride, False
            )
            found = tl.maximum(found, tl.max(tl.abs(z), axis=1))
    tl.store(largest + tl.program_id(0), tl.max(found))


@triton.jit(do_not_specialize=["n_rows"])
def quantize(
    X, quantized, sq_norm, error, anchor, shift, lengths, n_rows, d, row_stride, column_stride, step, largest,
    WIDTH: tl.constexpr, UNIT: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr,
):  # fmt: skip
    """out quantized (n, WIDTH): z/step, rounded; sq_norm (n,) of those; error (n,), at least |z − step·quantized|."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = row < n_rows
    length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
    left_out = tl.zeros([BLOCK_ROWS], tl.float64)
    norm = tl.zeros([BLOCK_ROWS], tl.int32)
    for first in range(0, WIDTH, BLOCK_COLUMNS):
        column = first + tl.arange(0, BLOCK_COLUMNS)
        z = coordinate_tile(X, row, column, mask, anchor, shift, length, d, row_stride, column_stride, UNIT)
        q = tl.minimum(tl.maximum(tl.floor(z / step + 0.5), -largest), largest)
        gap = z - step * q
        left_out += tl.sum(gap * gap, axis=1)
        norm += tl.sum((q * q).to(tl.int32), axis=1)
        tl.store(quantized + row[:, None] * WIDTH + column[None, :], q.to(tl.int8), mask=mask[:, None])
    # Rounded up, since rounding errors of this sum and of float32 are far smaller.
    tl.store(error + row, (tl.sqrt(left_out) * 1.000001).to(tl.float32), mask=mask)
    tl.store(sq_norm + row, norm, mask=mask)


@triton.jit(do_not_specialize=["k"])
def quantize_sites(
    centres, quantized, addend, error, boxed_error, k, d, step, largest, no_addend,
    WIDTH: tl.constexpr, SHIFT: tl.constexpr, PER_NUMBER: tl.constexpr, BLOCK_COLUMNS: tl.constexpr,
):  # fmt: skip
    """Site by site: bytes (WIDTH,), addend (−|bytes|² << SHIFT) + site // PER_NUMBER, and its distance from its bytes.

    A site beyond the box that holds all rows is moved into it first, which brings it nearer to every row.
    ``boxed_error`` is from there, and bounds how much nearer to a row a site can be than its bytes. Places beyond the
    sites have ``no_addend``, a score below all.
    """
    site = tl.program_id(0)
    far, near = tl.zeros([BLOCK_COLUMNS], tl.float64), tl.zeros([BLOCK_COLUMNS], tl.float64)
    norm = tl.zeros([BLOCK_COLUMNS], tl.int32)
    for first in range(0, WIDTH, BLOCK_COLUMNS):
        column = first + tl.arange(0, BLOCK_COLUMNS)
        inside = (column < d) & (site < k)
        c = tl.load(centres + site.to(tl.int64) * d + column, mask=inside, other=0.0)
        boxed = tl.minimum(tl.maximum(c, -largest * step), largest * step)
        q = tl.minimum(tl.maximum(tl.floor(boxed / step + 0.5), -largest), largest)
        far += (c - step * q) * (c - step * q)
        near += (boxed - step * q) * (boxed - step * q)
        norm += (q * q).to(tl.int32)
        tl.store(quantized + site.to(tl.int64) * WIDTH + column, q.to(tl.int8))
    score = tl.where(site < k, -tl.sum(norm) << SHIFT, no_addend)
    tl.store(addend + site, score + site // PER_NUMBER)
    # Rounded up, as above.
    tl.store(error + site, (tl.sqrt(tl.sum(far)) * 1.000001).to(tl.float32))
    tl.store(boxed_error + site, (tl.sqrt(tl.sum(near)) * 1.000001).to(tl.float32))
