"""Priors of cluster sizes: a finite mixture and a Dirichlet process (Kurihara & Welling 2009, Eq. 19, 23)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import gammaln, psi

from kfree.core.fields import NotNegative
from kfree.core.stats import Floats


class Mixture(Protocol):
    """log p(z) is Σ_c ``log_share``(n_c) − ``log_total``(N, K)."""

    def log_share(self, n: Floats) -> Floats: ...

    def log_total(self, n_rows: float, n_clusters: int) -> float: ...

    def expected_log_weight(self, n: Floats) -> Floats: ...

    def weights(self, n: Floats) -> Floats: ...


@dataclass(frozen=True)
class FiniteMixture:
    """K clusters with weights from a symmetric Dirichlet distribution: −log p(z | K) of Eq. 19, with distinguishable
    labels."""

    phi0: NotNegative

    def log_share(self, n: Floats) -> Floats:
        """What each cluster adds to log p(z); zero for one without rows."""
        return np.asarray(gammaln(self.phi0 + n) - gammaln(self.phi0))

    def log_total(self, n_rows: float, n_clusters: int) -> float:
        """The term that is subtracted once, whatever the labels."""
        return float(gammaln(n_rows + n_clusters * self.phi0) - gammaln(n_clusters * self.phi0))

    def expected_log_weight(self, n: Floats) -> Floats:
        """E log(weight) under the posterior, up to a number that all clusters share (the last term of Eq. 20)."""
        return np.asarray(psi(self.phi0 + n))

    def weights(self, n: Floats) -> Floats:
        """The probability of each cluster for the next row."""
        weights: Floats = (self.phi0 + n) / (self.phi0 + n).sum()
        return weights


@dataclass(frozen=True)
class DirichletProcessMixture:
    """Any number of clusters, from a Dirichlet process: −log p([z]) of Eq. 23, where labels are only names."""

    phi0: NotNegative

    def log_share(self, n: Floats) -> Floats:
        """What each cluster adds to log p([z]); zero for one without rows."""
        return np.where(n > 0, gammaln(np.maximum(n, 1.0)) + np.log(self.phi0), 0.0)

    def log_total(self, n_rows: float, n_clusters: int) -> float:
        """The term that is subtracted once, whatever the labels."""
        return float(gammaln(n_rows + self.phi0) - gammaln(self.phi0))

    def expected_log_weight(self, n: Floats) -> Floats:
        """E[log weight] of each cluster, up to a number that all clusters share (the last term of Eq. 24)."""
        return np.asarray(psi(n))

    def weights(self, n: Floats) -> Floats:
        """The probability of each cluster for the next row, given that the row opens no new cluster."""
        weights: Floats = n / n.sum()
        return weights


MIXTURES: dict[str, type[FiniteMixture] | type[DirichletProcessMixture]] = {
    "finite": FiniteMixture,
    "dirichlet-process": DirichletProcessMixture,
}
