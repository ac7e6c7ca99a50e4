"""Rows of few columns, ranked in float32: that leaves hardly any row in doubt, and canonical distances are at hand.

Scores are those of half.py. Rounding of coordinates to float32 is within their ``rounding``.
"""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.bounds import MARGIN, best_two, bounds
from kfree.engines.gpu.kernels.coordinates import coordinate, sq_dist_to


@triton.jit(do_not_specialize=["k", "n_tiles"])
def scale_sites(centres, scaled, k, n_tiles, scale, D: tl.constexpr, BLOCK_SITES: tl.constexpr, TILES: tl.constexpr):
    """out scaled (n_tiles, D + 1, BLOCK_SITES): 2·scale·c of a tile of sites in float32, and their addends.

    These are −|scale·c|², and −∞ beyond the sites. A tile lies together, so that one address leads to all of it.
    """
    tile = tl.program_id(0) * TILES + tl.arange(0, TILES)[:, None]
    lane = tl.arange(0, BLOCK_SITES)[None, :]
    site, inside = (tile * BLOCK_SITES + lane).to(tl.int64), tile < n_tiles
    spot = tile.to(tl.int64) * ((D + 1) * BLOCK_SITES) + lane
    norm = tl.zeros([TILES, BLOCK_SITES], tl.float64)
    for t in tl.static_range(D):
        c = (scale * tl.load(centres + site * D + t, mask=site < k, other=0.0)).to(tl.float32)
        norm += c.to(tl.float64) * c.to(tl.float64)
        tl.store(scaled + spot + t * BLOCK_SITES, 2.0 * c, mask=inside)
    addend = tl.where(site < k, -norm, float("-inf")).to(tl.float32)
    tl.store(scaled + spot + D * BLOCK_SITES, addend, mask=inside)


@triton.jit
def scores(x, excluded, sites, number, lane, D: tl.constexpr, BLOCK_SITES: tl.constexpr, EXCLUDE: tl.constexpr):
    """Scores of rows, of which ``x`` has the columns, at the sites of a tile; ``sites`` points to its first column."""
    score = tl.load(sites + D * BLOCK_SITES)
    for t in tl.static_range(D):
        # Fused by name: the compiler must not fuse anything in canonical distances.
        score = tl.fma(x[t], tl.load(sites + t * BLOCK_SITES), score)
    return tl.where(number * BLOCK_SITES + lane == excluded, float("-inf"), score) if EXCLUDE else score


@triton.jit(do_not_specialize=["n_items", "n_groups"])
def rank_narrow(
    X, rows, own, scaled, centres, label, at_least, sq_dist, undecided, n_undecided, anchor, shift, lengths,
    n_items, n_groups, row_stride, column_stride, rounding, scale,
    D: tl.constexpr, LISTED: tl.constexpr, EXCLUDE: tl.constexpr, MEASURED: tl.constexpr, UNIT: tl.constexpr,
    FEW: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """out label (m,): the nearest site; at_least (m,) as in half.py; sq_dist (m,), if MEASURED: the canonical distance.

    Items in doubt are appended to ``undecided``; their bound is zero. Keeping the best two scores and the winner's tile
    takes as long as ten products. So they are kept of the best scores of GROUP tiles, and the winner's group is scored
    once more.
    """
    item = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = item < n_items
    row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
    length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
    x, columns, norm = (), (), tl.zeros([BLOCK_ROWS], tl.float32)
    for t in tl.static_range(D):
        z = coordinate(X, row, t, mask, anchor, shift, length, row_stride, column_stride, UNIT)
        scaled_z = (scale * z).to(tl.float32)
        norm += scaled_z * scaled_z
        x = x + (scaled_z,)  # noqa: RUF005  Triton has no unpacking
        columns = columns + (scaled_z[:, None],)  # noqa: RUF005
    excluded = tl.load(own + item, mask=mask, other=-1) if EXCLUDE else tl.zeros([BLOCK_ROWS], tl.int32)
    lane = tl.arange(0, BLOCK_SITES)
    first = tl.full([BLOCK_ROWS, BLOCK_SITES], float("-inf"), tl.float32)
    second = tl.full([BLOCK_ROWS, BLOCK_SITES], float("-inf"), tl.float32)
    group = tl.zeros([BLOCK_ROWS, BLOCK_SITES], tl.int32)
    for number in range(0, n_groups):
        best = tl.full([BLOCK_ROWS, BLOCK_SITES], float("-inf"), tl.float32)
        for i in tl.static_range(GROUP):
            tile = number * GROUP + i
            sites = scaled + tile * ((D + 1) * BLOCK_SITES) + lane[None, :]
            score = scores(columns, excluded[:, None], sites, tile, lane[None, :], D, BLOCK_SITES, EXCLUDE)
            best = tl.maximum(best, score)
        second = tl.maximum(second, tl.minimum(first, best))
        group = tl.where(best > first, number, group)
        first = tl.maximum(first, best)
    best, runner_up, winner = best_two(first, second, group * BLOCK_SITES, lane)
    if GROUP > 1:
        tile, winner_lane = winner // BLOCK_SITES * GROUP, winner % BLOCK_SITES
        winner, best = tl.zeros([BLOCK_ROWS], tl.int32), tl.full([BLOCK_ROWS], float("-inf"), tl.float32)
        for i in tl.static_range(GROUP):
            sites = scaled + (tile + i) * ((D + 1) * BLOCK_SITES) + winner_lane
            score = scores(x, excluded, sites, tile + i, winner_lane, D, BLOCK_SITES, EXCLUDE)
            runner_up = tl.maximum(runner_up, tl.minimum(best, score))
            winner = tl.where(score > best, (tile + i) * BLOCK_SITES + winner_lane, winner)
            best = tl.maximum(best, score)
    place = (winner // BLOCK_SITES * (D + 1) + D) * BLOCK_SITES + winner % BLOCK_SITES
    winner_norm = -tl.load(scaled + place, mask=mask, other=0.0)
    least, others = bounds(norm, best, runner_up, winner_norm, 0.0, 0.0, 0.0, rounding)
    in_doubt = (mask & (runner_up >= least)).to(tl.int32)
    tl.store(label + item, winner, mask=mask)
    tl.store(at_least + item, tl.where(in_doubt > 0, 0.0, others) / (scale * MARGIN), mask=mask)
    if MEASURED:
        total = sq_dist_to(
            X, row, winner, centres, anchor, shift, length, mask, D, row_stride, column_stride, UNIT, FEW, BLOCK_ROWS
        )
        tl.store(sq_dist + item, total, mask=mask)
    n_in_doubt = tl.sum(in_doubt)
    if n_in_doubt > 0:
        spot = tl.atomic_add(n_undecided, n_in_doubt) + tl.cumsum(in_doubt, axis=0) - 1
        tl.store(undecided + spot, item, mask=in_doubt > 0)
