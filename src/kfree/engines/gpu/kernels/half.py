"""Ranking in half precision on tensor cores: what eight bits leave undecided, and lists of sites for what is left then.

Scores are those of rank.py, in float32: 2·x·c − |c|². What half precision leaves out of a row and a site is measured,
as a distance; what the sums of products leave out is bounded by ``rounding``·(|x|² + |c|²).
"""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.bounds import MARGIN, best_two, bounds
from kfree.engines.gpu.kernels.coordinates import coordinate_tile


@triton.jit
def halve(
    X, rows, items, n_listed, half, sq_norm, error, boxed_error, anchor, shift, lengths, d, row_stride, column_stride,
    scale, largest,
    CHOSEN: tl.constexpr, LISTED: tl.constexpr, UNIT: tl.constexpr, WIDTH: tl.constexpr, BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):  # fmt: skip
    """out half (m, WIDTH): scale·z in half precision; sq_norm (m,) of those; error (m,), at least |scale·z − half|.

    Beyond ±largest, where no row is, a site is moved into the box that holds all rows, which brings it nearer to every
    row. ``boxed_error`` (m,) is from there, and bounds how much nearer to a row it can be than its half.
    """
    n = tl.load(n_listed)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        place = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        mask = place < n
        item = tl.load(items + place, mask=mask, other=0) if CHOSEN else place
        row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
        length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
        left_out = tl.zeros([BLOCK_ROWS], tl.float64)
        boxed_left_out = tl.zeros([BLOCK_ROWS], tl.float64)
        norm = tl.zeros([BLOCK_ROWS], tl.float64)
        for first in range(0, WIDTH, BLOCK_COLUMNS):
            column = first + tl.arange(0, BLOCK_COLUMNS)
            z = scale * coordinate_tile(X, row, column, mask, anchor, shift, length, d, row_stride, column_stride, UNIT)
            boxed = tl.minimum(tl.maximum(z, -largest), largest)
            z_16 = boxed.to(tl.float32).to(tl.float16)
            kept = z_16.to(tl.float64)
            left_out += tl.sum((z - kept) * (z - kept), axis=1)
            boxed_left_out += tl.sum((boxed - kept) * (boxed - kept), axis=1)
            norm += tl.sum(kept * kept, axis=1)
            tl.store(half + place[:, None] * WIDTH + column[None, :], z_16, mask=mask[:, None])
        # Rounded up.
        tl.store(error + place, (tl.sqrt(left_out) * 1.000001).to(tl.float32), mask=mask)
        tl.store(boxed_error + place, (tl.sqrt(boxed_left_out) * 1.000001).to(tl.float32), mask=mask)
        tl.store(sq_norm + place, norm.to(tl.float32), mask=mask)


@triton.jit
def scores(H, place, mask, C, site_norm, site, WIDTH: tl.constexpr, CHUNK: tl.constexpr):
    """2·x·c − |c|² of a tile of rows and sites."""
    column = tl.arange(0, CHUNK)
    total = tl.zeros([place.shape[0], site.shape[0]], tl.float32)
    for first in range(0, WIDTH, CHUNK):
        x = tl.load(H + place[:, None] * WIDTH + first + column[None, :], mask=mask[:, None], other=0.0)
        c = tl.load(C + site.to(tl.int64)[:, None] * WIDTH + first + column[None, :])
        total = tl.dot(x, tl.trans(c), total)
    return 2.0 * total - tl.load(site_norm + site)[None, :]


@triton.jit(do_not_specialize=["k_padded"])
def rank_half(
    H, sq_norm, error, items, n_listed, own, C, site_norm, site_error, max_error, label, at_least, undecided,
    least_score, n_undecided, k_padded, rounding, scale,
    EXCLUDE: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, BLOCK_ROWS: tl.constexpr,
    BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out label of each of ``items``: the best site; at_least: a lower bound of the distance to every other site.

    Places of items in doubt are appended to ``undecided``; their ``least_score`` is that of the farthest site that may
    be the nearest, and their bound zero. Places beyond the sites have the norm infinity.
    """
    n = tl.load(n_listed)
    lane = tl.arange(0, BLOCK_SITES)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        place = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        mask = place < n
        item = tl.load(items + place, mask=mask, other=0)
        excluded = tl.load(own + item, mask=mask, other=-1) if EXCLUDE else tl.zeros([BLOCK_ROWS], tl.int32)
        first = tl.full([BLOCK_ROWS, BLOCK_SITES], float("-inf"), tl.float32)
        second = tl.full([BLOCK_ROWS, BLOCK_SITES], float("-inf"), tl.float32)
        tile = tl.zeros([BLOCK_ROWS, BLOCK_SITES], tl.int32)
        for begin in range(0, k_padded, BLOCK_SITES):
            score = scores(H, place, mask, C, site_norm, begin + lane, WIDTH, CHUNK)
            if EXCLUDE:
                score = tl.where((begin + lane)[None, :] == excluded[:, None], float("-inf"), score)
            second = tl.maximum(second, tl.minimum(first, score))
            tile = tl.where(score > first, begin, tile)
            first = tl.maximum(first, score)
        best, runner_up, winner = best_two(first, second, tile, lane)
        tl.store(label + item, winner, mask=mask)

        norm = tl.load(sq_norm + place, mask=mask, other=0.0)
        winner_norm = tl.load(site_norm + winner, mask=mask, other=0.0)
        winner_error = tl.load(site_error + winner, mask=mask, other=0.0)
        left_out = tl.load(error + place, mask=mask, other=0.0)
        least, others = bounds(
            norm, best, runner_up, winner_norm, winner_error, tl.load(max_error), left_out, rounding
        )  # fmt: skip
        in_doubt = (mask & (runner_up >= least)).to(tl.int32)
        others = tl.where(in_doubt > 0, 0.0, others)
        tl.store(at_least + item, others / (scale * MARGIN), mask=mask)
        n_in_doubt = tl.sum(in_doubt)
        if n_in_doubt > 0:
            end = tl.atomic_add(n_undecided, n_in_doubt) + tl.cumsum(in_doubt, axis=0) - 1
            tl.store(undecided + end, place, mask=in_doubt > 0)
            tl.store(least_score + end, least, mask=in_doubt > 0)


@triton.jit(do_not_specialize=["k_padded"])
def candidates(
    H, items, own, C, site_norm, undecided, least_score, n_undecided, found, n_found, left, beyond, n_beyond, k_padded,
    EXCLUDE: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, MOST: tl.constexpr, BLOCK_ROWS: tl.constexpr,
    BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out left, n_found (m,), found (m, MOST): items in doubt and the sites that may be their nearest, ascending.

    Items that have more than MOST are appended to ``beyond``.
    """
    n = tl.load(n_undecided)
    lane = tl.arange(0, BLOCK_SITES)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        spot = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        mask = spot < n
        place = tl.load(undecided + spot, mask=mask, other=0)
        item = tl.load(items + place, mask=mask, other=0)
        excluded = tl.load(own + item, mask=mask, other=-1) if EXCLUDE else tl.zeros([BLOCK_ROWS], tl.int32)
        least = tl.load(least_score + spot, mask=mask, other=float("inf"))
        n_sites = tl.zeros([BLOCK_ROWS], tl.int32)
        for begin in range(0, k_padded, BLOCK_SITES):
            score = scores(H, place, mask, C, site_norm, begin + lane, WIDTH, CHUNK)
            may_be = (score >= least[:, None]) & (score > float("-inf"))
            if EXCLUDE:
                may_be = may_be & ((begin + lane)[None, :] != excluded[:, None])
            one = may_be.to(tl.int32)
            if tl.sum(one) > 0:
                at = n_sites[:, None] + tl.cumsum(one, axis=1) - 1
                site = tl.broadcast_to((begin + lane)[None, :], [BLOCK_ROWS, BLOCK_SITES])
                tl.store(found + spot[:, None] * MOST + at, site, mask=may_be & (at < MOST))
                n_sites += tl.sum(one, axis=1)
        tl.store(left + spot, item, mask=mask)
        tl.store(n_found + spot, n_sites, mask=mask)
        too_many = (mask & (n_sites > MOST)).to(tl.int32)
        n_too_many = tl.sum(too_many)
        if n_too_many > 0:
            end = tl.atomic_add(n_beyond, n_too_many) + tl.cumsum(too_many, axis=0) - 1
            tl.store(beyond + end, item, mask=too_many > 0)
