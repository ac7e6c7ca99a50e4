"""The engine contract: the engine keeps everything that is as long as the rows; a search sees clusters.

Rows, weights, labels, sides and distances of rows stay where the rows are. What crosses is as large as the clusters:
statistics, centres, costs, counts, a few picked rows; labels cross once, when they are published. Any engine with these
passes runs every algorithm of kfree, with the same bits. ``engines/chunked`` fulfils the contract over parts
(``engines/parts.py``), of which memory, files, workers and GPUs are places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.cached import cached
from kfree.core.frame import Frame
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats

Fingerprints = NDArray[np.uint64]


@dataclass(frozen=True)
class Assignment:
    """Which row is in which cluster: labels that stay with the rows, known by one handle per part."""

    handles: Sequence[Any]
    n_clusters: int
    compute_fingerprints: Callable[[], Fingerprints]

    @cached
    def fingerprints(self) -> Fingerprints:
        """Per cluster the sum of a hash of its rows' numbers, (k,): equal sums mean the same rows."""
        return self.compute_fingerprints()


@dataclass(frozen=True)
class Pass:
    """The result of one pass over the rows: ``assignment`` of the rows to ``centres`` (k, d), and statistics about
    those.

    ``n_refused`` rows would have opened a cluster but found no room.
    """

    centres: Floats
    assignment: Assignment
    stats: Stats
    n_refused: int = 0


@dataclass(frozen=True)
class Picks:
    """A few rows: their global numbers, the clusters they are in, the gain for which they were picked, coordinates (m,
    d)."""

    row: Index
    cluster: Index
    gain: Floats
    points: Floats


@dataclass(frozen=True)
class VisitingOrder:
    """A random order of all rows for a sweep: a seed crosses, and the permutation is drawn where the rows are."""

    seed: int
    n_rows: int

    @cached
    def permutation(self) -> Index:
        return np.random.RandomState(self.seed).permutation(self.n_rows)

    def within(self, begin: int, end: int) -> tuple[Index, Index | None]:
        """The rows ``begin`` … ``end`` − 1 in visiting order, counted from ``begin``, and when they are visited.

        Positions are None where these are all rows: the positions are then 0, 1, ….
        """
        if end - begin == self.n_rows:
            return self.permutation, None
        positions = np.flatnonzero((self.permutation >= begin) & (self.permutation < end))
        return self.permutation[positions] - begin, positions


class Bisection(Protocol):
    """Rows of some clusters, each cluster a pair of sites; the side that a row is on stays with the row.

    ``n_rows`` (m,) are the rows of positive weight in each pair.
    """

    n_rows: Floats

    def scatter_product(self, pairs: Floats) -> tuple[Floats, Floats]:
        """Per pair Σ s and Σ s·z, where s is weight·(squared distance to the second site − to the first).

        With sites at mean ± axis this multiplies the axis with the scatter matrix, which is never formed.
        """

    def choose(self, pairs: Floats, active: NDArray[np.bool_]) -> tuple[Stats, Floats]:
        """Each row of an ``active`` pair (m,) goes to the nearer site of ``pairs`` (2m, d), the first one on ties.

        Statistics (2m,) about the sites, of which those of other pairs are not defined, and how many rows of positive
        weight changed sides, (m,); the first time all did. Once a pair is not active, it stays so.
        """

    def divided(self, newborn: Labels) -> Assignment:
        """The assignment in which the second side of pair p is the cluster ``newborn[p]``, unless that is −1."""


class Closings(Protocol):
    """What it would cost to close each cluster, its rows going to other clusters. Caches intermediate results."""

    def turn_to(self, assignment: Assignment, sites: Sites) -> None: ...

    def costs(self) -> Floats:
        """What closing one cluster adds to the cost, its own penalty aside; an upper bound, (k,)."""

    def neighbours(self) -> sp.csr_array:
        """(k, k): not zero where rows of one cluster would go to another."""


class Potential(Protocol):
    """The squared distance of every row to the nearest of the sites taken so far; infinite at first."""

    def approach(self, site: Floats) -> None:
        """Take one more site (d,)."""

    def draw(self, uniform: Floats) -> Floats:
        """Rows drawn in proportion to weight·squared distance, or to weight where that is zero everywhere; (m, d).

        ``uniform`` (m,) are numbers in [0, 1).
        """

    def best(self, candidates: Floats) -> int:
        """The candidate that would leave the smallest Σ weight·squared distance; the first one on ties."""

    def farthest(self) -> tuple[float, Floats]:
        """The largest weight·squared distance and the first row (d,) that has it."""


class Engine(Protocol):
    """Passes over rows that the engine holds; all coordinates are those of ``frame``.

    ``n_counting`` rows have a positive weight; ``n_distances`` counts the distances that were computed.
    ``few_rows_name`` is the engine for a few rows with coordinates that a search derives from these, such as means.
    """

    name: str
    few_rows_name: str
    frame: Frame
    n_rows: int
    n_features: int
    n_counting: int

    @property
    def n_distances(self) -> int: ...

    @property
    def description(self) -> str: ...

    @property
    def total_weight(self) -> float: ...

    def first_point(self) -> Floats:
        """The first row of positive weight, (d,)."""

    def nearest(self, sites: Sites) -> Pass:
        """Every row goes to its nearest site, the oldest one on ties.

        An engine may cache results of earlier passes to compute less; sites with the same uid are the same site,
        wherever they have moved.
        """

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None, room: int) -> Pass:
        """The same, as if rows came one by one in ``order``, and with up to ``room`` births.

        A row for which weight·squared distance to all that exists when it comes exceeds lam opens a cluster centred
        on itself, and rows that come later may join it (Kulis & Jordan 2012, Algorithm 1). ``centres`` of the result
        has the newborn after the old ones.
        """

    def sums(self, assignment: Assignment) -> Stats:
        """Weights and sums of the clusters; sse is zero."""

    def bisection(self, assignment: Assignment, place: Labels, n_pairs: int) -> Bisection:
        """The rows of the clusters whose ``place`` (k,) is the number of a pair, not −1."""

    def closings(self) -> Closings:
        """What it costs to close clusters: one object per search, which caches the second-nearest sites of rows."""

    def dearest(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least: float
    ) -> Picks:
        """Of each cluster the row that saves most by leaving it, if that is more than ``least``; highest gain first.

        The only row of a cluster is never picked. Of rows that save the same, the first one is.
        """

    def farthest(self, assignment: Assignment, centres: Floats, size: int) -> tuple[Picks, Floats]:
        """The ``size`` rows of positive weight that lie farthest from their centres, farthest first, and their weights.

        ``gain`` is the squared distance; rows at their centre are left out.
        """

    def moved(self, assignment: Assignment, rows: Index, clusters: Index) -> Assignment:
        """The assignment after a few rows, by global number, have gone to other clusters."""

    def exchange(
        self, assignment: Assignment, centres: Floats, stats: Stats, costs: type[RowCosts], least_gain: float
    ) -> Assignment | None:
        """Move rows one by one to where they cost least, until no candidate moves; None if none did.

        A row moves if that saves more than ``least_gain``, what leaving and joining do to both centres included; the
        centres are updated after every move (Hartigan 1975). The last row of a cluster stays. ``centres`` are those of
        ``stats``.
        """

    def potential(self) -> Potential: ...

    def gaps(self, centres: Floats) -> Floats:
        """The squared distance of each centre to the nearest other one."""

    def generic_axis(self) -> Floats:
        """A direction (d,) that is not orthogonal to anything that the rows are likely to lie along."""

    def sample(
        self, size: int, rng: np.random.RandomState, centre: Sites, beyond: Sites | None = None
    ) -> SampleEngine | None:
        """``size`` rows of positive weight, all if there are fewer, in a random order, copied to memory.

        If all are taken, their order has no effect: they are shuffled after they were sorted by their distance to the
        one site ``centre``. With ``beyond``, only rows that lie at none of these sites; None if there is none.
        """

    def labels(self, assignment: Assignment) -> Array:
        """The labels, one per row, for publishing."""

    def nearest_labels(self, sites: Sites, numbers: Labels) -> Array:
        """The labels of ``nearest(sites)`` alone, for publishing; ``numbers`` (k,) are those of the sites."""

    def sq_dists(self, assignment: Assignment, centres: Floats) -> Array:
        """The squared distance of each row to its centre, for publishing."""


class SampleEngine(Engine, Protocol):
    """A sample in memory: besides the contract, it shows its rows."""

    weight: Floats | None

    def rows(self, index: Index) -> Floats:
        """Coordinates of some rows."""

    def given(self) -> ArrayOrCSR:
        """All rows as they were given, not in coordinates of the frame; of a kernel, the numbers of its rows."""

    def among(self, index: Index) -> SampleEngine:
        """An engine that holds copies of these rows, with their weights and in the same frame."""

    def sq_distances(self, centres: Floats) -> Floats:
        """All squared distances, (n, k)."""

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        """The candidate with the smallest Σ weight·min(sq_dist, squared distance to it), the first on ties."""


def row_weights(engine: SampleEngine) -> Floats:
    """One weight per row, also where all rows count once."""
    return np.ones(engine.n_rows) if engine.weight is None else engine.weight


def generic_direction(size: int) -> Floats:
    """Numbers without any pattern that data are likely to have."""
    return np.asarray(np.cos(1.0 + np.arange(size)))
