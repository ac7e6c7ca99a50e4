"""Sums over rows in ascending order, by the tree over block numbers, for every cluster and every group of 16 blocks.

Items are sorted by cluster; a segment is what one cluster has in one group of blocks. A block is summed in row order.
When the next block begins, its sum joins the left neighbours that wait for it at the levels below the one at which both
blocks meet, and waits at that level itself: nodes are left + right, and absent blocks are skipped.
"""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.coordinates import coordinates

# Rows are summed in blocks of 2 to the power of this many.
BLOCK_BITS = tl.constexpr(11)


@triton.jit
def boundaries(
    sorted_label, order, rows, begin, end, n_items, first_block, first_group, n_groups, levels,
    LISTED: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """out begin, end (k·n_groups,): where the segments lie among the sorted items; untouched where there is none."""
    place = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = place < n_items
    segment = _segment(sorted_label, order, rows, place, mask, first_block, first_group, n_groups, levels, LISTED)
    after_one = mask & (place > 0)
    before = _segment(
        sorted_label, order, rows, place - 1, after_one, first_block, first_group, n_groups, levels, LISTED
    )
    starts = mask & ((place == 0) | (segment != before))
    tl.store(begin + segment, place, mask=starts)
    tl.store(end + before, place, mask=starts & (place > 0))
    tl.store(end + segment, place + 1, mask=place == n_items - 1)


@triton.jit
def _segment(
    sorted_label, order, rows, place, mask, first_block, first_group, n_groups, levels, LISTED: tl.constexpr
):
    item = tl.load(order + place, mask=mask, other=0)
    row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
    group = ((first_block + (row >> BLOCK_BITS)) >> levels) - first_group
    return tl.load(sorted_label + place, mask=mask, other=0).to(tl.int64) * n_groups + group


@triton.jit
def segment_sums(
    X, order, rows, coefficient, begin, end, out, anchor, shift, lengths,
    n_segments, n_groups, k, d, row_stride, column_stride, first_block,
    BY_ITEM: tl.constexpr, LISTED: tl.constexpr, WEIGHTED: tl.constexpr, UNIT: tl.constexpr,
    SEGMENTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """out out (n_groups, k, d): Σ coefficient·z of every segment. BY_ITEM: values are X[item] as they are."""
    segment = tl.program_id(0).to(tl.int64) * SEGMENTS + tl.arange(0, SEGMENTS)
    real = segment < n_segments
    first = tl.load(begin + segment, mask=real, other=0)
    size = tl.load(end + segment, mask=real, other=0) - first
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    a = tl.load(anchor + column, mask=column < d, other=0.0)
    s = tl.load(shift + column, mask=column < d, other=0.0)
    total = tl.zeros([SEGMENTS, COLUMNS], tl.float64)
    left_0, left_1, left_2, left_3 = total, total, total, total
    waiting = tl.zeros([SEGMENTS], tl.int32)
    block = tl.full([SEGMENTS], -1, tl.int64)
    for i in range(0, tl.max(size), 4):
        # Four rows are loaded before they are added, one after the other.
        block_0, z_0 = _term(X, order, rows, coefficient, lengths, a, s, first, i, size, column, d, row_stride, column_stride, first_block, BY_ITEM, LISTED, WEIGHTED, UNIT)  # noqa: E501
        block_1, z_1 = _term(X, order, rows, coefficient, lengths, a, s, first, i + 1, size, column, d, row_stride, column_stride, first_block, BY_ITEM, LISTED, WEIGHTED, UNIT)  # noqa: E501
        block_2, z_2 = _term(X, order, rows, coefficient, lengths, a, s, first, i + 2, size, column, d, row_stride, column_stride, first_block, BY_ITEM, LISTED, WEIGHTED, UNIT)  # noqa: E501
        block_3, z_3 = _term(X, order, rows, coefficient, lengths, a, s, first, i + 3, size, column, d, row_stride, column_stride, first_block, BY_ITEM, LISTED, WEIGHTED, UNIT)  # noqa: E501
        total, left_0, left_1, left_2, left_3, waiting, block = _added(z_0, block_0, i < size, total, left_0, left_1, left_2, left_3, waiting, block)  # noqa: E501
        total, left_0, left_1, left_2, left_3, waiting, block = _added(z_1, block_1, i + 1 < size, total, left_0, left_1, left_2, left_3, waiting, block)  # noqa: E501
        total, left_0, left_1, left_2, left_3, waiting, block = _added(z_2, block_2, i + 2 < size, total, left_0, left_1, left_2, left_3, waiting, block)  # noqa: E501
        total, left_0, left_1, left_2, left_3, waiting, block = _added(z_3, block_3, i + 3 < size, total, left_0, left_1, left_2, left_3, waiting, block)  # noqa: E501
    total = tl.where(((waiting & 1) != 0)[:, None], left_0 + total, total)
    total = tl.where(((waiting & 2) != 0)[:, None], left_1 + total, total)
    total = tl.where(((waiting & 4) != 0)[:, None], left_2 + total, total)
    total = tl.where(((waiting & 8) != 0)[:, None], left_3 + total, total)
    place = (segment % n_groups) * k + segment // n_groups
    tl.store(out + place[:, None] * d + column[None, :], total, mask=real[:, None] & (column < d)[None, :])


@triton.jit
def _term(
    X, order, rows, coefficient, lengths, a, s, first, i, size, column, d, row_stride, column_stride, first_block,
    BY_ITEM: tl.constexpr, LISTED: tl.constexpr, WEIGHTED: tl.constexpr, UNIT: tl.constexpr,
):  # fmt: skip
    """The block of the i-th item of every segment, and what it adds."""
    active = i < size
    item = tl.load(order + first + i, mask=active, other=0)
    row = tl.load(rows + item, mask=active, other=0) if LISTED else item
    inside = active[:, None] & (column < d)[None, :]
    if BY_ITEM:
        z = tl.load(X + item[:, None] * row_stride + column[None, :], mask=inside, other=0.0)
    else:
        x = tl.load(X + row[:, None] * row_stride + column[None, :] * column_stride, mask=inside, other=0.0)
        length = tl.load(lengths + row, mask=active, other=1.0) if UNIT else first.to(tl.float64)
        z = coordinates(x, a[None, :], s[None, :], length[:, None], UNIT)
    if WEIGHTED:
        z = tl.load(coefficient + item, mask=active, other=0.0)[:, None] * z
    return first_block + (row >> BLOCK_BITS), z


@triton.jit
def _added(z, next_block, active, total, left_0, left_1, left_2, left_3, waiting, block):
    """One row more. If its block is another one, the last block is closed first."""
    meet = next_block ^ block
    closes = active & (meet != 0) & (block >= 0)
    done = total
    done = tl.where((closes & (meet >= 2) & ((waiting & 1) != 0))[:, None], left_0 + done, done)
    done = tl.where((closes & (meet >= 4) & ((waiting & 2) != 0))[:, None], left_1 + done, done)
    done = tl.where((closes & (meet >= 8) & ((waiting & 4) != 0))[:, None], left_2 + done, done)
    level = tl.where(meet < 2, 1, tl.where(meet < 4, 2, tl.where(meet < 8, 4, 8)))
    left_0 = tl.where((closes & (level == 1))[:, None], done, left_0)
    left_1 = tl.where((closes & (level == 2))[:, None], done, left_1)
    left_2 = tl.where((closes & (level == 4))[:, None], done, left_2)
    left_3 = tl.where((closes & (level == 8))[:, None], done, left_3)
    waiting = tl.where(closes, (waiting & ~(2 * level - 1)) | level, waiting)
    total = tl.where(closes[:, None], 0.0, total)
    total = tl.where(active[:, None], total + z, total)
    block = tl.where(active, next_block, block)
    return total, left_0, left_1, left_2, left_3, waiting, block
