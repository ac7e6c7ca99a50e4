"""Which prices do groups speak for? Those that suit the clusters they lead to.

The prices of clusters follow from their width and numbers (objectives/hdp_evidence.py), and these from the prices. Where
to begin is found by a walk from coarse to fine: of clusterings for falling prices, the one with the best evidence.
"""

from __future__ import annotations

import numpy as np

from kfree.engines.base import Index, row_weights
from kfree.engines.grouped import GroupedEngine
from kfree.objectives.hdp import HDPObjective
from kfree.objectives.hdp_evidence import HDPEvidence
from kfree.search.halves import halve
from kfree.search.hdp import Closings, Regroup, shared_by_all
from kfree.search.loop import descend
from kfree.search.moves import Move
from kfree.search.refine import SETTLE, Die, Merge, Split
from kfree.search.split_merge import Oversplit, no_gain
from kfree.search.state import State, recentred, state_of
from kfree.stats import Floats

# From one clustering to the next, the prices fall by this factor …
_FACTOR = 0.6
# … until so many in a row have been less likely than the best.
_PATIENCE, _MOST_STEPS = 4, 100
# Prices and clusters suit each other when another round changes the prices by less than this share.
_CLOSE, _MOST_ROUNDS = 0.05, 10
_SINGLE: list[Move[HDPObjective]] = [SETTLE, Merge(), Die(Closings), Split()]
_ALL: list[Move[HDPObjective]] = [SETTLE, Regroup(), Merge(), Die(Closings), Split(), Oversplit(deaths=Closings)]
_MOST_MOVES = 40
# Rows that the walk looks at, at most; of a large group no more than a tenth of these.
SAMPLE = 20_000

Prices = tuple[float, float]


def fitting_prices(
    engine: GroupedEngine, lam_local: float | None, lam_global: float | None, rng: np.random.RandomState
) -> Prices:
    """The price of a local and of a global cluster; one that is given stays."""
    walk = _Walk(engine, lam_local, lam_global, rng)
    state = walk.likeliest()
    prices = walk.prices(state)
    for _ in range(_MOST_ROUNDS):
        state = walk.at(prices, state, _ALL)
        before, prices = prices, walk.prices(state)
        if np.allclose(prices, before, rtol=_CLOSE, atol=0.0):
            break
    return walk.prices_of_all(state)


class _Walk:
    """Clusterings of the rows of ``engine``, or of a sample, for any prices but those that are given."""

    def __init__(
        self, engine: GroupedEngine, lam_local: float | None, lam_global: float | None, rng: np.random.RandomState
    ):
        self._given = lam_local, lam_global
        sample = sampled(engine, rng)
        self._engine = engine if sample is None else engine.among(sample)
        self._group_share = self._engine.n_groups / engine.n_groups
        self._row_share = self._engine.n_rows / engine.n_rows / self._group_share
        self._weight = row_weights(self._engine)
        self._group_sizes = np.bincount(self._engine.group, weights=self._weight)
        self._start = self._one_for_all()
        self._model = HDPEvidence(self._start.inertia / (self._weight.sum() * engine.n_features))

    def likeliest(self) -> State:
        """Of clusterings for falling prices, the one with the best evidence."""
        state, price, n_idle = self._start, self._first_price(), 0
        best, least = state, self._evidence(state)
        for _ in range(_MOST_STEPS):
            if n_idle == _PATIENCE or not price > 0 or len(state.stats.n) == self._engine.n_rows:
                break
            lam_local, lam_global = self.prices(state)
            state = self.at(self._unless_given(price, price * lam_global / lam_local), state, _SINGLE)
            evidence = self._evidence(state)
            best, least, n_idle = (state, evidence, 0) if evidence < least else (best, least, n_idle + 1)
            price *= _FACTOR
        return best

    def at(self, prices: Prices, state: State, moves: list[Move[HDPObjective]]) -> State:
        """From one clustering to another at these prices."""
        engine, objective = self._engine.priced(prices[0]), HDPObjective(prices[1], prices[0])
        sites = recentred(state, objective)
        start = state_of(sites, engine.nearest(sites), objective)
        return descend(start, moves, engine, objective, _MOST_MOVES, near_enough=no_gain).state

    def prices(self, state: State) -> Prices:
        """The prices that suit these clusters."""
        return self._unless_given(*self._model.prices(state.stats, self._local_sizes(state)))

    def prices_of_all(self, state: State) -> Prices:
        """The same for all rows, of which these may be a sample."""
        sizes = self._local_sizes(state)
        return self._unless_given(*self._model.prices(state.stats, sizes, self._row_share, self._group_share))

    def _unless_given(self, lam_local: float, lam_global: float) -> Prices:
        given_local, given_global = self._given
        return given_local or lam_local, given_global or lam_global

    def _one_for_all(self) -> State:
        objective = HDPObjective(0.0, 0.0)
        sites = shared_by_all(self._engine, objective)
        return state_of(sites, self._engine.nearest(sites), objective)

    def _first_price(self) -> float:
        """The price of a local cluster at which the first split pays."""
        halves = halve(self._start, self._engine, HDPObjective(0.0, 0.0))
        lam_local, lam_global = self._model.prices(self._start.stats, self._local_sizes(self._start))
        n_more = halves.stats.n_local - self._start.stats.n_local
        return float(halves.gain[0]) / (lam_global / lam_local + n_more) if lam_local > 0 else 0.0

    def _evidence(self, state: State) -> float:
        return self._model.cost(state.stats, self._local_sizes(state), self._group_sizes)

    def _local_sizes(self, state: State) -> Floats:
        """Weights of all local clusters."""
        _, local = self._engine.local_clusters(state.labels, len(state.stats.n))
        sizes = np.bincount(local, weights=self._weight)
        return sizes[sizes > 0]


def sampled(engine: GroupedEngine, rng: np.random.RandomState) -> Index | None:
    """Rows of groups drawn at random, or None if all rows are few enough."""
    if engine.n_rows <= SAMPLE:
        return None
    chosen: list[Index] = []
    for group in rng.permutation(engine.n_groups):
        rows = engine.members(group)
        few = rows if len(rows) <= SAMPLE // 10 else np.sort(rng.choice(rows, SAMPLE // 10, replace=False))
        chosen.append(few)
        if sum(map(len, chosen)) >= SAMPLE:
            break
    return np.concatenate(chosen)
