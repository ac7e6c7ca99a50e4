"""Algorithms 2, 3 and 4 of Odashima et al. (2016), one row at a time in plain Python, with the text's errors mended."""

import math

import numpy as np
from oracles import sq_dist


class Cluster:
    def __init__(self, name, x, w):
        self.name, self.mean, self.w, self.low, self.high = name, x, w, x, x

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


def online_dp_means(Z, lam, weight=None, split=True):
    """Algorithm 3, or Algorithm 2 without ``split``: the clusters, and for each row the name of the one it joined."""
    clusters, joined, n_names = [], [], 0
    for x, w in zip(Z, [1.0] * len(Z) if weight is None else weight, strict=True):
        gaps = [math.inf if split and w and c.refuses(x, w, lam) else sq_dist(x, c.mean) for c in clusters]
        nearest = int(np.argmin(gaps)) if gaps else None
        if w == 0:
            joined.append(-1 if nearest is None else clusters[nearest].name)
        elif nearest is None or w * gaps[nearest] > lam:
            clusters.append(Cluster(n_names, x, w))
            joined.append(n_names)
            n_names += 1
        else:
            cluster = clusters[nearest]
            cluster.add(x, w)
            joined.append(cluster.name)
            if split and cluster.w * cluster.range_with(cluster.mean) ** 2 > 16 * lam:
                clusters.append(cluster.split(n_names))
                n_names += 1
    return clusters, joined


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
