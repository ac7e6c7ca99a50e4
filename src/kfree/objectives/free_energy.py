"""The free energy of a hard clustering: −log p(rows, labels), parameters integrated out (Kurihara & Welling 2009)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, Self, TypeVar

import numpy as np

from kfree.core.marks import OneOf
from kfree.core.rules import Rule
from kfree.core.stats import Floats, Selection
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES, Mixture
from kfree.objectives.multinomial import MultinomialModel

# Merged statistics of more numbers than this are made for one cluster at a time, which takes less memory.
_WIDE = 2**20
MODELS = {"gaussian": GaussianModel, "multinomial": MultinomialModel, "bernoulli": BernoulliModel}


class Additive(Protocol):
    """Statistics of clusters whose union has statistics too."""

    @property
    def n(self) -> Floats: ...

    @property
    def sum(self) -> Floats: ...

    def copy(self) -> Self: ...

    def take(self, clusters: Selection) -> Self: ...

    def followed_by(self, other: Self) -> Self: ...

    def absorb(self, a: int, b: int, merge_cost: float) -> None: ...

    def joined(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Additive)
S_contra = TypeVar("S_contra", bound=Additive, contravariant=True)


class Model(Protocol[S_contra]):
    """How the rows of a cluster are distributed."""

    @property
    def floats_per_cluster(self) -> int: ...

    def log_evidence(self, stats: S_contra) -> Floats: ...

    def labelling(self, stats: S_contra) -> Rule: ...

    def plug_in(self, stats: S_contra) -> Rule: ...


@dataclass(frozen=True)
class FreeEnergy(Generic[S]):
    """F = −Σ_c [log_evidence_c + log_share(n_c)] + log_total(N, K)   (Eq. 19, 23, 39, 45; corrected App. A, Eq. 32).

    With a proper prior this is exactly −log p(X, z | K) for a finite mixture and −log p(X, [z]) for a Dirichlet
    process.
    """

    model: Annotated[Model[S], OneOf(MODELS)]
    mixture: Annotated[Mixture, OneOf(MIXTURES)]

    def cluster_terms(self, stats: S) -> Floats:
        """What each cluster adds to F; zero for one without rows."""
        return -(self.model.log_evidence(stats) + self.mixture.log_share(stats.n))

    def shared_term(self, n_rows: float, n_clusters: int) -> float:
        """The term of the number of rows and clusters, whatever the labels."""
        return self.mixture.log_total(n_rows, n_clusters)

    def free_energy(self, stats: S) -> float:
        """F of clusters with these statistics; those without rows are not counted."""
        terms = math.fsum(self.cluster_terms(stats))
        return terms + self.shared_term(float(stats.n.sum()), int(np.count_nonzero(stats.n)))

    def labelling(self, stats: S) -> Rule:
        """What a row costs in each cluster when labels are updated: −E log p(x, z = c), up to a shared number."""
        return self.model.labelling(stats).raised(-self.mixture.expected_log_weight(stats.n))

    def plug_in(self, stats: S) -> Rule:
        """−log p(x | c) with the posterior means of the parameters in place of them (Eq. 49)."""
        return self.model.plug_in(stats)

    def merge_costs(self, stats: S, clusters: int | slice) -> Floats:
        """What merging each of ``clusters`` with each cluster adds to the clusters' terms; (k,) or (number, k).

        Infinite for partners without rows. The shared term is left out, because it is the same for all pairs: F itself
        changes by this and by shared_term(N, K − 1) − shared_term(N, K). The same for (a, b) as for (b, a), bit by bit.
        """
        if isinstance(clusters, slice):
            places = range(len(stats.n))[clusters]
            if len(places) * len(stats.n) * self.model.floats_per_cluster > _WIDE:
                return self._merge_costs_one_by_one(stats, list(places))
        first, alive = stats.take((clusters, None)), stats.n > 0
        partners = stats.take(alive)
        apart = self.cluster_terms(partners) + self.cluster_terms(first)
        costs = np.full((*first.n.shape[:-1], len(stats.n)), np.inf)
        costs[..., alive] = self.cluster_terms(partners.joined(first)) - apart
        return costs

    def _merge_costs_one_by_one(self, stats: S, places: list[int]) -> Floats:
        """``merge_costs`` of several clusters, each pair of which is computed once."""
        terms, left = self.cluster_terms(stats), stats.n > 0
        costs = np.full((len(places), len(stats.n)), np.inf)
        for i, place in enumerate(places):
            if stats.n[place] > 0:
                apart = terms[left] + terms[place]
                costs[i, left] = self.cluster_terms(stats.take(left).joined(stats.take([place]))) - apart
                costs[i + 1 :, place] = costs[i, places[i + 1 :]]
                left[place] = False
        return costs
