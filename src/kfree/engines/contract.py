"""The engine contract: who is nearest, and sufficient statistics of the answer. The engine owns the rows.

Anything that can run these passes (threads here; files, clusters of machines or GPUs elsewhere) can run every
algorithm of kfree, with the same labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Labels, Stats


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows found.

    ``labels`` and ``sq_dist`` (n,) say which of ``centres`` (k, d) each row went to and how far it lies from it, and
    ``stats`` is about those centres. ``n_refused`` rows would have opened a cluster but found no room.
    """

    centres: Floats
    labels: Labels
    sq_dist: Floats
    stats: Stats
    n_refused: int = 0


class Engine(Protocol):
    """Passes over rows that the engine holds; all coordinates are those of ``frame``."""

    name: str
    description: str
    frame: Frame
    weight: Floats | None
    n_rows: int
    n_features: int
    n_distances: int

    def nearest(self, sites: Sites) -> Pass:
        """Every row goes to its nearest site, the oldest one on ties.

        An engine may remember what it saw in earlier passes to compute less, and ``n_distances`` counts what it did
        compute; sites with the same uid are the same site, wherever they have moved.
        """

    def sweep(self, sites: Sites, lam: float, order: Index | None, room: int) -> Pass:
        """The same, as if rows came one by one in ``order``, and with up to ``room`` births.

        A row for which weight·squared distance to all that exists when it comes exceeds lam opens a cluster centred
        on itself, and rows that come later may join it (Kulis & Jordan 2012, Algorithm 1). ``centres`` of the result
        has the newborn after the old ones.
        """

    def stats_of(self, labels: Labels, sq_dist: Floats, n_clusters: int) -> Stats:
        """Statistics of labels that did not come from a pass."""

    def distances_to_own(self, rows: Index, labels: Labels, centres: Floats) -> Floats:
        """Squared distance of each of ``rows`` (m,) to the centre that ``labels`` (m,) names."""

    def second_nearest(self, rows: Index, labels: Labels, centres: Floats) -> tuple[Labels, Floats]:
        """The nearest centre of each of ``rows`` but the one that ``labels`` names, and the squared distance to it.

        There must be two centres; ties go to the oldest.
        """

    def gaps(self, centres: Floats) -> Floats:
        """The squared distance of each centre to the nearest other one."""

    def choose(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Labels, Stats]:
        """Each of ``rows`` goes to the nearer centre of its pair, 2·label or 2·label + 1; statistics of all pairs."""

    def scatter_product(self, rows: Index, labels: Labels, pairs: Floats) -> tuple[Floats, Floats]:
        """Per pair Σ s and Σ s·z over ``rows``, where s says how much a row leans to the first centre of its pair.

        s = weight·(squared distance to the second − squared distance to the first).
        """

    def exchange(
        self, rows: Index, others: Labels, labels: Labels, centres: Floats, stats: Stats, least_gain: float
    ) -> Labels:
        """``labels`` (n,) after ``rows`` (m,) moved between two clusters each, one by one, until none wants to.

        A row may go to the cluster that ``others`` (m,) names, or, where that is −1, to the one where it would cost
        least. It moves if that saves more than ``least_gain``, what leaving and joining do to both centres included;
        the centres follow at once (Hartigan 1975). The last row of a cluster stays.
        """

    def rows(self, index: Index) -> Floats:
        """Coordinates of a few rows."""

    def generic_axis(self) -> Floats:
        """A direction (d,) that is not orthogonal to anything that the rows are likely to lie along."""

    def among(self, index: Index) -> Engine:
        """An engine that holds copies of these rows, with their weights and in the same frame."""

    def approach(self, site: Floats, sq_dist: Floats) -> None:
        """Lower ``sq_dist`` (n,) in place to the squared distance to ``site`` (d,) where that is less."""

    def best_candidate(self, candidates: Floats, sq_dist: Floats) -> int:
        """The candidate with the smallest Σ weight·min(sq_dist, squared distance to it), the first on ties."""

    def sq_distances(self, centres: Floats) -> Floats:
        """All squared distances, (n, k): the one answer that is as large as that."""


def row_weights(engine: Engine) -> Floats:
    """One weight per row, also where all rows count once."""
    return np.ones(engine.n_rows) if engine.weight is None else engine.weight


def rows_that_count(engine: Engine) -> Index:
    """All rows of positive weight."""
    return np.arange(engine.n_rows) if engine.weight is None else np.flatnonzero(engine.weight > 0)


def first_row_that_counts(weight: Floats | None) -> int:
    """The first row of positive weight."""
    return 0 if weight is None else int(np.argmax(weight > 0))


def generic_direction(size: int) -> Floats:
    """Numbers without any pattern that data are likely to have."""
    return np.asarray(np.cos(1.0 + np.arange(size)))
