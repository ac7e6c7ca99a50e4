"""Ranking in eight bits on tensor cores: most rows are decided, for the others a list of sites is left.

The score of a site is 2·x·c − |c|² in units of step², a whole number: the larger, the nearer. Keys hold the score and,
in SHIFT bits, the number of the tile of sites, so that the best two of every lane are kept with three operations.
"""

import triton
import triton.language as tl

# Below every key of a site.
NO_KEY = tl.constexpr(-2147483648)
# Distances are compared with this margin, far above the rounding of float64.
MARGIN = tl.constexpr(1.000000001)


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


@triton.jit
def rank(
    Q, sq_norm, error, rows, own, C, addend, site_error, label, undecided, least_score, n_undecided,
    first_item, n_items, k_padded, step, max_error,
    LISTED: tl.constexpr, EXCLUDE: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, SHIFT: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out label (m,): the best site in eight bits. Items that eight bits do not decide are appended to ``undecided``.

    addend (k_padded,) is (−|c|² << SHIFT) + tile; places beyond the sites hold the smallest scores. ``least_score`` of
    an undecided item is that of the farthest site that may be the nearest.
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
    lane = tl.argmax(first, axis=1)
    runner_up = tl.max(tl.where(tl.arange(0, BLOCK_SITES)[None, :] == lane[:, None], second, first), axis=1)
    winner = (best & ((1 << SHIFT) - 1)) * BLOCK_SITES + lane
    tl.store(label + item, winner, mask=mask)

    norm = tl.load(sq_norm + row, mask=mask, other=0)
    left_out = tl.load(error + row, mask=mask, other=0.0).to(tl.float64)
    nearest = step * tl.sqrt(tl.maximum(norm - (best >> SHIFT), 0).to(tl.float64))
    next_nearest = step * tl.sqrt(tl.maximum(norm.to(tl.float64) - (runner_up >> SHIFT).to(tl.float64), 0.0))
    at_most = (nearest + tl.load(site_error + winner, mask=mask, other=0.0) + left_out) * MARGIN
    in_doubt = mask & (at_most >= next_nearest - max_error - left_out)
    reach = (at_most + max_error + left_out) * MARGIN / step
    least = tl.maximum(norm.to(tl.float64) - reach * reach * MARGIN - 1.0, -2147483648.0)
    one = in_doubt.to(tl.int32)
    place = tl.atomic_add(n_undecided, tl.sum(one)) + tl.cumsum(one, axis=0) - 1
    tl.store(undecided + place, item, mask=in_doubt)
    tl.store(least_score + place, tl.floor(least).to(tl.int32), mask=in_doubt)


@triton.jit
def candidates(
    Q, rows, own, C, addend, undecided, least_score, n_undecided, found, n_found, beyond, n_beyond, k,
    LISTED: tl.constexpr, EXCLUDE: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, SHIFT: tl.constexpr,
    MOST: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out found (m, MOST), n_found (m,): the sites of each undecided item that may be the nearest, ascending.

    Items that have more than MOST are appended to ``beyond``.
    """
    n = tl.load(n_undecided)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        place = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        mask = place < n
        item = tl.load(undecided + place, mask=mask, other=0)
        row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
        x = tl.load(Q + row[:, None] * WIDTH + tl.arange(0, CHUNK)[None, :], mask=mask[:, None], other=0)
        excluded = tl.load(own + item, mask=mask, other=-1) if EXCLUDE else tl.zeros([BLOCK_ROWS], tl.int32)
        least = tl.load(least_score + place, mask=mask, other=2147483647)
        n_sites = tl.zeros([BLOCK_ROWS], tl.int32)
        for begin in range(0, k, BLOCK_SITES):
            site = begin + tl.arange(0, BLOCK_SITES)
            score = 2 * products(x, Q, row, C, site, mask, WIDTH, CHUNK) + (tl.load(addend + site) >> SHIFT)[None, :]
            may_be = (score >= least[:, None]) & (site < k)[None, :] & mask[:, None]
            if EXCLUDE:
                may_be = may_be & (site[None, :] != excluded[:, None])
            one = may_be.to(tl.int32)
            if tl.max(tl.max(one, axis=1), axis=0) > 0:
                at = n_sites[:, None] + tl.cumsum(one, axis=1) - 1
                spot = found + place[:, None] * MOST + at
                tl.store(spot, tl.broadcast_to(site[None, :], at.shape), mask=may_be & (at < MOST))
                n_sites += tl.sum(one, axis=1)
        tl.store(n_found + place, n_sites, mask=mask)
        too_many = (mask & (n_sites > MOST)).to(tl.int32)
        end = tl.atomic_add(n_beyond, tl.sum(too_many)) + tl.cumsum(too_many, axis=0) - 1
        tl.store(beyond + end, item, mask=too_many > 0)
