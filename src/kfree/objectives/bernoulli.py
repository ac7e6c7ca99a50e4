"""Clusters of 0/1 vectors with one probability per column, integrated out (Kurihara & Welling 2009, App. C)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import betaln, psi

from kfree.core.fields import NotNegative
from kfree.core.marks import Size
from kfree.core.rules import LinearRule
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import CountStats, Floats, Labels


@dataclass(frozen=True)
class BernoulliModel:
    """x_d ~ Bernoulli(λ_d), λ_d ~ Beta(ω0, ω0), for ``n_features`` columns on their own   (Eq. 41–42)."""

    omega0: NotNegative
    n_features: Annotated[int, Size("d")]

    @property
    def floats_per_cluster(self) -> int:
        return self.n_features

    def log_evidence(self, stats: CountStats) -> Floats:
        """log p(rows of each cluster)   (Eq. 45)."""
        ones, zeros = self._posterior(stats)
        evidence: Floats = (betaln(ones, zeros) - betaln(self.omega0, self.omega0)).sum(axis=-1)
        return evidence

    def labelling(self, stats: CountStats) -> LinearRule:
        """−E log p(x | λ) under the posterior   (Eq. 46)."""
        ones, zeros = self._posterior(stats)
        return LinearRule(psi(zeros) - psi(ones), (psi(ones + zeros) - psi(zeros)).sum(axis=1))

    def plug_in(self, stats: CountStats) -> LinearRule:
        """−log p(x | mean of λ), which is also −log p(x | rows of the cluster)."""
        ones, zeros = self._posterior(stats)
        return LinearRule(np.log(zeros / ones), np.log((ones + zeros) / zeros).sum(axis=1))

    def centres(self, stats: CountStats) -> Floats:
        """The posterior mean of λ."""
        ones, zeros = self._posterior(stats)
        centres: Floats = ones / (ones + zeros)
        return centres

    def log_predictive(self, stats: CountStats, rows: ArrayOrCSR) -> Floats:
        """log p(x | rows of the cluster), (n, k)."""
        return -self.plug_in(stats).costs(rows)

    def draw(self, stats: CountStats, labels: Labels, rng: np.random.RandomState, n_events: int) -> Floats:
        """A row from the predictive distribution of each cluster in ``labels``."""
        is_one = rng.random_sample((len(labels), self.n_features)) < self.centres(stats)[labels]
        return np.asarray(is_one, dtype=np.float64)

    def _posterior(self, stats: CountStats) -> tuple[Floats, Floats]:
        """ω of Eq. 44 for ones and for zeros."""
        return self.omega0 + stats.sum, self.omega0 + (stats.n[..., None] - stats.sum)
