"""Clusters with centres: labels of rows and their distances, in the coordinates that the search used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol

import numpy as np
import scipy.sparse as sp

from kfree.core.arrays import Array, beside, namespace_of
from kfree.core.blocks import blocks
from kfree.core.cached import cached
from kfree.core.divergences import Divergence
from kfree.core.fields import Centres, Order
from kfree.core.frame import Frame
from kfree.core.label_order import ranks
from kfree.core.marks import OneOf
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR, unit_rows
from kfree.core.sphere import EARTH_RADIUS, SQ_EARTH_RADIUS, arcs, chords, require_degrees, unit_vectors
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.engines.contract import MemoryRows
from kfree.engines.registry import open_engine
from kfree.explain.duplicates import Duplicates, near_duplicates
from kfree.explain.spread import Spreads, SpreadSample
from kfree.explain.view import Blocks, View, view_by_distances
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.bregman import BREGMAN_OBJECTIVES
from kfree.objectives.dp_means import PLACED_OBJECTIVES
from kfree.validation.rows import require_sound_centres
from kfree.validation.tensors import in_memory, is_on_device

_OBJECTIVES = {**PLACED_OBJECTIVES, **BREGMAN_OBJECTIVES, "levels": "kfree.models.cluster_tree:TreeCost"}
# What a distance is, by metric.
_DISTANCES = {False: "Euclidean distance to the centre", True: "√(2 − 2 cos) to the centre"}


# Roundings of a coordinate on its way out and in; a length adds one per column.
_ROUNDINGS = 8


class Costs(Protocol):
    """The part of an objective that scores rows."""

    def cost(self, stats: Stats) -> float: ...


@dataclass(frozen=True)
class CentreModel:
    """``centres`` (k, d), oldest first, in the coordinates of ``frame``; ``order`` lists them by public label.

    Spreads of the clusters are estimated from ``sample``. It is None for a stream, which keeps a sample of its own.
    """

    frame: Frame
    centres: Centres
    order: Order
    objective: Annotated[Costs, OneOf(_OBJECTIVES)]
    sample: SpreadSample | None = None

    @cached
    def rank(self) -> Labels:
        """The public label of each centre, (k,)."""
        return ranks(self.order)

    @property
    def public_centres(self) -> Floats:
        """The centres by public label, in the coordinates of the user."""
        return self.frame.outward(self.centres[self.order])

    @cached
    def spreads(self) -> Spreads:
        """How far rows usually lie from their own centre, computed when it is first asked for."""
        if self.sample is None:  # as a damaged model may have it
            raise ValueError("this model does not know how wide its clusters are. Fit it again.")
        return self.sample.spreads()

    def opened(self, rows: Any, weight: Floats | None, name: str, n_threads: int | None) -> tuple[MemoryRows, Floats]:
        """Validated rows in the coordinates of the fit, and the centres in those of the rows."""
        frame, centres = self.as_compared
        if self._on_sphere:
            rows = in_memory(rows)
            require_degrees(rows)
            rows = unit_vectors(rows)
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1], frame.unit), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        opened = open_engine(
            name,
            rows,
            weight=weight,
            unit=frame.unit,
            frame=frame,
            n_threads=n_threads,
            divergence=self._divergence,
        )
        return opened, centres

    @property
    def as_compared(self) -> tuple[Frame, Floats]:
        """The coordinates that rows and centres are compared in, and the centres there: unit vectors for places."""
        return (
            (Frame.plain(3, unit=True), unit_vectors(self.centres)) if self._on_sphere else (self.frame, self.centres)
        )

    @property
    def sq_unit(self) -> float:
        """What costs are multiplied by when a user sees them: those of places are in km²."""
        return SQ_EARTH_RADIUS if self._on_sphere else 1.0

    @property
    def _on_sphere(self) -> bool:
        """Whether rows and centres are latitudes and longitudes."""
        return getattr(self.objective, "on_sphere", False)

    @property
    def _divergence(self) -> Divergence | None:
        """What takes the place of the squared distance, None for that itself."""
        return getattr(self.objective, "divergence", None)

    def labels(self, rows: Any, name: str, n_threads: int | None) -> Labels:
        """The public label of the nearest centre of each row."""
        opened, centres = self.opened(rows, None, name, n_threads)
        found: Labels = opened.nearest_labels(Sites.of(centres), self.rank)
        return found

    def cost(self, rows: Any, weight: Floats | None, name: str, n_threads: int | None) -> float:
        """The cost of rows at their nearest centres."""
        opened, centres = self.opened(rows, weight, name, n_threads)
        return self.sq_unit * self.objective.cost(opened.nearest(Sites.of(centres)).stats)

    def sq_distances(self, rows: Any, name: str, n_threads: int | None) -> Array:
        """Squared distances of rows to all centres by public label, (n, k), on a device where the rows are on one."""
        if self._stays(rows):
            return namespace_of(rows).cat([part for _, part in self._there(rows, name, n_threads)])
        opened, centres = self.opened(in_memory(rows), None, _in_process(name), n_threads)
        sq_dist = opened.sq_distances(centres[self.order])
        if self._on_sphere:
            sq_dist = arcs(sq_dist) ** 2
        return sq_dist if sp.issparse(rows) else self._zero_at_centres(sq_dist, np.asarray(in_memory(rows)))

    def _stays(self, rows: Any) -> bool:
        """Whether distances of these rows are computed on the device where they are."""
        return is_on_device(rows) and not self._on_sphere

    def _there(self, rows: Any, name: str, n_threads: int | None) -> Iterator[tuple[slice, Any]]:
        """Squared distances on the device, block by block."""
        opened, centres = self.opened(rows, None, name, n_threads)
        for places, sq_dist in opened.sq_distances_there(centres[self.order]):
            yield places, self._zero_at_centres(sq_dist, rows[places])

    def _zero_at_centres(self, sq_dist: Array, rows: Array) -> Array:
        """Zero, in place, where a row is a public centre: its way to these coordinates and back may leave last bits."""
        frame, public = self.frame, self.public_centres
        size = np.abs(self.centres[self.order]) + np.abs(frame.shift) + np.abs(frame.anchor)
        size = np.full_like(size, EARTH_RADIUS) if self._on_sphere else size
        with np.errstate(over="ignore"):
            most = (((_ROUNDINGS + public.shape[1]) * np.finfo(np.float64).eps * size) ** 2).sum(axis=1)
        near = namespace_of(sq_dist).argwhere((sq_dist > 0) & (sq_dist <= beside(most, sq_dist)))
        row, label = near[:, 0], near[:, 1]
        is_same = (rows[row] == beside(public, sq_dist)[label]).all(axis=1)
        sq_dist[row[is_same], label[is_same]] = 0.0
        return sq_dist

    def distances(self, rows: Any, name: str, n_threads: int | None) -> Iterator[tuple[slice, Array]]:
        """Distances of rows to all centres by public label, block by block, on a device where the rows are on one."""
        if self._stays(rows):
            yield from ((places, sq_dist.sqrt_()) for places, sq_dist in self._there(rows, name, n_threads))
            return
        for places in blocks(rows.shape[0], len(self.order)):
            yield places, np.sqrt(self.sq_distances(in_memory(rows, places), name, n_threads))

    def view(self, rows: Any, labels: Labels, names: Any, name: str, n_threads: int | None) -> View:
        """Rows beside the clusters, for explanations."""
        distance = _DISTANCES[self.frame.unit]
        if self._divergence is not None:
            distance = f"√ of the divergence {self._divergence.name!r} to the centre"
        told = {"distance": distance, "columns": in_memory(rows), "names": names}
        told |= {"may_be_infinite": self._divergence is not None}
        if not self._on_sphere:
            return view_by_distances(self.distances(rows, name, n_threads), labels, self.public_centres, **told)
        # Means of longitudes mislead across the date line, so that columns do not describe clusters.
        told |= {"distance": "arc to the centre in km", "columns": None, "names": None, "places": self.public_centres}
        vectors = unit_vectors(self.public_centres)
        found = view_by_distances(self.distances(rows, name, n_threads), labels, vectors, **told)
        return replace(found, gaps=np.where(np.isinf(found.gaps), np.inf, arcs(found.gaps**2)))

    def duplicates(self, rows: Any, threshold: float | None, name: str, n_threads: int | None) -> Duplicates:
        """Rows at most ``threshold`` apart, in the unit of distances."""
        if self._divergence is not None:
            raise ValueError(
                f"the divergence {self._divergence.name!r} is no distance between two rows, so that near-duplicates "
                "are not defined. Fit with metric='euclidean' or 'cosine'."
            )
        labels, rows = self.labels(rows, name, n_threads), in_memory(rows)

        def distances() -> Blocks:
            return self.distances(rows, name, n_threads)

        def coordinates(index: Index) -> ArrayOrCSR:
            return self._coordinates(rows[index])

        if not self._on_sphere:
            return near_duplicates(coordinates, labels, distances, threshold)
        chord = None if threshold is None else chords(np.array([threshold]))[0]
        # An arc is at most π/2 times as long as its chord. Coordinates are on the unit sphere, arcs in km.
        found = near_duplicates(coordinates, labels, distances, chord, stretch=EARTH_RADIUS * np.pi / 2)
        near = arcs(np.array([found.threshold**2]))[0] if threshold is None else threshold
        return replace(found, threshold=float(near), distances=arcs(found.distances**2))

    def _coordinates(self, rows: ArrayOrCSR) -> ArrayOrCSR:
        """Rows where Euclidean distances are those of the metric."""
        if self._on_sphere:
            return unit_vectors(rows)
        if self.frame.unit:
            return unit_rows(rows)
        rows = rows.astype(np.float64)
        if isinstance(rows, np.ndarray):
            return self.frame.inward(rows)
        rows.eliminate_zeros()
        return rows


def _in_process(name: str) -> str:
    """The engine for what is computed in memory, whatever computes the passes over all rows."""
    return name if name in IMPLEMENTATIONS else "auto"
