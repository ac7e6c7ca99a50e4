"""A place whose passes are recorded in a checkpoint: a pass that was recorded before is not run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Index, Stats
from kfree.engines.contract import Fingerprints, VisitingOrder
from kfree.engines.drawing import Region, RegionRows, joined_rows
from kfree.engines.files.engine import Place
from kfree.engines.files.facts import Facts
from kfree.engines.files.part import Recipe
from kfree.engines.parts import Births, Partial, Whole
from kfree.saving.journal import Journal


class Recorded:
    """The rows of another ``place``, with all its rows in one part."""

    def __init__(self, place: Place, journal: Journal):
        self.name, self.n_features = place.name, place.n_features
        self._place, self._journal = place, journal

    def first_row(self) -> Floats | None:
        found: Floats | None = self._journal.answer(["first row"], self._place.first_row, Floats | None)
        return found

    def facts(self, frame: Frame, size: int, seed: int) -> list[Facts]:
        asked: list[Any] = ["facts", frame, size, seed]
        found: list[Facts] = self._journal.answer(asked, lambda: self._place.facts(frame, size, seed), list[Facts])
        return found

    def parts(self, frame: Frame, found: Sequence[Facts]) -> list[Any]:
        (part,) = self._place.parts(frame, found)
        return [RecordedPart(part, self._journal)]


class RecordedPart:
    """A part of all rows. Passes that are not recorded, such as labels for publishing, are those of ``part``."""

    def __init__(self, part: Any, journal: Journal):
        self._part, self._journal, self.n_distances = part, journal, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def nearest(self, sites: Sites) -> tuple[Recipe, Partial]:
        asked = ["nearest", *sites_asked(sites)]
        (stats,) = self._answer(asked, lambda: (self._part.nearest(sites)[1].total(),), tuple[Stats])
        return Recipe.of(sites), Whole(stats)

    def nearest_drawing(self, sites: Sites, region: Region) -> tuple[Recipe, Partial, RegionRows]:
        def work_out() -> tuple[Any, ...]:
            _, partial, rows = self._part.nearest_drawing(sites, region)
            return partial.total(), joined_rows([rows], region.size)

        drawn = region.wanted, region.size, region.seed, region.expected, region.border
        asked = ["nearest, drawing", *sites_asked(sites), *drawn]
        stats, rows = self._answer(asked, work_out, tuple[Stats, RegionRows])
        return Recipe.of(sites), Whole(stats), rows

    def sweep(self, sites: Sites, lam: float, order: VisitingOrder | None) -> RecordedSweep:
        return RecordedSweep(self, self._part.sweep(sites, lam, order), sites, lam)

    def swept(self, sweep: Any, sites: Sites, lam: float, room: int) -> tuple[Any, ...]:
        """Births of a sweep over all rows, and statistics after it."""

        def work_out() -> tuple[Any, ...]:
            births = sweep.go_on(np.empty((0, sites.centres.shape[1])), None, room)
            return births.points, births.at, births.n_refused, sweep.end(births.points, births.at)[1].total()

        asked = ["sweep", *sites_asked(sites), float(lam), int(room)]
        return self._answer(asked, work_out, tuple[Floats, Index, int, Stats])

    def fingerprints(self, handle: Recipe, n_clusters: int) -> Fingerprints:
        asked = ["fingerprints", handle.centres, handle.newborn, handle.born_at, float(handle.lam), n_clusters]
        (found,) = self._answer(asked, lambda: (self._part.fingerprints(handle, n_clusters),), tuple[Fingerprints])
        return np.asarray(found)

    def _answer(self, question: list[Any], work_out: Callable[[], tuple[Any, ...]], declared: Any) -> tuple[Any, ...]:
        """The answer of a pass, of a declared type; distances count as if they were computed now."""
        before = self._part.n_distances
        found, n_distances = self._journal.answer(
            question, lambda: (work_out(), self._part.n_distances - before), tuple[declared, int]
        )
        self.n_distances += n_distances
        return tuple(found)


class RecordedSweep:
    """See ``engines.parts.PartSweep``; the part holds all rows, so that there is one turn."""

    def __init__(self, part: RecordedPart, sweep: Any, sites: Sites, lam: float):
        self._part, self._sweep, self._sites, self._lam = part, sweep, sites, lam
        self._stats: Stats | None = None

    def upcoming(self) -> int | None:
        return 0 if self._stats is None else None

    def go_on(self, newborn: Floats, until: int | None, room: int) -> Births:
        points, at, n_refused, self._stats = self._part.swept(self._sweep, self._sites, self._lam, room)
        return Births(points, at, n_refused, None)

    def end(self, newborn: Floats, born_at: Index) -> tuple[Recipe, Partial]:
        assert self._stats is not None  # the turn has been taken
        return Recipe(np.array(self._sites.centres), newborn, born_at, self._lam), Whole(self._stats)


def sites_asked(sites: Sites) -> list[Any]:
    """Sites as a part of a question."""
    return [np.ascontiguousarray(sites.centres), np.ascontiguousarray(sites.uids)]
