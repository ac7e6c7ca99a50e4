"""A common view of rows and clusters for all estimators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kfree.core.arrays import Array, namespace_of
from kfree.core.blocks import blocks, row_blocks
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels

# Distances between centres per block.
_BLOCK = 1 << 21

# Distances (rows of a block, k) of all rows to all clusters, with the places of the rows.
Blocks = Iterable[tuple[slice, Floats]]


@dataclass(frozen=True)
class View:
    """Rows as a fitted estimator sees them.

    Attributes
    ----------
    labels : (n,)
        The cluster of each row, −1 for rows that were left out as noise.
    dist, second, second_dist : (n,)
        The distance of each row to its cluster, the nearest other cluster, and the distance to that. ``second`` is −1
        and ``second_dist`` infinite where there is no other.
    nearest, gaps : (k,)
        The nearest other cluster of each cluster, and the distance between both; −1 and infinity where there is none.
    distance : str
        What a distance is, in words.
    spreads : (k,) or None
        How wide each cluster is; None is the root mean square of the distances of its rows.
    spread : str
        What a spread is, in words.
    columns : (n, d) array, sparse matrix or None
        Columns for the features of clusters; None if rows have no columns, as with precomputed kernels.
    names : sequence of d str, or None
        Names of the columns.
    row_names : (n,) array or None
        Names of the rows, where they have any.
    word : str
        What a row is called.
    places : (k, 2) or None
        Latitudes and longitudes of the centres, where rows are places on the Earth.
    """

    labels: Labels
    dist: Floats
    second: Labels
    second_dist: Floats
    nearest: Labels
    gaps: Floats
    distance: str
    columns: ArrayOrCSR | None = None
    names: Sequence[str] | None = None
    row_names: NDArray[Any] | None = None
    spreads: Floats | None = None
    spread: str = "root mean square of the distances of its rows"
    word: str = "row"
    places: Floats | None = None
    # Whether a distance may be infinite without an overflow, as that of a divergence.
    may_be_infinite: bool = False

    def among(self, rows: NDArray[Any]) -> View:
        """The view of some rows only, by their numbers."""
        by_row = ("labels", "dist", "second", "second_dist", "columns", "row_names")
        return replace(self, **{name: part[rows] for name in by_row if (part := getattr(self, name)) is not None})

    @property
    def n_clusters(self) -> int:
        return len(self.nearest)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each cluster, (k,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)

    @property
    def confidence(self) -> Floats:
        """The confidence of each label, (n,); raises where a distance to a cluster overflows."""
        n_beyond = int(np.count_nonzero((self.second >= 0) & np.isinf(self.second_dist)))
        if n_beyond and not self.may_be_infinite:
            raise _no_margin(n_beyond, self.word)
        return np.asarray(confidence(self.dist, self.second_dist))


def confidence(dist: Array, second_dist: Array) -> Array:
    """1 − distance to the own cluster / distance to the second: 0 on the border, 1 at the centre or without a second.

    A row whose own cluster is not the nearest, which is possible with groups, has 0, and so has one that is infinitely
    far from all.
    """
    lib = namespace_of(dist)
    with np.errstate(invalid="ignore"):
        ratio = dist / lib.where(second_dist == 0, 1.0, second_dist)
        ratio = lib.where(lib.isinf(second_dist), lib.where(lib.isinf(dist), 1.0, 0.0), ratio)
    # Both distances are zero if two clusters have the same centre; the margin is then zero.
    return 1.0 - lib.where(second_dist == 0, 1.0, lib.where(ratio > 1.0, 1.0, ratio))


def confidence_of(parts: Iterable[tuple[object, Array]]) -> Array:
    """``confidence`` of rows on a device, whose clusters are the nearest ones, from distances block by block."""
    found = []
    for _, distances in parts:
        two = distances.topk(min(2, distances.shape[1]), largest=False).values
        n_beyond = int(two[:, 1:].isinf().sum())
        if n_beyond:
            raise _no_margin(n_beyond, "row")
        found.append(confidence(two[:, 0], two[:, 1]) if two.shape[1] == 2 else two[:, 0] * 0.0 + 1.0)
    return namespace_of(found[0]).concatenate(found)


def _no_margin(n_rows: int, word: str) -> ValueError:
    return ValueError(
        f"distances of {n_rows} {word}(s) to the clusters overflow float64, so that there is no margin between these. "
        "Divide X by a constant before fit, or leave such rows out."
    )


def nearest_other(distances: Floats, labels: NDArray[Any]) -> tuple[Labels, Floats]:
    """The nearest column of each row but the one that ``labels`` names, and the distance; there must be two."""
    rows = np.arange(len(distances))
    others = np.array(distances, copy=True)
    others[rows, labels] = np.inf
    second = others.argmin(axis=1).astype(np.int32)
    return second, others[rows, second]


def nearest_centres(centres: Floats) -> tuple[Labels, Floats]:
    """The nearest other centre of each, and the distance to it; −1 and infinity for a single one."""
    k = len(centres)
    if k == 1:
        return np.full(1, -1, dtype=np.int32), np.full(1, np.inf)
    nearest, gaps, numbers = np.empty(k, dtype=np.int32), np.empty(k), np.arange(k)
    for own in row_blocks(k, max(1, _BLOCK // k)):
        nearest[own], gaps[own] = nearest_other(cdist(centres[own], centres), numbers[own])
    return nearest, gaps


def view_by_distances(parts: Blocks, labels: Labels, centres: Floats, **told: Any) -> View:
    """A view from distances, block by block of rows, and labels that are known already."""
    dist, second, second_dist, _ = two_nearest(parts, labels)
    nearest, gaps = nearest_centres(centres)
    return View(labels, dist, second, second_dist, nearest, gaps, **told)


def two_nearest(parts: Blocks, labels: Labels) -> tuple[Floats, Labels, Floats, int]:
    """Distance to the own cluster, the nearest other one and the distance to it, (n,) each; number of clusters."""
    n, k = len(labels), 0
    dist, second, second_dist = np.empty(n), np.full(n, -1, dtype=np.int32), np.full(n, np.inf)
    for places, distances in parts:
        k = distances.shape[1]
        # Noise is compared with its nearest cluster.
        own = np.where(labels[places] < 0, distances.argmin(axis=1), labels[places])
        dist[places] = distances[np.arange(len(own)), own]
        if k > 1:
            second[places], second_dist[places] = nearest_other(distances, own)
    return dist, second, second_dist, k


def distances_in_blocks(rows: ArrayOrCSR, centres: Floats) -> Iterator[tuple[slice, Floats]]:
    """Euclidean distances of rows, dense or sparse, to centres, block by block."""
    for places in blocks(rows.shape[0], len(centres) + rows.shape[1]):
        part = rows[places]
        yield places, cdist(part if isinstance(part, np.ndarray) else part.toarray(), centres)
