"""Micro-clusters: many rows as a few weighted ones, on which every number of clusters can be tried fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kfree.core.memory import require_memory
from kfree.core.sites import Sites
from kfree.core.spaces import EUCLIDEAN, Space, exponent_of, spanned, times_power_of_two
from kfree.core.stats import Floats, Index
from kfree.engines.contract import MemoryRows
from kfree.engines.local.rows import LocalRows
from kfree.engines.registry import open_local
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import lloyd
from kfree.search.centres.state import assigned, one_cluster, recentred
from kfree.search.loop import require_finite

# Micro-clusters are seeded and refined on this many rows at most; the others then join the nearest of them.
SAMPLE = 20_000
_LLOYD_PASSES = 4
# Copies of their centres that exist at once: seeds, two states of k-means with sums and centres, rows and their basis.
_COPIES = 8


@dataclass(frozen=True)
class MicroClusters:
    """Micro-clusters as weighted ``rows``.

    The cost of a clustering of them is lower than that of their rows by ``offset``. ``complete`` says that all rows of
    a micro-cluster are equal, so that their number is that of the distinct rows. With more columns than micro-clusters,
    coordinates are those in a ``basis`` of the space that these span, which keeps all distances, and ``objective`` is
    the one for such coordinates.
    """

    rows: LocalRows
    objective: DPMeansObjective
    offset: float
    complete: bool
    basis: Floats | None = None

    def outward(self, centres: Floats) -> Floats:
        """Centres of micro-clusters in the coordinates of their rows."""
        return centres if self.basis is None else centres @ self.basis


def sample_of(rows: MemoryRows, objective: DPMeansObjective, rng: np.random.RandomState) -> MemoryRows:
    """At most ``SAMPLE`` rows in a random order; where that is all of them, their given order does not matter."""
    centre = one_cluster(rows, objective)
    require_finite(assigned(centre, rows, objective).cost)
    sample = rows.sample(SAMPLE, rng, centre)
    assert sample is not None  # some row has a positive weight
    return sample


def make_micro_clusters(
    rows: MemoryRows, sample: MemoryRows, objective: DPMeansObjective, n_micro: int, rng: np.random.RandomState
) -> MicroClusters:
    """About ``n_micro`` micro-clusters: seeds spread over the sample, then a few iterations of k-means.

    If there are more rows than in the sample, a last iteration takes them all.
    """
    require_memory(min(n_micro, sample.n_rows), rows.n_features, _COPIES)
    everyone = sample if rows.n_counting <= sample.n_rows else rows
    seeds, seen = spread_seeds(sample, n_micro, rng), sample
    state = assigned(Sites.of(seeds), sample, objective)
    if state.inertia == 0.0 and everyone is not sample:
        seen = everyone
        state = assigned(_with_missed(seeds, everyone, objective, n_micro, rng), everyone, objective)
    complete = state.inertia == 0.0
    for _ in range(0 if complete else _LLOYD_PASSES):
        state = lloyd(state, seen, objective)
    if everyone is not seen and not complete:
        state = assigned(recentred(state, objective), everyone, objective)
    points, weight = objective.as_rows(state.stats)
    points, basis = _in_basis(points[weight > 0], objective.space)
    flat = objective if basis is None else replace(objective, space=EUCLIDEAN)
    micro = open_local(rows.few_rows_name, points, weight=weight[weight > 0], unit=rows.frame.unit)
    offset = max(_one_cluster_cost(everyone, objective) - _one_cluster_cost(micro, flat), 0.0)
    return MicroClusters(micro, flat, 0.0 if complete else offset, complete, basis)


def _with_missed(
    seeds: Floats, everyone: MemoryRows, objective: DPMeansObjective, n_micro: int, rng: np.random.RandomState
) -> Sites:
    """Seeds at all distinct rows of the sample, and at up to ``n_micro`` of the rows that are unlike any of these."""
    found = Sites.of(seeds)
    missed = everyone.sample(SAMPLE, rng, one_cluster(everyone, objective), beyond=found)
    if missed is None:
        return found
    return Sites.of(np.vstack([seeds, spread_seeds(missed, n_micro, rng)]))


def _in_basis(rows: Floats, space: Space) -> tuple[Floats, Floats | None]:
    """Rows in coordinates of an orthonormal basis of the space that they span, where that has fewer columns."""
    if rows.shape[1] <= len(rows) or not rows.any():
        return rows, None
    # From the inner products, which takes a fraction of the time of an orthogonal decomposition of the rows.
    exponent = exponent_of(rows)
    rows = np.ldexp(rows, -exponent)
    basis, coordinates = spanned(space.gram(rows))
    if not coordinates.shape[1]:  # no row differs from zero by more than rounding; a point needs a column
        return np.zeros((len(rows), 1)), np.zeros((1, rows.shape[1]))
    return times_power_of_two(coordinates, exponent), basis.T @ rows


def _one_cluster_cost(rows: MemoryRows, objective: DPMeansObjective) -> float:
    return objective.cost(rows.nearest(one_cluster(rows, objective)).stats) - objective.lam


def spread_seeds(rows: MemoryRows, n_seeds: int, rng: np.random.RandomState) -> Floats:
    """Seeds of micro-clusters: k-means++ with several draws per pass, after k-means|| (Bahmani et al. 2012).

    Rows are drawn in proportion to weight·squared distance to the nearest seed so far; fewer if there are fewer values.

    Each round adds half as many as there are. One pass over the rows serves all seeds of a round, so that 500 take 15
    passes; k-means++ takes 500.
    """
    weight, sq_dist = rows.row_weights(), np.full(rows.n_rows, np.inf)
    seeds = new = _drawn(weight, 1, rng)
    while len(seeds) < n_seeds:
        sites = Sites.of(rows.rows(new))
        sq_dist = np.minimum(sq_dist, rows.arrays.to_numpy(rows.assign(sites, np.inf)[1]))
        mass = weight * sq_dist
        if not mass.any():  # every row is at a seed
            break
        new = _drawn(mass, min(max(len(seeds) // 2, 1), n_seeds - len(seeds)), rng)
        seeds = np.concatenate([seeds, new])
    return rows.rows(seeds)


def _drawn(mass: Floats, size: int, rng: np.random.RandomState) -> Index:
    """Up to ``size`` rows in proportion to their mass, each once, in ascending order; infinite ones are alike."""
    largest = mass.max()
    cumulated = np.cumsum(mass / largest if largest < np.inf else mass == largest)
    last = int(np.searchsorted(cumulated, cumulated[-1]))  # none without mass
    drawn = np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right")
    return np.unique(np.minimum(drawn, last))
