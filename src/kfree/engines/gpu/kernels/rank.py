"""Ranking in eight bits on tensor cores, which decides most rows.

The score of a site is 2·x·c − |c|² in units of step², a whole number: the larger, the nearer. Keys hold the score and,
in SHIFT bits, the number of the site if it fits (WHOLE), else that of its tile; so the best two of every lane are kept
with three operations.
"""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.bounds import MARGIN

# Below every key of a site.
NO_KEY = tl.constexpr(-2147483648)


@triton.jit
def products(x, Q, row, C, site, mask, WIDTH: tl.constexpr, CHUNK: tl.constexpr):
    """Inner products of quantised rows, of which ``x`` is the first CHUNK of columns, and sites."""
    column = tl.arange(0, CHUNK)
    c = tl.load(C + site.to(tl.int64)[:, None] * WIDTH + column[None, :])
    total = tl.dot(x, tl.trans(c), out_dtype=tl.int32)
    for first in range(CHUNK, WIDTH, CHUNK):
        more = tl.load(Q + row[:, None] * WIDTH + first + column[None, :], mask=mask[:, None], other=0)
        c = tl.load(C + site.to(tl.int64)[:, None] * WIDTH + first + column[None, :])
        total += tl.dot(more, tl.trans(c), out_dtype=tl.int32)
    return total


@triton.jit(do_not_specialize=["first_item", "n_items", "k_padded"])
def rank(
    Q, sq_norm, error, rows, own, C, addend, site_error, max_error, label, at_least, undecided, n_undecided,
    first_item, n_items, k_padded, step,
    LISTED: tl.constexpr, EXCLUDE: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, SHIFT: tl.constexpr,
    WHOLE: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out label (m,): the best site in eight bits; at_least (m,): a lower bound of the distance to every other site.

    Items that eight bits do not decide are appended to ``undecided``.
    """
    item = first_item + tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = item < n_items
    row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
    x = tl.load(Q + row[:, None] * WIDTH + tl.arange(0, CHUNK)[None, :], mask=mask[:, None], other=0)
    excluded = tl.load(own + item, mask=mask, other=-1) if EXCLUDE else tl.zeros([BLOCK_ROWS], tl.int32)
    first = tl.full([BLOCK_ROWS, BLOCK_SITES], NO_KEY, tl.int32)
    second = tl.full([BLOCK_ROWS, BLOCK_SITES], NO_KEY, tl.int32)
    for begin in range(0, k_padded, BLOCK_SITES):
        site = begin + tl.arange(0, BLOCK_SITES)
        key = products(x, Q, row, C, site, mask, WIDTH, CHUNK) * (2 << SHIFT) + tl.load(addend + site)[None, :]
        if EXCLUDE:
            key = tl.where(site[None, :] == excluded[:, None], NO_KEY, key)
        second = tl.maximum(second, tl.minimum(first, key))
        first = tl.maximum(first, key)
    best = tl.max(first, axis=1)
    if WHOLE:
        others = tl.where(first == best[:, None], second, first)
        winner = best & ((1 << SHIFT) - 1)
    else:
        lane = tl.argmax(first, axis=1)
        others = tl.where(tl.arange(0, BLOCK_SITES)[None, :] == lane[:, None], second, first)
        winner = (best & ((1 << SHIFT) - 1)) * BLOCK_SITES + lane
    runner_up = tl.max(others, axis=1)
    tl.store(label + item, winner, mask=mask)

    # The triangle inequality, with what the bytes of row and site leave out.
    norm = tl.load(sq_norm + row, mask=mask, other=0)
    left_out = tl.load(error + row, mask=mask, other=0.0)
    nearest = step * tl.sqrt(tl.maximum(norm - (best >> SHIFT), 0).to(tl.float32))
    next_nearest = step * tl.sqrt(tl.maximum(norm.to(tl.float32) - (runner_up >> SHIFT).to(tl.float32), 0.0))
    at_most = (nearest + tl.load(site_error + winner, mask=mask, other=0.0) + left_out) * MARGIN
    others_at_least = next_nearest / MARGIN - (tl.load(max_error) + left_out)
    tl.store(at_least + item, tl.maximum(others_at_least, 0.0), mask=mask)
    in_doubt = (mask & (at_most >= others_at_least)).to(tl.int32)
    n_in_doubt = tl.sum(in_doubt)
    if n_in_doubt > 0:
        place = tl.atomic_add(n_undecided, n_in_doubt) + tl.cumsum(in_doubt, axis=0) - 1
        tl.store(undecided + place, item, mask=in_doubt > 0)
