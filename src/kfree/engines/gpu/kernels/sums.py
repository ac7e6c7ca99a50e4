"""Sums over rows in ascending order, by the tree over block numbers, for every cluster and every group of blocks.

Items are sorted by cluster; a segment is what one cluster has in one group of 2^levels blocks, and one program sums it.
A block is summed in row order. When the next block begins, its sum joins the left neighbours that wait for it at the
levels below the one at which both blocks meet, and waits at that level itself: nodes are left + right, and absent
blocks are skipped.
"""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.coordinates import coordinates

# Rows are summed in blocks of 2 to the power of this many.
BLOCK_BITS = tl.constexpr(11)
# A segment has room for sums that wait at so many levels.
LEVELS = tl.constexpr(5)


@triton.jit(do_not_specialize=["n_items", "first_block", "first_group", "n_groups", "levels"])
def boundaries(
    sorted_label, order, rows, begin, end, n_items, first_block, first_group, n_groups, levels,
    LISTED: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """out begin, end (n_groups·k,): where the segments lie among the sorted items; untouched where there is none."""
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
def _segment(sorted_label, order, rows, place, mask, first_block, first_group, n_groups, levels, LISTED: tl.constexpr):
    item = tl.load(order + place, mask=mask, other=0)
    row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
    group = ((first_block + (row >> BLOCK_BITS)) >> levels) - first_group
    return tl.load(sorted_label + place, mask=mask, other=0).to(tl.int64) * n_groups + group


@triton.jit(do_not_specialize=["n_groups", "k", "first_block", "first_column"])
def segment_sums(
    X, order, rows, coefficient, sq_dist, begin, end, out, anchor, shift, lengths,
    n_groups, k, d, row_stride, column_stride, first_block, first_column,
    LISTED: tl.constexpr, WEIGHTED: tl.constexpr, MEASURED: tl.constexpr, UNIT: tl.constexpr, COLUMNS: tl.constexpr,
    ABREAST: tl.constexpr,
):  # fmt: skip
    """out out (n_groups, k, d + 2): per segment Σ coefficient·(z, sq_dist, 1), columns from first_column on."""
    segment = tl.program_id(0)
    place, last = tl.load(begin + segment), tl.load(end + segment)
    column = first_column + tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    a = tl.load(anchor + column, mask=column < d, other=0.0)
    s = tl.load(shift + column, mask=column < d, other=0.0)
    total = tl.zeros([COLUMNS], tl.float64)
    state = total, (total, total, total, total, total), 0, place * 0 - 1
    full = last - (last - place) % ABREAST
    for first in range(place, full, ABREAST):
        # Some rows are loaded before they are added, one after the other.
        terms = ()
        for i in tl.static_range(ABREAST):
            terms = terms + (  # noqa: RUF005  Triton has no unpacking
                _term(
                    X, order, rows, coefficient, sq_dist, lengths, a, s, first + i, column, d, row_stride,
                    column_stride, LISTED, WEIGHTED, MEASURED, UNIT,
                ),
            )  # fmt: skip
        # Rows ascend: if the last one is in the block of the sum, all are.
        if first_block + (terms[ABREAST - 1][0] >> BLOCK_BITS) == state[3]:
            total = state[0]
            for i in tl.static_range(ABREAST):
                total = total + terms[i][1]
            state = total, state[1], state[2], state[3]
        else:
            for i in tl.static_range(ABREAST):
                state = _added(state, first_block + (terms[i][0] >> BLOCK_BITS), terms[i][1])
    for single in range(full, last):
        row, z = _term(
            X, order, rows, coefficient, sq_dist, lengths, a, s, single, column, d, row_stride,
            column_stride, LISTED, WEIGHTED, MEASURED, UNIT,
        )  # fmt: skip
        state = _added(state, first_block + (row >> BLOCK_BITS), z)
    spot = (segment % n_groups) * k + segment // n_groups
    tl.store(out + spot.to(tl.int64) * (d + 2) + column, _ended(state), mask=column < d + 2)


@triton.jit(do_not_specialize=["n_groups", "first_group", "n_columns"])
def fold(groups, out, n_groups, first_group, n_columns, COLUMNS: tl.constexpr):
    """out out (m, n_columns): sums of groups (n_groups, n_columns) below each of the m nodes that are LEVELS higher."""
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    node = (first_group >> LEVELS) + tl.program_id(1)
    begin = tl.maximum(node << LEVELS, first_group)
    end = tl.minimum((node + 1) << LEVELS, first_group + n_groups)
    total = tl.zeros([COLUMNS], tl.float64)
    state = total, (total, total, total, total, total), 0, begin * 0 - 1
    for group in range(begin, end):
        z = tl.load(
            groups + (group - first_group).to(tl.int64) * n_columns + column, mask=column < n_columns, other=0.0
        )
        state = _added(state, group, z)
    tl.store(out + tl.program_id(1).to(tl.int64) * n_columns + column, _ended(state), mask=column < n_columns)


@triton.jit
def _term(
    X, order, rows, coefficient, sq_dist, lengths, a, s, place, column, d, row_stride, column_stride,
    LISTED: tl.constexpr, WEIGHTED: tl.constexpr, MEASURED: tl.constexpr, UNIT: tl.constexpr,
):  # fmt: skip
    """The row at a place of the sorted items, and what it adds."""
    item = tl.load(order + place)
    row = tl.load(rows + item) if LISTED else item
    x = tl.load(X + row * row_stride + column * column_stride, mask=column < d, other=0.0)
    length = tl.load(lengths + row) if UNIT else 1.0
    z = tl.where(column == d + 1, 1.0, coordinates(x, a, s, length, UNIT))
    if MEASURED:
        # Zero is added elsewhere, which changes no sum.
        z += tl.load(sq_dist + item + column * 0, mask=column == d, other=0.0)
    if WEIGHTED:
        z = tl.load(coefficient + item) * z
    return row, z


@triton.jit
def _added(state, next_block, z):
    """One row more. If its block is another one, the last block is closed first."""
    total, lefts, waiting, block = state
    meet = next_block ^ block
    if (meet != 0) & (block >= 0):
        lefts, waiting = _closed(total, lefts, waiting, meet)
        total = tl.zeros_like(total)
    return total + z, lefts, waiting, next_block


@triton.jit
def _closed(total, lefts, waiting, meet):
    """The sum of a block is complete, and the next one meets it at the level of the highest bit of ``meet``."""
    kept = ()
    for level in tl.static_range(LEVELS):
        left = lefts[level]
        if meet >= (2 << level):
            if (waiting & (1 << level)) != 0:
                total = left + total
        elif meet >= (1 << level):
            left = total
            waiting = (waiting & ~((2 << level) - 1)) | (1 << level)
        kept = kept + (left,)  # noqa: RUF005
    return kept, waiting


@triton.jit
def _ended(state):
    """The sum of all blocks: the last one joins all that wait for it."""
    total, lefts, waiting, _ = state
    for level in tl.static_range(LEVELS):
        if (waiting & (1 << level)) != 0:
            total = lefts[level] + total
    return total
