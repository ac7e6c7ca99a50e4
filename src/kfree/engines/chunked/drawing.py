"""A pass over several parts that also draws rows of a region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kfree.core.sites import Sites
from kfree.engines.contract import Pass
from kfree.engines.drawing import Region, RegionRows, joined_rows

if TYPE_CHECKING:
    from kfree.engines.chunked.engine import ChunkedEngine


def nearest_drawing(engine: ChunkedEngine, sites: Sites, region: Region) -> tuple[Pass, RegionRows]:
    """See ``engines.drawing.DrawingEngine``."""
    centres = np.ascontiguousarray(sites.centres)
    done = engine.each(lambda part: part.nearest_drawing(sites, region))
    assignment = engine.assignment([handle for handle, _, _ in done], len(centres))
    found = joined_rows([rows for _, _, rows in done], region.size)
    return Pass(centres, assignment, engine.joined(partial for _, partial, _ in done)), found
