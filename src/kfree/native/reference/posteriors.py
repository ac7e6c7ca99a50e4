"""Posteriors of one cluster in the collapsed sampler, where the prior's B0 is the identity: few rows, or a factor."""

import math

import numpy as np

# A pivot below this share of its diagonal is rounding.
SINGULAR = 1e-14
# B⁻¹ of few rows has lost up to 6 of 16 digits when the squares in B add up to this.
MOST_SPREAD = 1e6


class FewRows:
    """A cluster of few rows: its mean (d,), and ``W`` with B⁻¹ = I − WᵀW, one row of W per row of the cluster."""

    def __init__(self, rows, mean, W, half_log_det, spread):
        self.rows, self.mean, self.W, self.half_log_det, self.spread = rows, mean, W, half_log_det, spread

    @classmethod
    def empty(cls, n_features):
        return cls([], np.zeros(n_features), [], 0.0, 0.0)

    @classmethod
    def of(cls, rows, z, xi0):
        made = cls.empty(z.shape[1])
        for i in rows:
            made = made.with_row(i, z[i], xi0)
        return made

    def is_exact(self):
        return self.spread <= MOST_SPREAD

    def with_row(self, i, z, xi0):
        """One square more in B (Sherman & Morrison 1950)."""
        xi = xi0 + len(self.rows)
        gap = z - self.mean
        added = math.sqrt(xi / (xi + 1.0)) * gap
        made = added.copy()
        for w in self.W:
            made -= dot(w, added) * w
        growth = 1.0 + dot(added, made)
        return FewRows(
            [*self.rows, i],
            self.mean + gap / (xi + 1.0),
            [*self.W, made / math.sqrt(growth)],
            self.half_log_det + 0.5 * math.log(growth),
            self.spread + dot(added, added),
        )

    def sq_dist(self, z):
        gap = z - self.mean
        sq_dist = dot(gap, gap)
        for w in self.W:
            along = dot(w, gap)
            sq_dist -= along * along
        return sq_dist


class Factor:
    """Mean (d,) of a cluster and B = LLᵀ, of which ``columns`` (d, d) holds L's columns as rows."""

    def __init__(self, mean, columns, n_rows):
        self.mean, self.columns, self._n_rows = mean, columns, n_rows
        self.half_log_det = np.add.accumulate([math.log(pivot) for pivot in np.diag(columns)])[-1]

    @classmethod
    def empty(cls, n_features):
        return cls(np.zeros(n_features), np.eye(n_features), 0)

    def with_row(self, _, z, xi0):
        xi = xi0 + self._n_rows
        gap = z - self.mean
        columns = self._turned(gap * math.sqrt(xi / (xi + 1.0)), 1.0)
        return Factor(self.mean + gap / (xi + 1.0), columns, self._n_rows + 1)

    def without_row(self, z, xi0):
        """None where subtracting leaves no positive pivot."""
        xi = xi0 + self._n_rows
        gap = z - self.mean
        columns = self._turned(gap * math.sqrt(xi / (xi - 1.0)), -1.0)
        return None if columns is None else Factor(self.mean - gap / (xi - 1.0), columns, self._n_rows - 1)

    def sq_dist(self, z):
        gap, sq_dist = z - self.mean, 0.0
        for j, column in enumerate(self.columns):
            solved = gap[j] / column[j]
            gap[j + 1 :] -= solved * column[j + 1 :]
            sq_dist += solved * solved
        return sq_dist

    def _turned(self, gap, sign):
        """LLᵀ ± gap·gapᵀ by rotations."""
        columns = self.columns.copy()
        for j, column in enumerate(columns):
            pivot = column[j]
            square = pivot * pivot + sign * (gap[j] * gap[j])
            if not square > SINGULAR * (pivot * pivot):
                return None
            column[j] = math.sqrt(square)
            c, s = column[j] / pivot, gap[j] / pivot
            column[j + 1 :] = (column[j + 1 :] + sign * (s * gap[j + 1 :])) * (1.0 / c)
            gap[j + 1 :] = c * gap[j + 1 :] - s * column[j + 1 :]
        return columns


def dot(a, b):
    """Eight partial sums, added by halves."""
    terms = np.zeros((-(-len(a) // 8), 8))
    terms.ravel()[: len(a)] = a * b
    sums = np.add.accumulate(terms)[-1]
    sums = sums[:4] + sums[4:]
    sums = sums[:2] + sums[2:]
    return float(sums[0] + sums[1])


def factorised(B):
    """Cholesky's factor by columns, a pivot raised where rounding leaves none; B is overwritten."""
    columns, diagonal = np.zeros_like(B), np.diag(B).copy()
    for j, column in enumerate(columns):
        column[j] = math.sqrt(max(B[j, j], SINGULAR * diagonal[j]))
        column[j + 1 :] = B[j, j + 1 :] / column[j]
        B[j + 1 :, j + 1 :] -= np.outer(column[j + 1 :], column[j + 1 :])
    return columns
