"""Reference implementation of what the lam path asks of distances, in NumPy: same names, arguments and bits."""

import numpy as np


def between(sq_dist, labels, weight, a, b, gap, sq_gap, foot, share, reach, least_share):
    """The numbers and places of the rows near the way from centre a to centre b, which have two rows each at least.

    in sq_dist (k, n), squared distances of rows to all centres; labels (n,), the nearest; weight (n,); foot (k,) says
    for every centre which point of the way is next to it, from 0 at a to 1 at b. Rows lie within the tube that holds
    the ``share`` of the rows of both clusters, within the cell of the way, and have places within ±``reach``.
    """
    along = (sq_dist[a] - sq_dist[b]) / (2 * gap)
    sq_off = (sq_dist[a] + sq_dist[b]) / 2 - sq_gap / 4 - along**2
    radius = _quantile(sq_off[(labels == a) | (labels == b)], share) + 1e-9 * sq_gap
    near = np.flatnonzero(sq_off <= radius)
    place = _places(along, labels, weight, (a, b), near, least_share)
    on_the_way = np.abs(place) < reach
    near, place = near[on_the_way], place[on_the_way]
    inside = _in_cell(sq_dist[:, near], a, b, sq_gap, foot)
    return near[inside], place[inside]


def _places(along, labels, weight, ends, rows, least_share):
    """Coordinates of ``rows`` in which the members of the first end have their mean at −½, those of the other at ½.

    A row is left out of the mean that it is compared with, unless the others have less than ``least_share`` of the
    weight: then they are rounding, and there is no mean.
    """
    means = []
    for end in ends:
        members = labels == end
        mass, total = weight[members].sum(), (weight[members] * along[members]).sum()
        own = np.where(labels[rows] == end, weight[rows], 0.0)
        others = mass - own
        enough = others > least_share * mass
        rest = total - own * along[rows]
        means.append(np.where(enough, rest / np.where(enough, others, 1.0), np.nan))
    gap = means[1] - means[0]
    return np.where(gap > 0, (along[rows] - (means[0] + means[1]) / 2) / np.where(gap > 0, gap, 1.0), np.inf)


def _in_cell(sq_dist, a, b, sq_gap, foot):
    """Rows (n,) that are, for every other centre c, nearer to the point of the way next to c than to c itself."""
    foot = foot[:, None]
    nearer = sq_dist[a] + foot * (sq_dist[b] - sq_dist[a]) - foot * (1 - foot) * sq_gap <= sq_dist
    nearer[[a, b]] = True
    return nearer.all(axis=0)


def _quantile(values, share):
    """``np.quantile`` of finite values, in a fraction of its time."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    below, above = np.partition(values, (low, low + 1))[low : low + 2].tolist()
    return below + (above - below) * (place - low)


def neighbour_reach(sq_dist, nth, sq_reach):
    """in sq_dist (n, m), of all rows to the first m; out sq_reach (n,): the nth smallest, that to itself left out."""
    others = sq_dist.copy()
    np.fill_diagonal(others, np.inf)
    sq_reach[:] = np.partition(others, nth - 1, axis=1)[:, nth - 1]


def median(values):
    """The median of values that are not negative."""
    return float(np.median(values))
