"""Gaussian clusters of rows that are few beside their columns, by the inner products of the rows alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from kfree.core.rules import LinearRule
from kfree.core.stats import CountStats, Floats, Index
from kfree.objectives.gaussian import AtCentre, GaussianModel, half_log_dets, log_normaliser, lower_factors

# With fewer columns, or more rows a column, matrices of the columns take less time.
_LEAST_FEATURES, _ROWS_PER_COLUMN = 64, 4
# Inner products of rows with a larger w·‖z‖² round off more than 1e-6 of the prior's identity matrix.
_LARGEST = 1e10

T = TypeVar("T")


def is_faster_by_gram(n_rows: int, n_features: int) -> bool:
    """Whether a search by inner products of so many rows takes less time than one by their columns."""
    return n_features >= _LEAST_FEATURES and n_rows <= _ROWS_PER_COLUMN * n_features


def _once(compute: Callable[[GramModel, Floats], T]) -> Callable[[GramModel, Floats], T]:
    """Computes once for each cluster, as most moves change few of them."""

    @wraps(compute)
    def recalled(model: GramModel, weight: Floats) -> T:
        key = compute.__name__, hash(weight.tobytes())
        if key not in model.known:
            model.known[key] = compute(model, weight)
        value: T = model.known[key]
        return value

    return recalled


@dataclass(frozen=True, eq=False)
class GramModel:
    """What ``prior`` says about clusters of rows that are known by their numbers (``docs/theory/free-energy.md``).

    A row counts one event, its own number, so that ``sum`` (k, n) of the statistics has the weights of each cluster's
    rows. Rows are seen as z = L0⁻¹(x − m0), with B0 = L0·L0ᵀ, and the prior as one more row of every cluster: z = 0 of
    weight ξ0. If W has the rows √w·(z − m) of a cluster, m being their mean, then L0⁻¹·B·L0⁻ᵀ = I + WᵀW (Eq. 18), and

        det(I + WᵀW) = det(I + WWᵀ),   (I + WᵀW)⁻¹ = I − Wᵀ(I + WWᵀ)⁻¹W

    need n_c³ steps and no columns. ``gram`` (n + 1, n + 1) has the inner products of all z, the prior's last.
    """

    prior: GaussianModel
    gram: Floats
    half_log_det_B0: float
    known: dict[tuple[str, int], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, prior: GaussianModel, rows: Floats, weight: Floats) -> GramModel | None:
        """None for an improper prior, which has no L0, and where inner products have too few digits."""
        if not prior.is_proper:
            return None
        lower = lower_factors(prior.B0)
        z = solve_triangular(lower, (np.vstack([rows, prior.m0]) - prior.m0).T, lower=True)
        with np.errstate(over="ignore", invalid="ignore"):  # products that overflow are too large
            gram = z.T @ z
            enough = (weight * gram.diagonal()[:-1]).max() < _LARGEST
        return cls(prior, gram, float(half_log_dets(lower))) if enough else None

    @property
    def floats_per_cluster(self) -> int:
        return len(self.gram)

    def log_evidence(self, stats: CountStats) -> Floats:
        """log p(rows of each cluster)."""
        weights = stats.sum.reshape(-1, stats.sum.shape[-1])
        log_det = 2 * np.reshape([self._half_log_det(weight) for weight in weights], stats.n.shape)
        log_post = log_normaliser(*self._counts(stats), log_det, self.prior.n_features)
        return np.where(stats.n == 0, 0.0, self.prior.log_prior - log_post)

    def labelling(self, stats: CountStats) -> LinearRule:
        """As :meth:`GaussianModel.labelling`."""
        return self._rule(stats, self.prior.expected_at_centre)

    def plug_in(self, stats: CountStats) -> LinearRule:
        """As :meth:`GaussianModel.plug_in`."""
        return self._rule(stats, self.prior.plug_in_at_centre)

    def _rule(self, stats: CountStats, at_centre: AtCentre) -> LinearRule:
        xi, eta = self._counts(stats)
        half_log_det, sq_dist = zip(*map(self._sq_dists, stats.sum), strict=True)
        return LinearRule(np.stack(sq_dist) * (eta / 2)[:, None], at_centre(xi, eta, np.array(half_log_det)))

    def _counts(self, stats: CountStats) -> tuple[Floats, Floats]:
        """ξ and η (Eq. 18)."""
        return self.prior.xi0 + stats.n, self.prior.eta0 + stats.n

    @_once
    def _half_log_det(self, weight: Floats) -> float:
        """½·log det B of a cluster with these weights of all rows."""
        own, w = self._members(weight)
        gram = self.gram[np.ix_(own, own)]
        to_mean = gram @ w / w.sum()
        return self._factor(gram - to_mean - to_mean[:, None] + to_mean @ w / w.sum(), w)[1]

    @_once
    def _sq_dists(self, weight: Floats) -> tuple[float, Floats]:
        """½·log det B of a cluster, and (x − m)ᵀB⁻¹(x − m) of all rows (n,)."""
        own, w = self._members(weight)
        to_mean = w @ self.gram[own] / w.sum()
        sq_mean = to_mean[own] @ w / w.sum()
        gaps = self.gram[own] - to_mean - to_mean[own, None] + sq_mean
        lower, half_log_det = self._factor(gaps[:, own], w)
        within = solve_triangular(lower, np.sqrt(w)[:, None] * gaps[:, :-1], lower=True, check_finite=False)
        sq_gap = self.gram.diagonal() - 2 * to_mean + sq_mean
        return half_log_det, sq_gap[:-1] - (within**2).sum(axis=0)

    def _members(self, weight: Floats) -> tuple[Index, Floats]:
        """Numbers and weights of the rows of a cluster, the prior's last."""
        own = np.flatnonzero(weight)
        return np.append(own, len(weight)), np.append(weight[own], self.prior.xi0)

    def _factor(self, gaps: Floats, w: Floats) -> tuple[Floats, float]:
        """A factor of I + WWᵀ, from inner products of z − m, and ½·log det B."""
        scale = np.sqrt(w)
        lower = lower_factors(np.eye(len(w)) + scale[:, None] * gaps * scale)
        return lower, self.half_log_det_B0 + float(half_log_dets(lower))
