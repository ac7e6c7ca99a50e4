"""All rows of a fit as one part, whose passes run on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index
from kfree.engines.contract import Fingerprints, VisitingOrder
from kfree.engines.dask import births, tasks
from kfree.engines.dask.place import Workers
from kfree.engines.drawing import Region, RegionRows
from kfree.engines.files.engine import engine_name
from kfree.engines.files.facts import Drawn, Facts
from kfree.engines.files.part import Recipe, StreamPart
from kfree.engines.local.part import LocalPart
from kfree.engines.parts import Births, Partial, Piece

# Of the keys of a sample, so many standard deviations more than the expected number are sent.
_CERTAINTY = 8.0


class DaskPart(StreamPart):
    """See ``engines.files.part.StreamPart``; passes run where the rows are."""

    def __init__(self, workers: Workers, frame: Frame, facts: Facts):
        rows = workers.rows, 0, workers.rows.n_rows
        super().__init__(*rows, frame, workers.reading, facts.n_counting, facts.max_weight, facts.drawn)
        self._workers, self.isa = workers, ""  # instruction sets of workers may differ, with the same result

    def first_point(self) -> Floats | None:
        row = self._workers.first_row()
        return (
            None if row is None else LocalPart(self.passes, row[None, :], None, self.frame, 1).points(np.arange(1))[0]
        )

    def nearest(self, sites: Sites) -> tuple[Recipe, Partial]:
        done = self._ask(tasks.NEAREST, sites)
        self.n_distances += done.n_distances
        return Recipe.of(sites), Piece(done.nodes)

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Recipe, Partial, RegionRows]:
        done = self._ask(tasks.DRAWING, (sites, region))
        self.n_distances += done.sums.n_distances
        return Recipe.of(sites), Piece(done.sums.nodes), done.rows

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> DaskSweep:  # type: ignore[override]
        super().sweep(sites, lam, order)  # refuses an order
        return DaskSweep(self, sites, lam)

    def sums(self, handle: Recipe, n_clusters: int) -> Partial:
        return Piece(self._ask(tasks.SUMS, (handle, n_clusters)))

    def fingerprints(self, handle: Recipe, n_clusters: int) -> Fingerprints:
        return np.asarray(self._ask(tasks.FINGERPRINTS, (handle, n_clusters)))

    def draw(self, size: int, seed: int) -> Drawn:
        found: Drawn = self._ask(tasks.DRAW, (size, seed))
        return found

    def labels(self, handle: Recipe) -> Array:
        return self._ask(tasks.LABELS, handle)

    def sq_dists(self, handle: Recipe, centres: Floats) -> Array:
        return self._ask(tasks.SQ_DISTS, (handle, centres))

    def swept(self, sweep: births.Sweep) -> tuple[births.Newborn, Partial]:
        """All births of a sweep, and statistics after it."""
        self.n_passes += 1
        newborn, done = self._workers.swept(self.frame, sweep)
        self.n_distances += newborn.n_distances
        if done is None:
            recipe = Recipe(np.array(sweep.sites.centres), newborn.points, newborn.at, sweep.lam)
            done = self._ask(tasks.RESTATE, recipe)
            self.n_distances += done.n_distances
        return newborn, Piece(done.nodes)

    def _ask(self, query: tasks.Query, shared: Any) -> Any:
        self.n_passes += 1
        return self._workers.run(query, self.frame, shared)


class DaskSweep:
    """See ``engines.parts.PartSweep``; the part holds all rows, so that there is one turn."""

    def __init__(self, part: DaskPart, sites: Sites, lam: float):
        self._part, self._sites, self._lam = part, sites, lam
        self._partial: Partial | None = None

    def upcoming(self) -> int | None:
        return 0 if self._partial is None else None

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        found, self._partial = self._part.swept(births.Sweep(self._sites, self._lam, room))
        return Births(found.points, found.at, found.n_refused, None)

    def end(self, newborn: Floats, born_at: Index) -> tuple[Recipe, Partial]:
        assert self._partial is not None  # the turn has been taken
        return Recipe(np.array(self._sites.centres), newborn, born_at, self._lam), self._partial


class OnWorkers:
    """The place (``engines.files.engine.Place``) of rows that workers read or hold."""

    def __init__(self, workers: Workers):
        self.name, self.n_features = engine_name(workers.reading), workers.rows.n_features
        self._workers = workers

    def first_row(self) -> Floats | None:
        return self._workers.first_row()

    def facts(self, frame: Frame, size: int, seed: int) -> list[Facts]:
        """A worker sends rows of its sample with small keys only, as many as one may expect to be needed of it."""
        n_rows = self._workers.rows.n_rows
        expected = (size + _CERTAINTY * np.sqrt(size) + 1) / n_rows
        for share in (expected, 1.0):
            found: Facts = self._workers.run(tasks.LOOK, frame, (size, seed, min(share, 1.0) * 2.0**64))
            if len(found.drawn.keys) == min(size, found.n_counting):
                break
        return [found]

    def parts(self, frame: Frame, found: Sequence[Facts]) -> list[DaskPart]:
        return [DaskPart(self._workers, frame, *found)]
