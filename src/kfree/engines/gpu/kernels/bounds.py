"""Which sites may be the nearest of a row, by scores that are not exact."""

import triton
import triton.language as tl

# Bounds of distances are computed in float32, whose rounding is far below this margin.
MARGIN = tl.constexpr(1.00001)
# Products of the smallest numbers of float32 are off by less than ``rounding`` of this.
TINY = tl.constexpr(1e-30)


@triton.jit
def best_two(first, second, tile, lane):
    """The best score of each row, the next best, and the site that has the best.

    The best two scores of each lane are given (rows, lanes), and the tile of sites in which the first one was met.
    """
    best = tl.max(first, axis=1)
    best_lane = tl.argmax(first, axis=1)
    is_best = lane[None, :] == best_lane[:, None]
    runner_up = tl.max(tl.where(is_best, second, first), axis=1)
    return best, runner_up, tl.max(tl.where(is_best, tile, 0), axis=1) + best_lane


@triton.jit
def bounds(norm, best, runner_up, winner_norm, winner_error, max_error, left_out, rounding):
    """The least score of a site that may be the nearest, and a lower bound of the distance to all but the winner.

    Scores 2·x·c − |c|² are off by at most ``rounding``·(|x|² + |c|²). ``left_out`` is how far the row is from the point
    that was scored, ``winner_error`` the same of the winner, and ``max_error`` how much nearer a site can be.
    """
    nearest = norm - best + rounding * (norm + winner_norm + TINY)
    at_most = (tl.sqrt(tl.maximum(nearest, 0.0)) + winner_error + left_out) * MARGIN
    slack = max_error + left_out
    reach = (at_most + slack) * MARGIN
    # A site within reach has |c| ≤ |x| + reach, so that its score may be off by this much.
    farthest = tl.sqrt(norm) + reach
    least = norm - reach * reach * MARGIN - rounding * (norm + farthest * farthest + TINY) * MARGIN
    # Other sites are farther than twice ``at_most``, or |c| ≤ |x| + twice that and scores are off by this much.
    farthest = (tl.sqrt(norm) + 2.0 * at_most + slack) * MARGIN
    next_nearest = norm - runner_up - rounding * (norm + farthest * farthest + TINY) * MARGIN
    others = tl.sqrt(tl.maximum(next_nearest, 0.0)) / MARGIN - slack
    return least, tl.maximum(tl.minimum(others, 2.0 * at_most), 0.0)
