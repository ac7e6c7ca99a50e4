"""Are there density dips between clusters? Asked of rows that had no part in forming them.

A density without clusters, such as a Gaussian of any shape or a uniform one on any convex body, is log-concave. So is
its mass along a line within a tube around it: what lies in a window half-way between two centres is at least the
geometric mean of what lies in equal windows around the two. Between clusters it is less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfree.core.spaces import EUCLIDEAN, Space
from kfree.core.stats import Floats
from kfree.engines.contract import SampleEngine, row_weights

# The windows are as wide as half the way between the centres, so that the three do not overlap.
_HALF_WINDOW = 0.25
# Of the weight of a cluster, this share must lie with other rows for a mean of those to be known.
_LEAST_SHARE = 1e-9
# The tube holds this share of the rows of the two clusters; a narrow one would be empty where there are many columns.
_TUBE = 0.9

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class DensityDips:
    """``share`` of the pairs of neighbours have a valley between them; together these exceed chance by ``z`` sigma.

    ``weakest`` is the same for the one pair that has the least of a valley, minus infinity if some pair has too few
    rows to tell. ``n_pairs`` had enough.
    """

    share: float
    z: float
    weakest: float = -math.inf
    n_pairs: int = 0


def density_dips(trials: list[tuple[SampleEngine, Floats]], space: Space = EUCLIDEAN) -> DensityDips:
    """Density dips between each centre and its nearest one, for pairs of rows and centres found without these rows."""
    excess, sigmas, variance = [], [], 1.0
    for engine, centres in trials:
        weight = row_weights(engine) / np.mean(row_weights(engine))
        sq_dist = engine.sq_distances(centres)
        labels = sq_dist.argmin(axis=1)
        influence = np.zeros(len(weight))
        for a, b, gap in _neighbours(centres, space):
            members = labels == a, labels == b
            if min(map(np.count_nonzero, members)) < 2:
                sigmas.append(-math.inf)
                continue
            windows = _windows(sq_dist[:, a], sq_dist[:, b], gap, members, weight)
            missing, own = _excess(windows, weight)
            excess.append(missing)
            sigmas.append(missing / math.sqrt(1 + ((weight * own) ** 2).sum()))
            influence += own
        variance += float(((weight * influence) ** 2).sum())
    if not excess:
        return DensityDips(0.0, 0.0)
    share, z = float(np.mean(np.array(excess) > 0)), math.fsum(excess) / math.sqrt(variance)
    return DensityDips(share, z, min(sigmas), len(excess))


def _neighbours(centres: Floats, space: Space) -> list[tuple[int, int, float]]:
    """Each centre with its nearest one, every pair once, and the distance between them."""
    sq_gap = space.sq_gaps(centres, slice(None))
    np.fill_diagonal(sq_gap, np.inf)
    pairs = {(min(pair), max(pair)) for pair in enumerate(sq_gap.argmin(axis=1).tolist())}
    return [(a, b, math.sqrt(sq_gap[a, b])) for a, b in sorted(pairs) if sq_gap[a, b] > 0]


def _windows(sq_a: Floats, sq_b: Floats, gap: float, members: tuple[Rows, Rows], weight: Floats) -> list[Rows]:
    """Rows within the tube around the line a–b that lie about a, half-way and about b."""
    along = (sq_a - sq_b) / (2 * gap)
    sq_off = (sq_a + sq_b) / 2 - gap**2 / 4 - along**2
    tube = sq_off <= np.quantile(sq_off[members[0] | members[1]], _TUBE) + 1e-9 * gap**2
    place = _place(along, members, weight)
    return [tube & (np.abs(place - centre) < _HALF_WINDOW) for centre in (-0.5, 0.0, 0.5)]


def _place(along: Floats, members: tuple[Rows, Rows], weight: Floats) -> Floats:
    """Coordinates in which these rows of a have their mean at −½ and those of b at ½.

    Centres lie too far apart for rows that they were not fitted to, the more so the more columns there are. A row is
    left out of the mean that it is held against: else it would draw the window to itself.
    """
    means = []
    for inside in members:
        mass, total = weight[inside].sum(), (weight * along)[inside].sum()
        others = mass - np.where(inside, weight, 0.0)
        enough = others > _LEAST_SHARE * mass  # else the rest is rounding, and the row has nowhere to be held against
        rest = total - np.where(inside, weight * along, 0.0)
        means.append(np.where(enough, rest / np.where(enough, others, 1.0), np.nan))
    gap = means[1] - means[0]
    return np.where(gap > 0, (along - (means[0] + means[1]) / 2) / np.where(gap > 0, gap, 1.0), np.inf)


def _excess(windows: list[Rows], weight: Floats) -> tuple[float, Floats]:
    """By how much the middle window falls short of the geometric mean of the outer two, and each row's part in that."""
    left, middle, right = (float(weight[window].sum()) for window in windows)
    influence = np.where(windows[1], -1.0, 0.0)
    if left > 0 and right > 0:
        influence[windows[0]] += 0.5 * math.sqrt(right / left)
        influence[windows[2]] += 0.5 * math.sqrt(left / right)
    return math.sqrt(left * right) - middle, influence
