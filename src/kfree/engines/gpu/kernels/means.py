"""Centres at the means of their clusters."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["k"])
def move_to_means(totals, centres, k, d, BLOCK: tl.constexpr):
    """in-out centres (k, d): the means of clusters with these ``totals`` (k, d + 2), sums first and weights last.

    Centres of clusters without weight stay where they are, and so do coordinates without a finite mean.
    """
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask, cluster = place < k * d, place // d
    total = tl.load(totals + cluster * (d + 2) + place % d, mask=mask, other=0.0)
    weight = tl.load(totals + cluster * (d + 2) + d + 1, mask=mask, other=0.0)
    mean = total / tl.where(weight > 0, weight, 1.0)
    tl.store(centres + place, mean, mask=mask & (weight > 0) & (tl.abs(mean) < float("inf")))
