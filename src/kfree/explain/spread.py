"""The spread of each cluster and the limit beyond which a row is an outlier, robust to outliers in the data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv

from kfree.core.arrays import NUMPY, Array, Arrays, beside, namespace_of
from kfree.core.blocks import row_blocks
from kfree.core.fields import SpreadPerCluster
from kfree.core.marks import AtLeast, Below, Shape, Size, require
from kfree.core.stats import Floats, Labels, Mask, members_of
from kfree.explain.view import Blocks, two_nearest

# Share of the rows of a cluster that count as outliers (false alarms).
FALSE_ALARMS = 0.001
# Clusters of fewer rows are ignored.
FEWEST_OF_SPREAD = 5
# With fewer rows, the shape of the distribution is that of all clusters together.
_ENOUGH = 50
# A cluster with less than this share of the rows that is so many times as wide as usual consists of outliers itself.
_SMALL, _WIDE = 0.1, 2.0
# So does a larger one, up to this share, that is even wider and has more than half of the other rows in its midst.
_BACKGROUND, _WIDER = 0.25, 3.0
# Spreads are estimated from at most about this many rows of a cluster; this bounds time and memory.
_ENOUGH_ROWS = 500
# The tail of distances to neighbours is known from its median to the distance that this share of the rows exceeds.
_UPPER = 0.1
# Candidate shapes, and the ratio of median to lower quartile for each, which falls with the shape.
_SHAPES = np.geomspace(0.25, 200.0, 400)
_RATIOS = gammaincinv(_SHAPES, 0.5) / gammaincinv(_SHAPES, 0.25)


@dataclass(frozen=True)
class Spreads:
    """Squared distances of the rows of cluster c to it, as a gamma distribution with ``shape[c]`` and ``scale[c]``.

    The squared distances of Gaussian rows are a weighted sum of χ² variables, which a gamma distribution
    approximates. It is fitted to the lower quartile and the median, which outliers hardly change. The scale is NaN
    for clusters that are ignored: those of fewer than five rows, and those that consist of outliers themselves
    (``_of_outliers``).
    """

    shape: SpreadPerCluster
    scale: SpreadPerCluster

    def limits(self, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The distance that a share of ``false_alarms`` of the rows of each cluster exceeds, (k,)."""
        # Roots first: a product of squared distances may overflow.
        return np.asarray(np.sqrt(self.scale) * np.sqrt(gammainccinv(self.shape, false_alarms)))


@dataclass(frozen=True)
class Shapes:
    """Clusters whose distances are relative to their shape: how wide each is, and where it sees the others.

    ``widths`` is (k,); ``between[b, c]`` is the distance of the centre of b to cluster c.
    """

    widths: Floats
    between: Floats


def fitted_spreads(
    labels: Labels, dist: Floats, n_clusters: int, sizes: NDArray[Any] | None = None, shapes: Shapes | None = None
) -> Spreads:
    """Spreads from the distances of some or all rows to their own clusters; ``sizes`` (k,) count all rows.

    Rows labelled −1 do not count.
    """
    labels, sq_dist = labels[labels >= 0], dist[labels >= 0] ** 2
    drawn = np.bincount(labels, minlength=n_clusters)
    size = drawn.copy()
    if sizes is not None:
        size[: len(sizes)] = sizes
    # A cluster without a row in the sample is ignored.
    size[drawn == 0] = 0
    if (size < FEWEST_OF_SPREAD).all():
        one_shape, one_scale = _gamma(sq_dist)
        return Spreads(np.full(n_clusters, one_shape), np.full(n_clusters, one_scale))
    by_cluster = [sq_dist[members] for members in members_of(labels, n_clusters)]
    median = np.sqrt([np.median(part) if len(part) else 0.0 for part in by_cluster])
    accepted = (size >= FEWEST_OF_SPREAD) & ~_of_outliers(size, median, shapes)
    shape, scale = np.ones(n_clusters), np.full(n_clusters, np.nan)
    pooled = [by_cluster[c] / median[c] ** 2 for c in np.flatnonzero(accepted) if median[c] > 0]
    common, _ = _gamma(np.concatenate(pooled)) if pooled else (1.0, 0.0)
    for c in np.flatnonzero(accepted):
        shape[c], scale[c] = _gamma(by_cluster[c], None if size[c] >= _ENOUGH else common)
    return Spreads(shape, scale)


@dataclass(frozen=True)
class SpreadSample:
    """Rows that spreads are estimated from: labels and distances to their clusters; ``sizes`` (k,) count all rows."""

    labels: Annotated[Labels, Shape("sample"), Below("k", least=-1)]
    dist: Annotated[Floats, Shape("sample"), AtLeast(0.0)]
    n_clusters: Annotated[int, Size("k")]
    sizes: Annotated[NDArray[np.int64] | None, Shape("sized"), AtLeast(0)] = None

    def _restored(self) -> None:
        counts = np.zeros(0) if self.sizes is None else self.sizes
        ok = bool((self.labels >= 0).any()) and len(counts) <= self.n_clusters and counts.sum(dtype=np.float64) < 2**53
        require(ok, "sample", "has no rows of a cluster, or sizes that are none of these clusters")

    def spreads(self, shapes: Shapes | None = None) -> Spreads:
        """The spreads of the clusters; ``shapes`` compare clusters where distances are relative to the cluster."""
        return fitted_spreads(self.labels, self.dist, self.n_clusters, self.sizes, shapes)


def spread_sample(parts: Blocks, labels: Labels, weight: Floats | None) -> SpreadSample:
    """A sample of rows from their distances to all clusters, block by block."""
    size, chosen = rows_for_spreads(labels, weight)
    is_chosen = np.zeros(len(labels), dtype=bool)
    is_chosen[chosen] = True
    kept: list[Floats] = []
    n_clusters = 0
    for places, distances in parts:
        dist, _, _, n_clusters = two_nearest([(slice(None), distances)], labels[places])
        kept.append(dist[is_chosen[places]])
    return SpreadSample(labels[chosen], np.concatenate(kept), n_clusters, size)


def rows_for_spreads(
    labels: Array, weight: Array | None, size: NDArray[Any] | None = None, arrays: Arrays = NUMPY
) -> tuple[NDArray[np.int64], Array]:
    """The number of rows of each cluster, and some rows of each, enough to know its spread; of positive weight.

    ``size`` is that number where it is known. Labels, weights and the chosen rows are of the kind ``arrays``.
    """
    size = _sizes(labels, weight, arrays) if size is None else size.astype(np.int64)
    # Every 2^i-th row of a cluster: rows that no cluster needs are not looked at.
    stride = 1 << np.log2(np.maximum(1, size // _ENOUGH_ROWS)).astype(np.int64)
    step = int(stride[size > 0].min(initial=stride.max()))
    wanted, level, last = arrays.full(-(-len(labels) // step), True, np.bool_), step, int(stride.max())
    while level < last:  # An odd multiple of a power of two is one of the smaller powers too, and of no larger one.
        wanted[level // step :: 2 * level // step] = arrays.take(stride <= level, labels[level :: 2 * level])
        level *= 2
    chosen = step * arrays.flatnonzero(wanted)
    return size, chosen if weight is None else chosen[weight[chosen] > 0]


def _sizes(labels: Array, weight: Array | None, arrays: Arrays) -> NDArray[np.int64]:
    """The number of rows of positive weight of each cluster."""
    size = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for block in row_blocks(len(labels), arrays.rows_at_once):
        counted = labels[block] if weight is None else labels[block][weight[block] > 0]
        size += arrays.counts(counted, len(size)).astype(np.int64)
    return size


def _of_outliers(size: NDArray[np.intp], median: Floats, shapes: Shapes | None) -> Mask:
    """Which clusters consist of outliers, (k,); ``median`` (k,) are the distances of their rows.

    These hold less than a tenth of the rows and are more than twice as wide as the cluster of a typical row. A Gaussian
    may also take in more outliers than that: up to a quarter of the rows, around the other clusters. It is more than
    three times as wide as usual, and most of the other rows are in clusters whose centres are nearer to it than its own
    rows typically are.
    """
    width = median if shapes is None else shapes.widths
    judged = size >= FEWEST_OF_SPREAD
    usual = _median(width[judged], size[judged])
    found = (size < _SMALL * size.sum()) & (width > _WIDE * usual)
    if shapes is None:
        return np.asarray(found)
    rest = size.sum() - size
    inside = (size[:, None] * (shapes.between <= median)).sum(axis=0) - size  # a centre is nearest to its own cluster
    is_background = (size < _BACKGROUND * size.sum()) & (width > _WIDER * usual) & (inside > rest / 2)
    return np.asarray(found | is_background)


def _median(values: Floats, counts: NDArray[np.intp]) -> float:
    """The median of values that occur so many times, without as many numbers."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(counts[order])
    middle = np.searchsorted(up_to, [(up_to[-1] - 1) // 2, up_to[-1] // 2], side="right")
    return float(values[order][middle].mean())


@dataclass(frozen=True)
class NeighbourSpreads:
    """Distances of the rows of cluster c to a near neighbour, with a Pareto tail from ``median[c]`` by ``upper[c]``.

    In a Gaussian cluster the logarithm of such a distance grows with the squared distance to the centre, and has an
    exponential tail. ``upper`` is the distance that a tenth of the rows exceeds. Both are NaN for clusters that are
    ignored, those of fewer than five rows.
    """

    median: SpreadPerCluster
    upper: SpreadPerCluster

    def limits(self, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The distance that a share of ``false_alarms`` of the rows of each cluster exceeds, (k,)."""
        ratio = np.where(self.median > 0, self.upper / np.where(self.median > 0, self.median, 1.0), 1.0)
        power = np.log(0.5 / false_alarms) / np.log(0.5 / _UPPER)
        return np.where(self.median > 0, self.median * ratio**power, self.upper)


def neighbour_spreads(labels: Labels, dist: Floats, n_clusters: int) -> NeighbourSpreads:
    """From the distance of each row to its neighbour in its own cluster."""
    drawn = np.bincount(labels, minlength=n_clusters)
    by_cluster = [dist[members] for members in members_of(labels, n_clusters)]
    fewest = min(FEWEST_OF_SPREAD, int(drawn.max()))
    known = [np.quantile(d, [0.5, 1 - _UPPER]) if len(d) >= fewest else np.full(2, np.nan) for d in by_cluster]
    return NeighbourSpreads(*np.array(known).T)


def outlier_scores(distances: Array, limits: Floats) -> Array:
    """Distances over limits, the least over the clusters; above 1, the row belongs to no cluster. (n, k) → (n,)"""
    lib, known = namespace_of(distances), np.flatnonzero(~np.isnan(limits))
    distances = distances if len(known) == len(limits) else distances[:, beside(known, distances)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = distances / beside(limits[known], distances)
    # A row at a cluster of equal rows is at distance zero of a limit of zero.
    return lib.amin(lib.where(distances == 0, 0.0, ratios), axis=1)


def outlier_scores_of(parts: Iterable[tuple[object, Array]], limits: Floats) -> Array:
    """``outlier_scores`` of all rows, from their places and distances block by block."""
    scores = [outlier_scores(distances, limits) for _, distances in parts]
    return namespace_of(scores[0]).concatenate(scores)


def _gamma(sq_dist: Floats, shape: float | None = None) -> tuple[float, float]:
    """Shape, unless it is given, and scale of the gamma distribution with this lower quartile and median."""
    quartile, median = np.quantile(sq_dist, [0.25, 0.5])
    if shape is None:
        ratio = median / quartile if quartile > 0 else np.inf
        shape = float(np.interp(-ratio, -_RATIOS, _SHAPES))
    with np.errstate(over="ignore"):
        scale = median / gammaincinv(shape, 0.5)
    # Finite, so that limits of distances are.
    return shape, float(min(scale, np.finfo(np.float64).max))
