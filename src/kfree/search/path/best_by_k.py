"""The best clustering into k clusters for every k, on few rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kfree.core.blocks import row_blocks
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Mask, Stats
from kfree.engines.contract import MemoryRows
from kfree.engines.local.rows import LocalRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import lloyd
from kfree.search.centres.refine import exchanged
from kfree.search.centres.state import State, assigned, one_cluster, state_of
from kfree.search.loop import Descent, descend
from kfree.search.path.gram_merges import AT_ONCE, cheapest_pair, cheapest_pair_with, merge_all, products_overflow
from kfree.search.path.micro_clusters import MicroClusters, make_micro_clusters

_MAX_LLOYD = 20
# Up to so many rows, all clusterings of a path take about as long as a search.
FEW_ROWS = 128
# Clusters up to which centres are added one by one; beyond, that never came out below merging where it was tried.
_MOST_ADDED = 120
# Rows considered for a new centre: those with the largest weighted squared distance to their own.
_CANDIDATES = 8
# From so many clusters on, bounds say which are compared to find the cheapest pair.
_MANY = 256
# Micro-clusters per cluster, and the fewest.
_FINENESS, _FEWEST_MICRO = 4, 200


class BestByK:
    """One clustering per number of clusters, each the best one found while k rises and falls.

    Up, the row that saves most becomes a centre (after the fast global k-means of Likas, Vlassis & Verbeek 2003); down,
    the two clusters that are cheapest to merge become one. Both are followed by k-means. With ``by_rows``, the merging
    of all rows is a start for every k, and single rows move in place of k-means (Hartigan 1975), which ends in fewer
    local minima: for few rows.
    """

    def __init__(self, rows: LocalRows, objective: DPMeansObjective, by_rows: bool = False):
        self._rows, self._objective, self._by_rows = rows, objective, by_rows
        self._alone = single_rows(rows)
        if products_overflow(self._alone):
            raise ValueError(
                "squares of the rows of X (times sample_weight) overflow float64, so that there is no lam path. Divide "
                "X by a constant."
            )
        self.merges = merge_all(self._alone, objective, rows.name)
        self._best: dict[int, State] = {}
        self._partners = Partners()

    def climb(self, k_max: int) -> None:
        """Fill the rungs up to ``k_max``, or as many as there are rows."""
        k_max = min(k_max, self._rows.n_rows)
        self._try(one_cluster(self._rows, self._objective))
        for k in range(2 if self._by_rows else k_max, k_max + 1):
            self._try(Sites.of(self._after_merging(k)))
        for k in range(1, min(k_max, _MOST_ADDED)):
            self._try(self._with_one_more(self._best[k]))
        for k in range(k_max, 1, -1):
            self._try(self._with_one_less(self._best[k]))
        for k in range(1, k_max):
            # Where fewer clusters came out cheaper on the way down, a row that is split off is cheaper too.
            if self._best[k + 1].cost > self._best[k].cost:
                self._try(self._with_one_more(self._best[k]))

    def costs(self, k_max: int) -> Floats:
        """Cost without any penalty for 1, 2, … clusters: the lowest found up to ``k_max``, that of merging beyond.

        It never rises: a row split off from a clustering adds a cluster and no cost.
        """
        self.climb(k_max)
        cost = self.merges.costs_by_k()
        for k, state in self._best.items():
            cost[k - 1] = min(cost[k - 1], state.inertia)
        return np.minimum.accumulate(cost)

    def keep(self, numbers: Iterable[int]) -> None:
        """Forget all clusterings but those with these numbers of clusters, which would take k² numbers."""
        self._best = {k: self._best[k] for k in numbers if k in self._best}

    def has(self, k: int) -> bool:
        """Whether a clustering into k is known."""
        return k in self._best

    def centres(self, k: int) -> Floats:
        """Centres of the best clustering into k, in the coordinates that the rows were given in."""
        state = self._best[k]
        return self._rows.frame.outward(self._objective.centres(state.stats, previous=state.sites.centres))

    def cheapest_centres(self, k: int) -> Floats:
        """Centres of the clustering that ``costs`` is of, which may be that of merging."""
        if k in self._best and self._best[k].inertia <= self.merges.costs_by_k()[k - 1]:
            return self.centres(k)
        return self._rows.frame.outward(self._after_merging(k))

    def _try(self, sites: Sites) -> None:
        """Keep the clustering that is found from these sites if it is the best with so many."""
        k, state = len(sites.uids), self._by_single_rows(sites) if self._by_rows else None
        if state is None:
            state = self._by_k_means(sites)
        if k not in self._best or state.cost < self._best[k].cost:
            self._best[k] = state

    def _by_single_rows(self, sites: Sites) -> State | None:
        """Where moves of single rows end; None where they cannot begin, at one cluster or at one without rows."""
        start = assigned(sites, self._rows, self._objective)
        if len(sites.uids) == 1 or not (start.stats.n > 0).all():
            return None
        return exchanged(start, self._rows, self._objective)

    def _by_k_means(self, sites: Sites) -> State:
        """Where k-means ends. Means are found in one call, up to a pass that leaves a cluster without rows."""
        rows, objective = self._rows, self._objective
        if objective.of_directions:
            return descend(assigned(sites, rows, objective), [lloyd], rows, objective, _MAX_LLOYD).state
        found, n_passes, converged = rows.k_means(sites, objective.lam * len(sites.uids), _MAX_LLOYD)
        descent = Descent.at(state_of(sites, found, objective), n_passes, converged)
        return descend(descent, [lloyd], rows, objective, _MAX_LLOYD).state

    def _after_merging(self, k: int) -> Floats:
        labels = self.merges.labels(k)
        stats = Stats.empty(k, self._rows.n_features)
        np.add.at(stats.n, labels, self._alone.n)
        np.add.at(stats.sum, labels, self._alone.sum)
        return self._objective.centres(stats, previous=stats.sum)

    # Sites keep their ids, so that rows know how far each has come, and few distances are computed.

    def _with_one_more(self, state: State) -> Sites:
        sq_dist = self._rows.sq_dists(state.assignment, state.sites.centres)
        costliest = np.argsort(-self._rows.row_weights() * sq_dist, kind="stable")[:_CANDIDATES]
        candidates = self._rows.rows(costliest)
        new = candidates[self._rows.best_of(candidates, self._rows.arrays.of(sq_dist))]
        centres = self._objective.centres(state.stats, previous=state.sites.centres)
        return state.sites.born(np.vstack([centres, new]))

    def _with_one_less(self, state: State) -> Sites:
        a, b, _ = self._cheapest_pair(state)
        kept = np.arange(state.n_clusters) != b
        stats, sites = state.stats.take(kept), state.sites.kept(kept)
        stats.n[a] += state.stats.n[b]  # a comes before b
        stats.sum[a] += state.stats.sum[b]
        return sites.moved(self._objective.centres(stats, previous=sites.centres))

    def _cheapest_pair(self, state: State) -> tuple[int, int, float]:
        """The pair of clusters that is cheapest to merge; of many, only those with a low bound are compared."""
        stats = state.stats
        if len(stats.n) < _MANY or not ((sizes := self._objective.sizes(stats)) > 0).all():
            return cheapest_pair(stats, self._objective, self._rows.name)
        centres = self._objective.centres(stats, previous=state.sites.centres)
        least = self._partners.least_costs(state.sites.uids, sizes, centres)
        first = np.array([least.argmin()])
        at_most = cheapest_pair_with(first, stats, self._objective)[2]
        near = np.flatnonzero(least <= (1 + 1e-9) * at_most)
        return cheapest_pair_with(near if len(near) else first, stats, self._objective)


def best_by_k(
    rows: MemoryRows,
    sample: MemoryRows,
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    max_k: int,
    is_published: bool = True,
) -> tuple[BestByK, MicroClusters]:
    """The best clusterings of micro-clusters, fine enough for ``max_k`` clusters, and the micro-clusters.

    Where costs are published, a fit at a penalty of the path should not find clusterings that cost less.
    """
    micro = make_micro_clusters(rows, sample, objective, max(_FINENESS * max_k, _FEWEST_MICRO), rng)
    return BestByK(micro.rows, micro.objective, by_rows=is_published and rows.n_counting <= FEW_ROWS), micro


def single_rows(rows: MemoryRows) -> Stats:
    """Every row as a cluster."""
    return Stats.of_points(rows.rows(np.arange(rows.n_rows)), rows.row_weights())


class Partners:
    """For each cluster a bound on the cost of merging it with any other, and the cluster with that bound.

    Comparing all clusters with all takes k² steps, at each of k steps of a path. After a merge and k-means, most have
    the same rows as before. Only those that changed, and those whose partner did, are compared again.
    """

    def __init__(self) -> None:
        self._uids = self._partner = np.empty(0, dtype=np.int64)
        self._sizes = self._least = np.empty(0)
        self._centres = np.empty((0, 0))

    def least_costs(self, uids: Index, sizes: Floats, centres: Floats) -> Floats:
        """The bounds (k,) for clusters with these ascending ids, positive ``sizes`` and ``centres``."""
        before, same = self._unchanged(uids, sizes, centres)
        now = np.full(len(self._uids), -1)
        now[before[same]] = np.flatnonzero(same)
        least, partner = np.full(len(uids), np.inf), np.full(len(uids), -1)
        least[same], partner[same] = self._least[before[same]], now[self._partner[before[same]]]
        alone = partner < 0
        for some in _blocks(np.flatnonzero(alone)):
            costs = _bounds(some, sizes, centres)
            least[some], partner[some] = costs.min(axis=1), costs.argmin(axis=1)
            new = ~same[some]
            if new.any():
                nearest = costs[new].argmin(axis=0)
                offered = costs[new][nearest, np.arange(len(uids))]
                better = np.flatnonzero(~alone & (offered < least))
                least[better], partner[better] = offered[better], some[new][nearest[better]]
        self._uids, self._sizes, self._centres, self._least, self._partner = uids, sizes, centres, least, partner
        return least

    def _unchanged(self, uids: Index, sizes: Floats, centres: Floats) -> tuple[Index, Mask]:
        """The place of each cluster when last asked about, and whether it was there with this size and centre."""
        if not len(self._uids):
            return np.zeros(len(uids), dtype=np.int64), np.zeros(len(uids), dtype=bool)
        before = np.minimum(np.searchsorted(self._uids, uids), len(self._uids) - 1)
        same = (self._uids[before] == uids) & (self._sizes[before] == sizes)
        return before, same & (self._centres[before] == centres).all(axis=1)


def _blocks(clusters: Index) -> list[Index]:
    return [clusters[block] for block in row_blocks(len(clusters), AT_ONCE)]


def _bounds(some: Index, sizes: Floats, centres: Floats) -> Floats:
    """A lower bound on what merging each of ``some`` clusters with each one costs, (number, k); infinite with itself.

    It is ‖μ_a − μ_b‖² / (1/size_a + 1/size_b), less rounding: what the pair costs, or under cosine at least half of it.
    It takes a fraction of the time of the costs, since one matrix product gives the squared distances.
    """
    sq_norm, inverse, one = np.einsum("ij,ij->i", centres, centres), 1 / sizes, np.ones(len(sizes))
    slack = 4 * (centres.shape[1] + 4) * np.finfo(float).eps * sq_norm.max()
    left = np.column_stack([-2 * centres[some], sq_norm[some] - slack, one[some]])
    costs: Floats = left @ np.column_stack([centres, one, sq_norm]).T
    costs /= inverse[some, None] + inverse
    costs[np.arange(len(some)), some] = np.inf
    return costs
