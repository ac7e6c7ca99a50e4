"""Clusters of count vectors with one multinomial each, integrated out (Kurihara & Welling 2009, App. B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, psi

from kfree.core.fields import NotNegative
from kfree.core.marks import Size
from kfree.core.rules import LinearRule
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import CountStats, Floats, Labels


@dataclass(frozen=True)
class MultinomialModel:
    """x ~ Multinomial(W, β), β ~ Dirichlet(ψ0, …, ψ0) over ``n_features`` events   (Eq. 35–36)."""

    psi0: NotNegative
    n_features: Annotated[int, Size("d")]

    @property
    def floats_per_cluster(self) -> int:
        return self.n_features

    def log_evidence(self, stats: CountStats) -> Floats:
        """log p(rows of each cluster)   (Eq. 39, with each row's own total W)."""
        prior_total = self.n_features * self.psi0
        total = gammaln(prior_total) - gammaln(prior_total + stats.sum.sum(axis=-1))
        events = (gammaln(self.psi0 + stats.sum) - gammaln(self.psi0)).sum(axis=-1)
        evidence: Floats = total + events + stats.log_ways
        return evidence

    def labelling(self, stats: CountStats) -> LinearRule:
        """−E log p(x | β) under the posterior, without the number of orders   (Eq. 40)."""
        weight = self.psi0 + stats.sum
        return LinearRule(psi(weight.sum(axis=1))[:, None] - psi(weight), np.zeros(len(stats.n)))

    def plug_in(self, stats: CountStats) -> LinearRule:
        """−log p(x | mean of β), without the number of orders."""
        return LinearRule(-np.log(self.centres(stats)), np.zeros(len(stats.n)))

    def centres(self, stats: CountStats) -> Floats:
        """The posterior mean of β."""
        weight = self.psi0 + stats.sum
        centres: Floats = weight / weight.sum(axis=1, keepdims=True)
        return centres

    def log_predictive(self, stats: CountStats, rows: ArrayOrCSR) -> Floats:
        """log p(x | rows of the cluster): Dirichlet-multinomial, (n, k)."""
        weight = self.psi0 + stats.sum
        total = weight.sum(axis=1)
        rows = sp.csr_array(rows)
        words = np.asarray(rows.sum(axis=1)).ravel()
        owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        out = np.empty((rows.shape[0], len(total)))
        for c in range(len(total)):
            gain = gammaln(weight[c, rows.indices] + rows.data) - gammaln(weight[c, rows.indices])
            out[:, c] = np.bincount(owner, gain, minlength=rows.shape[0])
        out += gammaln(total) - gammaln(total + words[:, None]) + log_orders(rows)[:, None]
        return out

    def draw(self, stats: CountStats, labels: Labels, rng: np.random.RandomState, n_events: int) -> Floats:
        """A row of ``n_events`` events from the predictive distribution of each cluster in ``labels``."""
        return np.array(
            [rng.multinomial(n_events, rng.dirichlet(self.psi0 + stats.sum[c])) for c in labels], dtype=float
        )


def log_orders(rows: ArrayOrCSR) -> Floats:
    """log(W!/Πx!) of each row of counts: in how many orders its W events can have come."""
    words = np.asarray(rows.sum(axis=1)).ravel()
    if isinstance(rows, np.ndarray):
        repeats = gammaln(rows + 1).sum(axis=1)
    else:
        owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        repeats = np.bincount(owner, gammaln(rows.data + 1), minlength=rows.shape[0])
    orders: Floats = gammaln(words + 1) - repeats
    return orders
