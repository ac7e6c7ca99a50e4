"""Which rows may have another nearest site than before, after sites have moved (Hamerly 2010)."""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.bounds import MARGIN
from kfree.engines.gpu.kernels.coordinates import sq_dist_to


@triton.jit
def moves(centres, last, moved, d, BLOCK_COLUMNS: tl.constexpr):
    """out moved (k,): how far each site is from where it was, rounded up, and zero only if no bit has changed.

    in-out last (k, d): where the sites are now.
    """
    site = tl.program_id(0).to(tl.int64)
    sq = tl.zeros([BLOCK_COLUMNS], tl.float64)
    changed = tl.zeros([BLOCK_COLUMNS], tl.int32)
    for first in range(0, d, BLOCK_COLUMNS):
        column = first + tl.arange(0, BLOCK_COLUMNS)
        now = tl.load(centres + site * d + column, mask=column < d, other=0.0)
        before = tl.load(last + site * d + column, mask=column < d, other=0.0)
        sq += (now - before) * (now - before)
        changed = changed | (now != before).to(tl.int32)
        tl.store(last + site * d + column, now, mask=column < d)
    way = tl.maximum(tl.sqrt(tl.sum(sq)) * 1.000001, 1e-30).to(tl.float32)
    tl.store(moved + site, tl.where(tl.max(changed) > 0, way, 0.0))


@triton.jit
def _others(at_least, own, moved, fastest):
    """The lower bound of the distance to other sites, less what the fastest of those has moved."""
    first, second = tl.load(fastest), tl.load(fastest + 1)
    way = tl.where(own == first, tl.load(moved + second), tl.load(moved + first))
    return tl.where(way > 0, tl.maximum(at_least - way * MARGIN, 0.0) / MARGIN, at_least)


@triton.jit(do_not_specialize=["n_rows", "step"])
def count_doubtful(label, sq_dist, at_least, moved, fastest, count, n_rows, step, BLOCK_ROWS: tl.constexpr):
    """in-out count: of every step-th row, how many may have another nearest site, as far as the moves tell."""
    row = (tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)) * step
    mask = row < n_rows
    own = tl.load(label + row, mask=mask, other=0)
    others = _others(tl.load(at_least + row, mask=mask, other=0.0), own, moved, fastest)
    at_most = tl.sqrt(tl.load(sq_dist + row, mask=mask, other=0.0)) + tl.load(moved + own, mask=mask, other=0.0)
    tl.atomic_add(count, tl.sum((mask & (at_most >= others)).to(tl.int32)))


@triton.jit(do_not_specialize=["most_in_doubt", "n_rows"])
def revisit(
    X, centres, label, sq_dist, at_least, moved, fastest, doubtful, counts, most_in_doubt, anchor, shift, lengths,
    n_rows, d, row_stride, column_stride, UNIT: tl.constexpr, FEW: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """in-out sq_dist, at_least (n,): of the own site where it moved, and of all others; rows in doubt are listed.

    in-out counts (3,): of the sample, rows in doubt, and programs with rows whose site moved. Nothing is done if the
    first is more than ``most_in_doubt``.
    """
    if tl.load(counts) > most_in_doubt:
        return
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = row < n_rows
    own = tl.load(label + row, mask=mask, other=0)
    own_sq_dist = tl.load(sq_dist + row, mask=mask, other=0.0)
    stale = mask & (tl.load(moved + own, mask=mask, other=0.0) > 0)
    if tl.sum(stale.to(tl.int32)) > 0:
        length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
        now = sq_dist_to(
            X, row, own, centres, anchor, shift, length, stale, d, row_stride, column_stride, UNIT, FEW, BLOCK_ROWS
        )
        own_sq_dist = tl.where(stale, now, own_sq_dist)
        tl.store(sq_dist + row, own_sq_dist, mask=stale)
        tl.atomic_add(counts + 2, 1)
    before = tl.load(at_least + row, mask=mask, other=0.0)
    others = _others(before, own, moved, fastest)
    tl.store(at_least + row, others, mask=mask & (others != before))
    at_most = (tl.sqrt(own_sq_dist) * MARGIN).to(tl.float32)
    in_doubt = (mask & (at_most >= others)).to(tl.int32)
    n_in_doubt = tl.sum(in_doubt)
    if n_in_doubt > 0:
        place = tl.atomic_add(counts + 1, n_in_doubt) + tl.cumsum(in_doubt, axis=0) - 1
        tl.store(doubtful + place, row, mask=in_doubt > 0)
