"""Centres that rows are assigned to, with ids that stay with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index, Stats


@dataclass(frozen=True)
class Sites:
    """Centres (k, d), oldest first, and their ids, which never change; a search never uses an id twice."""

    centres: Floats
    uids: Index
    next_uid: int

    @classmethod
    def of(cls, centres: Floats) -> Sites:
        """New sites, numbered from zero."""
        return cls(centres, np.arange(len(centres)), len(centres))

    def moved(self, centres: Floats) -> Sites:
        return Sites(centres, self.uids, self.next_uid)

    def kept(self, keep: NDArray[np.bool_]) -> Sites:
        return self if keep.all() else Sites(self.centres[keep], self.uids[keep], self.next_uid)

    def born(self, centres: Floats) -> Sites:
        """These sites and, after them, what ``centres`` holds beyond them."""
        n_new = len(centres) - len(self.uids)
        if n_new == 0:
            return self.moved(centres)
        newborn = np.arange(self.next_uid, self.next_uid + n_new)
        return Sites(centres, np.concatenate([self.uids, newborn]), self.next_uid + n_new)

    def after(self, centres: Floats, stats: Stats) -> Sites:
        """These sites and the newborn of a pass, which ended with ``centres`` and ``stats``."""
        return self.born(centres)
