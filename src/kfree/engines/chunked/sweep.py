"""Births of a sweep over several parts: the part that holds the next far row has the turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.engines.parts import PartSweep


def swept(sweeps: Sequence[PartSweep], room: int, n_features: int) -> tuple[Floats, Index, int]:
    """Newborn clusters (b, d), the positions at which they were born (b,), and how many rows found no room.

    A turn ends where the next far row of another part comes. In the given order every part has one turn.
    """
    newborn, born_at, n_refused = np.empty((0, n_features)), np.empty(0, dtype=np.int64), 0
    upcoming = [sweep.upcoming() for sweep in sweeps]
    while waiting := sorted((position, place) for place, position in enumerate(upcoming) if position is not None):
        turn, until = waiting[0][1], waiting[1][0] if len(waiting) > 1 else None
        births = sweeps[turn].go_on(newborn, until, room - len(newborn))
        newborn, born_at = np.vstack([newborn, births.points]), np.concatenate([born_at, births.at])
        n_refused += births.n_refused
        upcoming[turn] = births.upcoming
    return newborn, born_at, n_refused
