"""Clusters with centres: labels of rows and their distances, in the coordinates that the search used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import scipy.sparse as sp

from kfree.core.blocks import blocks
from kfree.core.cached import cached
from kfree.core.fields import Centres, NotNegative, Order
from kfree.core.frame import Frame
from kfree.core.label_order import ranks
from kfree.core.marks import OneOf
from kfree.core.sites import Sites
from kfree.core.stats import Floats, Labels, Stats
from kfree.engines.contract import MemoryRows
from kfree.engines.registry import open_engine
from kfree.explain.spread import Spreads, SpreadSample
from kfree.explain.view import View, view_by_distances
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.dp_means import OBJECTIVES
from kfree.validation.rows import require_sound_centres
from kfree.validation.tensors import in_memory

# What a distance is, by metric.
_DISTANCES = {False: "Euclidean distance to the centre", True: "√(2 − 2 cos) to the centre"}


class Costs(Protocol):
    """The part of an objective that scores rows."""

    def cost(self, stats: Stats) -> float: ...


@dataclass(frozen=True)
class CentreModel:
    """``centres`` (k, d), oldest first, in the coordinates of ``frame``; ``order`` lists them by public label.

    ``radius`` is the distance beyond which a row is an outlier; None where the spreads of the clusters decide, which
    are estimated from ``sample``.
    """

    frame: Frame
    centres: Centres
    order: Order
    objective: Annotated[Costs, OneOf({**OBJECTIVES, "levels": "kfree.models.cluster_tree:TreeCost"})]
    sample: SpreadSample | None = None
    radius: NotNegative | None = None

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
        if self.sample is None:  # as a damaged model may have it; one without a sample has a radius
            raise ValueError("this model does not know how wide its clusters are. Fit it again.")
        return self.sample.spreads()

    def limits(self, false_alarms: float) -> Floats:
        """The distance from each cluster beyond which a row is an outlier."""
        if self.radius is not None:
            return np.full(len(self.order), self.radius)
        return self.spreads.limits(false_alarms)

    def opened(self, rows: Any, weight: Floats | None, name: str, n_threads: int | None) -> tuple[MemoryRows, Floats]:
        """Validated rows in the coordinates of the fit, and the centres in those of the rows."""
        frame, centres = self.frame, self.centres
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1], frame.unit), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        opened = open_engine(name, rows, weight=weight, unit=frame.unit, frame=frame, n_threads=n_threads)
        return opened, centres

    def labels(self, rows: Any, name: str, n_threads: int | None) -> Labels:
        """The public label of the nearest centre of each row."""
        opened, centres = self.opened(rows, None, name, n_threads)
        found: Labels = opened.nearest_labels(Sites.of(centres), self.rank)
        return found

    def cost(self, rows: Any, weight: Floats | None, name: str, n_threads: int | None) -> float:
        """The cost of rows at their nearest centres."""
        opened, centres = self.opened(rows, weight, name, n_threads)
        return self.objective.cost(opened.nearest(Sites.of(centres)).stats)

    def sq_distances(self, rows: Any, name: str, n_threads: int | None) -> Floats:
        """Squared distances of rows to all centres by public label, (n, k)."""
        opened, centres = self.opened(in_memory(rows), None, _in_process(name), n_threads)
        return opened.sq_distances(centres[self.order])

    def distances(self, rows: Any, name: str, n_threads: int | None) -> Iterator[tuple[slice, Floats]]:
        """Distances of rows to all centres by public label, block by block."""
        for places in blocks(rows.shape[0], len(self.order)):
            yield places, np.sqrt(self.sq_distances(in_memory(rows, places), name, n_threads))

    def view(self, rows: Any, labels: Labels, names: Any, name: str, n_threads: int | None) -> View:
        """Rows beside the clusters, for explanations."""
        told = {"distance": _DISTANCES[self.frame.unit], "columns": in_memory(rows), "names": names}
        return view_by_distances(self.distances(rows, name, n_threads), labels, self.public_centres, **told)


def _in_process(name: str) -> str:
    """The engine for what is computed in memory, whatever computes the passes over all rows."""
    return name if name in IMPLEMENTATIONS else "auto"
