"""Passes over rows of any kind that can say how far they are from sites, in plain NumPy."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats, Index, Labels, totals
from kfree.engines.contract import MemoryRows


class ByDistances(MemoryRows):
    """Rows whose other passes follow from ``distances_to_own`` and ``sq_distances``."""

    def second_costs(self, rows: Index, labels: Labels, second: Labels, centres: Floats) -> Floats:
        now, then = (self.distances_to_own(rows, one, centres) for one in (labels, second))
        return totals(labels, self.weights(rows) * (then - now), len(centres))

    def open_clusters(
        self, far: Index, first_label: int, lam: float, room: int, labels: Labels, sq_dist: Floats
    ) -> tuple[Index, int]:
        founders: list[int] = []
        n_refused, weight = 0, self.row_weights()
        for place, row in enumerate(far):
            if not weight[row] * sq_dist[row] > lam:
                continue
            if len(founders) == room:
                n_refused += 1
                continue
            labels[row], sq_dist[row] = first_label + len(founders), 0.0
            founders.append(place)
            self._join_listed(far[place + 1 :], self.points(far[place : place + 1]), labels[row], labels, sq_dist)
        return np.array(founders, dtype=np.int64), n_refused

    def join_newborn(
        self, order: Index | None, newborn: Floats, born_at: Index, first_label: int, labels: Labels, sq_dist: Floats
    ) -> None:
        visited = np.arange(self.n_rows) if order is None else order
        for j, place in enumerate(born_at):
            self._join_listed(visited[place + 1 :], newborn[j : j + 1], first_label + j, labels, sq_dist)

    def _join_listed(self, rows: Index, newborn: Floats, label: int, labels: Labels, sq_dist: Floats) -> None:
        """Listed rows join a newborn cluster where it is nearer; in-out labels, sq_dist (n,)."""
        near = self.distances_to_own(rows, np.zeros(len(rows), dtype=np.int32), newborn)
        nearer = near < sq_dist[rows]
        labels[rows[nearer]], sq_dist[rows[nearer]] = label, near[nearer]

    def approach(self, site: Floats, sq_dist: Floats) -> None:
        np.minimum(sq_dist, self.sq_distances(site[None, :])[:, 0], out=sq_dist)

    def best_of(self, candidates: Floats, sq_dist: Floats) -> int:
        nearer = np.minimum(sq_dist[:, None], self.sq_distances(candidates))
        return int((self.row_weights() @ nearer).argmin())
