"""Reference implementation of the compiled samplers in NumPy: same names, arguments and bits.

Sums run in the order of the compiled loops, and exp, log and cos are those of the C library, which ``math`` calls.
"""

import math

import numpy as np

from kfree.native.reference.posteriors import Factor, FewRows, dot, factorised

# A weight below e^−60 of the highest counts as zero: a uniform number has 53 bits, and 2^−53 is e^−37.
LEAST_LOG_SHARE = -60.0
# det B without a row, as a share of det B with it, is a difference; below this its digits are too few.
LEAST_SHARE = 1e-4
_MASK = 2**64 - 1


class Random:
    """SplitMix64 (Steele, Lea & Flood 2014): uniform and normal numbers from one 64-bit state."""

    def __init__(self, seed):
        self._state = seed & _MASK

    def uniform(self):
        return (self._next() >> 11) * 2.0**-53

    def normal(self):
        radius = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        return radius * math.cos(2.0 * math.pi * self.uniform())

    def normals(self, n):
        return np.array([self.normal() for _ in range(n)])

    def _next(self):
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)


class _Chain:
    """Labels of the rows, and numbered slots for clusters; a slot without rows is free, and the lowest is reused."""

    def __init__(self, x, label, seed):
        self._x, self.labels, self._random = x, label.copy(), Random(seed)
        self.counts = np.bincount(label).astype(np.int64)

    def _draw(self, log_weight):
        """An index with probability ∝ exp(log_weight)."""
        log_share = [value - max(log_weight) for value in log_weight]
        cumulated = np.add.accumulate([math.exp(value) if value >= LEAST_LOG_SHARE else 0.0 for value in log_share])
        return int(np.searchsorted(cumulated[:-1], self._random.uniform() * cumulated[-1], side="right"))

    def _vacant(self):
        free = np.flatnonzero(self.counts == 0)
        return int(free[0]) if len(free) else len(self.counts)

    def _put(self, row, slot):
        if slot == len(self.counts):
            self.counts = np.append(self.counts, 0)
        self.labels[row] = slot
        self.counts[slot] += 1

    def _close_gaps(self):
        self.labels = (np.cumsum(self.counts > 0) - 1)[self.labels].astype(np.int32)
        self.counts = self.counts[self.counts > 0]


class SphericalChain(_Chain):
    """Neal's Algorithm 2 for x ~ N(μ_z, σI), μ ~ N(0, ρI), z by a Chinese restaurant process.

    in x (n, d), label (n,) without gaps. Means are drawn before the first sweep.
    """

    def __init__(self, x, label, seed, sigma, rho):
        super().__init__(x, label, seed)
        self._draw_means(sigma, rho)

    def sweep(self, log_alpha, sigma, rho):
        """New labels row by row given the means, then new means given the labels."""
        log_new = log_alpha + 0.5 * self._x.shape[1] * math.log(sigma / (rho + sigma))
        for i, row in enumerate(self._x):
            self.counts[self.labels[i]] -= 1
            sq_dist = np.add.accumulate(np.square(row - self.means), axis=1)[:, -1]
            log_weight = [
                math.log(count) - far / (2.0 * sigma) if count else -math.inf
                for count, far in zip(self.counts.tolist(), sq_dist.tolist(), strict=True)
            ]
            log_weight.append(log_new - np.add.accumulate(np.square(row))[-1] / (2.0 * (rho + sigma)))
            chosen = self._draw(log_weight)
            if chosen == len(self.counts):
                chosen = self._open(row, sigma, rho)
            self._put(i, chosen)
        self._close_gaps()
        self._draw_means(sigma, rho)

    @property
    def sq_error(self):
        return np.add.accumulate(np.square(self._x - self.means[self.labels]).ravel())[-1]

    def _open(self, row, sigma, rho):
        slot, share = self._vacant(), rho / (sigma + rho)
        mean = share * row + math.sqrt(sigma * share) * self._random.normals(len(row))
        self.means = np.vstack([self.means[:slot], mean, self.means[slot + 1 :]])
        return slot

    def _draw_means(self, sigma, rho):
        self.sums = np.zeros((len(self.counts), self._x.shape[1]))
        np.add.at(self.sums, self.labels, self._x)
        share = rho / (sigma + rho * self.counts)[:, None]
        normals = self._random.normals(self.sums.size).reshape(self.sums.shape)
        self.means = share * self.sums + np.sqrt(sigma * share) * normals


class CollapsedChain(_Chain):
    """Neal's Algorithm 3 for Gaussians with μ ~ N(0, precision ξ0·Ω), Ω ~ Wishart(η0, inverse scale B0).

    in x (n, d), label (n,) without gaps; at_centre (n + 1,): the log predictive density at the mean of 0, …, n rows,
    but for −½·log det B. Rows are seen as z = L0⁻¹x with B0 = L0L0ᵀ, where B0 is the identity.
    """

    def __init__(self, x, label, seed, xi0, eta0, B0, at_centre):
        super().__init__(x, label, seed)
        self._xi0, self._eta0, self._at_centre = xi0, eta0, at_centre
        self._most_few = x.shape[1] // 4
        self._clusters = [None] * len(self.counts)
        self._z = x.copy()
        for j, column in enumerate(factorised(B0.copy())):
            self._z[:, j] /= column[j]
            self._z[:, j + 1 :] -= self._z[:, j, None] * column[j + 1 :]

    def sweep(self, log_alpha):
        """New labels row by row given all other labels."""
        self._clusters = [self._opened(slot) for slot in range(len(self.counts))]
        for i, z in enumerate(self._z):
            left, whole = self.labels[i], self._clusters[self.labels[i]]
            log_weight = self._log_weights(i, log_alpha)
            chosen = self._draw(log_weight)
            if chosen == left:  # nothing has changed
                self._clusters[left] = whole
                self._put(i, left)
                continue
            if self.counts[left] and self._clusters[left] is whole:
                self._clusters[left] = self._without(i, left)
            if chosen == len(self.counts):
                chosen = self._vacant()
                self._clusters[chosen : chosen + 1] = [self._empty()]
            self._put(i, chosen)
            self._clusters[chosen] = self._kept(self._clusters[chosen].with_row(i, z, self._xi0), self.counts[chosen])
        self._clusters = [cluster for cluster, count in zip(self._clusters, self.counts, strict=True) if count]
        self._close_gaps()

    def _empty(self):
        return FewRows.empty(self._x.shape[1]) if self._most_few else Factor.empty(self._x.shape[1])

    def _opened(self, slot):
        """What is kept by factors is made anew, so that rounding does not add up over sweeps."""
        cluster = self._clusters[slot]
        if isinstance(cluster, FewRows):
            return cluster
        members = np.flatnonzero(self.labels == slot)
        if len(members) <= self._most_few:
            cluster = FewRows.of(members, self._z, self._xi0)
            if cluster.is_exact():
                return cluster
        return self._rebuilt(members)

    def _kept(self, cluster, count):
        """As a factor once there are many rows."""
        if isinstance(cluster, Factor) or (count <= self._most_few and cluster.is_exact()):
            return cluster
        factor = Factor.empty(self._x.shape[1])
        for i in cluster.rows:
            factor = factor.with_row(i, self._z[i], self._xi0)
        return factor

    def _without(self, i, slot):
        cluster = self._clusters[slot]
        if isinstance(cluster, FewRows):
            return FewRows.of([row for row in cluster.rows if row != i], self._z, self._xi0)
        smaller = cluster.without_row(self._z[i], self._xi0)
        if smaller is None:
            smaller = self._rebuilt(np.setdiff1d(np.flatnonzero(self.labels == slot), [i]))
        return smaller

    def _log_weights(self, i, log_alpha):
        """Weights of all slots, and of a new one after them. A row that cannot stay where it counts is taken out."""
        z, left = self._z[i], self.labels[i]
        self.counts[left] -= 1
        own = self._log_weight_of_own(i, left) if self.counts[left] else -math.inf
        log_weight = [
            self._log_weight(cluster.half_log_det, count, cluster.sq_dist(z)) if count else -math.inf
            for count, cluster in zip(self.counts.tolist(), self._clusters, strict=True)
        ]
        log_weight[left] = own
        return [*log_weight, log_alpha + self._log_weight(0.0, 0, dot(z, z))]

    def _log_weight_of_own(self, i, slot):
        cluster, count = self._clusters[slot], int(self.counts[slot])
        if isinstance(cluster, Factor):
            xi = self._xi0 + (count + 1)
            ratio, sq_dist = xi / (xi - 1.0), cluster.sq_dist(self._z[i])
            share = 1.0 - ratio * sq_dist
            if share > LEAST_SHARE:
                half_log_det = cluster.half_log_det + 0.5 * math.log(share)
                return self._log_weight(half_log_det, count, ratio * ratio * sq_dist / share)
        cluster = self._clusters[slot] = self._without(i, slot)
        return self._log_weight(cluster.half_log_det, count, cluster.sq_dist(self._z[i]))

    def _rebuilt(self, members):
        rows, count = self._z[members], float(len(members))
        mean = np.add.accumulate(rows)[-1] / count
        B = np.eye(rows.shape[1])
        for row in rows:
            B += np.outer(row - mean, row - mean)
        xi = self._xi0 + count
        B += self._xi0 * count / xi * np.outer(mean, mean)
        return Factor(mean * (count / xi), factorised(B), len(members))

    def _log_weight(self, half_log_det, count, sq_dist):
        xi, eta = self._xi0 + count, self._eta0 + count
        at_centre = (math.log(count) if count else 0.0) + (self._at_centre[count] - half_log_det)
        return at_centre - 0.5 * (eta + 1.0) * math.log(1.0 + sq_dist * (xi / (xi + 1.0)))
