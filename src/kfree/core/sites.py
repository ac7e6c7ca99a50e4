"""Centres that rows are assigned to, with ids that stay with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kfree.core.stats import Floats, Index, Mask, Stats, Used


@dataclass(frozen=True)
class Sites:
    """Centres (k, d), oldest first, and their ids, which never change; a search never uses an id twice.

    Where rows are in groups, ``used`` (k, number of groups) says which groups use which site; else it is None.
    """

    centres: Floats
    uids: Index
    next_uid: int
    used: Used | None = None

    @property
    def users(self) -> Used:
        """``used`` of rows in groups."""
        assert self.used is not None  # as rows in groups have it
        return self.used

    @classmethod
    def of(cls, centres: Floats) -> Sites:
        """New sites, numbered from zero."""
        return cls(centres, np.arange(len(centres)), len(centres))

    def used_by(self, used: Used | None) -> Sites:
        """The same sites, used by other groups."""
        return Sites(self.centres, self.uids, self.next_uid, used)

    def moved(self, centres: Floats) -> Sites:
        return Sites(centres, self.uids, self.next_uid, self.used)

    def kept(self, keep: Mask) -> Sites:
        if keep.all():
            return self
        used = None if self.used is None else self.used[keep]
        return Sites(self.centres[keep], self.uids[keep], self.next_uid, used)

    def born(self, centres: Floats) -> Sites:
        """These sites and, after them, what ``centres`` holds beyond them, which no group uses yet."""
        n_new = len(centres) - len(self.uids)
        if n_new == 0:
            return self.moved(centres)
        uids = np.concatenate([self.uids, np.arange(self.next_uid, self.next_uid + n_new)])
        used = self.used
        if used is not None:
            used = np.concatenate([used, np.zeros((n_new, used.shape[1]), dtype=np.bool_)])
        return Sites(centres, uids, self.next_uid + n_new, used)

    def after(self, centres: Floats, stats: Stats) -> Sites:
        """These sites and the newborn of a pass, which ended with ``centres`` and ``stats``."""
        if len(centres) > len(self.uids):
            return self.born(centres).used_by(stats.used)
        return Sites(centres, self.uids, self.next_uid, stats.used)
