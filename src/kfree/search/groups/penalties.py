"""Penalties for groups: from numbers of clusters to aim at (Kulis & Jordan 2012, §6.1), or automatic ones.

Automatic penalties are consistent with the clusters they lead to. The penalties of clusters follow from their width and
numbers (objectives/hdp_evidence.py), and these from the penalties. The start is found from coarse to fine: of
clusterings for falling penalties, the one with the best evidence among those that have density dips between the
clusters of a group.
"""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats, totals
from kfree.core.warning import warn
from kfree.engines.contract import MemoryRows
from kfree.engines.local.grouped import GroupedRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.objectives.hdp import HDPObjective
from kfree.objectives.hdp_evidence import HDPEvidence
from kfree.search.centres.bisection import bisect
from kfree.search.centres.refine import CONVERGE, Split, delete_clusters, merge_clusters
from kfree.search.centres.seeding import farthest_first
from kfree.search.centres.split_merge import Oversplit
from kfree.search.centres.state import State, assigned, one_cluster, recentred
from kfree.search.groups.hdp import GroupMove, regroup, shared_by_all
from kfree.search.loop import descend, no_gain, require_finite
from kfree.search.path.density_dips import DensityDips, Trial, density_dips
from kfree.search.path.step_tests import NO_DOUBT

# From one clustering to the next, the penalties fall by this factor …
_FACTOR = 0.6
# … until so many in a row have been less likely than the best.
_PATIENCE = 7
# The share of neighbours in a group that must have a density dip between them, and how much of it other penalties may
# lose. In data without clusters, the pieces that k-means makes have a share below a half.
_MOST, _KEPT = 0.55, 0.85
# Penalties are consistent with their clusters when another round changes them by less than this share.
_CLOSE, _MOST_ROUNDS = 0.05, 8
_SINGLE: list[GroupMove] = [CONVERGE, merge_clusters, delete_clusters, Split()]
_ALL: list[GroupMove] = [CONVERGE, regroup, merge_clusters, delete_clusters, Split(), Oversplit()]
_MOST_MOVES = 40
# Maximum number of rows in the coarse-to-fine search; of a large group no more than a tenth of these.
SAMPLE = 20_000
_PLAIN = DPMeansObjective(0.0)

Penalties = tuple[float, float]


def fitting_penalties(
    rows: GroupedRows, lam_local: float | None, lam_global: float | None, rng: np.random.RandomState
) -> Penalties:
    """The penalty of a local and of a global cluster; one that is given stays."""
    scan = _PenaltyScan(rows, lam_local, lam_global, rng)
    if scan.all_equal:
        return lam_local or 1.0, lam_global or 1.0  # any penalty will do
    state, penalties = scan.likeliest()
    least_share = _KEPT * scan.density_dips(state).share
    for _ in range(_MOST_ROUNDS):
        suitable = scan.penalties(state)
        new = scan.at(suitable, state, _ALL)
        # Clusters that are longer than round ones of their variance would be cut: then the penalty that left them whole
        # is the one to take.
        if np.allclose(suitable, penalties, rtol=_CLOSE, atol=0.0) or scan.density_dips(new).share < least_share:
            break
        state, penalties = new, suitable
    else:
        warn(
            f"after {_MOST_ROUNDS} rounds the penalties still changed with the clusters that they lead to. Those of "
            "the last round are taken; give lam_local and lam_global to choose others."
        )
    return scan.for_all_rows(state, penalties)


class _PenaltyScan:
    """Clusterings of ``rows``, or of a sample, for any penalties but those that are given."""

    def __init__(
        self, rows: GroupedRows, lam_local: float | None, lam_global: float | None, rng: np.random.RandomState
    ):
        self._given = lam_local, lam_global
        self._rows = rows.sampled_groups(SAMPLE, rng)
        self._group_share = self._rows.n_groups / rows.n_groups
        self._row_share = self._rows.n_rows / rows.n_rows / self._group_share
        self._group_sizes = self._rows.group_weights()
        self._start = self._one_for_all()
        require_finite(self._start.cost)
        self.all_equal = self._start.inertia == 0.0
        self._model = HDPEvidence(self._start.inertia / (self._rows.total_weight * rows.n_features))

    def likeliest(self) -> tuple[State, Penalties]:
        """The likeliest of the clusterings for falling penalties that have density dips, and its penalties."""
        state, penalty, n_idle, least = self._start, self._first_penalty(), 0, np.inf
        found = [(self.evidence(state), self._falling(2 * penalty, state), state)]
        while n_idle < _PATIENCE and penalty > 0 and not self._too_fine(state):
            penalties = self._falling(penalty, state)
            state = self.at(penalties, state, _SINGLE)
            found.append((self.evidence(state), penalties, state))
            n_idle, least = (0, found[-1][0]) if found[-1][0] < least else (n_idle + 1, least)
            penalty *= _FACTOR
        ranked = sorted(found, key=lambda step: step[0])
        return next((state, penalties) for _, penalties, state in ranked if _clear(self.density_dips(state)))

    def density_dips(self, state: State) -> DensityDips:
        """Between the clusters of each group, by its own rows; all dips count as present if no group has two clusters.

        If every group is too small for the test, it uses all rows together and all clusters.
        """
        used, centres = state.stats.users, state.sites.centres
        several = np.flatnonzero(used.sum(axis=0) > 1).tolist()
        if not several:
            return DensityDips(1.0, np.inf)
        found = density_dips([_trial(self._rows.rows_of(group), centres[used[:, group]]) for group in several])
        return found if found.n_pairs else density_dips([_trial(self._rows, centres)])

    def at(self, penalties: Penalties, state: State, moves: list[GroupMove]) -> State:
        """From one clustering to another at these penalties."""
        objective = HDPObjective(penalties[1], penalties[0])
        rows = self._rows.penalised(objective.lam_local)
        start = assigned(recentred(state, objective), rows, objective)
        return descend(start, moves, rows, objective, _MOST_MOVES, near_enough=no_gain).state

    def penalties(self, state: State) -> Penalties:
        """The penalties that are consistent with these clusters."""
        return self._unless_given(*self._model.penalties(state.stats, self._local_sizes(state)))

    def for_all_rows(self, state: State, penalties: Penalties) -> Penalties:
        """Penalties of these clusters, of which all rows may hold more than the sample does."""
        sizes = self._local_sizes(state)
        here = self._model.penalties(state.stats, sizes)
        there = self._model.penalties(state.stats, sizes, self._row_share, self._group_share)
        return self._unless_given(penalties[0] * there[0] / here[0], penalties[1] * there[1] / here[1])

    def _falling(self, penalty: float, state: State) -> Penalties:
        """A penalty for local clusters, and one for global clusters in the ratio that suits a clustering."""
        lam_local, lam_global = self._model.penalties(state.stats, self._local_sizes(state))
        return self._unless_given(penalty, penalty * lam_global / lam_local if lam_local > 0 else penalty)

    def _unless_given(self, lam_local: float, lam_global: float) -> Penalties:
        given_local, given_global = self._given
        return given_local or lam_local, given_global or lam_global

    def _one_for_all(self) -> State:
        objective = HDPObjective(0.0, 0.0)
        return assigned(shared_by_all(self._rows, objective), self._rows, objective)

    def _too_fine(self, state: State) -> bool:
        """Whether groups have half as many clusters as they can have, or there is one for each row."""
        n_rows, n_groups = self._rows.n_rows, self._rows.n_groups
        n_more = state.stats.n_local - n_groups
        return bool(2 * n_more > n_rows - n_groups or state.n_clusters == n_rows)

    def _first_penalty(self) -> float:
        """The penalty of a local cluster at which the first split pays."""
        bisections = bisect(self._start, self._rows, HDPObjective(0.0, 0.0))
        lam_local, lam_global = self._model.penalties(self._start.stats, self._local_sizes(self._start))
        n_more = bisections.stats.n_local - self._start.stats.n_local
        return float(bisections.gain[0]) / (lam_global / lam_local + n_more) if lam_local > 0 else 0.0

    def evidence(self, state: State) -> float:
        return self._model.cost(state.stats, self._local_sizes(state), self._group_sizes)

    def _local_sizes(self, state: State) -> Floats:
        """Weights of all local clusters."""
        return self._rows.local_clusters(state.assignment).stats.n


def _trial(rows: MemoryRows, centres: Floats) -> Trial:
    """Centres that were found with these very rows."""
    return Trial(rows, centres, rows)


def _clear(found: DensityDips) -> bool:
    return found.share >= _MOST and found.z >= NO_DOUBT


def local_penalty(rows: GroupedRows, n_clusters: int) -> float:
    """The mean over groups of the penalty at which a sweep of their rows opens about ``n_clusters``."""
    groups = np.flatnonzero(rows.group_weights() > 0)
    return float(np.mean([farthest_first(rows.rows_of(group), _PLAIN, n_clusters) for group in groups.tolist()]))


def global_penalty(rows: GroupedRows, n_clusters: int) -> float:
    """T starts as the global mean; ``n_clusters`` times, a row of the group that is farthest from T joins it.

    The distance of a group is Σ w·min_t ‖x − t‖², and the penalty is that of the last group. The text does not say
    which row joins: here the farthest one.
    """
    weight, sq_dist = rows.row_weights(), np.full(rows.n_rows, np.inf)
    site, distance = one_cluster(rows, _PLAIN).centres[0], 0.0
    for found in range(n_clusters):
        rows.approach(site, sq_dist)
        saving = np.where(weight > 0, weight * sq_dist, 0.0)
        by_group = totals(rows.group, saving, rows.n_groups)
        group = int(by_group.argmax())
        distance = float(by_group[group])
        require_finite(distance)
        if distance == 0.0:
            raise ValueError(
                f"farthest-first cannot find {n_clusters} global clusters: after {found} round(s) every row coincides "
                "with one already taken. Give a smaller target_k, or lam_global as a positive number."
            )
        members = rows.members(group)
        site = rows.points(members[[int(saving[members].argmax())]])[0]
    return distance
