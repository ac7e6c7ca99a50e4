"""The contract of a part: rows with consecutive global numbers, held in one place.

A part has the same passes as an engine (``engines/contract.py``). Its sums are nodes of the tree over block numbers
(``core/sum_tree.py``), so that the engine that joins parts has the bits of one that holds all rows. A handle identifies
an assignment to the part; only the part reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.arrays import Array
from kfree.core.row_costs import RowCosts
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.core.sum_tree import Node, join
from kfree.engines.contract import Fingerprints, Picks, VisitingOrder
from kfree.engines.drawing import Region, RegionRows

Handle = Any


@dataclass(frozen=True)
class NodeSums:
    """Sums of a part for each of the ``nodes`` of the tree that cover its blocks; arrays have one row per node."""

    nodes: Sequence[Node]
    sums: tuple[Floats, ...]


def joined(parts: Iterable[NodeSums]) -> tuple[Floats, ...]:
    """The sums over all parts."""
    parts = list(parts)
    nodes = [node for part in parts for node in part.nodes]
    return tuple(
        join(nodes, list(np.concatenate(arrays))) for arrays in zip(*(part.sums for part in parts), strict=True)
    )


class Partial(Protocol):
    """Statistics of a part: by node where there are other parts, else in total."""

    def by_node(self) -> NodeSums: ...

    def total(self) -> Stats: ...


@dataclass(frozen=True)
class Whole:
    """Statistics of a part that holds all rows."""

    stats: Stats

    def by_node(self) -> NodeSums:
        raise TypeError("this engine holds all rows in one part")

    def total(self) -> Stats:
        return self.stats


@dataclass(frozen=True)
class Piece:
    """Statistics of a part that holds some of the rows."""

    nodes: NodeSums

    def by_node(self) -> NodeSums:
        return self.nodes

    def total(self) -> Stats:
        return Stats(*joined([self.nodes]))


@dataclass(frozen=True)
class Births:
    """The result of a part's turn in a sweep: newborn ``points`` (b, d) and when they were born, ``at`` (b,).

    ``upcoming`` is the position of the next row that may open a cluster, or None.
    """

    points: Floats
    at: Index
    n_refused: int
    upcoming: int | None


class PartSweep(Protocol):
    """A sweep over a part, which takes turns with the sweeps over other parts."""

    def upcoming(self) -> int | None:
        """The position of the first row that may open a cluster, or None."""

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        """Take all rows up to the position ``until``; ``newborn`` are all clusters born so far, anywhere."""

    def end(self, newborn: Floats, born_at: Index) -> tuple[Handle, Partial]:
        """Rows visited after a birth may join the newborn: where every row is now, and statistics."""


class PartBisection(Protocol):
    """See ``engines.contract.Bisection``."""

    n_rows: Floats

    def scatter_product(self, pairs: Floats) -> Partial: ...

    def choose(self, pairs: Floats, active: NDArray[np.bool_]) -> tuple[Partial, Floats]: ...

    def divided(self, newborn: Labels) -> Handle: ...


class PartClosings(Protocol):
    """See ``engines.contract.Closings``."""

    def turn_to(self, handle: Handle, sites: Sites) -> None: ...

    def costs(self) -> NodeSums: ...

    def neighbours(self) -> sp.csr_array: ...


class PartExchange(Protocol):
    """Rows of a part that may gain by moving to another cluster."""

    def round(self, n: Floats, sum: Floats, centres: Floats, way: Floats) -> int:
        """Visit them once, in order; the clusters (in-out) follow every move. Returns how many moved.

        ``way`` (k,) is how far each centre has come since the exchange began, move by move.
        """

    def end(self) -> Handle: ...


class PartPotential(Protocol):
    """See ``engines.contract.Potential``."""

    def approach(self, site: Floats) -> None: ...

    def masses(self, by_weight: bool) -> NodeSums:
        """Σ weight·squared distance, or Σ weight."""

    def row_at(self, node: Node, target: float) -> Floats:
        """The row (d,) at which the running sum within ``node`` exceeds ``target``."""

    def best(self, candidates: Floats) -> int:
        """The best candidate for the rows of this part alone."""

    def potentials(self, candidates: Floats) -> NodeSums:
        """Σ weight·min(squared distance so far, squared distance to it) for every candidate."""

    def farthest(self) -> tuple[float, Floats]: ...


class DrawingPart(Protocol):
    """A part that may draw rows in a pass; see ``engines.drawing.DrawingEngine``."""

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Handle, Partial, RegionRows]: ...


class Part(Protocol):
    """Rows ``begin`` … ``begin + n_rows`` − 1; ``begin`` is a multiple of the block size."""

    begin: int
    n_rows: int
    n_features: int
    n_counting: int
    max_weight: float
    n_distances: int

    def first_point(self) -> Floats | None: ...

    def nearest(self, sites: Sites) -> tuple[Handle, Partial]: ...

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> PartSweep: ...

    def sums(self, handle: Handle, n_clusters: int) -> Partial: ...

    def fingerprints(self, handle: Handle, n_clusters: int) -> Fingerprints: ...

    def bisection(self, handle: Handle, place: Labels, n_pairs: int) -> PartBisection: ...

    def closings(self) -> PartClosings: ...

    def dearest(self, handle: Handle, centres: Floats, stats: Stats, costs: type[RowCosts], least: float) -> Picks: ...

    def farthest(self, handle: Handle, centres: Floats, size: int) -> tuple[Picks, Floats]: ...

    def moved(self, handle: Handle, rows: Index, clusters: Index) -> Handle: ...

    def exchange(
        self,
        handle: Handle,
        centres: Floats,
        stats: Stats,
        costs: type[RowCosts],
        least_gain: float,
        max_weight: float,
    ) -> PartExchange: ...

    def potential(self) -> PartPotential: ...

    def sampled(self, size: int, seed: int, beyond: Sites | None) -> tuple[NDArray[np.uint64], Index]:
        """Rows of positive weight with the smallest keys, at most ``size``, and their keys, ascending.

        A key is a hash of the seed and the row's global number.
        """

    def copied(self, rows: Index) -> tuple[ArrayOrCSR, Floats | None]:
        """The data and the weights of some rows, as they were given."""

    def labels(self, handle: Handle) -> Array: ...

    def sq_dists(self, handle: Handle, centres: Floats) -> Array: ...
