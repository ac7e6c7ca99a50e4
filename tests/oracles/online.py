"""Algorithms 2, 3 and 4 of Odashima et al. (2016), one row at a time in plain Python, with the text's errors mended."""

import math

import numpy as np

from oracles.centres import sq_dist


class Cluster:
    def __init__(self, name, x, w):
        self.name, self.names, self.mean, self.w, self.low, self.high = name, {name}, x, w, x, x

    def range_with(self, x):
        return max((np.maximum(self.high, x) - np.minimum(self.low, x)).tolist())

    def refuses(self, x, w, lam):
        """Algorithm 3 leaves out a cluster if x lies outside of it and would make it so large that it had to split."""
        outside = (x < self.low).any() or (x > self.high).any()
        return outside and (self.w + w) * self.range_with(x) ** 2 > 16 * lam

    def add(self, x, w):
        """Eq. 5; the mean is moved by its share, which is the same and stays put where x is the mean."""
        self.w += w
        self.mean = self.mean + (x - self.mean) * (w / self.w)
        self.low, self.high = np.minimum(self.low, x), np.maximum(self.high, x)

    def is_due(self, lam):
        """Eq. 4."""
        return self.w * self.range_with(self.mean) ** 2 > 16 * lam

    def split(self, name):
        """Eq. 6 as printed: self becomes the left half, and the right half is returned."""
        j = int(np.argmax(self.high - self.low))
        middle, low, high, w = self.mean[j], self.low[j], self.high[j], self.w
        right = Cluster(name, self.mean.copy(), w * ((high - middle) / (high - low)))
        right.low, right.high, self.mean, self.high = self.low.copy(), self.high, self.mean.copy(), self.high.copy()
        self.w = w * ((middle - low) / (high - low))
        self.mean[j], right.mean[j] = (middle + low) / 2, (middle + high) / 2
        self.high[j] = right.low[j] = middle
        return right


def online_dp_means(Z, lam, weight=None, split=True, max_clusters=math.inf, half_life=math.inf):
    """Algorithm 3, or Algorithm 2 without ``split``: the clusters, the name of the one each row joined, the last
    penalty.

    The limit and the forgetting are kfree's own: the penalty doubles until there is room or none is needed, and old
    rows lose weight with each new one.
    """
    clusters, joined, n_names = [], [], 0
    for x, w in zip(Z, [1.0] * len(Z) if weight is None else weight, strict=True):
        if w == 0:
            joined.append(nearest(x, clusters)[0].name if clusters else -1)
            continue
        for cluster in clusters if half_life < math.inf else []:
            cluster.w *= 2 ** (-1 / half_life)
        while True:
            home, gap = nearest(x, [c for c in clusters if not (split and c.refuses(x, w, lam))])
            if not w * gap > lam or len(clusters) < max_clusters:
                break
            lam *= 2
            clusters = merged(clusters, lam)
        if w * gap > lam:
            clusters.append(Cluster(n_names, x, w))
            joined.append(n_names)
            n_names += 1
            continue
        home.add(x, w)
        joined.append(home.name)
        while split and home.is_due(lam):
            if len(clusters) < max_clusters:
                clusters.append(home.split(n_names))
                n_names += 1
                break
            lam *= 2
            clusters = merged(clusters, lam)
            home = next(c for c in clusters if home.name in c.names)
    return clusters, joined, lam


def nearest(x, clusters):
    """The nearest cluster, the first on ties, and its squared distance: infinite if there is none."""
    gaps = [sq_dist(x, c.mean) for c in clusters]
    return (clusters[int(np.argmin(gaps))], min(gaps)) if gaps else (None, math.inf)


def merged(clusters, lam):
    """The clusters that Algorithm 4 leaves, with the boxes of all that they are made of."""
    centroids, group = merge_dp_means([c.mean for c in clusters], [c.w for c in clusters], lam)
    for k, c in zip(group, clusters, strict=True):
        into = clusters[k]
        if into is not c:
            into.names |= c.names
            into.w += c.w
            into.low, into.high = np.minimum(into.low, c.low), np.maximum(into.high, c.high)
    kept = [clusters[k] for k in sorted(set(group))]
    for cluster, centroid in zip(kept, centroids, strict=True):
        cluster.mean = centroid
    return kept


def merge_dp_means(centroids, weights, lam):
    """Algorithm 4 with Eq. 10 taken literally: centroids of the groups, and the group of each cluster given."""
    group = list(range(len(centroids)))

    def members(k):
        return [i for i in range(len(group)) if group[i] == k]

    def centroid(some):
        return sum(weights[i] * centroids[i] for i in some) / sum(weights[i] for i in some)

    def spread(some):
        return math.fsum(weights[i] * sq_dist(centroids[i], centroid(some)) for i in some)

    while len(alive := sorted(set(group))) > 1:
        cost = {(k, l): spread(members(k) + members(l)) - spread(members(k)) - spread(members(l)) - lam
                for k in alive for l in alive if k < l}  # fmt: skip
        k, l = min(cost, key=cost.get)
        if cost[k, l] >= 0:
            break
        group = [k if z == l else z for z in group]
    return [centroid(members(k)) for k in sorted(set(group))], group
