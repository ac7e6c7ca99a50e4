"""Reference implementation of the compiled stream in NumPy: same names, arguments and bits (Odashima et al. 2016)."""

import copy

import numpy as np

from kfree.native.reference.rows import sq_dists

BIRTH, SPLIT, MERGE, DEATH, PENALTY = range(5)
# Where squared distances overflow, no penalty is high enough, and it must remain a number.
HIGHEST = np.finfo(np.float64).max


class Stream:
    """Algorithm 3, or Algorithm 2 without ``split``; Algorithm 4; and the extensions of kfree.

    Clusters are in order of birth. ``weights`` are in units that grow by ``growth_per_row`` with every row that counts,
    which makes earlier rows decay, and halve when they have doubled; ``growth`` is the current unit. A cluster dies
    when more than ``lifetime`` rows came since one joined it. Where ``max_clusters`` leaves no room the penalty
    doubles.
    """

    def __init__(self, n_features, lam, split, max_clusters, growth_per_row, lifetime):
        self.lam, self.growth, self.n_rows = lam, 1.0, 0
        self.ids, self.weights = np.empty(0, dtype=np.int64), np.empty(0)
        self.centres, self._low, self._high = (np.empty((0, n_features)) for _ in range(3))
        self._last = np.empty(0, dtype=np.int64)
        self._n_counted = self.next_id = 0
        self._split, self._max_clusters = split, np.inf if max_clusters is None else max_clusters
        self._growth_per_row, self._lifetime = growth_per_row, lifetime

    def copy(self):
        return copy.deepcopy(self)

    def __getstate__(self):
        """The state that the compiled stream has: settings, counters, clusters, boxes if they split, columns."""
        most = np.iinfo(np.int64).max if self._max_clusters == np.inf else self._max_clusters
        settings = self._split, most, self._growth_per_row, self._lifetime
        counters = self.lam, self.growth, self.n_rows, self._n_counted, self.next_id
        boxes = (self._low, self._high) if self._split else (self._low[:0], self._high[:0])
        return settings, counters, self.ids, self._last, self.weights, self.centres, *boxes, self.centres.shape[1]

    def __setstate__(self, state):
        settings, counters, self.ids, self._last, self.weights, self.centres, low, high, _ = state
        self._split, self._max_clusters, self._growth_per_row, self._lifetime = settings
        self.lam, self.growth, self.n_rows, self._n_counted, self.next_id = counters
        self._low, self._high = (low, high) if self._split else (self.centres.copy(), self.centres.copy())

    def advance(self, rows, joined):
        """out joined (n,): the id of the cluster that each row joined. Returns events (m, 4): row, kind, id, other."""
        self._events = []
        for row in range(rows.shape[0]):
            joined[row] = self._take(rows.z([row])[0], rows.weight[row])
            self.n_rows += 1
        return self._logged()

    def merge(self):
        """Algorithm 4 at the current penalty. Returns events."""
        self._events = []
        self._merge_below_penalty()
        return self._logged()

    def _take(self, z, weight):
        if weight == 0:
            return self.ids[sq_dists(z[None], self.centres).argmin()] if len(self.ids) else -1
        self._n_counted += 1
        if self._growth_per_row > 1:
            self._forget()
        while (j := self._home(z, weight)) is None and len(self.ids) == self._max_clusters:
            self._raise_penalty()
        if j is None:
            self._append(z, weight * self.growth, z, z)
            self._log(BIRTH, self.ids[-1])
            return self.ids[-1]
        name = self.ids[j]
        self._join(j, z, weight * self.growth)
        while self._split and self._due(j):
            if len(self.ids) < self._max_clusters:
                self._halve(j)
                break
            j = self._raise_penalty(follow=j)
        return name

    def _home(self, z, weight):
        """The cluster that a row belongs to, or None if it has to open one."""
        if not len(self.ids):
            return None
        gaps = sq_dists(z[None], self.centres)[0]
        if self._split:
            outside = ((z < self._low) | (z > self._high)).any(axis=1)
            widest = (np.maximum(self._high, z) - np.minimum(self._low, z)).max(axis=1)
            too_large = (self.weights + weight * self.growth) * (widest * widest) > 16 * self._penalty
            gaps[outside & too_large] = np.nan
            if np.isnan(gaps).all():
                return None
        nearest = np.nanargmin(gaps)
        return None if weight * gaps[nearest] > self.lam and self.lam < HIGHEST else nearest

    def _join(self, j, z, weight):
        """Eq. 5."""
        self.weights[j] += weight
        self._last[j] = self._n_counted
        self.centres[j] += (z - self.centres[j]) * (weight / self.weights[j])
        self._low[j], self._high[j] = np.minimum(self._low[j], z), np.maximum(self._high[j], z)

    def _due(self, j):
        """Eq. 4, and both halves would have weight."""
        t = (self._high[j] - self._low[j]).argmax()
        low, high = self._low[j, t], self._high[j, t]
        large = self.weights[j] * ((high - low) * (high - low)) > 16 * self._penalty
        return large and low < self.centres[j, t] < high

    def _halve(self, j):
        """Eq. 6 as printed."""
        self._log(SPLIT, self.ids[j], self.next_id)
        t = (self._high[j] - self._low[j]).argmax()
        low, middle, high, weight = self._low[j, t], self.centres[j, t], self._high[j, t], self.weights[j]
        self._append(self.centres[j], weight * ((high - middle) / (high - low)), self._low[j], self._high[j])
        self.weights[j] = weight * ((middle - low) / (high - low))
        self.centres[j, t], self.centres[-1, t] = (middle + low) / 2, (middle + high) / 2
        self._high[j, t] = self._low[-1, t] = middle

    def _forget(self):
        self.growth *= self._growth_per_row
        if self.growth >= 2:
            self.growth /= 2
            self.weights /= 2
            alive = self._n_counted - self._last <= self._lifetime
            for name in self.ids[~alive]:
                self._log(DEATH, name)
            self._keep(alive)

    def _raise_penalty(self, follow=0):
        """Double the penalty and merge clusters while that lowers J; returns the new place of the cluster at
        ``follow``."""
        self.lam = min(2 * self.lam, HIGHEST)
        self._log(PENALTY)
        return self._merge_below_penalty(follow)

    def _merge_below_penalty(self, follow=0):
        alive = np.ones(len(self.ids), dtype=bool)
        while alive.sum() > 1:
            a, b, cost = self._cheapest_pair(np.flatnonzero(alive))
            if not cost < self._penalty:
                break
            self._log(MERGE, self.ids[a], self.ids[b])
            share = self.weights[b] / (self.weights[a] + self.weights[b])
            self.centres[a] += (self.centres[b] - self.centres[a]) * share
            self.weights[a] += self.weights[b]
            self._last[a] = max(self._last[a], self._last[b])
            self._low[a] = np.minimum(self._low[a], self._low[b])
            self._high[a] = np.maximum(self._high[a], self._high[b])
            alive[b] = False
            follow = a if follow == b else follow
        self._keep(alive)
        return int(alive[:follow].sum())

    def _cheapest_pair(self, alive):
        """Eq. 10 without its penalty: what merging two clusters adds to the squared distances. First pair on ties."""
        weight = self.weights[alive]
        cost = weight[:, None] * (weight / (weight[:, None] + weight)) * sq_dists(*[self.centres[alive]] * 2)
        cost[np.tril_indices(len(alive))] = np.inf
        a, b = np.unravel_index(cost.argmin(), cost.shape)
        return alive[a], alive[b], cost[a, b]

    @property
    def _penalty(self):
        return self.lam * self.growth

    def _append(self, centre, weight, low, high):
        self.ids, self._last = np.append(self.ids, self.next_id), np.append(self._last, self._n_counted)
        self.weights, self.centres = np.append(self.weights, weight), np.vstack([self.centres, centre])
        self._low, self._high = np.vstack([self._low, low]), np.vstack([self._high, high])
        self.next_id += 1

    def _keep(self, alive):
        for name in ("ids", "weights", "centres", "_low", "_high", "_last"):
            setattr(self, name, getattr(self, name)[alive])

    def _log(self, kind, name=-1, other=-1):
        self._events.append((self.n_rows, kind, name, other))

    def _logged(self):
        return np.array(self._events, dtype=np.int64).reshape(-1, 4)
