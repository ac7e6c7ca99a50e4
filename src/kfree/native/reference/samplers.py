"""Reference implementation of the compiled samplers in NumPy: same names, arguments and bits.

Sums run in the order of the compiled loops, and exp, log and cos are those of the C library, which ``math`` calls.
"""

import math

import numpy as np

# A pivot below this share of its diagonal is rounding.
SINGULAR = 1e-14
# A weight below e^−60 of the highest counts as zero: a uniform number has 53 bits, and 2^−53 is e^−37.
LEAST_LOG_SHARE = -60.0
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
    but for −½·log det B.
    """

    def __init__(self, x, label, seed, xi0, eta0, B0, at_centre):
        super().__init__(x, label, seed)
        self._xi0, self._eta0, self._B0, self._at_centre = xi0, eta0, B0, at_centre
        self._empty = _Posterior(np.zeros(x.shape[1]), _factorised(B0.copy()))

    def sweep(self, log_alpha):
        """New labels row by row given all other labels."""
        self._clusters = [self._rebuilt(slot, None) for slot in range(len(self.counts))]
        for i, row in enumerate(self._x):
            left = self.labels[i]
            whole = self._clusters[left].copy()
            self._leave(i, left)
            log_weight = [
                self._log_weight(row, cluster, count, math.log(count)) if count else -math.inf
                for count, cluster in zip(self.counts.tolist(), self._clusters, strict=True)
            ]
            log_weight.append(log_alpha + self._log_weight(row, self._empty, 0, 0.0))
            chosen = self._draw(log_weight)
            if chosen == left:  # nothing has changed
                self._clusters[left] = whole
                self._put(i, left)
                continue
            if chosen == len(self.counts):
                chosen = self._vacant()
                self._clusters[chosen : chosen + 1] = [self._empty.copy()]
            self._join(i, chosen)
        self._close_gaps()

    def _leave(self, i, slot):
        self.counts[slot] -= 1
        if self.counts[slot] == 0:
            return
        cluster, xi = self._clusters[slot], self._xi0 + (self.counts[slot] + 1)
        gap = self._x[i] - cluster.mean
        cluster.mean -= gap / (xi - 1.0)
        if not cluster.turned(math.sqrt(xi / (xi - 1.0)) * gap, -1.0):
            self._clusters[slot] = self._rebuilt(slot, i)

    def _join(self, i, slot):
        cluster = self._clusters[slot]
        xi = self._xi0 + (self.counts[slot] if slot < len(self.counts) else 0)
        gap = self._x[i] - cluster.mean
        cluster.mean += gap / (xi + 1.0)
        cluster.turned(math.sqrt(xi / (xi + 1.0)) * gap, 1.0)
        self._put(i, slot)

    def _rebuilt(self, slot, without):
        members = self._x[(self.labels == slot) & (np.arange(len(self._x)) != without)]
        count = float(self.counts[slot])
        mean = np.add.accumulate(members)[-1] / count
        B = self._B0.copy()
        for row in members:
            B += np.outer(row - mean, row - mean)
        xi = self._xi0 + count
        B += self._xi0 * count / xi * np.outer(mean, mean)
        return _Posterior(mean * (count / xi), _factorised(B))

    def _log_weight(self, row, cluster, count, log_prior):
        gap, sq_dist = row - cluster.mean, 0.0
        for j, column in enumerate(cluster.columns):
            solved = gap[j] / column[j]
            gap[j + 1 :] -= solved * column[j + 1 :]
            sq_dist += solved * solved
        xi, eta = self._xi0 + count, self._eta0 + count
        at_centre = log_prior + (self._at_centre[count] - cluster.half_log_det)
        return at_centre - 0.5 * (eta + 1.0) * math.log1p(sq_dist * (xi / (xi + 1.0)))


class _Posterior:
    """Mean (d,) of a cluster and B = LLᵀ, of which ``columns`` (d, d) holds L's columns as rows."""

    def __init__(self, mean, columns):
        self.mean, self.columns = mean, columns
        self._take_log_det()

    def copy(self):
        return _Posterior(self.mean.copy(), self.columns.copy())

    def turned(self, gap, sign):
        """LLᵀ ± gap·gapᵀ in place, by rotations; False where subtracting leaves no positive pivot."""
        for j, column in enumerate(self.columns):
            pivot = column[j]
            square = pivot * pivot + sign * (gap[j] * gap[j])
            if not square > SINGULAR * (pivot * pivot):
                return False
            column[j] = math.sqrt(square)
            c, s = column[j] / pivot, gap[j] / pivot
            column[j + 1 :] = (column[j + 1 :] + sign * (s * gap[j + 1 :])) / c
            gap[j + 1 :] = c * gap[j + 1 :] - s * column[j + 1 :]
        self._take_log_det()
        return True

    def _take_log_det(self):
        self.half_log_det = np.add.accumulate([math.log(pivot) for pivot in np.diag(self.columns)])[-1]


def _factorised(B):
    """Cholesky's factor by columns, a pivot raised where rounding leaves none; B is overwritten."""
    columns, diagonal = np.zeros_like(B), np.diag(B).copy()
    for j, column in enumerate(columns):
        column[j] = math.sqrt(max(B[j, j], SINGULAR * diagonal[j]))
        column[j + 1 :] = B[j, j + 1 :] / column[j]
        B[j + 1 :, j + 1 :] -= np.outer(column[j + 1 :], column[j + 1 :])
    return columns
