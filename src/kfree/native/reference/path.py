"""Reference implementation of what the lam path asks of distances, in NumPy: same names, arguments and bits."""

import numpy as np


def dips_in_the_middle(sq_dist, weight, pairs, gap, foot, share, half, least_share, excess, sigmas):
    """By how much the windows in the middle of ways between centres fall short of the geometric mean of the outer two.

    in sq_dist (k, n), squared distances of rows to all centres; weight (n,); pairs (m, 2) of centres, gap (m,) how far
    apart they are, and foot (m, k), for every centre c which point of the way is next to it, from 0 at the first to 1
    at the second. Rows lie within the tube that holds the ``share`` of the rows of both clusters, within the cell of
    the way, and in windows of half width ``half`` at its ends and in its middle.
    out excess, sigmas (m,): the shortfalls, and in standard deviations; NaN where an end has fewer than two rows.
    Returns the variance of the sum of all shortfalls.
    """
    labels, influence = sq_dist.argmin(axis=0), np.zeros(len(weight))
    for s in range(len(pairs)):
        found = _between(sq_dist, labels, weight, pairs[s], gap[s], foot[s], share, 0.5 + half, least_share)
        excess[s] = sigmas[s] = np.nan
        if found is None:
            continue
        rows, place = found
        at_left, at_middle, at_right = place < -half, np.abs(place) < half, place > half
        left, middle, right = (weight[rows][window].sum() for window in (at_left, at_middle, at_right))
        own = np.where(at_middle, -1.0, 0.0)
        if left > 0 and right > 0:
            own[at_left], own[at_right] = 0.5 * np.sqrt(right / left), 0.5 * np.sqrt(left / right)
        _add(s, rows, weight[rows] * own, np.sqrt(left * right) - middle, influence, excess, sigmas)
    return float((influence**2).sum())


def dips_somewhere(
    sq_dist,
    weight,
    training_sq_dist,
    training_weight,
    pairs,
    gap,
    foot,
    share,
    reach,
    least_share,
    places,
    half,
    excess,
    sigmas,
):
    """By how much the emptiest windows between centres fall short of the emptier of those around the two.

    The same arrays as above; for training rows, which say at which of ``places`` the emptiest window is, too.
    """
    labels, training_labels = sq_dist.argmin(axis=0), training_sq_dist.argmin(axis=0)
    influence, limits = np.zeros(len(weight)), (share, reach, least_share)
    for s in range(len(pairs)):
        way = pairs[s], gap[s], foot[s]
        found = _between(sq_dist, labels, weight, *way, *limits)
        trained = _between(training_sq_dist, training_labels, training_weight, *way, *limits)
        excess[s] = sigmas[s] = np.nan
        if found is None or trained is None:
            continue
        mass = np.array([training_weight[trained[0]][np.abs(trained[1] - at) < half].sum() for at in places])
        lowest = np.flatnonzero(mass == mass.min())
        rows, place = found
        windows = [np.abs(place - at) < half for at in (-0.5, places[lowest[len(lowest) // 2]], 0.5)]
        left, middle, right = (weight[rows][window].sum() for window in windows)
        end = windows[0] if left <= right else windows[2]
        own = weight[rows] * (end.astype(float) - windows[1])
        _add(s, rows, own, min(left, right) - middle, influence, excess, sigmas)
    return float((influence**2).sum())


def _add(s, rows, own, shortfall, influence, excess, sigmas):
    """The shortfall of one way, and the part of its rows in the sum of all."""
    influence[rows] += own
    excess[s], sigmas[s] = shortfall, shortfall / np.sqrt(1 + (own**2).sum())


def _between(sq_dist, labels, weight, pair, gap, foot, share, reach, least_share):
    """The numbers and places of the rows near a way, those within ±``reach``; None where an end has fewer than two."""
    a, b = pair
    if min((labels == a).sum(), (labels == b).sum()) < 2:
        return None
    sq_gap = gap * gap
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
